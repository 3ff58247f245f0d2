"""All that the equation of motion M ddq + nle = tau holds, in two passes over the rows."""

import numpy as np

from icir_control.compiled import kernel
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels import spatial as sp
from icir_control.dynamics.kernels.checked import CheckedKernel, is_configuration, is_velocity
from icir_control.dynamics.kernels.composite import (
    add_composite_to_parent,
    clear_world,
    gravity_of_row,
    inertia_in_world,
    write_mass_row,
)
from icir_control.dynamics.kernels.forward import move, place, take_configuration
from icir_control.dynamics.kernels.frames import write_frame_terms
from icir_control.dynamics.kernels.inverse import add_wrench_to_parent, torque_of_row
from icir_control.dynamics.kernels.mimic import project, project_mass_matrix


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

    M = at.tree_square(buffer, at.H_M)
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
