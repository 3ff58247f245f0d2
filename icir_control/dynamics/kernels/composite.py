"""From the leaves to the root: composite inertias, and by them M, its inverse, and g."""

from math import sqrt

import numpy as np

from icir_control.compiled import inlined
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels import spatial as sp
from icir_control.dynamics.kernels import vector as vec
from icir_control.dynamics.kernels.checked import CheckedKernel, is_configuration
from icir_control.dynamics.kernels.forward import place, take_configuration
from icir_control.dynamics.kernels.mimic import project, project_mass_matrix
from icir_control.dynamics.kernels.vector import Matrix, Vector
from icir_control.spatial.kernels import copy_matrix

ROUNDING = 1e-15
"""Of an inertia at the reference point, what rounding leaves of one about another axis."""


@inlined
def inertia_in_world(rows: np.ndarray, k: int, R: Matrix, p: Vector) -> sp.Inertia:
    """Return row k's own inertia at the reference point."""
    m = rows[k, at.MASS]
    # c_world = R c + p
    c = vec.add(vec.apply(R, vec.load(rows, k, at.COM)), p)
    # R I R^T, about the centre of mass
    I = vec.rotate_symmetric(R, vec.load_symmetric(rows, k, at.INERTIA))
    s = vec.scale(m, c)
    return m, s, sp.about_origin(I, s, c)


@inlined
def clear_world(rows: np.ndarray) -> None:
    """Empty what the world's row is about to collect: composite inertia and wrench."""
    for i in range(at.COMPOSITE, at.WRENCH + 6):
        rows[0, i] = 0.0


