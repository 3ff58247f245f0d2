"""Forward dynamics: the acceleration under a torque, by the articulated-body algorithm.

Featherstone, table 7.1, in the coordinates of each body: in world axes the subtraction of large
numbers would cost half the digits on a long chain. A row's S is its axis, linear or angular; an
inertia is [[A, B], [B^T, C]], linear part first.
"""

import numpy as np

from icir_control.compiled import inlined
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.blocks import gravity_field, link, matrix_of, rows_of, vector_of
from icir_control.dynamics.kernels.checks import is_configuration, is_velocity
from icir_control.dynamics.kernels.entrance import Entry
from icir_control.dynamics.kernels.forward import joint_placement, prepare
from icir_control.dynamics.kernels.inertia import about_origin, momentum
from icir_control.dynamics.kernels.vector import (
    Matrix,
    Symmetric,
    Vector,
    add,
    add_matrix,
    add_symmetric,
    apply,
    apply_symmetric,
    apply_transposed,
    cross,
    dot,
    load,
    load_matrix,
    load_symmetric,
    multiply,
    outer,
    rotate_symmetric,
    scale,
    square,
    store,
    store_matrix,
    store_symmetric,
    transpose,
)


@inlined
def _to_row(work: np.ndarray, k: int, linear: Vector, angular: Vector) -> tuple[Vector, Vector]:
    """Return a motion of the parent row in the coordinates of row k: X^-1 v."""
    R, p = load_matrix(work, k, at.B_ROTATION), load(work, k, at.B_POSITION)
    linear = apply_transposed(R, add(linear, cross(angular, p)))
    return linear, apply_transposed(R, angular)


@inlined
def _subspace(rows: np.ndarray, k: int) -> tuple[Vector, Vector]:
    """Return S_k in the coordinates of row k."""
    axis, zero = load(rows, k, at.AXIS), (0.0, 0.0, 0.0)
    return (axis, zero) if rows[k, at.LINEAR] != 0.0 else (zero, axis)


@inlined
def _move(
    rows: np.ndarray, work: np.ndarray, k: int, q: np.ndarray, circle: np.ndarray, rate: float
) -> None:
    """Write placement in the parent, twist and bias acceleration of row k."""
    parent = link(rows, k, at.PARENT)
    R, p = joint_placement(rows, k, q, circle)
    store_matrix(work, k, at.B_ROTATION, R)
    store(work, k, at.B_POSITION, p)
    linear, angular = _to_row(
        work, k, load(work, parent, at.B_TWIST), load(work, parent, at.B_TWIST + 3)
    )
    # The rows of a free joint share one frame, and are all carried by what carries the first.
    c_linear, c_angular = linear, angular
    if link(rows, k, at.MOTION) == at.FOLLOWS:
        c_linear, c_angular = load(work, k - 1, at.B_CARRIED), load(work, k - 1, at.B_CARRIED + 3)
    store(work, k, at.B_CARRIED, c_linear)
    store(work, k, at.B_CARRIED + 3, c_angular)
    # v_k = X^-1 v_parent + S qd,  c_k = v_carried x S qd
    s_linear, s_angular = _subspace(rows, k)
    s_linear, s_angular = scale(rate, s_linear), scale(rate, s_angular)
    store(work, k, at.B_TWIST, add(linear, s_linear))
    store(work, k, at.B_TWIST + 3, add(angular, s_angular))
    turn = add(cross(c_linear, s_angular), cross(c_angular, s_linear))
    store(work, k, at.B_BIAS, turn)
    store(work, k, at.B_BIAS + 3, cross(c_angular, s_angular))


