"""From the root to the leaves: placements, columns of J, twists, bias accelerations."""

from math import cos, sin

import numpy as np

from icir_control.compiled import inlined, kernel
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.blocks import rows_of
from icir_control.dynamics.kernels.checks import is_configuration, is_velocity
from icir_control.dynamics.kernels.vector import (
    Matrix,
    Vector,
    add,
    apply,
    cross,
    load,
    load_matrix,
    multiply,
    scale,
    store,
    store_matrix,
)


@inlined
def quaternion_matrix(x: float, y: float, z: float, w: float) -> Matrix:
    """Return the rotation of a quaternion, whatever its length."""
    s = 2.0 / (x * x + y * y + z * z + w * w)
    return (
        (1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)),
        (s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w)),
        (s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)),
    )


@inlined
def joint_rotation(rows: np.ndarray, k: int, angle: float) -> Matrix:
    """Return R_0 Rot(axis, angle), linear in (1, cos, sin) by Rodrigues' formula."""
    c, s = cos(angle), sin(angle)
    A = load_matrix(rows, k, at.TURN)
    B = load_matrix(rows, k, at.TURN_COS)
    C = load_matrix(rows, k, at.TURN_SIN)
    return (
        add(A[0], add(scale(c, B[0]), scale(s, C[0]))),
        add(A[1], add(scale(c, B[1]), scale(s, C[1]))),
        add(A[2], add(scale(c, B[2]), scale(s, C[2]))),
    )


@inlined
def joint_placement(rows: np.ndarray, k: int, q: np.ndarray) -> tuple[Matrix, Vector]:
    """Return the placement of row k in its parent row at q."""
    motion = int(rows[k, at.MOTION])
    i = int(rows[k, at.INDEX_Q])
    offset = load(rows, k, at.OFFSET)
    if motion == at.TURNS:
        return joint_rotation(rows, k, q[i]), offset
    R = load_matrix(rows, k, at.TURN)
    if motion == at.SLIDES:
        return R, add(offset, scale(q[i], apply(R, load(rows, k, at.AXIS))))
    if motion == at.TURNS_FREELY:
        return multiply(R, quaternion_matrix(q[i], q[i + 1], q[i + 2], q[i + 3])), offset
    if motion == at.MOVES_FREELY:
        p = add(offset, apply(R, (q[i], q[i + 1], q[i + 2])))
        return multiply(R, quaternion_matrix(q[i + 3], q[i + 4], q[i + 5], q[i + 6])), p
    return R, offset


@inlined
def place(rows: np.ndarray, k: int, q: np.ndarray) -> tuple[Matrix, Vector]:
    """Place row k in the world and write its column of J, the parent being placed."""
    parent = int(rows[k, at.PARENT])
    R_parent = load_matrix(rows, parent, at.ROTATION)
    R_joint, p_joint = joint_placement(rows, k, q)
    # oM_k = oM_parent M_joint(q)
    R = multiply(R_parent, R_joint)
    p = add(load(rows, parent, at.POSITION), apply(R_parent, p_joint))
    store_matrix(rows, k, at.ROTATION, R)
    store(rows, k, at.POSITION, p)
    # J_k = oX_k S_k
    axis = apply(R, load(rows, k, at.AXIS))
    if rows[k, at.LINEAR] != 0.0:
        store(rows, k, at.COLUMN, axis)
        store(rows, k, at.COLUMN + 3, (0.0, 0.0, 0.0))
    else:
        store(rows, k, at.COLUMN, cross(p, axis))
        store(rows, k, at.COLUMN + 3, axis)
    return R, p


@inlined
def move(rows: np.ndarray, k: int, rate: float) -> tuple[Vector, Vector, Vector, Vector]:
    """Write the twist of row k and its acceleration at ddq = 0, and return both.

    Without gravity; the parent has moved, and row k is placed. `rate` is the speed of this degree
    of freedom. Equations: the cheat sheet's forward loop, in world axes.
    """
    parent = int(rows[k, at.PARENT])
    bias = int(rows[k, at.BIAS])
    # v_J = J_k qd_k
    step_linear = scale(rate, load(rows, k, at.COLUMN))
    step_angular = scale(rate, load(rows, k, at.COLUMN + 3))
    # v_k = v_parent + v_J
    v_linear = add(load(rows, parent, at.TWIST), step_linear)
    v_angular = add(load(rows, parent, at.TWIST + 3), step_angular)
    # a_k = a_parent + v_bias x v_J, where v_bias x S qd holds c_J too
    b_linear = load(rows, bias, at.TWIST)
    b_angular = load(rows, bias, at.TWIST + 3)
    turn = add(cross(b_linear, step_angular), cross(b_angular, step_linear))
    a_linear = add(load(rows, parent, at.ACCELERATION), turn)
    a_angular = add(load(rows, parent, at.ACCELERATION + 3), cross(b_angular, step_angular))
    store(rows, k, at.TWIST, v_linear)
    store(rows, k, at.TWIST + 3, v_angular)
    store(rows, k, at.ACCELERATION, a_linear)
    store(rows, k, at.ACCELERATION + 3, a_angular)
    return v_linear, v_angular, a_linear, a_angular


@inlined
def push(rows: np.ndarray, k: int, ddq: float) -> tuple[Vector, Vector]:
    """Add J_k ddq_k to the acceleration of row k, which `move` wrote, and return the sum."""
    linear = add(load(rows, k, at.ACCELERATION), scale(ddq, load(rows, k, at.COLUMN)))
    angular = add(load(rows, k, at.ACCELERATION + 3), scale(ddq, load(rows, k, at.COLUMN + 3)))
    store(rows, k, at.ACCELERATION, linear)
    store(rows, k, at.ACCELERATION + 3, angular)
    return linear, angular


@kernel
def placements(buffer: np.ndarray, q: np.ndarray) -> int:
    """Check q, then fill placements and columns of J."""
    if not is_configuration(buffer, q):
        return 1
    rows = rows_of(buffer)
    for k in range(1, rows.shape[0]):
        place(rows, k, q)
    return 0


@kernel
def velocities(buffer: np.ndarray, q: np.ndarray, v: np.ndarray) -> int:
    """Check q and v, then fill placements, columns of J, twists, accelerations at ddq = 0."""
    if not is_configuration(buffer, q):
        return 1
    if not is_velocity(buffer, v):
        return 2
    rows = rows_of(buffer)
    for k in range(1, rows.shape[0]):
        place(rows, k, q)
        move(rows, k, v[k - 1])
    return 0


@kernel
def accelerations(buffer: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> int:
    """Check q, v and a, then fill placements, columns of J, twists and accelerations."""
    if not is_configuration(buffer, q):
        return 1
    if not is_velocity(buffer, v):
        return 2
    if not is_velocity(buffer, a):
        return 3
    rows = rows_of(buffer)
    for k in range(1, rows.shape[0]):
        place(rows, k, q)
        move(rows, k, v[k - 1])
        push(rows, k, a[k - 1])
    return 0