@inlined
def place_with_inertia(buffer: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Place all rows, write the inertia of each, and return the rows."""
    rows, coordinates = take_configuration(buffer, q)
    clear_world(rows)
    for k in range(1, rows.shape[0]):
        R, p = place(rows, k, coordinates)
        sp.store_inertia(rows, k, at.COMPOSITE, inertia_in_world(rows, k, R, p))
    return rows


@inlined
def add_composite_to_parent(rows: np.ndarray, k: int) -> None:
    """Add the composite inertia of row k to its parent's: Y_parent += Y_k, all at one point."""
    parent = at.integer(rows, k, at.PARENT)
    for i in range(at.COMPOSITE, at.WRENCH):
        rows[parent, i] += rows[k, i]


@inlined
def composite_momentum(rows: np.ndarray, k: int) -> sp.Spatial:
    """Return F_k = Y_k J_k: the momentum of all beyond row k at unit speed of row k."""
    return sp.momentum(sp.load_inertia(rows, k, at.COMPOSITE), sp.load(rows, k, at.COLUMN))


@inlined
def write_mass_row(rows: np.ndarray, k: int, M: np.ndarray) -> None:
    """Write row and column k of M: M_jk = J_j . F_k for k and all before it (Featherstone 6.2).

    What does not turn against any inertia gets M_kk = 0, and not what rounding leaves of it.
    """
    F = composite_momentum(rows, k)
    value, at_reference = sp.dot(sp.load(rows, k, at.COLUMN), F), at.COMPOSITE + 4
    trace = rows[k, at_reference] + rows[k, at_reference + 3] + rows[k, at_reference + 5]
    if rows[k, at.LINEAR] == 0.0 and abs(value) < ROUNDING * trace:
        value = 0.0
    M[k - 1, k - 1] = value + rows[k, at.ARMATURE]
    j = at.integer(rows, k, at.PARENT)
    while j > 0:
        value = sp.dot(sp.load(rows, j, at.COLUMN), F)
        M[k - 1, j - 1] = value
        M[j - 1, k - 1] = value
        j = at.integer(rows, j, at.PARENT)


@inlined
def gravity_of_row(rows: np.ndarray, k: int, field: Vector) -> float:
    """Return g_k = - J_k . (m field, s x field), of all beyond row k."""
    s = vec.load(rows, k, at.COMPOSITE + 1)
    force = vec.dot(vec.load(rows, k, at.COLUMN), field)
    moment = vec.dot(vec.load(rows, k, at.COLUMN + 3), vec.cross(s, field))
    return -rows[k, at.COMPOSITE] * force - moment


@inlined
def fill_mass_matrix(buffer: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Fill M by the composite-rigid-body algorithm (Featherstone, table 6.2), and return it."""
    rows, M = place_with_inertia(buffer, q), at.empty_tree_square(buffer, at.H_M)
    for k in range(rows.shape[0] - 1, 0, -1):
        write_mass_row(rows, k, M)
        add_composite_to_parent(rows, k)
    project_mass_matrix(buffer)
    return at.mass_matrix_of(buffer)


@CheckedKernel
def mass_matrix(buffer: np.ndarray, q: np.ndarray) -> int:
    """Check q, then fill M."""
    if not is_configuration(buffer, q):
        return 1
    fill_mass_matrix(buffer, q)
    return 0


@CheckedKernel
def gravity_torque(buffer: np.ndarray, q: np.ndarray) -> int:
    """Fill g: what holds the tree still."""
    if not is_configuration(buffer, q):
        return 1
    rows = place_with_inertia(buffer, q)
    g, field = at.tree_matrix(buffer, at.H_G, 1)[0], at.gravity_field(buffer)
    for k in range(rows.shape[0] - 1, 0, -1):
        g[k - 1] = gravity_of_row(rows, k, field)
        add_composite_to_parent(rows, k)
    project(buffer, at.H_G, 1)
    return 0


@CheckedKernel
def inverse_mass_matrix(buffer: np.ndarray, q: np.ndarray) -> int:
    """Fill M and Minv; returns -k if v_{k-1} has no inertia to move."""
    if not is_configuration(buffer, q):
        return 1
    M, links = fill_mass_matrix(buffer, q), at.links_of(buffer)
    L = at.square_of(buffer, at.H_FACTOR)
    copy_matrix(M, L)
    wrong = factorize(links, M, L)
    if wrong != 0:
        return wrong
    invert(links, L, at.square_of(buffer, at.H_MINV))
    return 0


@inlined
def factorize(links: np.ndarray, M: np.ndarray, L: np.ndarray) -> int:
    """Turn M, which L holds, into L with M = L^T L; return -k if row k has no inertia.

    `links` are those of `layout.links_of`.

    The factor keeps the zeros of the tree (Featherstone, table 6.3). The diagonal holds 1 / L_kk,
    since a product takes a fifth of the time of a quotient.
    """
    for k in range(links.shape[0] - 1, 0, -1):
        if not L[k - 1, k - 1] > at.NEGLIGIBLE * M[k - 1, k - 1]:
            return -k
        L[k - 1, k - 1] = 1.0 / sqrt(L[k - 1, k - 1])
        i = at.integer(links, k, at.PARENT)
        while i > 0:
            L[k - 1, i - 1] *= L[k - 1, k - 1]
            i = at.integer(links, i, at.PARENT)
        i = at.integer(links, k, at.PARENT)
        while i > 0:
            j = i
            while j > 0:
                L[i - 1, j - 1] -= L[k - 1, i - 1] * L[k - 1, j - 1]
                j = at.integer(links, j, at.PARENT)
            i = at.integer(links, i, at.PARENT)
    return 0


@inlined
def invert(links: np.ndarray, L: np.ndarray, inverse: np.ndarray) -> None:
    """Write X = M^-1 = L^-1 L^-T, row by row.

    L X = L^-T, whose row k is 0 before its diagonal, and there 1 / L_kk: of row k all before the
    diagonal follows from the rows before, and the rest is known by symmetry.
    """
    n = links.shape[0]
    for k in range(1, n):
        row, factors, d = inverse[k - 1, :k], L[k - 1], L[k - 1, k - 1]
        row[:] = 0.0
        j = at.integer(links, k, at.PARENT)
        while j > 0:
            subtract_multiple(row, factors[j - 1], inverse[j - 1])
            j = at.integer(links, j, at.PARENT)
        diagonal = d
        j = at.integer(links, k, at.PARENT)
        for c in range(k - 1):
            row[c] *= d
            inverse[c, k - 1] = row[c]
        while j > 0:
            diagonal -= factors[j - 1] * row[j - 1]
            j = at.integer(links, j, at.PARENT)
        row[k - 1] = diagonal * d


@inlined
def subtract_multiple(x: np.ndarray, factor: float, y: np.ndarray) -> None:
    """Write x -= factor y; of rows, not of elements, the compiler makes vector code."""
    for c in range(x.size):
        x[c] -= factor * y[c]


@inlined
def solve(links: np.ndarray, L: np.ndarray, x: np.ndarray) -> None:
    """Turn x into M^-1 x, of the factor L that `factorize` leaves."""
    # L^T y = x, from the leaves to the root, then L x = y
    for k in range(x.size, 0, -1):
        x[k - 1] *= L[k - 1, k - 1]
        j = at.integer(links, k, at.PARENT)
        while j > 0:
            x[j - 1] -= L[k - 1, j - 1] * x[k - 1]
            j = at.integer(links, j, at.PARENT)
    for k in range(1, x.size + 1):
        j = at.integer(links, k, at.PARENT)
        while j > 0:
            x[k - 1] -= L[k - 1, j - 1] * x[j - 1]
            j = at.integer(links, j, at.PARENT)
        x[k - 1] *= L[k - 1, k - 1]


@inlined
def solve_accelerations(buffer: np.ndarray, tau: np.ndarray, bias: np.ndarray) -> int:
    """Fill the factor of M, and ddq = M^-1 (tau - bias); `bias` may lie in the place of ddq.

    Returns -k if v_{k-1} has no inertia to move.
    """
    M, links, L = at.mass_matrix_of(buffer), at.links_of(buffer), at.square_of(buffer, at.H_FACTOR)
    copy_matrix(M, L)
    wrong = factorize(links, M, L)
    if wrong != 0:
        return wrong
    ddq = at.vector_of(buffer, at.H_DDQ)
    for i in range(ddq.size):
        ddq[i] = tau[i] - bias[i]
    solve(links, L, ddq)
    return 0
