"""Along the manifold of configurations: by a velocity, and back from two configurations.

Coordinates of one number each add; quaternions turn by the exponential, and a
floating joint moves along a screw, with a twist constant in the body.
"""

import numpy as np

from icir_control.compiled import inlined, kernel
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.checked import CheckedKernel, is_configuration, is_velocity
from icir_control.spatial.kernels.se3 import exp6, log6
from icir_control.spatial.kernels.so3 import (
    quaternion_exp,
    quaternion_log,
    quaternion_multiply,
    quaternion_to_rotation,
)


@inlined
def _normalize(quaternion: np.ndarray) -> None:
    """Take away what rounding adds to the length, step after step."""
    square = 0.0
    for value in quaternion:
        square += value * value
    quaternion /= np.sqrt(square)


@kernel
def advance(buffer: np.ndarray, q: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
    """Write where the constant velocity v leads from q in unit time; `out` may be q."""
    if buffer[at.H_HAS_QUATERNIONS] == 0.0:
        for i in range(q.size):
            out[i] = q[i] + v[i]
        return
    rows = at.rows_of(buffer)
    turn, rotation = np.empty(4), np.empty((3, 3))
    moved, shift = np.empty((3, 3)), np.empty(3)
    for k in range(1, rows.shape[0]):
        motion, i = at.integer(rows, k, at.MOTION), at.integer(rows, k, at.INDEX_Q)
        j = at.integer(rows, k, at.INDEX_V)
        if motion == at.FOLLOWS or i >= q.size:  # that is a joint that mimics another
            continue
        if motion == at.REVOLUTE or motion == at.PRISMATIC:
            out[i] = q[i] + v[j]
            continue
        if motion == at.FLOATING:
            # M' = M exp6(v): p' = p + R shift
            exp6(v[j : j + 6], moved, shift)
            quaternion_to_rotation(q[i + 3 : i + 7], rotation)
            for axis in range(3):
                out[i + axis] = q[i + axis] + (
                    rotation[axis, 0] * shift[0]
                    + rotation[axis, 1] * shift[1]
                    + rotation[axis, 2] * shift[2]
                )
            i, j = i + 3, j + 3
        quaternion_exp(v[j : j + 3], turn)
        quaternion_multiply(q[i : i + 4], turn, out[i : i + 4])
        _normalize(out[i : i + 4])


@CheckedKernel
def integrated(buffer: np.ndarray, q: np.ndarray, v: np.ndarray, out: np.ndarray) -> int:
    """Write the configuration that the constant velocity v reaches from q in unit time."""
    if not (is_configuration(buffer, q) and is_velocity(buffer, v)):
        return 1
    advance(buffer, q, v, out)
    return 0


@kernel
def _turn_between(q0: np.ndarray, q1: np.ndarray, out: np.ndarray) -> None:
    """Write q0^-1 q1, two quaternions."""
    back = np.empty(4)
    back[0], back[1], back[2], back[3] = -q0[0], -q0[1], -q0[2], q0[3]
    quaternion_multiply(back, q1, out)


@CheckedKernel
def differenced(buffer: np.ndarray, q0: np.ndarray, q1: np.ndarray, out: np.ndarray) -> int:
    """Write the velocity that leads from q0 to q1 in unit time, turning by at most pi."""
    if not is_configuration(buffer, q0):
        return 1
    if not is_configuration(buffer, q1):
        return 2
    if buffer[at.H_HAS_QUATERNIONS] == 0.0:
        for i in range(q0.size):
            out[i] = q1[i] - q0[i]
        return 0
    rows = at.rows_of(buffer)
    turn, rotation, shift = np.empty(4), np.empty((3, 3)), np.empty(3)
    for k in range(1, rows.shape[0]):
        motion, i = at.integer(rows, k, at.MOTION), at.integer(rows, k, at.INDEX_Q)
        j = at.integer(rows, k, at.INDEX_V)
        if i >= q0.size:
            continue  # mimics another
        if motion == at.REVOLUTE or motion == at.PRISMATIC:
            out[j] = q1[i] - q0[i]
        elif motion == at.SPHERICAL:
            _turn_between(q0[i : i + 4], q1[i : i + 4], turn)
            quaternion_log(turn, out[j : j + 3])
        elif motion == at.FLOATING:
            # log6(M0^-1 M1), with the shift R0^T (p1 - p0)
            quaternion_to_rotation(q0[i + 3 : i + 7], rotation)
            for c in range(3):
                shift[c] = 0.0
                for axis in range(3):
                    shift[c] += rotation[axis, c] * (q1[i + axis] - q0[i + axis])
            _turn_between(q0[i + 3 : i + 7], q1[i + 3 : i + 7], turn)
            quaternion_to_rotation(turn, rotation)
            log6(rotation, shift, out[j : j + 6])
    return 0