@inlined
def _start(rows: np.ndarray, work: np.ndarray, k: int) -> None:
    """Write row k's own inertia Y, and its bias force p = v x* (Y v)."""
    m, c = rows[k, at.MASS], load(rows, k, at.COM)
    s = scale(m, c)
    I = about_origin(load_symmetric(rows, k, at.INERTIA), s, c)
    # Y = [[m, -m [c]], [m [c], I]]
    store_symmetric(work, k, at.B_LINEAR, (m, 0.0, 0.0, m, 0.0, m))
    mixed = ((0.0, s[2], -s[1]), (-s[2], 0.0, s[0]), (s[1], -s[0], 0.0))
    store_matrix(work, k, at.B_MIXED, mixed)
    store_symmetric(work, k, at.B_ANGULAR, I)
    linear, angular = load(work, k, at.B_TWIST), load(work, k, at.B_TWIST + 3)
    h_linear, h_angular = momentum(m, s, I, linear, angular)
    store(work, k, at.B_WRENCH, cross(angular, h_linear))
    turn = add(cross(angular, h_angular), cross(linear, h_linear))
    store(work, k, at.B_WRENCH + 3, turn)


@inlined
def _push(work: np.ndarray, k: int, external: np.ndarray) -> None:
    """Subtract the external force on row k, in its own frame, from its bias force."""
    for i in range(6):
        work[k, at.B_WRENCH + i] -= external[k, i]


@inlined
def _eliminate(rows: np.ndarray, work: np.ndarray, k: int, tau: float) -> bool:
    """Write U, D and u of row k; tell whether it has an inertia to move."""
    s_linear, s_angular = _subspace(rows, k)
    A = load_symmetric(work, k, at.B_LINEAR)
    B = load_matrix(work, k, at.B_MIXED)
    C = load_symmetric(work, k, at.B_ANGULAR)
    # U = I S
    u_linear = add(apply_symmetric(A, s_linear), apply(B, s_angular))
    u_angular = add(apply_transposed(B, s_linear), apply_symmetric(C, s_angular))
    store(work, k, at.B_U, u_linear)
    store(work, k, at.B_U + 3, u_angular)
    # D = S . U,  u = tau - S . p
    D = dot(s_linear, u_linear) + dot(s_angular, u_angular)
    p = dot(s_linear, load(work, k, at.B_WRENCH)) + dot(s_angular, load(work, k, at.B_WRENCH + 3))
    work[k, at.B_D] = D
    work[k, at.B_RATIO] = (tau - p) / D
    return D > 0.0


@inlined
def _remaining(work: np.ndarray, k: int) -> tuple[Symmetric, Matrix, Symmetric, Vector, Vector]:
    """Return what the parent feels of row k: I_a = I - U U^T / D, p_a = p + I_a c + U u / D."""
    u_linear, u_angular = load(work, k, at.B_U), load(work, k, at.B_U + 3)
    A = load_symmetric(work, k, at.B_LINEAR)
    B = load_matrix(work, k, at.B_MIXED)
    C = load_symmetric(work, k, at.B_ANGULAR)
    weight = -1.0 / work[k, at.B_D]
    A = add_symmetric(A, square(weight, u_linear))
    B = add_matrix(B, outer(scale(weight, u_linear), u_angular))
    C = add_symmetric(C, square(weight, u_angular))
    c_linear, c_angular = load(work, k, at.B_BIAS), load(work, k, at.B_BIAS + 3)
    ratio = work[k, at.B_RATIO]
    p_linear = add(apply_symmetric(A, c_linear), apply(B, c_angular))
    p_linear = add(add(load(work, k, at.B_WRENCH), p_linear), scale(ratio, u_linear))
    p_angular = add(apply_transposed(B, c_linear), apply_symmetric(C, c_angular))
    p_angular = add(add(load(work, k, at.B_WRENCH + 3), p_angular), scale(ratio, u_angular))
    return A, B, C, p_linear, p_angular


