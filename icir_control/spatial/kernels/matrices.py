"""Small products of plain arrays; the result goes into the last argument.

The output must not be one of the inputs, but for `cross`, which may write over either.
"""

import numpy as np

from icir_control.compiled import kernel


@kernel
def skew(vector: np.ndarray, matrix: np.ndarray) -> None:
    """Write the (3, 3) matrix [a] with [a] b = a x b."""
    x, y, z = vector[0], vector[1], vector[2]
    matrix[0, 0], matrix[0, 1], matrix[0, 2] = 0.0, -z, y
    matrix[1, 0], matrix[1, 1], matrix[1, 2] = z, 0.0, -x
    matrix[2, 0], matrix[2, 1], matrix[2, 2] = -y, x, 0.0


@kernel
def cross(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """Write a x b of two (3,) vectors."""
    x = a[1] * b[2] - a[2] * b[1]
    y = a[2] * b[0] - a[0] * b[2]
    z = a[0] * b[1] - a[1] * b[0]
    out[0], out[1], out[2] = x, y, z


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
def mat_mat(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """Write A B of an (m, k) and a (k, n) matrix."""
    for i in range(a.shape[0]):
        for j in range(b.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[i, k] * b[k, j]
            out[i, j] = total


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
