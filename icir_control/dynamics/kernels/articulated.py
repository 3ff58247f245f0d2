"""Forward dynamics: the acceleration under a torque, by the articulated-body algorithm.

Featherstone, table 7.1, in the coordinates of each body: in world axes the subtraction of large
numbers would cost half the digits on a long chain. A row's S is its axis, linear or angular; an
articulated inertia is [[A, B], [B^T, C]], linear part first.
"""

import numpy as np

from icir_control.compiled import inlined
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.checked import CheckedKernel, is_configuration, is_velocity
from icir_control.dynamics.kernels.forward import joint_placement, take_configuration
from icir_control.dynamics.kernels.layout import (
    gravity_field,
    index_at,
    matrix_of,
    rows_of,
    vector_of,
)
from icir_control.dynamics.kernels.vector import (
    ZERO,
    Matrix,
    Spatial,
    Symmetric,
    about_origin,
    add,
    add_matrix,
    add_spatial,
    add_symmetric,
    apply,
    apply_symmetric,
    apply_transposed,
    cross,
    cross_force,
    cross_motion,
    dot_spatial,
    force_out_of,
    load,
    load_matrix,
    load_spatial,
    load_symmetric,
    momentum,
    motion_in,
    multiply,
    outer,
    rotate_symmetric,
    scale,
    scale_spatial,
    square,
    store,
    store_matrix,
    store_spatial,
    store_symmetric,
    transpose,
)

Articulated = tuple[Symmetric, Matrix, Symmetric]
"""A, B and C of an articulated inertia."""


@inlined
def _subspace(rows: np.ndarray, k: int) -> Spatial:
    """Return S_k in the coordinates of row k."""
    axis = load(rows, k, at.AXIS)
    return (axis, ZERO) if rows[k, at.LINEAR] != 0.0 else (ZERO, axis)


@inlined
def _from_parent(rows: np.ndarray, work: np.ndarray, k: int, column: int) -> Spatial:
    """Return the parent row's motion that begins at `column`, in the coordinates of row k."""
    R, p = load_matrix(work, k, at.B_ROTATION), load(work, k, at.B_POSITION)
    return motion_in(R, p, load_spatial(work, index_at(rows, k, at.PARENT), column))


@inlined
def _load_articulated(work: np.ndarray, k: int) -> Articulated:
    return (
        load_symmetric(work, k, at.B_LINEAR),
        load_matrix(work, k, at.B_MIXED),
        load_symmetric(work, k, at.B_ANGULAR),
    )


@inlined
def _store_articulated(work: np.ndarray, k: int, I: Articulated) -> None:
    store_symmetric(work, k, at.B_LINEAR, I[0])
    store_matrix(work, k, at.B_MIXED, I[1])
    store_symmetric(work, k, at.B_ANGULAR, I[2])


@inlined
def _apply_articulated(I: Articulated, v: Spatial) -> Spatial:
    """Return I v = (A v + B w, B^T v + C w)."""
    A, B, C = I
    return (
        add(apply_symmetric(A, v[0]), apply(B, v[1])),
        add(apply_transposed(B, v[0]), apply_symmetric(C, v[1])),
    )


@inlined
def _move(
    rows: np.ndarray, work: np.ndarray, k: int, coordinates: np.ndarray, rate: float
) -> None:
    """Write placement in the parent, twist and bias acceleration of row k."""
    R, p = joint_placement(rows, k, coordinates)
    store_matrix(work, k, at.B_ROTATION, R)
    store(work, k, at.B_POSITION, p)
    v_parent = _from_parent(rows, work, k, at.B_TWIST)
    # The rows of a spherical or floating joint share one frame: what carries the first, carries
    # all of them.
    v_carried = v_parent
    if index_at(rows, k, at.MOTION) == at.FOLLOWS:
        v_carried = load_spatial(work, k - 1, at.B_CARRIED)
    store_spatial(work, k, at.B_CARRIED, v_carried)
    # v_k = X^-1 v_parent + S qd,  c_k = v_carried x S qd
    v_joint = scale_spatial(rate, _subspace(rows, k))
    store_spatial(work, k, at.B_TWIST, add_spatial(v_parent, v_joint))
    store_spatial(work, k, at.B_BIAS, cross_motion(v_carried, v_joint))


@inlined
def _start(rows: np.ndarray, work: np.ndarray, k: int) -> None:
    """Write row k's own inertia Y, and its bias force p = v x* (Y v)."""
    m, c = rows[k, at.MASS], load(rows, k, at.COM)
    s = scale(m, c)
    I = about_origin(load_symmetric(rows, k, at.INERTIA), s, c)
    # Y = [[m, -m [c]], [m [c], I]]
    mixed = ((0.0, s[2], -s[1]), (-s[2], 0.0, s[0]), (s[1], -s[0], 0.0))
    _store_articulated(work, k, ((m, 0.0, 0.0, m, 0.0, m), mixed, I))
    v = load_spatial(work, k, at.B_TWIST)
    store_spatial(work, k, at.B_WRENCH, cross_force(v, momentum((m, s, I), v)))


