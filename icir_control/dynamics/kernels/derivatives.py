"""Derivatives of inverse and forward dynamics, and the Coriolis matrix, in closed form.

After Singh, Russell & Wensing, "Efficient Analytical Derivatives of Rigid-Body Dynamics Using
Spatial Vector Algebra" (2022), in world axes at the reference point. With the composite inertia Y,
force f and twice the Coriolis matrix B of all beyond row i, and for j the rows from i to the root,

    dtau_i/dq_j = J_i . (2B dJ_j + Y ddJ_j)      dtau_j/dq_i = J_j . (2B dJ_i + Y ddJ_i + J_i x f)
    dtau_i/dv_j = J_i . (2B J_j + Y eJ_j)        dtau_j/dv_i = J_j . (2B J_i + Y eJ_i)

where dJ = v_parent x J, ddJ = a_parent x J + v_parent x dJ, and eJ = dJ + J' with J' the rate of
the column. Of a body with twist (u, w), momentum (p, L) and inertia (m, s, I),

    2B = v x* Y - Y v x + (Y v) x* = [[0, -2 [p]], [0, A - [L]]]

with the symmetric A = [w] I - I [w] - [u] [s] - [s] [u]: 2B of bodies that move as one add as
(p, L, A).
"""

import numpy as np

from icir_control.compiled import inlined
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels import spatial as sp
from icir_control.dynamics.kernels import vector as vec
from icir_control.dynamics.kernels.centroidal import write_map
from icir_control.dynamics.kernels.checked import CheckedKernel, is_configuration, is_velocity
from icir_control.dynamics.kernels.composite import (
    add_composite_to_parent,
    clear_world,
    inertia_in_world,
    invert,
    solve_accelerations,
    subtract_multiple,
    write_mass_row,
)
from icir_control.dynamics.kernels.forward import accelerate, move, place, take_configuration
from icir_control.dynamics.kernels.inverse import add_wrench_to_parent, torque_of_row
from icir_control.dynamics.kernels.mimic import project, project_mass_matrix, project_square
from icir_control.dynamics.kernels.vector import Symmetric

Coriolis = tuple[sp.Spatial, Symmetric]
"""2B of a body: its momentum (p, L), and A."""


@inlined
def _coriolis_of(Y: sp.Inertia, v: sp.Spatial) -> Coriolis:
    """Return 2B of a body with inertia Y and twist v."""
    _, s, I = Y
    u, w = v
    # [w] I + ([w] I)^T, column by column of I
    x = vec.cross(w, (I[0], I[1], I[2]))
    y = vec.cross(w, (I[1], I[3], I[4]))
    z = vec.cross(w, (I[2], I[4], I[5]))
    # [u] [s] + [s] [u] = u s^T + s u^T - 2 (u . s) 1
    d = 2.0 * vec.dot(u, s)
    A = (
        2.0 * x[0] - 2.0 * u[0] * s[0] + d,
        y[0] + x[1] - u[0] * s[1] - u[1] * s[0],
        z[0] + x[2] - u[0] * s[2] - u[2] * s[0],
        2.0 * y[1] - 2.0 * u[1] * s[1] + d,
        z[1] + y[2] - u[1] * s[2] - u[2] * s[1],
        2.0 * z[2] - 2.0 * u[2] * s[2] + d,
    )
    return sp.momentum(Y, v), A


@inlined
def _apply(B: Coriolis, m: sp.Spatial) -> sp.Spatial:
    """Return 2B m of a motion."""
    (p, L), A = B
    angular = vec.subtract(vec.apply_symmetric(A, m[1]), vec.cross(L, m[1]))
    return vec.scale(-2.0, vec.cross(p, m[1])), angular


@inlined
def _apply_transposed(B: Coriolis, m: sp.Spatial) -> sp.Spatial:
    """Return (2B)^T m of a motion."""
    (p, L), A = B
    angular = vec.add(vec.apply_symmetric(A, m[1]), vec.cross(L, m[1]))
    return vec.ZERO, vec.add(angular, vec.scale(2.0, vec.cross(p, m[0])))


@inlined
def _load_coriolis(work: np.ndarray, k: int) -> Coriolis:
    return sp.load(work, k, at.D_MOMENTUM), vec.load_symmetric(work, k, at.D_SYMMETRIC)


