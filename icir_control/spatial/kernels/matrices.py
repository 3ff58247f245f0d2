"""Copies and small products of plain arrays, and Cholesky's factors.

The result goes into the last argument, which is no input but where that is said.
"""

import numpy as np

from icir_control.compiled import kernel


@kernel
def copy(x: np.ndarray, y: np.ndarray) -> None:
    """Write y = x for vectors; numba's `y[:] = x` takes seconds to compile."""
    for i in range(y.shape[0]):
        y[i] = x[i]


@kernel
def copy_matrix(A: np.ndarray, B: np.ndarray) -> None:
    """Write B = A for matrices."""
    for i in range(B.shape[0]):
        for j in range(B.shape[1]):
            B[i, j] = A[i, j]


@kernel
def clear(x: np.ndarray) -> None:
    """Write x = 0 for a vector."""
    for i in range(x.shape[0]):
        x[i] = 0.0


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


@kernel
def cholesky(A: np.ndarray) -> bool:
    """Replace the lower triangle of a symmetric matrix by its factor L, A = L L^T.

    The diagonal holds 1 / L_jj: a solution then multiplies where it would divide, which takes a
    third of the time.

    Returns:
        False where A is not positive definite (then L is of no use).
    """
    n = A.shape[0]
    for j in range(n):
        pivot = A[j, j]
        for k in range(j):
            pivot -= A[j, k] * A[j, k]
        if not pivot > 0.0:
            return False
        inverse = 1.0 / np.sqrt(pivot)
        A[j, j] = inverse
        for i in range(j + 1, n):
            total = A[i, j]
            for k in range(j):
                total -= A[i, k] * A[j, k]
            A[i, j] = total * inverse
    return True


@kernel
def cholesky_solve(L: np.ndarray, x: np.ndarray) -> None:
    """Replace x by the solution of L L^T x' = x, L as `cholesky` leaves it."""
    n = L.shape[0]
    for i in range(n):
        total = x[i]
        for k in range(i):
            total -= L[i, k] * x[k]
        x[i] = total * L[i, i]
    for i in range(n - 1, -1, -1):
        x[i] *= L[i, i]
        for k in range(i):
            x[k] -= L[i, k] * x[i]
