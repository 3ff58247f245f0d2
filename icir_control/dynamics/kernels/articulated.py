"""Forward dynamics: the acceleration under a torque, by the articulated-body algorithm.

Featherstone, table 7.1, in the coordinates of each body: in world axes the subtraction of large
numbers would cost half the digits on a long chain. A row's S is its axis, linear or angular; an
articulated inertia is [[A, B], [B^T, C]], linear part first.
"""

import numpy as np

from icir_control.compiled import inlined, kernel
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels import spatial as sp
from icir_control.dynamics.kernels import vector as vec
from icir_control.dynamics.kernels.checked import CheckedKernel, is_configuration, is_velocity
from icir_control.dynamics.kernels.composite import fill_mass_matrix, solve_accelerations
from icir_control.dynamics.kernels.forward import joint_placement, take_coordinates
from icir_control.dynamics.kernels.inverse import newton_euler
from icir_control.dynamics.kernels.vector import Matrix, Symmetric

Articulated = tuple[Symmetric, Matrix, Symmetric]
"""A, B and C of an articulated inertia."""


@inlined
def _subspace(rows: np.ndarray, k: int) -> sp.Spatial:
    """Return S_k in the coordinates of row k."""
    axis = vec.load(rows, k, at.AXIS)
    return (axis, vec.ZERO) if rows[k, at.LINEAR] != 0.0 else (vec.ZERO, axis)


@inlined
def _from_parent(rows: np.ndarray, work: np.ndarray, k: int, column: int) -> sp.Spatial:
    """Return the parent row's motion that begins at `column`, in the coordinates of row k."""
    R, p = vec.load_matrix(work, k, at.B_ROTATION), vec.load(work, k, at.B_POSITION)
    return sp.motion_in(R, p, sp.load(work, at.integer(rows, k, at.PARENT), column))


@inlined
def _load_articulated(work: np.ndarray, k: int) -> Articulated:
    return (
        vec.load_symmetric(work, k, at.B_LINEAR),
        vec.load_matrix(work, k, at.B_MIXED),
        vec.load_symmetric(work, k, at.B_ANGULAR),
    )


@inlined
def _store_articulated(work: np.ndarray, k: int, I: Articulated) -> None:
    vec.store_symmetric(work, k, at.B_LINEAR, I[0])
    vec.store_matrix(work, k, at.B_MIXED, I[1])
    vec.store_symmetric(work, k, at.B_ANGULAR, I[2])


@inlined
def _apply_articulated(I: Articulated, v: sp.Spatial) -> sp.Spatial:
    """Return I v = (A v + B w, B^T v + C w)."""
    A, B, C = I
    return (
        vec.add(vec.apply_symmetric(A, v[0]), vec.apply(B, v[1])),
        vec.add(vec.apply_transposed(B, v[0]), vec.apply_symmetric(C, v[1])),
    )


@inlined
def _move(
    rows: np.ndarray, work: np.ndarray, k: int, coordinates: np.ndarray, rate: float
) -> None:
    """Write placement in the parent, twist and bias acceleration of row k."""
    R, p = joint_placement(rows, k, coordinates)
    vec.store_matrix(work, k, at.B_ROTATION, R)
    vec.store(work, k, at.B_POSITION, p)
    v_parent = _from_parent(rows, work, k, at.B_TWIST)
    # The rows of a spherical or floating joint share one frame: what carries the first, carries
    # all of them.
    v_carried = v_parent
    if at.integer(rows, k, at.MOTION) == at.FOLLOWS:
        v_carried = sp.load(work, k - 1, at.B_CARRIED)
    sp.store(work, k, at.B_CARRIED, v_carried)
    # v_k = X^-1 v_parent + S qd,  c_k = v_carried x S qd
    v_joint = sp.scale(rate, _subspace(rows, k))
    sp.store(work, k, at.B_TWIST, sp.add(v_parent, v_joint))
    sp.store(work, k, at.B_BIAS, sp.cross_motion(v_carried, v_joint))