@inlined
def _start(rows: np.ndarray, work: np.ndarray, k: int, Y: sp.Inertia) -> None:
    """Write row k's own inertia and 2B."""
    sp.store_inertia(rows, k, at.COMPOSITE, Y)
    momentum, A = _coriolis_of(Y, sp.load(rows, k, at.TWIST))
    sp.store(work, k, at.D_MOMENTUM, momentum)
    vec.store_symmetric(work, k, at.D_SYMMETRIC, A)


@inlined
def _write_column_rate(rows: np.ndarray, work: np.ndarray, k: int) -> None:
    """Write J' of row k, all rows having moved."""
    v = sp.load(rows, at.integer(rows, k, at.RATE), at.TWIST)
    sp.store(work, k, at.D_RATE, sp.cross_motion(v, sp.load(rows, k, at.COLUMN)))


@inlined
def _write_turns(rows: np.ndarray, work: np.ndarray, k: int) -> None:
    """Write dJ and ddJ of row k, what carries it having moved."""
    J, carrier = sp.load(rows, k, at.COLUMN), at.integer(rows, k, at.BIAS)
    v = sp.load(rows, carrier, at.TWIST)
    dJ = sp.cross_motion(v, J)
    ddJ = sp.cross_motion(sp.load(rows, carrier, at.ACCELERATION), J)
    sp.store(work, k, at.D_TURN, dJ)
    sp.store(work, k, at.D_TURN_RATE, sp.add(ddJ, sp.cross_motion(v, dJ)))


@inlined
def _add_to_parent(rows: np.ndarray, work: np.ndarray, k: int) -> None:
    """Add row k's composite inertia and 2B to its parent's."""
    parent = at.integer(rows, k, at.PARENT)
    add_composite_to_parent(rows, k)
    for i in range(at.D_MOMENTUM, at.D_SYMMETRIC + 6):
        work[parent, i] += work[k, i]


