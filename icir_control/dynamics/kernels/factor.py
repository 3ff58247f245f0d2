"""The inverse of M by its factors M = L^T L, which keep the zeros of the tree."""

from math import sqrt

import numpy as np

from icir_control.compiled import inlined
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.blocks import link, matrix_of, rows_of
from icir_control.dynamics.kernels.checks import is_configuration
from icir_control.dynamics.kernels.composite import fill_mass_matrix
from icir_control.dynamics.kernels.entrance import Entry


@inlined
def _factorize(rows: np.ndarray, L: np.ndarray) -> int:
    """Turn M into L, in place (Featherstone, table 6.3); return -k if row k has no inertia.

    The diagonal holds 1 / L_kk, since a product takes a fifth of the time of a quotient.
    """
    for k in range(rows.shape[0] - 1, 0, -1):
        if not L[k - 1, k - 1] > 0.0:
            return -k
        L[k - 1, k - 1] = 1.0 / sqrt(L[k - 1, k - 1])
        i = link(rows, k, at.PARENT)
        while i > 0:
            L[k - 1, i - 1] *= L[k - 1, k - 1]
            i = link(rows, i, at.PARENT)
        i = link(rows, k, at.PARENT)
        while i > 0:
            j = i
            while j > 0:
                L[i - 1, j - 1] -= L[k - 1, i - 1] * L[k - 1, j - 1]
                j = link(rows, j, at.PARENT)
            i = link(rows, i, at.PARENT)
    return 0


@inlined
def _invert(rows: np.ndarray, L: np.ndarray, inverse: np.ndarray) -> None:
    """Write M^-1 = L^-1 L^-T, row by row.

    Row c of it solves L x = y with y = L^-T e_c, which is 1 / L_cc at c and 0 behind. What lies
    before c is known by symmetry, so that y is never needed there.
    """
    n = rows.shape[0]
    for c in range(1, n):
        x = inverse[c - 1]
        for k in range(1, c):
            x[k - 1] = inverse[k - 1, c - 1]
        for k in range(c, n):
            total = L[c - 1, c - 1] if k == c else 0.0
            j = link(rows, k, at.PARENT)
            while j > 0:
                total -= L[k - 1, j - 1] * x[j - 1]
                j = link(rows, j, at.PARENT)
            x[k - 1] = total * L[k - 1, k - 1]


@Entry
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
    _invert(rows, L, matrix_of(buffer, at.H_MINV, nv, nv))
    return 0
