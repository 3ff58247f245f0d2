"""The inverse of M by its factors M = L^T L, which keep the zeros of the tree."""

from math import sqrt

import numpy as np

from icir_control.compiled import entry, inlined
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.blocks import matrix_of, rows_of
from icir_control.dynamics.kernels.checks import is_configuration
from icir_control.dynamics.kernels.composite import fill_mass_matrix


@inlined
def _factorize(rows: np.ndarray, L: np.ndarray) -> int:
    """Turn M into L, in place (Featherstone, table 6.3); return -k if row k has no inertia."""
    for k in range(rows.shape[0] - 1, 0, -1):
        if not L[k - 1, k - 1] > 0.0:
            return -k
        L[k - 1, k - 1] = sqrt(L[k - 1, k - 1])
        i = int(rows[k, at.PARENT])
        while i > 0:
            L[k - 1, i - 1] /= L[k - 1, k - 1]
            i = int(rows[i, at.PARENT])
        i = int(rows[k, at.PARENT])
        while i > 0:
            j = i
            while j > 0:
                L[i - 1, j - 1] -= L[k - 1, i - 1] * L[k - 1, j - 1]
                j = int(rows[j, at.PARENT])
            i = int(rows[i, at.PARENT])
    return 0


@inlined
def _solve(rows: np.ndarray, L: np.ndarray, column: int, x: np.ndarray) -> None:
    """Write x = L^-1 L^-T e, with e the unit vector of row `column`."""
    x[:] = 0.0
    x[column - 1] = 1.0
    # L^T y = e: nothing but the path from `column` to the root becomes other than zero
    k = column
    while k > 0:
        x[k - 1] /= L[k - 1, k - 1]
        j = int(rows[k, at.PARENT])
        while j > 0:
            x[j - 1] -= L[k - 1, j - 1] * x[k - 1]
            j = int(rows[j, at.PARENT])
        k = int(rows[k, at.PARENT])
    # L x = y
    for k in range(1, rows.shape[0]):
        j = int(rows[k, at.PARENT])
        while j > 0:
            x[k - 1] -= L[k - 1, j - 1] * x[j - 1]
            j = int(rows[j, at.PARENT])
        x[k - 1] /= L[k - 1, k - 1]


@entry
def inverse_mass_matrix(buffer: np.ndarray, q: np.ndarray) -> int:
    """Fill M and Minv; returns -k if row k has no inertia to move."""
    if not is_configuration(buffer, q):
        return 1
    M = fill_mass_matrix(buffer, q)
    rows = rows_of(buffer)
    nv = rows.shape[0] - 1
    L = matrix_of(buffer, at.H_FACTOR, nv, nv)
    L[:] = M
    wrong = _factorize(rows, L)
    if wrong != 0:
        return wrong
    inverse = matrix_of(buffer, at.H_MINV, nv, nv)
    for k in range(1, nv + 1):
        _solve(rows, L, k, inverse[k - 1])
    return 0
