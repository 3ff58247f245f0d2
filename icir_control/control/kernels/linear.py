"""Small dense linear algebra for the hot path: numba's own needs SciPy and costs more.

Copies, products of matrices and Cholesky's factors are those of `icir_control.spatial.kernels`.
"""

import numpy as np

from icir_control.compiled import kernel
from icir_control.scratch import scratch_matrix, scratch_vector
from icir_control.spatial.kernels import cholesky, cholesky_solve, copy, copy_matrix

ITERATIONS = 40
"""Of the inverse iteration, at most; started from its last result it takes one, seldom two."""

STEADY = 1e-6
"""Relative error of the growth at which the inverse iteration ends."""

SWEEPS = 20
"""Of the eigenvalue iteration, at most; six by six takes five or six."""


@kernel
def solve(A: np.ndarray, x: np.ndarray) -> None:
    """Replace x by the solution of A x' = x; A (n, n) is overwritten (Gauss, partial pivots)."""
    n = A.shape[0]
    for k in range(n):
        pivot = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[pivot, k]):
                pivot = i
        for j in range(n):
            A[k, j], A[pivot, j] = A[pivot, j], A[k, j]
        x[k], x[pivot] = x[pivot], x[k]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            for j in range(k, n):
                A[i, j] -= factor * A[k, j]
            x[i] -= factor * x[k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= A[i, j] * x[j]
        x[i] /= A[i, i]


@kernel
def gram(A: np.ndarray, B: np.ndarray, C: np.ndarray) -> None:
    """Write the lower triangle of A B^T, where that is symmetric: all that `cholesky` reads."""
    for i in range(A.shape[0]):
        for j in range(i + 1):
            total = 0.0
            for k in range(A.shape[1]):
                total += A[i, k] * B[j, k]
            C[i, j] = total


@kernel
def smallest_singular_value(J: np.ndarray, direction: np.ndarray) -> float:
    """Return the smallest of the six singular values of a (6, n) matrix.

    Inverse iteration on J J^T: the direction that shrinks least is kept by the caller, so that
    along a motion one or two steps follow it.

    Args:
        J: (6, n).
        direction: (6,) unit vector in, the left singular vector out.
    """
    L, y = scratch_matrix(6, 6), scratch_vector(6)
    gram(J, J, L)
    if not cholesky(L):
        return 0.0
    growth = 0.0
    for _ in range(ITERATIONS):
        copy(direction, y)
        cholesky_solve(L, y)
        square, along = 0.0, 0.0
        for i in range(6):
            square += y[i] * y[i]
            along += y[i] * direction[i]
        growth = np.sqrt(square)
        for i in range(6):
            direction[i] = y[i] / growth
        # The cosine of the angle by which it turned: the value errs by its square.
        if along >= (1.0 - STEADY) * growth:
            break
    return 1.0 / np.sqrt(growth)


@kernel
def inverse_inertia_rows(M: np.ndarray, J: np.ndarray, rows: np.ndarray) -> None:
    """Write J M^-1, (6, n), for a symmetric positive definite M (n, n)."""
    n = M.shape[0]
    L = scratch_matrix(n, n)
    copy_matrix(M, L)
    cholesky(L)
    for i in range(J.shape[0]):
        copy(J[i], rows[i])
        cholesky_solve(L, rows[i])


@kernel
def invert(A: np.ndarray, inverse: np.ndarray) -> None:
    """Write the inverse of a symmetric, positive definite matrix (Gauss and Jordan, in place).

    Such a matrix needs no pivoting; its rows are independent of each other at each step, which
    takes a quarter of the time of n solutions, one after the other, with its Cholesky factor.

    Args:
        A: (n, n), of which the lower triangle is read.
        inverse: (n, n) out.
    """
    n = A.shape[0]
    for i in range(n):
        for j in range(i + 1):
            inverse[i, j] = inverse[j, i] = A[i, j]
    for k in range(n):
        pivot = 1.0 / inverse[k, k]
        inverse[k, k] = 1.0
        for j in range(n):
            inverse[k, j] *= pivot
        for i in range(n):
            if i != k:
                factor, inverse[i, k] = inverse[i, k], 0.0
                for j in range(n):
                    inverse[i, j] -= factor * inverse[k, j]


@kernel
def symmetric_eigen(A: np.ndarray, V: np.ndarray) -> None:
    """Replace a symmetric matrix by one with its eigenvalues on the diagonal (Jacobi, cyclic).

    Args:
        A: (n, n); A = V diag V^T, the diagonal out.
        V: (n, n) eigenvectors in columns, out.
    """
    n = A.shape[0]
    scale = 0.0
    for i in range(n):
        scale += A[i, i] * A[i, i]
        for j in range(n):
            V[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        rest = 0.0
        for i in range(n):
            for j in range(i):
                rest += A[i, j] * A[i, j]
        if rest <= 1e-24 * scale:
            break
        for p in range(n - 1):
            for q in range(p + 1, n):
                if A[p, q] != 0.0:
                    _rotate(A, V, p, q)


@kernel
def _rotate(A: np.ndarray, V: np.ndarray, p: int, q: int) -> None:
    """Turn coordinates p and q so that A[p, q] vanishes (Golub & Van Loan, section 8.5)."""
    tau = (A[q, q] - A[p, p]) / (2.0 * A[p, q])
    t = 1.0 / (abs(tau) + np.sqrt(1.0 + tau * tau))
    if tau < 0.0:
        t = -t
    c = 1.0 / np.sqrt(1.0 + t * t)
    s = t * c
    for k in range(A.shape[0]):
        a, b = A[k, p], A[k, q]
        A[k, p], A[k, q] = c * a - s * b, s * a + c * b
    for k in range(A.shape[0]):
        a, b = A[p, k], A[q, k]
        A[p, k], A[q, k] = c * a - s * b, s * a + c * b
        a, b = V[k, p], V[k, q]
        V[k, p], V[k, q] = c * a - s * b, s * a + c * b
