"""Small products of plain arrays; the result goes into the last argument, which is no input."""

import numpy as np

from icir_control.compiled import kernel


@kernel
def mat_vec(matrix: np.ndarray, vector: np.ndarray, out: np.ndarray) -> None:
    """Write A x of an (m, n) matrix and an (n,) vector."""
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * vector[j]
        out[i] = total


@kernel
def mat_t_vec(matrix: np.ndarray, vector: np.ndarray, out: np.ndarray) -> None:
    """Write A^T x of an (m, n) matrix and an (m,) vector."""
    for j in range(matrix.shape[1]):
        total = 0.0
        for i in range(matrix.shape[0]):
            total += matrix[i, j] * vector[i]
        out[j] = total


@kernel
def mat_t_mat(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """Write A^T B of a (k, m) and a (k, n) matrix."""
    for i in range(a.shape[1]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[0]):
                total += a[k, i] * b[k, j]
            out[i, j] = total


@kernel
def mat_mat_t(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """Write A B^T of an (m, k) and an (n, k) matrix."""
    for i in range(a.shape[0]):
        for j in range(b.shape[0]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[j, k]
            out[i, j] = total
