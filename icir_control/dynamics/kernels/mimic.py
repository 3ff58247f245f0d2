"""Joints that mimic others: what the tree's recursions found, projected onto q and v.

The rates of the rows are G v; by virtual work the torques of v are G^T tau_tree.
"""

import numpy as np

from icir_control.compiled import inlined, kernel
from icir_control.dynamics.kernels import layout as at


@inlined
def project(buffer: np.ndarray, header: int, height: int) -> None:
    """Fill a block (height, nv) with X G, of the tree's own block X; see `layout`."""
    if buffer[at.H_MIMICS] == 0.0:
        return
    _project_columns(buffer, header, height)


@inlined
def project_square(buffer: np.ndarray, header: int) -> None:
    """Fill a block (nv, nv) with G^T X G, of the tree's own block X."""
    if buffer[at.H_MIMICS] == 0.0:
        return
    _project_square(buffer, header)


@inlined
def project_mass_matrix(buffer: np.ndarray) -> None:
    """Fill M with G^T M_tree G, symmetric to the last bit."""
    if buffer[at.H_MIMICS] == 0.0:
        return
    _project_square(buffer, at.H_M)
    M = at.square_of(buffer, at.H_M)
    for i in range(M.shape[0]):
        for j in range(i):
            M[j, i] = M[i, j]


@kernel
def _project_columns(buffer: np.ndarray, header: int, height: int) -> None:
    rows, X = at.rows_of(buffer), at.tree_matrix(buffer, header, height)
    out = at.matrix_of(buffer, header, height, int(buffer[at.H_NV]))
    out[:] = 0.0
    for k in range(1, rows.shape[0]):
        j, m = at.integer(rows, k, at.INDEX_V), rows[k, at.MULTIPLIER]
        for i in range(height):
            out[i, j] += m * X[i, k - 1]


@kernel
def _project_square(buffer: np.ndarray, header: int) -> None:
    rows, X = at.rows_of(buffer), at.tree_square(buffer, header)
    out = at.square_of(buffer, header)
    out[:] = 0.0
    for k in range(1, rows.shape[0]):
        i, m = at.integer(rows, k, at.INDEX_V), rows[k, at.MULTIPLIER]
        for other in range(1, rows.shape[0]):
            j = at.integer(rows, other, at.INDEX_V)
            out[i, j] += m * rows[other, at.MULTIPLIER] * X[k - 1, other - 1]