@inlined
def _start(rows: np.ndarray, work: np.ndarray, k: int) -> None:
    """Write row k's own inertia Y, and its bias force p = v x* (Y v)."""
    m, c = rows[k, at.MASS], vec.load(rows, k, at.COM)
    s = vec.scale(m, c)
    I = sp.about_origin(vec.load_symmetric(rows, k, at.INERTIA), s, c)
    # Y = [[m, -m [c]], [m [c], I]]
    mixed = ((0.0, s[2], -s[1]), (-s[2], 0.0, s[0]), (s[1], -s[0], 0.0))
    _store_articulated(work, k, ((m, 0.0, 0.0, m, 0.0, m), mixed, I))
    work[k, at.B_MASS], work[k, at.B_TRACE] = m, I[0] + I[3] + I[5]
    vec.store(work, k, at.B_MOMENT, s)
    v = sp.load(work, k, at.B_TWIST)
    sp.store(work, k, at.B_WRENCH, sp.cross_force(v, sp.momentum((m, s, I), v)))


@inlined
def _eliminate(rows: np.ndarray, work: np.ndarray, k: int, tau: float) -> bool:
    """Write U, D and u / D of row k; tell whether it has an inertia to move.

    D is what is left of the inertia of all beyond the row after all those rows gave way: to
    round-off, where there is none. What it is compared with is therefore the whole inertia.
    """
    S = _subspace(rows, k)
    # U = I S,  D = S . U,  u = tau - S . p
    I = _load_articulated(work, k)
    U = _apply_articulated(I, S)
    sp.store(work, k, at.B_U, U)
    D = sp.dot(S, U) + rows[k, at.ARMATURE]
    work[k, at.B_D] = D
    work[k, at.B_RATIO] = (tau - sp.dot(S, sp.load(work, k, at.B_WRENCH))) / D
    whole = work[k, at.B_MASS] if rows[k, at.LINEAR] != 0.0 else work[k, at.B_TRACE]
    return at.NEGLIGIBLE * whole < D


@inlined
def _remaining(work: np.ndarray, k: int) -> tuple[Articulated, sp.Spatial]:
    """Return what the parent feels of row k: I_a = I - U U^T / D, p_a = p + I_a c + U u / D."""
    U = sp.load(work, k, at.B_U)
    A, B, C = _load_articulated(work, k)
    weight = -1.0 / work[k, at.B_D]
    I = (
        vec.add_symmetric(A, vec.square(weight, U[0])),
        vec.add_matrix(B, vec.outer(vec.scale(weight, U[0]), U[1])),
        vec.add_symmetric(C, vec.square(weight, U[1])),
    )
    p = _apply_articulated(I, sp.load(work, k, at.B_BIAS))
    p = sp.add(sp.load(work, k, at.B_WRENCH), p)
    return I, sp.add(p, sp.scale(work[k, at.B_RATIO], U))