@inlined
def _eliminate(rows: np.ndarray, work: np.ndarray, k: int, tau: float) -> bool:
    """Write U, D and u / D of row k; tell whether it has an inertia to move."""
    S = _subspace(rows, k)
    # U = I S,  D = S . U,  u = tau - S . p
    U = _apply_articulated(_load_articulated(work, k), S)
    store_spatial(work, k, at.B_U, U)
    D = dot_spatial(S, U)
    work[k, at.B_D] = D
    work[k, at.B_RATIO] = (tau - dot_spatial(S, load_spatial(work, k, at.B_WRENCH))) / D
    return D > 0.0


@inlined
def _remaining(work: np.ndarray, k: int) -> tuple[Articulated, Spatial]:
    """Return what the parent feels of row k: I_a = I - U U^T / D, p_a = p + I_a c + U u / D."""
    U = load_spatial(work, k, at.B_U)
    A, B, C = _load_articulated(work, k)
    weight = -1.0 / work[k, at.B_D]
    I = (
        add_symmetric(A, square(weight, U[0])),
        add_matrix(B, outer(scale(weight, U[0]), U[1])),
        add_symmetric(C, square(weight, U[1])),
    )
    p = _apply_articulated(I, load_spatial(work, k, at.B_BIAS))
    p = add_spatial(load_spatial(work, k, at.B_WRENCH), p)
    return I, add_spatial(p, scale_spatial(work[k, at.B_RATIO], U))


@inlined
def _add_to_parent(rows: np.ndarray, work: np.ndarray, k: int) -> None:
    """Add to the parent what it feels of row k: I += X* I_a X^-1, p += X* p_a."""
    parent = index_at(rows, k, at.PARENT)
    (A, B, C), p = _remaining(work, k)
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
    A_parent, B_parent, C_parent = _load_articulated(work, parent)
    C = add_symmetric(add_symmetric(C, change), C_parent)
    _store_articulated(work, parent, (add_symmetric(A, A_parent), add_matrix(moved, B_parent), C))
    p = add_spatial(load_spatial(work, parent, at.B_WRENCH), force_out_of(R, r, p))
    store_spatial(work, parent, at.B_WRENCH, p)


@inlined
def _accelerate(rows: np.ndarray, work: np.ndarray, k: int) -> float:
    """Write the acceleration of row k, gravity taken as -field at the root, and return ddq_k."""
    # a' = X^-1 a_parent + c,  ddq = (u - U . a') / D,  a = a' + S ddq
    a = _from_parent(rows, work, k, at.B_ACCELERATION)
    a = add_spatial(a, load_spatial(work, k, at.B_BIAS))
    felt = dot_spatial(load_spatial(work, k, at.B_U), a)
    ddq = work[k, at.B_RATIO] - felt / work[k, at.B_D]
    a = add_spatial(a, scale_spatial(ddq, _subspace(rows, k)))
    store_spatial(work, k, at.B_ACCELERATION, a)
    return ddq


@CheckedKernel
def forward_dynamics(buffer: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> int:
    """Fill ddq; external forces lie in the buffer. Returns -k if row k has no inertia to move."""
    if not is_configuration(buffer, q):
        return 1
    if not is_velocity(buffer, v):
        return 2
    if not is_velocity(buffer, tau):
        return 3
    rows, coordinates = rows_of(buffer), take_configuration(buffer, q)
    n = rows.shape[0]
    work = matrix_of(buffer, at.H_WORK, n, at.B_STRIDE)
    external = matrix_of(buffer, at.H_EXTERNAL, n, 6)
    has_external = buffer[at.H_HAS_EXTERNAL] != 0.0
    for k in range(1, n):
        _move(rows, work, k, coordinates, v[k - 1])
        _start(rows, work, k)
        if has_external:
            for i in range(6):
                work[k, at.B_WRENCH + i] -= external[k, i]
    for k in range(n - 1, 0, -1):
        if not _eliminate(rows, work, k, tau[k - 1]):
            return -k
        if index_at(rows, k, at.PARENT) > 0:
            _add_to_parent(rows, work, k)
    store_spatial(work, 0, at.B_ACCELERATION, (scale(-1.0, gravity_field(buffer)), ZERO))
    ddq = vector_of(buffer, at.H_DDQ)
    for k in range(1, n):
        ddq[k - 1] = _accelerate(rows, work, k)
    return 0
