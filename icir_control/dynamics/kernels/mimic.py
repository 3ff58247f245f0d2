"""Joints that mimic others: their values, and what the tree's recursions found, projected.

The rates of the rows are G v; by virtual work the torques of v are G^T tau_tree.
"""

from math import cos, sin

import numpy as np

from icir_control.compiled import inlined, kernel
from icir_control.dynamics.kernels import layout as at

SPLITTER = 2.0**27 + 1.0
"""A number times this, less what that adds, is its leading half: of 53 bits 26."""


@kernel
def take_mimics(buffer: np.ndarray, values: np.ndarray) -> float:
    """Write the values of joints that mimic others, behind q; return the largest magnitude.

    Far from the origin the leader's value is large, such as that of a slide whose wheels mimic it.
    So what rounding takes from a value is kept, for `turn_mimics`: by Dekker's product and
    Knuth's sum, which are exact (Ogita, Rump & Oishi 2005, algorithms 3.1 and 3.3).
    """
    mimics = at.matrix_of(buffer, at.H_MIMIC_TABLE, int(buffer[at.H_MIMICS]), at.C_STRIDE)
    largest = 0.0
    for i in range(mimics.shape[0]):
        m, x = mimics[i, at.C_MULTIPLIER], values[at.integer(mimics, i, at.C_FROM)]
        product, offset = m * x, mimics[i, at.C_OFFSET]
        m_high, x_high = _leading_half(m), _leading_half(x)
        m_low, x_low = m - m_high, x - x_high
        rest = m_low * x_low - (((product - m_high * x_high) - m_low * x_high) - m_high * x_low)
        value = product + offset
        added = value - product
        mimics[i, at.C_ROUNDING] = rest + ((product - (value - added)) + (offset - added))
        values[at.integer(mimics, i, at.C_TO)] = value
        largest = max(largest, abs(value))
    return largest


@kernel
def _leading_half(x: float) -> float:
    """Return the first 26 bits of a number: the product of two such is exact (Veltkamp)."""
    scaled = SPLITTER * x
    return scaled - (scaled - x)


@kernel
def turn_mimics(buffer: np.ndarray, coordinates: np.ndarray) -> None:
    """Turn cosines and sines of joints that mimic others by what rounding took from the angle."""
    mimics = at.matrix_of(buffer, at.H_MIMIC_TABLE, int(buffer[at.H_MIMICS]), at.C_STRIDE)
    for i in range(mimics.shape[0]):
        k, angle = at.integer(mimics, i, at.C_TO), mimics[i, at.C_ROUNDING]
        c, s = coordinates[at.COS, k], coordinates[at.SIN, k]
        coordinates[at.COS, k] = c * cos(angle) - s * sin(angle)
        coordinates[at.SIN, k] = s * cos(angle) + c * sin(angle)


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
