"""Vectors, matrices and inertias as plain tuples, so that kernels read like their equations.

A vector is `(x, y, z)`, a matrix three such rows, a symmetric matrix `(xx, xy, xz, yy, yz, zz)`, a
motion or force `(linear, angular)`. An inertia is `(m, s, I)`: mass, first moment s = m c, and
moments about the origin; in this form the inertias of bodies that move as one simply add. The
compiler keeps tuples in registers: nothing is allocated, and no view is made.
"""

import numpy as np

from icir_control.compiled import inlined

Vector = tuple[float, float, float]
Matrix = tuple[Vector, Vector, Vector]
Symmetric = tuple[float, float, float, float, float, float]
Spatial = tuple[Vector, Vector]
"""A motion or a force."""
Inertia = tuple[float, Vector, Symmetric]

ZERO: Vector = (0.0, 0.0, 0.0)
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
    return (
        rows[k, at],
        rows[k, at + 1],
        rows[k, at + 2],
        rows[k, at + 3],
        rows[k, at + 4],
        rows[k, at + 5],
    )


@inlined
def load_spatial(rows: np.ndarray, k: int, at: int) -> Spatial:
    """Read the motion or force that begins at column `at` of row k."""
    return load(rows, k, at), load(rows, k, at + 3)


@inlined
def load_inertia(rows: np.ndarray, k: int, at: int) -> Inertia:
    """Read the inertia that begins at column `at` of row k."""
    return rows[k, at], load(rows, k, at + 1), load_symmetric(rows, k, at + 4)


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
def store_spatial(rows: np.ndarray, k: int, at: int, x: Spatial) -> None:
    """Write a motion or force into row k from column `at` on."""
    store(rows, k, at, x[0])
    store(rows, k, at + 3, x[1])


@inlined
def store_inertia(rows: np.ndarray, k: int, at: int, Y: Inertia) -> None:
    """Write an inertia into row k from column `at` on."""
    rows[k, at] = Y[0]
    store(rows, k, at + 1, Y[1])
    store_symmetric(rows, k, at + 4, Y[2])


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


@inlined
def add_spatial(x: Spatial, y: Spatial) -> Spatial:
    """Return x + y."""
    return add(x[0], y[0]), add(x[1], y[1])


@inlined
def subtract_spatial(x: Spatial, y: Spatial) -> Spatial:
    """Return x - y."""
    return subtract(x[0], y[0]), subtract(x[1], y[1])


@inlined
def scale_spatial(s: float, x: Spatial) -> Spatial:
    """Return s x."""
    return scale(s, x[0]), scale(s, x[1])


@inlined
def dot_spatial(x: Spatial, y: Spatial) -> float:
    """Return x . y, of a motion and a force."""
    return dot(x[0], y[0]) + dot(x[1], y[1])


@inlined
def cross_motion(v: Spatial, m: Spatial) -> Spatial:
    """Return v x m of two motions: (v_linear x m_angular + w x m_linear, w x m_angular)."""
    return add(cross(v[0], m[1]), cross(v[1], m[0])), cross(v[1], m[1])


@inlined
def cross_force(v: Spatial, f: Spatial) -> Spatial:
    """Return v x* f of a motion and a force: (w x f, w x moment + v_linear x f)."""
    return cross(v[1], f[0]), add(cross(v[1], f[1]), cross(v[0], f[0]))


@inlined
def motion_in(R: Matrix, p: Vector, v: Spatial) -> Spatial:
    """Return a motion of the outer frame in the frame (R, p): X^-1 v."""
    return apply_transposed(R, add(v[0], cross(v[1], p))), apply_transposed(R, v[1])


@inlined
def force_out_of(R: Matrix, p: Vector, f: Spatial) -> Spatial:
    """Return a force of the frame (R, p) in the outer frame: X* f."""
    linear = apply(R, f[0])
    return linear, add(apply(R, f[1]), cross(p, linear))


@inlined
def about_origin(I: Symmetric, s: Vector, c: Vector) -> Symmetric:
    """Return I - m [c]^2, from I about the centre of mass c and s = m c (parallel axes)."""
    return (
        I[0] + s[1] * c[1] + s[2] * c[2],
        I[1] - s[0] * c[1],
        I[2] - s[0] * c[2],
        I[3] + s[0] * c[0] + s[2] * c[2],
        I[4] - s[1] * c[2],
        I[5] + s[0] * c[0] + s[1] * c[1],
    )


@inlined
def momentum(Y: Inertia, v: Spatial) -> Spatial:
    """Return Y v = (m v - s x omega, I omega + s x v)."""
    m, s, I = Y
    return (
        subtract(scale(m, v[0]), cross(s, v[1])),
        add(apply_symmetric(I, v[1]), cross(s, v[0])),
    )


@inlined
def body_force(Y: Inertia, v: Spatial, a: Spatial) -> Spatial:
    """Return the force that moves a body: f = Y a + v x* (Y v)."""
    return add_spatial(momentum(Y, a), cross_force(v, momentum(Y, v)))
