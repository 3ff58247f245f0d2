"""From the root to the leaves: placements, columns of J, twists, bias accelerations."""

import numpy as np

from icir_control.compiled import inlined
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.blocks import link, rows_of
from icir_control.dynamics.kernels.checks import is_configuration, is_velocity
from icir_control.dynamics.kernels.circle import circle_of
from icir_control.dynamics.kernels.entrance import Entry
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
def turn_free_joints(buffer: np.ndarray, q: np.ndarray) -> None:
    """Write the placements that quaternions give into the constants of their rows.

    So the loop over all rows, in `place`, has one formula for every joint and no branch.
    """
    if buffer[at.H_FREE] == 0.0:
        return
    rows = rows_of(buffer)
    for k in range(1, rows.shape[0]):
        motion = link(rows, k, at.MOTION)
        if motion != at.TURNS_FREELY and motion != at.MOVES_FREELY:
            continue
        i = link(rows, k, at.INDEX_Q)
        R, p = load_matrix(rows, k, at.BASE_TURN), load(rows, k, at.BASE_OFFSET)
        if motion == at.MOVES_FREELY:
            p = add(p, apply(R, (q[i], q[i + 1], q[i + 2])))
            i += 3
        R = multiply(R, quaternion_matrix(q[i], q[i + 1], q[i + 2], q[i + 3]))
        store_matrix(rows, k, at.TURN, R)
        store(rows, k, at.OFFSET, p)


@inlined
def prepare(buffer: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Prepare all joints for q: return cosines and sines, and turn the free joints."""
    turn_free_joints(buffer, q)
    return circle_of(buffer, q)


@inlined
def joint_placement(
    rows: np.ndarray, k: int, q: np.ndarray, circle: np.ndarray
) -> tuple[Matrix, Vector]:
    """Return the placement of row k in its parent row at q, after `prepare`.

    Turning and sliding are one formula, since Rodrigues' is linear in (1, cos q, sin q): what a
    row does not do has zeros for constants.
    """
    i = link(rows, k, at.INDEX_Q)
    # R_0 Rot(axis, q), and R_0 for a slide
    A = load_matrix(rows, k, at.TURN)
    B = load_matrix(rows, k, at.TURN_COS)
    C = load_matrix(rows, k, at.TURN_SIN)
    c, s = circle[0, i], circle[1, i]
    R = (
        add(A[0], add(scale(c, B[0]), scale(s, C[0]))),
        add(A[1], add(scale(c, B[1]), scale(s, C[1]))),
        add(A[2], add(scale(c, B[2]), scale(s, C[2]))),
    )
    # p_0 + R_0 axis q, and p_0 for a turn
    return R, add(load(rows, k, at.OFFSET), scale(q[i], load(rows, k, at.SLIDE)))


@inlined
def place(rows: np.ndarray, k: int, q: np.ndarray, circle: np.ndarray) -> tuple[Matrix, Vector]:
    """Place row k in the world and write its column of J, the parent being placed."""
    parent = link(rows, k, at.PARENT)
    R_parent = load_matrix(rows, parent, at.ROTATION)
    R_joint, p_joint = joint_placement(rows, k, q, circle)
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
    parent = link(rows, k, at.PARENT)
    bias = link(rows, k, at.BIAS)
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


@Entry
def placements(buffer: np.ndarray, q: np.ndarray) -> int:
    """Check q, then fill placements and columns of J."""
    if not is_configuration(buffer, q):
        return 1
    rows, circle = rows_of(buffer), prepare(buffer, q)
    for k in range(1, rows.shape[0]):
        place(rows, k, q, circle)
    return 0


@Entry
def velocities(buffer: np.ndarray, q: np.ndarray, v: np.ndarray) -> int:
    """Check q and v, then fill placements, columns of J, twists, accelerations at ddq = 0."""
    if not is_configuration(buffer, q):
        return 1
    if not is_velocity(buffer, v):
        return 2
    rows, circle = rows_of(buffer), prepare(buffer, q)
    for k in range(1, rows.shape[0]):
        place(rows, k, q, circle)
        move(rows, k, v[k - 1])
    return 0


@Entry
def accelerations(buffer: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> int:
    """Check q, v and a, then fill placements, columns of J, twists and accelerations."""
    if not is_configuration(buffer, q):
        return 1
    if not is_velocity(buffer, v):
        return 2
    if not is_velocity(buffer, a):
        return 3
    rows, circle = rows_of(buffer), prepare(buffer, q)
    for k in range(1, rows.shape[0]):
        place(rows, k, q, circle)
        move(rows, k, v[k - 1])
        push(rows, k, a[k - 1])
    return 0
