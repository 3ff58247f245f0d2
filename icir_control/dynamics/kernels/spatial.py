"""Motions, forces and inertias as plain tuples, so that kernels read like their equations.

A motion or force is `(linear, angular)`. An inertia is `(m, s, I)`: mass, first moment s = m c,
and moments about the origin; in this form the inertias of bodies that move as one simply add.
"""

import numpy as np

from icir_control.compiled import inlined
from icir_control.dynamics.kernels import vector as vec
from icir_control.dynamics.kernels.vector import Matrix, Symmetric, Vector

Spatial = tuple[Vector, Vector]
"""A motion or a force."""
Inertia = tuple[float, Vector, Symmetric]


@inlined
def load(rows: np.ndarray, k: int, at: int) -> Spatial:
    """Read the motion or force that begins at column `at` of row k."""
    return vec.load(rows, k, at), vec.load(rows, k, at + 3)


@inlined
def load_inertia(rows: np.ndarray, k: int, at: int) -> Inertia:
    """Read the inertia that begins at column `at` of row k."""
    return rows[k, at], vec.load(rows, k, at + 1), vec.load_symmetric(rows, k, at + 4)


@inlined
def store(rows: np.ndarray, k: int, at: int, x: Spatial) -> None:
    """Write a motion or force into row k from column `at` on."""
    vec.store(rows, k, at, x[0])
    vec.store(rows, k, at + 3, x[1])


@inlined
def store_inertia(rows: np.ndarray, k: int, at: int, Y: Inertia) -> None:
    """Write an inertia into row k from column `at` on."""
    rows[k, at] = Y[0]
    vec.store(rows, k, at + 1, Y[1])
    vec.store_symmetric(rows, k, at + 4, Y[2])


@inlined
def add(x: Spatial, y: Spatial) -> Spatial:
    """Return x + y."""
    return vec.add(x[0], y[0]), vec.add(x[1], y[1])


@inlined
def subtract(x: Spatial, y: Spatial) -> Spatial:
    """Return x - y."""
    return vec.subtract(x[0], y[0]), vec.subtract(x[1], y[1])


@inlined
def scale(s: float, x: Spatial) -> Spatial:
    """Return s x."""
    return vec.scale(s, x[0]), vec.scale(s, x[1])


@inlined
def dot(x: Spatial, y: Spatial) -> float:
    """Return x . y, of a motion and a force."""
    return vec.dot(x[0], y[0]) + vec.dot(x[1], y[1])


@inlined
def cross_motion(v: Spatial, m: Spatial) -> Spatial:
    """Return v x m of two motions: (v_linear x m_angular + w x m_linear, w x m_angular)."""
    return vec.add(vec.cross(v[0], m[1]), vec.cross(v[1], m[0])), vec.cross(v[1], m[1])


@inlined
def cross_force(v: Spatial, f: Spatial) -> Spatial:
    """Return v x* f of a motion and a force: (w x f, w x moment + v_linear x f)."""
    return vec.cross(v[1], f[0]), vec.add(vec.cross(v[1], f[1]), vec.cross(v[0], f[0]))


@inlined
def motion_in(R: Matrix, p: Vector, v: Spatial) -> Spatial:
    """Return a motion of the outer frame in the frame (R, p): X^-1 v."""
    return vec.apply_transposed(R, vec.add(v[0], vec.cross(v[1], p))), vec.apply_transposed(
        R, v[1]
    )


@inlined
def force_out_of(R: Matrix, p: Vector, f: Spatial) -> Spatial:
    """Return a force of the frame (R, p) in the outer frame: X* f."""
    linear = vec.apply(R, f[0])
    return linear, vec.add(vec.apply(R, f[1]), vec.cross(p, linear))


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
        vec.subtract(vec.scale(m, v[0]), vec.cross(s, v[1])),
        vec.add(vec.apply_symmetric(I, v[1]), vec.cross(s, v[0])),
    )


@inlined
def body_force(Y: Inertia, v: Spatial, a: Spatial) -> Spatial:
    """Return the force that moves a body: f = Y a + v x* (Y v)."""
    return add(momentum(Y, a), cross_force(v, momentum(Y, v)))