@inlined
def _add_to_parent(rows: np.ndarray, work: np.ndarray, k: int) -> None:
    """Add to the parent what it feels of row k: I += X* I_a X^-1, p += X* p_a."""
    parent = at.integer(rows, k, at.PARENT)
    (A, B, C), p = _remaining(work, k)
    R, r = vec.load_matrix(work, k, at.B_ROTATION), vec.load(work, k, at.B_POSITION)
    # Turned into the parent's axes ...
    A, C = vec.rotate_symmetric(R, A), vec.rotate_symmetric(R, C)
    B = vec.multiply(vec.multiply(R, B), vec.transpose(R))
    # ... and moved by r: B' = B - A [r],  C' = C - B^T [r] + [r] B'
    # Row i of -A [r] is r x (row i of A), and column j of [r] B' is r x (column j of B').
    shift = (
        vec.cross(r, (A[0], A[1], A[2])),
        vec.cross(r, (A[1], A[3], A[4])),
        vec.cross(r, (A[2], A[4], A[5])),
    )
    moved = vec.add_matrix(B, shift)
    old, new = vec.transpose(B), vec.transpose(moved)
    x, y, z = vec.cross(r, old[0]), vec.cross(r, old[1]), vec.cross(r, old[2])
    a, b, c = vec.cross(r, new[0]), vec.cross(r, new[1]), vec.cross(r, new[2])
    change = (x[0] + a[0], x[1] + b[0], x[2] + c[0], y[1] + b[1], y[2] + c[1], z[2] + c[2])
    A_parent, B_parent, C_parent = _load_articulated(work, parent)
    C = vec.add_symmetric(vec.add_symmetric(C, change), C_parent)
    _store_articulated(
        work, parent, (vec.add_symmetric(A, A_parent), vec.add_matrix(moved, B_parent), C)
    )
    p = sp.add(sp.load(work, parent, at.B_WRENCH), sp.force_out_of(R, r, p))
    sp.store(work, parent, at.B_WRENCH, p)
    m, s = work[k, at.B_MASS], vec.apply(R, vec.load(work, k, at.B_MOMENT))
    moved_trace = work[k, at.B_TRACE] + 4.0 * vec.dot(r, s) + 2.0 * m * vec.dot(r, r)
    work[parent, at.B_MASS] += m
    work[parent, at.B_TRACE] += moved_trace
    s = vec.add(s, vec.scale(m, r))
    vec.store(work, parent, at.B_MOMENT, vec.add(vec.load(work, parent, at.B_MOMENT), s))


@inlined
def _accelerate(rows: np.ndarray, work: np.ndarray, k: int) -> float:
    """Write the acceleration of row k, gravity taken as -field at the root, and return ddq_k."""
    # a' = X^-1 a_parent + c,  ddq = (u - U . a') / D,  a = a' + S ddq
    a = _from_parent(rows, work, k, at.B_ACCELERATION)
    a = sp.add(a, sp.load(work, k, at.B_BIAS))
    felt = sp.dot(sp.load(work, k, at.B_U), a)
    ddq = work[k, at.B_RATIO] - felt / work[k, at.B_D]
    a = sp.add(a, sp.scale(ddq, _subspace(rows, k)))
    sp.store(work, k, at.B_ACCELERATION, a)
    return ddq


@kernel
def _solve_accelerations(buffer: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> int:
    """Fill ddq = M^-1 (tau - nle + J^T f)."""
    wanted = tau.copy()  # it may be an earlier ddq, where the bias goes
    newton_euler(buffer, q, v, v, False, at.H_DDQ)
    fill_mass_matrix(buffer, q)
    return solve_accelerations(buffer, wanted, at.vector_of(buffer, at.H_DDQ))


@CheckedKernel
def forward_dynamics(buffer: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray) -> int:
    """Fill ddq; external forces lie in the buffer. Returns -k if v_{k-1} has no inertia to move.

    With mimic joints M is filled too, and the tree is placed and moved: there the recursion does
    not hold, since a row's force depends on what moves elsewhere.
    """
    if not (is_configuration(buffer, q) and is_velocity(buffer, v) and is_velocity(buffer, tau)):
        return 1
    if buffer[at.H_MIMICS] != 0.0:
        return _solve_accelerations(buffer, q, v, tau)
    rows, coordinates = at.rows_of(buffer), take_coordinates(buffer, q)
    n = rows.shape[0]
    work = at.matrix_of(buffer, at.H_WORK, n, at.B_STRIDE)
    external = at.matrix_of(buffer, at.H_EXTERNAL, n, 6)
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
        if at.integer(rows, k, at.PARENT) > 0:
            _add_to_parent(rows, work, k)
    sp.store(work, 0, at.B_ACCELERATION, (vec.scale(-1.0, at.gravity_field(buffer)), vec.ZERO))
    ddq = at.vector_of(buffer, at.H_DDQ)
    for k in range(1, n):
        ddq[k - 1] = _accelerate(rows, work, k)
    return 0