@inlined
def _hand_over(rows: np.ndarray, work: np.ndarray, k: int) -> None:
    """Add to the parent what it feels of row k: I += X* I_a X^-1, p += X* p_a."""
    parent = link(rows, k, at.PARENT)
    A, B, C, p_linear, p_angular = _remaining(work, k)
    R, r = load_matrix(work, k, at.B_ROTATION), load(work, k, at.B_POSITION)
    # Turned into the parent's axes ...
    A, C = rotate_symmetric(R, A), rotate_symmetric(R, C)
    B = multiply(multiply(R, B), transpose(R))
    # ... and moved by r: B' = B - A [r],  C' = C - B^T [r] + [r] B'
    # Row i of -A [r] is r x (row i of A), and column j of [r] B' is r x (column j of B').
    shift = (
        cross(r, (A[0], A[1], A[2])),
        cross(r, (A[1], A[3], A[4])),
        cross(r, (A[2], A[4], A[5])),
    )
    moved = add_matrix(B, shift)
    old, new = transpose(B), transpose(moved)
    x, y, z = cross(r, old[0]), cross(r, old[1]), cross(r, old[2])
    a, b, c = cross(r, new[0]), cross(r, new[1]), cross(r, new[2])
    change = (x[0] + a[0], x[1] + b[0], x[2] + c[0], y[1] + b[1], y[2] + c[1], z[2] + c[2])
    C = add_symmetric(C, change)
    A = add_symmetric(A, load_symmetric(work, parent, at.B_LINEAR))
    moved = add_matrix(moved, load_matrix(work, parent, at.B_MIXED))
    C = add_symmetric(C, load_symmetric(work, parent, at.B_ANGULAR))
    store_symmetric(work, parent, at.B_LINEAR, A)
    store_matrix(work, parent, at.B_MIXED, moved)
    store_symmetric(work, parent, at.B_ANGULAR, C)
    p_linear, p_angular = apply(R, p_linear), apply(R, p_angular)
    p_angular = add(p_angular, cross(r, p_linear))
    store(work, parent, at.B_WRENCH, add(load(work, parent, at.B_WRENCH), p_linear))
    p_angular = add(load(work, parent, at.B_WRENCH + 3), p_angular)
    store(work, parent, at.B_WRENCH + 3, p_angular)


@inlined
def _accelerate(rows: np.ndarray, work: np.ndarray, k: int) -> float:
    """Write the acceleration of row k, gravity taken as -field at the root, and return ddq_k."""
    parent = link(rows, k, at.PARENT)
    linear, angular = (
        load(work, parent, at.B_ACCELERATION),
        load(work, parent, at.B_ACCELERATION + 3),
    )
    # a' = X^-1 a_parent + c
    linear, angular = _to_row(work, k, linear, angular)
    linear = add(linear, load(work, k, at.B_BIAS))
    angular = add(angular, load(work, k, at.B_BIAS + 3))
    # ddq = (u - U . a') / D,  a = a' + S ddq
    felt = dot(load(work, k, at.B_U), linear) + dot(load(work, k, at.B_U + 3), angular)
    ddq = work[k, at.B_RATIO] - felt / work[k, at.B_D]
    s_linear, s_angular = _subspace(rows, k)
    store(work, k, at.B_ACCELERATION, add(linear, scale(ddq, s_linear)))
    store(work, k, at.B_ACCELERATION + 3, add(angular, scale(ddq, s_angular)))
    return ddq


@Entry
def forward_dynamics(buffer: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> int:
    """Fill ddq; external forces lie in the buffer. Returns -k if row k has no inertia to move."""
    if not is_configuration(buffer, q):
        return 1
    if not is_velocity(buffer, v):
        return 2
    if not is_velocity(buffer, tau):
        return 3
    rows, circle = rows_of(buffer), prepare(buffer, q)
    n = rows.shape[0]
    work = matrix_of(buffer, at.H_WORK, n, at.B_STRIDE)
    external = matrix_of(buffer, at.H_EXTERNAL, n, 6)
    pushed = buffer[at.H_PUSHED] != 0.0
    for k in range(1, n):
        _move(rows, work, k, q, circle, v[k - 1])
        _start(rows, work, k)
        if pushed:
            _push(work, k, external)
    for k in range(n - 1, 0, -1):
        if not _eliminate(rows, work, k, tau[k - 1]):
            return -k
        if link(rows, k, at.PARENT) > 0:
            _hand_over(rows, work, k)
    store(work, 0, at.B_ACCELERATION, scale(-1.0, gravity_field(buffer)))
    ddq = vector_of(buffer, at.H_DDQ)
    for k in range(1, n):
        ddq[k - 1] = _accelerate(rows, work, k)
    return 0
