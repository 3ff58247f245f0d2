"""Centre of mass, momentum and energy of a whole model; functions like those of `algorithms`."""

from typing import Any

import numpy as np

from icir_control.dynamics.algorithms import rnea
from icir_control.dynamics.call import check_model, compute, compute2
from icir_control.dynamics.data import Data
from icir_control.dynamics.frames import joint_index
from icir_control.dynamics.kernels import centroidal, derivatives
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.model import Model
from icir_control.spatial.arrays import Array


def center_of_mass(model: Model, data: Data, q: Any) -> Array:
    """Return the centre of mass of the whole in the world, `data.com[0]` (3,) [m].

    `data.com[i]` is that of the subtree beyond joint i, in the joint's frame. The links that are
    fixed to the world do not count.
    """
    compute(centroidal.centers_of_mass, model, data, q)
    return data.whole_com


def center_of_mass_jacobian(model: Model, data: Data, q: Any, joint_id: int | str = 0) -> Array:
    """Return J (3, nv): the velocity of a centre of mass in the world is J v.

    Args:
        model: The model.
        data: Its data; `data.Jcom`, that of the whole, is filled.
        q: Configuration.
        joint_id: Name or index of the joint beyond which the subtree lies; 0 for the whole.
    """
    compute(centroidal.com_jacobian, model, data, q)
    index = joint_index(model, joint_id)
    if index == 0:
        return data.Jcom
    # The composite inertia that each degree of freedom moves of the subtree; 0 for none.
    top, beyond, moved = model.joints[index], {index}, np.zeros(len(data.rows) - 1, dtype=int)
    for i, joint in enumerate(model.joints):
        if i and joint.parent in beyond:
            beyond.add(i)
            moved[joint.first_row - 1 : joint.row] = range(joint.first_row, joint.row + 1)
    joint = top
    while joint.row:
        moved[joint.first_row - 1 : joint.row] = top.row
        joint = model.joints[joint.parent]
    columns = data.rows[1:, at.COLUMN : at.COLUMN + 6]
    m, s = data.rows[moved, at.COMPOSITE], data.rows[moved, at.COMPOSITE + 1 : at.COMPOSITE + 4]
    # Linear momentum of what moves at unit speed: m v + w x s
    momentum = m[:, None] * columns[:, :3] + np.cross(columns[:, 3:], s)
    J = (momentum * (moved > 0)[:, None]).T / data.rows[top.row, at.COMPOSITE]
    return J if len(moved) == model.nv else J @ model.coupling


def center_of_mass_velocity(model: Model, data: Data, q: Any, v: Any) -> Array:
    """Return the velocity of the whole's centre of mass in the world, (3,) [m/s].

    `data.Ag` and `.hg` are filled too.
    """
    return centroidal_momentum(model, data, q, v)[:3] / total_mass(model)


def center_of_mass_acceleration(model: Model, data: Data, q: Any, v: Any, a: Any) -> Array:
    """Return the acceleration of the whole's centre of mass in the world, (3,) [m/s^2].

    From Newton's law: m c'' is the force through the ground, which `rnea` finds, and the weight.
    `data.tau` and `.f` are filled too.
    """
    rnea(model, data, q, v, a)
    return data.rows[0, at.WRENCH : at.WRENCH + 3] / total_mass(model) + model.gravity


def total_mass(model: Model) -> float:
    """Return the mass [kg] of all that moves."""
    check_model(model)
    return sum(inertia.mass for inertia in model.inertias[1:])


def centroidal_map(model: Model, data: Data, q: Any) -> Array:
    """Return `data.Ag` (6, nv): the centroidal momentum is Ag v (CCRBA)."""
    compute(centroidal.centroidal_map, model, data, q)
    return data.Ag


def centroidal_map_time_variation(model: Model, data: Data, q: Any, v: Any) -> Array:
    """Return `data.dAg` (6, nv), the time derivative of the centroidal map, `data.Ag`.

    The rate of the centroidal momentum is Ag a + dAg v.
    """
    compute2(derivatives.centroidal_map_rate, model, data, q, v)
    return data.dAg


def centroidal_momentum(model: Model, data: Data, q: Any, v: Any) -> Array:
    """Return `data.hg` (6,): linear momentum, and angular about the centre of mass.

    In world axes; `data.Ag` is filled too.
    """
    compute2(centroidal.centroidal_momentum, model, data, q, v)
    return data.hg


def kinetic_energy(model: Model, data: Data, q: Any, v: Any) -> float:
    """Return v . M v / 2 [J]."""
    compute2(centroidal.kinetic_energy, model, data, q, v)
    return data.buffer.item(at.H_ENERGY)


def potential_energy(model: Model, data: Data, q: Any) -> float:
    """Return the energy in the field of gravity [J], 0 with all mass at the world's origin."""
    compute(centroidal.potential_energy, model, data, q)
    return data.buffer.item(at.H_ENERGY)
