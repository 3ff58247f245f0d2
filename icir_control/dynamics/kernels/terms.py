"""All that the equation of motion M ddq + nle = tau holds, in two passes over the rows."""

import numpy as np

from icir_control.compiled import inlined, kernel
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.forward import move, place, rows_of
from icir_control.dynamics.kernels.frames import frame_terms
from icir_control.dynamics.kernels.inertia import (
    inertia_in_world,
    load_composite,
    momentum,
    store_composite,
)
from icir_control.dynamics.kernels.vector import Vector, add, cross, dot, load, store


@inlined
def _vector_of(buffer: np.ndarray, header: int) -> np.ndarray:
    start = int(buffer[header])
    return buffer[start : start + int(buffer[at.H_NV])]


@kernel
def mass_matrix_of(buffer: np.ndarray) -> np.ndarray:
    """Return M as a view, (nv, nv), symmetric."""
    start = int(buffer[at.H_M])
    nv = int(buffer[at.H_NV])
    return buffer[start : start + nv * nv].reshape(nv, nv)


@kernel
def nle_of(buffer: np.ndarray) -> np.ndarray:
    """Return the nonlinear effects C(q, v) v + g(q) as a view, (nv,)."""
    return _vector_of(buffer, at.H_NLE)


@kernel
def gravity_of(buffer: np.ndarray) -> np.ndarray:
    """Return the gravity torque g(q) as a view, (nv,)."""
    return _vector_of(buffer, at.H_G)


@inlined
def gravity_field(buffer: np.ndarray) -> Vector:
    """Return the gravity field in world axes."""
    return buffer[at.H_GRAVITY], buffer[at.H_GRAVITY + 1], buffer[at.H_GRAVITY + 2]


@inlined
def clear_world(rows: np.ndarray) -> None:
    """Empty what the world's row is about to collect: composite inertia and wrench."""
    for i in range(at.COMPOSITE, at.WRENCH + 6):
        rows[0, i] = 0.0


@inlined
def add_to_parent(rows: np.ndarray, k: int, parent: int) -> None:
    """Add composite inertia and wrench of row k to its parent's: all are at one point."""
    for i in range(at.COMPOSITE, at.WRENCH + 6):
        rows[parent, i] += rows[k, i]


@inlined
def write_mass_row(rows: np.ndarray, k: int, M: np.ndarray) -> None:
    """Write row and column k of M: F = Y_composite J_k, M_jk = J_j . F (Featherstone 6.2)."""
    m, s, I = load_composite(rows, k)
    linear, angular = momentum(m, s, I, load(rows, k, at.COLUMN), load(rows, k, at.COLUMN + 3))
    j = k
    while j > 0:
        value = dot(load(rows, j, at.COLUMN), linear)
        value += dot(load(rows, j, at.COLUMN + 3), angular)
        M[k - 1, j - 1] = value
        M[j - 1, k - 1] = value
        j = int(rows[j, at.PARENT])


@kernel
def terms(buffer: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
    """Fill placements, J, twists, bias accelerations, M, nle, g, and the watched frame.

    Args:
        buffer: A `Data`'s buffer.
        q: (nq,) configuration.
        v: (nv,) velocity.
    """
    rows = rows_of(buffer)
    clear_world(rows)
    for k in range(1, rows.shape[0]):
        R, p = place(rows, k, q)
        v_linear, v_angular, a_linear, a_angular = move(rows, k, v[k - 1])
        m, s, I = inertia_in_world(rows, k, R, p)
        store_composite(rows, k, m, s, I)
        # f_k = Y a + v x* (Y v), without gravity
        h_linear, h_angular = momentum(m, s, I, v_linear, v_angular)
        f_linear, f_angular = momentum(m, s, I, a_linear, a_angular)
        store(rows, k, at.WRENCH, add(f_linear, cross(v_angular, h_linear)))
        turn = add(cross(v_angular, h_angular), cross(v_linear, h_linear))
        store(rows, k, at.WRENCH + 3, add(f_angular, turn))

    M = mass_matrix_of(buffer)
    nle = nle_of(buffer)
    g = gravity_of(buffer)
    field = gravity_field(buffer)
    for k in range(rows.shape[0] - 1, 0, -1):
        linear, angular = load(rows, k, at.COLUMN), load(rows, k, at.COLUMN + 3)
        # g_k = - J_k . (m field, s x field)
        s = load(rows, k, at.COMPOSITE + 1)
        g[k - 1] = -rows[k, at.COMPOSITE] * dot(linear, field) - dot(angular, cross(s, field))
        # nle_k = J_k . f + g_k
        f_linear, f_angular = load(rows, k, at.WRENCH), load(rows, k, at.WRENCH + 3)
        nle[k - 1] = dot(linear, f_linear) + dot(angular, f_angular) + g[k - 1]
        write_mass_row(rows, k, M)
        add_to_parent(rows, k, int(rows[k, at.PARENT]))

    watched = int(buffer[at.H_WATCHED])
    if watched >= 0:
        nv = rows.shape[0] - 1
        start = int(buffer[at.H_WATCH])
        watch = buffer[start : start + at.W_JACOBIAN + 6 * nv]
        frame_terms(
            buffer,
            watched,
            watch[at.W_POSE : at.W_TWIST].reshape(4, 3),
            watch[at.W_TWIST : at.W_DRIFT],
            watch[at.W_JACOBIAN :].reshape(6, nv),
            watch[at.W_DRIFT : at.W_JACOBIAN],
        )