@inlined
def _prepare(
    buffer: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, has_a: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Move all rows, gravity taken as -field at the root; return rows and work.

    At ddq = 0 unless there is an acceleration.
    """
    rows, coordinates = take_configuration(buffer, q)
    clear_world(rows)
    n = rows.shape[0]
    work = at.matrix_of(buffer, at.H_SLOPES, n, at.D_STRIDE)
    work[0] = 0.0
    external = at.matrix_of(buffer, at.H_EXTERNAL, n, 6)
    has_external = buffer[at.H_HAS_EXTERNAL] != 0.0
    sp.store(rows, 0, at.ACCELERATION, (vec.scale(-1.0, at.gravity_field(buffer)), vec.ZERO))
    for k in range(1, n):
        R, p = place(rows, k, coordinates)
        twist, acceleration = move(rows, k, at.rate_of(rows, k, v))
        if has_a:
            acceleration = accelerate(rows, k, at.rate_of(rows, k, a))
        Y = inertia_in_world(rows, k, R, p)
        f = sp.body_force(Y, twist, acceleration)
        if has_external:
            f = sp.subtract(f, sp.force_out_of(R, p, sp.load(external, k, 0)))
        sp.store(rows, k, at.WRENCH, f)
        _start(rows, work, k, Y)
        if has_a:
            _write_turns(rows, work, k)
    for k in range(1, n):
        _write_column_rate(rows, work, k)
    return rows, work


@inlined
def _restore(buffer: np.ndarray, rows: np.ndarray) -> None:
    """Leave accelerations without gravity in the rows, as all others do."""
    for k in range(rows.shape[0]):
        for i in range(3):
            rows[k, at.ACCELERATION + i] += buffer[at.H_GRAVITY + i]


@inlined
def _differentiate_row(
    buffer: np.ndarray, rows: np.ndarray, work: np.ndarray, i: int, f: sp.Spatial, has_M: bool
) -> sp.Spatial:
    """Fill what tau, dtau_dq, dtau_dv and M have of row i and the rows from it to the root.

    Y and 2B are those of all beyond row i, and so is the wrench f. M is left alone where it is
    there already. Returns F = Y J_i.
    """
    M, tau = at.tree_square(buffer, at.H_M), at.tree_matrix(buffer, at.H_TAU, 1)[0]
    dq, dv = at.tree_square(buffer, at.H_DTAU_DQ), at.tree_square(buffer, at.H_DTAU_DV)
    Y, B = sp.load_inertia(rows, i, at.COMPOSITE), _load_coriolis(work, i)
    J, dJ = sp.load(rows, i, at.COLUMN), sp.load(work, i, at.D_TURN)
    tau[i - 1] = sp.dot(J, f)
    by_q = sp.add(_apply(B, dJ), sp.momentum(Y, sp.load(work, i, at.D_TURN_RATE)))
    turned = sp.add(by_q, sp.cross_force(J, f))
    both = sp.add(dJ, sp.load(work, i, at.D_RATE))
    by_v = sp.add(_apply(B, J), sp.momentum(Y, both))
    F, G = sp.momentum(Y, J), _apply_transposed(B, J)
    j = i
    while j > 0:
        J, dJ = sp.load(rows, j, at.COLUMN), sp.load(work, j, at.D_TURN)
        both = sp.add(dJ, sp.load(work, j, at.D_RATE))
        if not has_M:
            M[i - 1, j - 1] = M[j - 1, i - 1] = sp.dot(J, F)
        dq[i - 1, j - 1] = sp.dot(dJ, G) + sp.dot(sp.load(work, j, at.D_TURN_RATE), F)
        dv[i - 1, j - 1] = sp.dot(J, G) + sp.dot(both, F)
        # The rows of one quaternion turn with the body, as the force on it does.
        is_same = at.integer(rows, j, at.RATE) == at.integer(rows, i, at.RATE)
        dq[j - 1, i - 1] = sp.dot(J, by_q) if is_same else sp.dot(J, turned)
        dv[j - 1, i - 1] = sp.dot(J, by_v)
        j = at.integer(rows, j, at.PARENT)
    return F


@inlined
def _add_rotor(buffer: np.ndarray, rows: np.ndarray, i: int, a: np.ndarray) -> None:
    """Add to tau what accelerates the rotor of row i."""
    tau = at.tree_matrix(buffer, at.H_TAU, 1)[0]
    tau[i - 1] += rows[i, at.ARMATURE] * at.rate_of(rows, i, a)


@inlined
def _empty_derivatives(buffer: np.ndarray) -> None:
    at.empty_tree_square(buffer, at.H_DTAU_DQ)
    at.empty_tree_square(buffer, at.H_DTAU_DV)


@inlined
def _project_derivatives(buffer: np.ndarray) -> None:
    project(buffer, at.H_TAU, 1)
    project_square(buffer, at.H_DTAU_DQ)
    project_square(buffer, at.H_DTAU_DV)


@CheckedKernel
def inverse_dynamics_derivatives(
    buffer: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray
) -> int:
    """Fill tau, M, dtau_dq and dtau_dv; external forces lie in the buffer."""
    if not (is_configuration(buffer, q) and is_velocity(buffer, v) and is_velocity(buffer, a)):
        return 1
    rows, work = _prepare(buffer, q, v, a, True)
    M = at.empty_tree_square(buffer, at.H_M)
    _empty_derivatives(buffer)
    for i in range(rows.shape[0] - 1, 0, -1):
        _differentiate_row(buffer, rows, work, i, sp.load(rows, i, at.WRENCH), False)
        M[i - 1, i - 1] += rows[i, at.ARMATURE]
        _add_rotor(buffer, rows, i, a)
        _add_to_parent(rows, work, i)
        add_wrench_to_parent(rows, i)
    _restore(buffer, rows)
    project_mass_matrix(buffer)
    _project_derivatives(buffer)
    return 0


@inlined
def _solve(links: np.ndarray, L: np.ndarray, X: np.ndarray, Z: np.ndarray) -> None:
    """Turn X and Z into M^-1 X and M^-1 Z of the factor L; all columns at a time."""
    n = links.shape[0] - 1
    # L^T Y = X, from the leaves to the root, then L X = Y
    for k in range(n, 0, -1):
        x, z, factors = X[k - 1], Z[k - 1], L[k - 1]
        for c in range(n):
            x[c] *= factors[k - 1]
            z[c] *= factors[k - 1]
        j = at.integer(links, k, at.PARENT)
        while j > 0:
            subtract_multiple(X[j - 1], factors[j - 1], x)
            subtract_multiple(Z[j - 1], factors[j - 1], z)
            j = at.integer(links, j, at.PARENT)
    for k in range(1, n + 1):
        x, z, factors = X[k - 1], Z[k - 1], L[k - 1]
        j = at.integer(links, k, at.PARENT)
        while j > 0:
            subtract_multiple(x, factors[j - 1], X[j - 1])
            subtract_multiple(z, factors[j - 1], Z[j - 1])
            j = at.integer(links, j, at.PARENT)
        for c in range(n):
            x[c] *= factors[k - 1]
            z[c] *= factors[k - 1]


@inlined
def _accelerate_all(
    buffer: np.ndarray, rows: np.ndarray, work: np.ndarray, gained: np.ndarray
) -> None:
    """Bring ddq to the rows, which have moved without it, and to the wrench of all beyond each.

    What row k gains is e_k = e_parent + J_k ddq_k. All beyond it feels Y e_k, and F_j ddq_j for
    each row j there, which is collected in `gained` on the way back.
    """
    ddq = at.vector_of(buffer, at.H_DDQ)
    sp.store(gained, 0, at.B_ACCELERATION, (vec.ZERO, vec.ZERO))
    sp.store(gained, 0, at.B_WRENCH, (vec.ZERO, vec.ZERO))
    for k in range(1, rows.shape[0]):
        e = sp.scale(at.rate_of(rows, k, ddq), sp.load(rows, k, at.COLUMN))
        e = sp.add(sp.load(gained, at.integer(rows, k, at.PARENT), at.B_ACCELERATION), e)
        sp.store(gained, k, at.B_ACCELERATION, e)
        sp.store(gained, k, at.B_WRENCH, (vec.ZERO, vec.ZERO))
        sp.store(rows, k, at.ACCELERATION, sp.add(sp.load(rows, k, at.ACCELERATION), e))
        f = sp.momentum(sp.load_inertia(rows, k, at.COMPOSITE), e)
        sp.store(rows, k, at.WRENCH, sp.add(sp.load(rows, k, at.WRENCH), f))
        _write_turns(rows, work, k)


@CheckedKernel
def forward_dynamics_derivatives(
    buffer: np.ndarray, q: np.ndarray, v: np.ndarray, tau: np.ndarray
) -> int:
    """Fill ddq, Minv, ddq_dq and ddq_dv: those of inverse dynamics, times -M^-1.

    Returns -k if v_{k-1} has no inertia to move.
    """
    if not (is_configuration(buffer, q) and is_velocity(buffer, v) and is_velocity(buffer, tau)):
        return 1
    wanted = tau.copy()  # it may be what an earlier call left where the bias goes
    rows, work = _prepare(buffer, q, v, v, False)
    M, nle = at.empty_tree_square(buffer, at.H_M), at.tree_matrix(buffer, at.H_TAU, 1)[0]
    _empty_derivatives(buffer)
    for i in range(rows.shape[0] - 1, 0, -1):
        nle[i - 1] = torque_of_row(rows, i)
        write_mass_row(rows, i, M)
        _add_to_parent(rows, work, i)
        add_wrench_to_parent(rows, i)
    project_mass_matrix(buffer)
    project(buffer, at.H_TAU, 1)
    wrong = solve_accelerations(buffer, wanted, at.vector_of(buffer, at.H_TAU))
    if wrong != 0:
        return wrong
    ddq = at.vector_of(buffer, at.H_DDQ)
    gained = at.matrix_of(buffer, at.H_WORK, rows.shape[0], at.B_STRIDE)
    _accelerate_all(buffer, rows, work, gained)
    for i in range(rows.shape[0] - 1, 0, -1):
        beyond = sp.load(gained, i, at.B_WRENCH)
        f = sp.add(sp.load(rows, i, at.WRENCH), beyond)
        sp.store(rows, i, at.WRENCH, f)
        F = _differentiate_row(buffer, rows, work, i, f, True)
        _add_rotor(buffer, rows, i, ddq)
        parent = at.integer(rows, i, at.PARENT)
        beyond = sp.add(beyond, sp.scale(at.rate_of(rows, i, ddq), F))
        sp.store(gained, parent, at.B_WRENCH, sp.add(sp.load(gained, parent, at.B_WRENCH), beyond))
    _restore(buffer, rows)
    _project_derivatives(buffer)
    links, L = at.links_of(buffer), at.square_of(buffer, at.H_FACTOR)
    invert(links, L, at.square_of(buffer, at.H_MINV))
    by_q, by_v = at.square_of(buffer, at.H_DDQ_DQ), at.square_of(buffer, at.H_DDQ_DV)
    _negative(at.square_of(buffer, at.H_DTAU_DQ), by_q)
    _negative(at.square_of(buffer, at.H_DTAU_DV), by_v)
    _solve(links, L, by_q, by_v)
    return 0


@inlined
def _negative(X: np.ndarray, out: np.ndarray) -> None:
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            out[i, j] = -X[i, j]


@CheckedKernel
def coriolis_matrix(buffer: np.ndarray, q: np.ndarray, v: np.ndarray) -> int:
    """Fill C: C_ji = J_j . (Y J'_i + B J_i), with Y and B of all beyond the later row."""
    if not (is_configuration(buffer, q) and is_velocity(buffer, v)):
        return 1
    rows, work = _prepare(buffer, q, v, v, False)
    C = at.empty_tree_square(buffer, at.H_CORIOLIS)
    for i in range(rows.shape[0] - 1, 0, -1):
        Y, B = sp.load_inertia(rows, i, at.COMPOSITE), _load_coriolis(work, i)
        J = sp.load(rows, i, at.COLUMN)
        column = sp.momentum(Y, sp.load(work, i, at.D_RATE))
        column = sp.add(column, sp.scale(0.5, _apply(B, J)))
        F, G = sp.momentum(Y, J), sp.scale(0.5, _apply_transposed(B, J))
        j = i
        while j > 0:
            J = sp.load(rows, j, at.COLUMN)
            C[i - 1, j - 1] = sp.dot(sp.load(work, j, at.D_RATE), F) + sp.dot(J, G)
            C[j - 1, i - 1] = sp.dot(J, column)
            j = at.integer(rows, j, at.PARENT)
        _add_to_parent(rows, work, i)
    _restore(buffer, rows)
    project_square(buffer, at.H_CORIOLIS)
    return 0


@CheckedKernel
def centroidal_map_rate(buffer: np.ndarray, q: np.ndarray, v: np.ndarray) -> int:
    """Fill Ag and dAg: of F = Y J the rate is Y J' + (B + B^T) J, since Y' = v x* Y - Y v x."""
    if not (is_configuration(buffer, q) and is_velocity(buffer, v)):
        return 1
    rows, work = _prepare(buffer, q, v, v, False)
    for i in range(rows.shape[0] - 1, 0, -1):
        _add_to_parent(rows, work, i)
    write_map(buffer, rows)
    rates = at.tree_matrix(buffer, at.H_DAG, 6)
    share = 1.0 / rows[0, at.COMPOSITE]
    c = vec.scale(share, vec.load(rows, 0, at.COMPOSITE + 1))
    c_rate = vec.scale(share, vec.load(work, 0, at.D_MOMENTUM))
    for i in range(1, rows.shape[0]):
        Y, B = sp.load_inertia(rows, i, at.COMPOSITE), _load_coriolis(work, i)
        J = sp.load(rows, i, at.COLUMN)
        change = sp.scale(0.5, sp.add(_apply(B, J), _apply_transposed(B, J)))
        linear, angular = sp.add(sp.momentum(Y, sp.load(work, i, at.D_RATE)), change)
        F, _ = sp.momentum(Y, J)
        # (cX*_o F)': the moment is about c, which moves
        angular = vec.subtract(angular, vec.add(vec.cross(c_rate, F), vec.cross(c, linear)))
        rates[0, i - 1], rates[1, i - 1], rates[2, i - 1] = linear
        rates[3, i - 1], rates[4, i - 1], rates[5, i - 1] = angular
    _restore(buffer, rows)
    project(buffer, at.H_DAG, 6)
    return 0
