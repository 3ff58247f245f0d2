"""Inverse dynamics: the torque for a motion, by the recursive Newton-Euler algorithm.

The cheat sheet's two loops, in world axes: there the wrenches of children add without any change
of frame.
"""

import numpy as np

from icir_control.compiled import inlined
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.blocks import gravity_field, link, matrix_of, rows_of, vector_of
from icir_control.dynamics.kernels.checks import is_configuration, is_velocity
from icir_control.dynamics.kernels.composite import clear_world
from icir_control.dynamics.kernels.entrance import Entry
from icir_control.dynamics.kernels.forward import move, place, prepare, push
from icir_control.dynamics.kernels.inertia import force, inertia_in_world
from icir_control.dynamics.kernels.vector import (
    Matrix,
    Vector,
    add,
    apply,
    cross,
    dot,
    load,
    store,
    subtract,
)


@inlined
def store_wrench(rows: np.ndarray, k: int, linear: Vector, angular: Vector) -> None:
    """Write the wrench of row k."""
    store(rows, k, at.WRENCH, linear)
    store(rows, k, at.WRENCH + 3, angular)


@inlined
def torque_of_row(rows: np.ndarray, k: int) -> float:
    """Return tau_k = J_k . f_k, with the wrench of all beyond row k."""
    linear = dot(load(rows, k, at.COLUMN), load(rows, k, at.WRENCH))
    return linear + dot(load(rows, k, at.COLUMN + 3), load(rows, k, at.WRENCH + 3))


@inlined
def add_wrench_to_parent(rows: np.ndarray, k: int) -> None:
    """Add the wrench of row k to its parent's: f_parent += f_k, all at one point."""
    parent = link(rows, k, at.PARENT)
    for i in range(at.WRENCH, at.WRENCH + 6):
        rows[parent, i] += rows[k, i]


@inlined
def external_wrench(external: np.ndarray, k: int, R: Matrix, p: Vector) -> tuple[Vector, Vector]:
    """Return the external force on row k, given in its own frame, in world axes: oX*_k f."""
    linear = apply(R, load(external, k, 0))
    angular = add(apply(R, load(external, k, 3)), cross(p, linear))
    return linear, angular


@inlined
def torques_to_root(rows: np.ndarray, tau: np.ndarray) -> None:
    """Turn the wrenches of single rows into those of all beyond them, and into torques."""
    for k in range(rows.shape[0] - 1, 0, -1):
        tau[k - 1] = torque_of_row(rows, k)
        add_wrench_to_parent(rows, k)


@Entry
def nonlinear_effects(buffer: np.ndarray, q: np.ndarray, v: np.ndarray) -> int:
    """Fill nle = C(q, v) v + g(q): the inverse dynamics at ddq = 0."""
    if not is_configuration(buffer, q):
        return 1
    if not is_velocity(buffer, v):
        return 2
    rows, circle = rows_of(buffer), prepare(buffer, q)
    clear_world(rows)
    field = gravity_field(buffer)
    for k in range(1, rows.shape[0]):
        R, p = place(rows, k, q, circle)
        v_linear, v_angular, a_linear, a_angular = move(rows, k, v[k - 1])
        m, s, I = inertia_in_world(rows, k, R, p)
        # A tree at rest in a field g moves like one that is pushed by -g.
        a_linear = subtract(a_linear, field)
        linear, angular = force(m, s, I, v_linear, v_angular, a_linear, a_angular)
        store_wrench(rows, k, linear, angular)
    torques_to_root(rows, vector_of(buffer, at.H_NLE))
    return 0


@Entry
def inverse_dynamics(buffer: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> int:
    """Fill tau (Featherstone, table 5.1); external forces lie in the buffer."""
    if not is_configuration(buffer, q):
        return 1
    if not is_velocity(buffer, v):
        return 2
    if not is_velocity(buffer, a):
        return 3
    rows, circle = rows_of(buffer), prepare(buffer, q)
    clear_world(rows)
    field = gravity_field(buffer)
    pushed = buffer[at.H_PUSHED] != 0.0
    external = matrix_of(buffer, at.H_EXTERNAL, rows.shape[0], 6)
    for k in range(1, rows.shape[0]):
        R, p = place(rows, k, q, circle)
        v_linear, v_angular, _, _ = move(rows, k, v[k - 1])
        a_linear, a_angular = push(rows, k, a[k - 1])
        m, s, I = inertia_in_world(rows, k, R, p)
        # f_k = Y (a - field) + v x* (Y v) - f_external
        a_linear = subtract(a_linear, field)
        linear, angular = force(m, s, I, v_linear, v_angular, a_linear, a_angular)
        if pushed:
            x_linear, x_angular = external_wrench(external, k, R, p)
            linear, angular = subtract(linear, x_linear), subtract(angular, x_angular)
        store_wrench(rows, k, linear, angular)
    torques_to_root(rows, vector_of(buffer, at.H_TAU))
    return 0
