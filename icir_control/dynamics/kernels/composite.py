"""From the leaves to the root: composite inertias, and by them M and g."""

import numpy as np

from icir_control.compiled import inlined
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.blocks import gravity_field, link, matrix_of, rows_of, vector_of
from icir_control.dynamics.kernels.checks import is_configuration
from icir_control.dynamics.kernels.entrance import Entry
from icir_control.dynamics.kernels.forward import place, prepare
from icir_control.dynamics.kernels.inertia import (
    inertia_in_world,
    load_composite,
    momentum,
    store_composite,
)
from icir_control.dynamics.kernels.vector import Vector, cross, dot, load


@inlined
def clear_world(rows: np.ndarray) -> None:
    """Empty what the world's row is about to collect: composite inertia and wrench."""
    for i in range(at.COMPOSITE, at.WRENCH + 6):
        rows[0, i] = 0.0


@inlined
def place_with_inertia(buffer: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Place all rows, write the inertia of each, and return the rows."""
    rows, circle = rows_of(buffer), prepare(buffer, q)
    clear_world(rows)
    for k in range(1, rows.shape[0]):
        R, p = place(rows, k, q, circle)
        m, s, I = inertia_in_world(rows, k, R, p)
        store_composite(rows, k, m, s, I)
    return rows


@inlined
def add_composite_to_parent(rows: np.ndarray, k: int) -> None:
    """Add the composite inertia of row k to its parent's: Y_parent += Y_k, all at one point."""
    parent = link(rows, k, at.PARENT)
    for i in range(at.COMPOSITE, at.WRENCH):
        rows[parent, i] += rows[k, i]


@inlined
def composite_momentum(rows: np.ndarray, k: int) -> tuple[Vector, Vector]:
    """Return F_k = Y_k J_k: the momentum of all beyond row k at unit speed of row k."""
    m, s, I = load_composite(rows, k)
    return momentum(m, s, I, load(rows, k, at.COLUMN), load(rows, k, at.COLUMN + 3))


@inlined
def write_mass_row(rows: np.ndarray, k: int, M: np.ndarray) -> None:
    """Write row and column k of M: M_jk = J_j . F_k for k and all before it (Featherstone 6.2)."""
    linear, angular = composite_momentum(rows, k)
    j = k
    while j > 0:
        value = dot(load(rows, j, at.COLUMN), linear)
        value += dot(load(rows, j, at.COLUMN + 3), angular)
        M[k - 1, j - 1] = value
        M[j - 1, k - 1] = value
        j = link(rows, j, at.PARENT)


@inlined
def gravity_of_row(rows: np.ndarray, k: int, field: Vector) -> float:
    """Return g_k = - J_k . (m field, s x field), of all beyond row k."""
    s = load(rows, k, at.COMPOSITE + 1)
    force = dot(load(rows, k, at.COLUMN), field)
    moment = dot(load(rows, k, at.COLUMN + 3), cross(s, field))
    return -rows[k, at.COMPOSITE] * force - moment


@inlined
def fill_mass_matrix(buffer: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Fill M by the composite-rigid-body algorithm (Featherstone, table 6.2), and return it."""
    rows = place_with_inertia(buffer, q)
    nv = rows.shape[0] - 1
    M = matrix_of(buffer, at.H_M, nv, nv)
    for k in range(nv, 0, -1):
        write_mass_row(rows, k, M)
        add_composite_to_parent(rows, k)
    return M


@Entry
def mass_matrix(buffer: np.ndarray, q: np.ndarray) -> int:
    """Check q, then fill M."""
    if not is_configuration(buffer, q):
        return 1
    fill_mass_matrix(buffer, q)
    return 0


@Entry
def gravity_torque(buffer: np.ndarray, q: np.ndarray) -> int:
    """Fill g: what holds the tree still."""
    if not is_configuration(buffer, q):
        return 1
    rows = place_with_inertia(buffer, q)
    g = vector_of(buffer, at.H_G)
    field = gravity_field(buffer)
    for k in range(rows.shape[0] - 1, 0, -1):
        g[k - 1] = gravity_of_row(rows, k, field)
        add_composite_to_parent(rows, k)
    return 0
