"""Vectors and matrices of three as plain tuples, so that kernels read like their equations.

A vector is `(x, y, z)`, a matrix three such rows, a symmetric matrix `(xx, xy, xz, yy, yz, zz)`.
The compiler keeps them in registers: nothing is allocated, and no view is made.
"""

import numpy as np

from icir_control.compiled import inlined

Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]
Symmetric = tuple[float, float, float, float, float, float]

ZERO: Vector = (0.0, 0.0, 0.0)
Z: Vector = (0.0, 0.0, 1.0)
IDENTITY: Matrix = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


@inlined
def load(rows: np.ndarray, k: int, at: int) -> Vector:
    """Read the vector that begins at column `at` of row k."""
    return rows[k, at], rows[k, at + 1], rows[k, at + 2]


@inlined
def load_matrix(rows: np.ndarray, k: int, at: int) -> Matrix:
    """Read the matrix that begins at column `at` of row k."""
    return load(rows, k, at), load(rows, k, at + 3), load(rows, k, at + 6)


@inlined
def load_symmetric(rows: np.ndarray, k: int, at: int) -> Symmetric:
    """Read the symmetric matrix that begins at column `at` of row k."""
    return load(rows, k, at) + load(rows, k, at + 3)


@inlined
def store(rows: np.ndarray, k: int, at: int, a: Vector) -> None:
    """Write a vector into row k from column `at` on."""
    rows[k, at] = a[0]
    rows[k, at + 1] = a[1]
    rows[k, at + 2] = a[2]


@inlined
def store_matrix(rows: np.ndarray, k: int, at: int, a: Matrix) -> None:
    """Write a matrix into row k from column `at` on."""
    store(rows, k, at, a[0])
    store(rows, k, at + 3, a[1])
    store(rows, k, at + 6, a[2])


@inlined
def store_symmetric(rows: np.ndarray, k: int, at: int, S: Symmetric) -> None:
    """Write a symmetric matrix into row k from column `at` on."""
    store(rows, k, at, (S[0], S[1], S[2]))
    store(rows, k, at + 3, (S[3], S[4], S[5]))


@inlined
def add(a: Vector, b: Vector) -> Vector:
    """Return a + b."""
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


@inlined
def subtract(a: Vector, b: Vector) -> Vector:
    """Return a - b."""
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@inlined
def scale(s: float, a: Vector) -> Vector:
    """Return s a."""
    return s * a[0], s * a[1], s * a[2]


@inlined
def dot(a: Vector, b: Vector) -> float:
    """Return a . b."""
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@inlined
def cross(a: Vector, b: Vector) -> Vector:
    """Return a x b."""
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@inlined
def apply(A: Matrix, b: Vector) -> Vector:
    """Return A b."""
    return dot(A[0], b), dot(A[1], b), dot(A[2], b)


@inlined
def apply_transposed(A: Matrix, b: Vector) -> Vector:
    """Return A^T b."""
    return (
        A[0][0] * b[0] + A[1][0] * b[1] + A[2][0] * b[2],
        A[0][1] * b[0] + A[1][1] * b[1] + A[2][1] * b[2],
        A[0][2] * b[0] + A[1][2] * b[1] + A[2][2] * b[2],
    )


@inlined
def multiply(A: Matrix, B: Matrix) -> Matrix:
    """Return A B."""
    return apply_transposed(B, A[0]), apply_transposed(B, A[1]), apply_transposed(B, A[2])


@inlined
def apply_symmetric(S: Symmetric, b: Vector) -> Vector:
    """Return S b."""
    return (
        S[0] * b[0] + S[1] * b[1] + S[2] * b[2],
        S[1] * b[0] + S[3] * b[1] + S[4] * b[2],
        S[2] * b[0] + S[4] * b[1] + S[5] * b[2],
    )


@inlined
def rotate_symmetric(R: Matrix, S: Symmetric) -> Symmetric:
    """Return R S R^T, which is symmetric too."""
    x = apply_symmetric(S, R[0])
    y = apply_symmetric(S, R[1])
    z = apply_symmetric(S, R[2])
    return dot(R[0], x), dot(R[0], y), dot(R[0], z), dot(R[1], y), dot(R[1], z), dot(R[2], z)


@inlined
def transpose(A: Matrix) -> Matrix:
    """Return A^T."""
    return (A[0][0], A[1][0], A[2][0]), (A[0][1], A[1][1], A[2][1]), (A[0][2], A[1][2], A[2][2])


@inlined
def add_matrix(A: Matrix, B: Matrix) -> Matrix:
    """Return A + B."""
    return add(A[0], B[0]), add(A[1], B[1]), add(A[2], B[2])


@inlined
def outer(a: Vector, b: Vector) -> Matrix:
    """Return a b^T."""
    return scale(a[0], b), scale(a[1], b), scale(a[2], b)


@inlined
def add_symmetric(S: Symmetric, T: Symmetric) -> Symmetric:
    """Return S + T."""
    return S[0] + T[0], S[1] + T[1], S[2] + T[2], S[3] + T[3], S[4] + T[4], S[5] + T[5]


@inlined
def square(s: float, a: Vector) -> Symmetric:
    """Return s a a^T."""
    b = scale(s, a)
    return b[0] * a[0], b[0] * a[1], b[0] * a[2], b[1] * a[1], b[1] * a[2], b[2] * a[2]
