"""The impedance law: a spring and a damper on the tool, with the arm's inertia or a given one."""

import numpy as np

from icir_control.compiled import part
from icir_control.control.kernels.follow import pose_error
from icir_control.control.kernels.linear import (
    clear,
    copy,
    inverse_inertia_rows,
    solve,
    symmetric_eigen,
)
from icir_control.control.kernels.resolution import (
    let_joints_rest,
    reference_in_tool_axes,
    resolve,
    turn,
)
from icir_control.spatial.kernels import mat_mat_t, mat_t_mat

SLOWEST_MODE = 0.1
"""[rad/s] Below it, where the arm can hardly move, a mode is damped as if it were this fast."""


@part
def impedance_law(record: np.record, M: np.ndarray, v: np.ndarray) -> None:
    """Write the wrench f = K e + D (nu_r - nu) of a spring and damper on the arm's own inertia.

    The damping follows the inertia that the arm shows, Lambda = (J M^-1 J^T)^-1 (Khatib 1987), so
    that each mode of Lambda e'' + D e' + K e = 0 has the ratio zeta: with S = K^1/2 Lambda^-1
    K^1/2 it is D = K^1/2 (2 zeta S^-1/2) K^1/2 (Albu-Schaeffer et al. 2003, without an inverse
    of Lambda^-1, which is singular where J is). A damping matrix that is given adds to it, and a
    reference wrench is what the arm presses with where it is held.
    """
    root, wrench, S = record.six_more, record.wrench, record.square
    pose_error(record.pose, record.pose_reference, record.turn, record.six)
    reference_in_tool_axes(record)
    for i in range(6):
        wrench[i] = record.twist_reference[i] - record.twist[i]
        root[i] = np.sqrt(record.stiffness[i])
    _stiffness_axes(record)
    turn(record.turn, True, record.six)
    turn(record.turn, True, wrench)
    if record.shapes_inertia:
        _shape_inertia(record, M, v)
        return
    inverse_inertia_rows(M, record.jacobian, record.rows, record.inertia)
    mat_mat_t(record.rows, record.jacobian, S)
    for i in range(6):
        turn(record.turn, True, S[i])
    for j in range(6):
        turn(record.turn, True, S[:, j])
    # The spring's K e, the wrench that is asked for at rest, and a given damping's D nu.
    for i in range(6):
        record.six[i] = record.stiffness[i] * record.six[i] + record.reference_wrench[i]
    if record.has_damping:
        _add_given_damping(record, S, wrench, record.six)
    for i in range(6):
        for j in range(6):
            S[i, j] *= root[i] * root[j]
    eigenvectors = record.vectors
    symmetric_eigen(S, eigenvectors)
    # Along the modes: 2 zeta S^-1/2 (K^1/2 nu), and then K^1/2 of it.
    for i in range(6):
        wrench[i] *= root[i]
    for k in range(6):
        rate = 0.0
        for i in range(6):
            rate += eigenvectors[i, k] * wrench[i]
        frequency = np.sqrt(max(S[k, k], SLOWEST_MODE * SLOWEST_MODE))
        share = 2.0 * record.damping_ratio / frequency * rate
        for i in range(6):
            record.six[i] += root[i] * eigenvectors[i, k] * share
    copy(record.six, wrench)
    turn(record.turn, False, wrench)
    let_joints_rest(record, v)
    clear(root)
    resolve(record, M, root)


@part
def _shape_inertia(record: np.record, M: np.ndarray, v: np.ndarray) -> None:
    """Write ddq and f with which the tool has the inertia that is wished, Lambda_d.

    Lambda_d (a - a_r) = K e + D (nu_r - nu) + f_measured, D = 2 zeta sqrt(K Lambda_d) on each
    axis, is resolved into the joints, and f = -f_measured takes back what the hand does to them
    (Hogan 1985). Without a measured wrench it would be a wrong inertia's stiffness.
    """
    a, rate, measured = record.six, record.wrench, record.six_more
    copy(record.measured_wrench, measured)
    turn(record.turn, True, measured)
    for i in range(6):
        K, inertia = record.stiffness[i], record.desired_inertia[i]
        a[i] = K * a[i] + 2.0 * record.damping_ratio * np.sqrt(K * inertia) * rate[i]
        a[i] += measured[i] + record.reference_wrench[i]
        for j in range(6):
            record.square[i, j] = 1.0 / inertia if i == j else 0.0
    if record.has_damping:
        _add_given_damping(record, record.square, rate, a)
    for i in range(6):
        measured[i] = a[i] / record.desired_inertia[i]
    turn(record.turn, False, measured)
    for i in range(6):
        measured[i] += record.acceleration_reference[i] - record.drift[i]
        record.wrench[i] = -record.measured_wrench[i]
    let_joints_rest(record, v)
    resolve(record, M, measured)


@part
def _add_given_damping(
    record: np.record, mobility: np.ndarray, rate: np.ndarray, wrench: np.ndarray
) -> None:
    """Add D nu' to a wrench, nu' the rate at the end of the period: (1 + h Lambda^-1 D) nu' = nu.

    Taken at its beginning, a damping above inertia / h would shake the arm.
    """
    D, B, x = record.damping, record.vectors, record.rate
    for i in range(6):
        x[i] = rate[i]
        for j in range(6):
            B[i, j] = 1.0 if i == j else 0.0
            for k in range(6):
                B[i, j] += record.period * mobility[i, k] * D[k, j]
    solve(B, x)
    for i in range(6):
        for j in range(6):
            wrench[i] += D[i, j] * x[j]


@part
def _stiffness_axes(record: np.record) -> None:
    """Write the axes of the stiffness in those of the tool, R_tool_axes, into `turn`."""
    if record.base_axes:
        # R_tool_base = R_world_tool^T R_world_base.
        mat_t_mat(record.pose[:3], record.axes, record.turn)
        return
    for i in range(3):
        for j in range(3):
            record.turn[i, j] = 1.0 if i == j else 0.0
