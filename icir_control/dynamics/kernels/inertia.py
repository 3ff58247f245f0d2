"""The inertia (m, s, I) of a body at the world's origin: mass, first moment s = m c, and I.

In this form inertias of bodies on one rigid piece, or beyond one joint, simply add.
"""

import numpy as np

from icir_control.compiled import inlined
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.vector import (
    Matrix,
    Symmetric,
    Vector,
    add,
    apply,
    apply_symmetric,
    cross,
    load,
    load_symmetric,
    rotate_symmetric,
    scale,
    store,
    store_symmetric,
    subtract,
)


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
def inertia_in_world(
    rows: np.ndarray, k: int, R: Matrix, p: Vector
) -> tuple[float, Vector, Symmetric]:
    """Return row k's own inertia at the world's origin."""
    m = rows[k, at.MASS]
    # c_world = R c + p
    c = add(apply(R, load(rows, k, at.COM)), p)
    # R I R^T, about the centre of mass
    I = rotate_symmetric(R, load_symmetric(rows, k, at.INERTIA))
    s = scale(m, c)
    return m, s, about_origin(I, s, c)


@inlined
def momentum(
    m: float, s: Vector, I: Symmetric, linear: Vector, angular: Vector
) -> tuple[Vector, Vector]:
    """Return Y v = (m v - s x omega, I omega + s x v)."""
    return (
        subtract(scale(m, linear), cross(s, angular)),
        add(apply_symmetric(I, angular), cross(s, linear)),
    )


@inlined
def force(
    m: float,
    s: Vector,
    I: Symmetric,
    v_linear: Vector,
    v_angular: Vector,
    a_linear: Vector,
    a_angular: Vector,
) -> tuple[Vector, Vector]:
    """Return what a body asks for: f = Y a + v x* (Y v)."""
    h_linear, h_angular = momentum(m, s, I, v_linear, v_angular)
    f_linear, f_angular = momentum(m, s, I, a_linear, a_angular)
    turn = add(cross(v_angular, h_angular), cross(v_linear, h_linear))
    return add(f_linear, cross(v_angular, h_linear)), add(f_angular, turn)


@inlined
def load_composite(rows: np.ndarray, k: int) -> tuple[float, Vector, Symmetric]:
    """Read the composite inertia of row k."""
    return (
        rows[k, at.COMPOSITE],
        load(rows, k, at.COMPOSITE + 1),
        load_symmetric(rows, k, at.COMPOSITE + 4),
    )


@inlined
def store_composite(rows: np.ndarray, k: int, m: float, s: Vector, I: Symmetric) -> None:
    """Write the composite inertia of row k."""
    rows[k, at.COMPOSITE] = m
    store(rows, k, at.COMPOSITE + 1, s)
    store_symmetric(rows, k, at.COMPOSITE + 4, I)
