"""Inverse dynamics, by the recursive Newton-Euler algorithm, and all terms in the same passes.

The cheat sheet's two loops, in world axes: there the wrenches of children add without any change
of frame.
"""

import numpy as np

from icir_control.compiled import inlined, kernel
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels import spatial as sp
from icir_control.dynamics.kernels import vector as vec
from icir_control.dynamics.kernels.checked import CheckedKernel, is_configuration, is_velocity
from icir_control.dynamics.kernels.composite import (
    add_composite_to_parent,
    clear_world,
    gravity_of_row,
    inertia_in_world,
    write_mass_row,
)
from icir_control.dynamics.kernels.forward import accelerate, move, place, take_configuration
from icir_control.dynamics.kernels.frames import write_frame_terms
from icir_control.dynamics.kernels.mimic import project, project_mass_matrix


@inlined
def torque_of_row(rows: np.ndarray, k: int) -> float:
    """Return tau_k = J_k . f_k, with the wrench of all beyond row k."""
    return sp.dot(sp.load(rows, k, at.COLUMN), sp.load(rows, k, at.WRENCH))


@inlined
def add_wrench_to_parent(rows: np.ndarray, k: int) -> None:
    """Add the wrench of row k to its parent's: f_parent += f_k, all at one point."""
    parent = at.integer(rows, k, at.PARENT)
    for i in range(at.WRENCH, at.WRENCH + 6):
        rows[parent, i] += rows[k, i]


@inlined
def newton_euler(
    buffer: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, has_a: bool, header: int
) -> None:
    """Fill tau, at ddq = 0 unless there is an acceleration (Featherstone, table 5.1).

    `header` says where the place of its block is noted.
    """
    tau = at.tree_matrix(buffer, header, 1)[0]
    rows, coordinates = take_configuration(buffer, q)
    clear_world(rows)
    field = at.gravity_field(buffer)
    external = at.matrix_of(buffer, at.H_EXTERNAL, rows.shape[0], 6)
    has_external = buffer[at.H_HAS_EXTERNAL] != 0.0
    for k in range(1, rows.shape[0]):
        R, p = place(rows, k, coordinates)
        twist, acceleration = move(rows, k, at.rate_of(rows, k, v))
        if has_a:
            acceleration = accelerate(rows, k, at.rate_of(rows, k, a))
        # A tree at rest in a field moves like one that is pushed by -field.
        # f_k = Y (a - field) + v x* (Y v) - f_external
        acceleration = vec.subtract(acceleration[0], field), acceleration[1]
        f = sp.body_force(inertia_in_world(rows, k, R, p), twist, acceleration)
        if has_external:
            f = sp.subtract(f, sp.force_out_of(R, p, sp.load(external, k, 0)))
        sp.store(rows, k, at.WRENCH, f)
    for k in range(rows.shape[0] - 1, 0, -1):
        tau[k - 1] = torque_of_row(rows, k)
        if has_a:
            tau[k - 1] += rows[k, at.ARMATURE] * at.rate_of(rows, k, a)
        add_wrench_to_parent(rows, k)
    project(buffer, header, 1)


@CheckedKernel
def nonlinear_effects(buffer: np.ndarray, q: np.ndarray, v: np.ndarray) -> int:
    """Fill nle = C(q, v) v + g(q): the inverse dynamics at ddq = 0."""
    if not (is_configuration(buffer, q) and is_velocity(buffer, v)):
        return 1
    newton_euler(buffer, q, v, v, False, at.H_NLE)
    return 0


@CheckedKernel
def inverse_dynamics(buffer: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> int:
    """Fill tau; external forces lie in the buffer."""
    if not (is_configuration(buffer, q) and is_velocity(buffer, v) and is_velocity(buffer, a)):
        return 1
    newton_euler(buffer, q, v, a, True, at.H_TAU)
    return 0


@kernel
def terms(buffer: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
    """Fill placements, J, twists, accelerations at ddq = 0, M, nle, g, and the watched frame.

    Args:
        buffer: A `Data`'s buffer.
        q: (nq,) configuration.
        v: (nv,) velocity.
    """
    rows, coordinates = take_configuration(buffer, q)
    clear_world(rows)
    for k in range(1, rows.shape[0]):
        R, p = place(rows, k, coordinates)
        twist, acceleration = move(rows, k, at.rate_of(rows, k, v))
        Y = inertia_in_world(rows, k, R, p)
        sp.store_inertia(rows, k, at.COMPOSITE, Y)
        sp.store(rows, k, at.WRENCH, sp.body_force(Y, twist, acceleration))

    M = at.empty_tree_square(buffer, at.H_M)
    nle, g = at.tree_matrix(buffer, at.H_NLE, 1)[0], at.tree_matrix(buffer, at.H_G, 1)[0]
    field = at.gravity_field(buffer)
    for k in range(rows.shape[0] - 1, 0, -1):
        # The wrenches are without gravity; the composite inertias know its share.
        g[k - 1] = gravity_of_row(rows, k, field)
        nle[k - 1] = torque_of_row(rows, k) + g[k - 1]
        write_mass_row(rows, k, M)
        add_composite_to_parent(rows, k)
        add_wrench_to_parent(rows, k)
    project_mass_matrix(buffer)
    project(buffer, at.H_NLE, 1)
    project(buffer, at.H_G, 1)

    watched = int(buffer[at.H_WATCHED])
    if watched >= 0:
        nv = int(buffer[at.H_NV])
        start = int(buffer[at.H_WATCH])
        write_frame_terms(
            buffer,
            watched,
            at.block(buffer, start + at.W_POSE, 4, 3),
            at.block(buffer, start + at.W_TWIST, 1, 6)[0],
            at.block(buffer, start + at.W_JACOBIAN, 6, nv),
            at.block(buffer, start + at.W_DRIFT, 1, 6)[0],
        )


@CheckedKernel
def all_terms(buffer: np.ndarray, q: np.ndarray, v: np.ndarray) -> int:
    """Check q and v, then do what `terms` does; return 0, or which of them is wrong."""
    if not (is_configuration(buffer, q) and is_velocity(buffer, v)):
        return 1
    terms(buffer, q, v)
    return 0
