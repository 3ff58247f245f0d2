"""All that the equation of motion M ddq + nle = tau holds, in two passes over the rows."""

import numpy as np

from icir_control.compiled import inlined, kernel
from icir_control.dynamics.kernels import layout as at
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
from icir_control.dynamics.kernels.layout import (
    gravity_field,
    gravity_of,
    mass_matrix_of,
    nle_of,
    rows_of,
    view,
)
from icir_control.dynamics.kernels.vector import body_force, store_inertia, store_spatial


@inlined
def _write_terms(buffer: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
    """Do what `terms` does, as a part of the kernel that calls it."""
    rows, coordinates = rows_of(buffer), take_configuration(buffer, q)
    clear_world(rows)
    for k in range(1, rows.shape[0]):
        R, p = place(rows, k, coordinates)
        twist, acceleration = move(rows, k, v[k - 1])
        Y = inertia_in_world(rows, k, R, p)
        store_inertia(rows, k, at.COMPOSITE, Y)
        store_spatial(rows, k, at.WRENCH, body_force(Y, twist, acceleration))

    M, nle, g = mass_matrix_of(buffer), nle_of(buffer), gravity_of(buffer)
    field = gravity_field(buffer)
    for k in range(rows.shape[0] - 1, 0, -1):
        # The wrenches are without gravity; the composite inertias know its share.
        g[k - 1] = gravity_of_row(rows, k, field)
        nle[k - 1] = torque_of_row(rows, k) + g[k - 1]
        write_mass_row(rows, k, M)
        add_composite_to_parent(rows, k)
        add_wrench_to_parent(rows, k)

    watched = int(buffer[at.H_WATCHED])
    if watched >= 0:
        nv = rows.shape[0] - 1
        start = int(buffer[at.H_WATCH])
        write_frame_terms(
            buffer,
            watched,
            view(buffer, start + at.W_POSE, 4, 3),
            view(buffer, start + at.W_TWIST, 1, 6)[0],
            view(buffer, start + at.W_JACOBIAN, 6, nv),
            view(buffer, start + at.W_DRIFT, 1, 6)[0],
        )


@kernel
def terms(buffer: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
    """Fill placements, J, twists, accelerations at ddq = 0, M, nle, g, and the watched frame.

    Args:
        buffer: A `Data`'s buffer.
        q: (nq,) configuration.
        v: (nv,) velocity.
    """
    _write_terms(buffer, q, v)


@CheckedKernel
def all_terms(buffer: np.ndarray, q: np.ndarray, v: np.ndarray) -> int:
    """Check q and v, then do what `terms` does; return 0, or which of them is wrong."""
    if not is_configuration(buffer, q):
        return 1
    if not is_velocity(buffer, v):
        return 2
    _write_terms(buffer, q, v)
    return 0
