"""Centre of mass, momentum and energy of a model at a state.

As in `algorithms`: each fills `data`, returns its main result, and refuses bad vectors with an
`InvalidValueError`.
"""

from typing import Any

import numpy as np

from icir_control.dynamics import kernels
from icir_control.dynamics.call import compute, compute2
from icir_control.dynamics.data import Data
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.model import Model


def center_of_mass(model: Model, data: Data, q: Any) -> np.ndarray:
    """Return the centre of mass of the whole in the world, `data.com[0]` (3,) [m].

    `data.com[i]` is that of the subtree beyond joint i, in the joint's frame. The links that are
    fixed to the world do not count.
    """
    compute(kernels.centers_of_mass, model, data, q)
    return data.whole_com


def center_of_mass_jacobian(model: Model, data: Data, q: Any) -> np.ndarray:
    """Return `data.Jcom` (3, nv): the velocity of the whole's centre of mass is Jcom v."""
    compute(kernels.com_jacobian, model, data, q)
    return data.Jcom


def centroidal_map(model: Model, data: Data, q: Any) -> np.ndarray:
    """Return `data.Ag` (6, nv): the centroidal momentum is Ag v (CCRBA)."""
    compute(kernels.centroidal_map, model, data, q)
    return data.Ag


def centroidal_momentum(model: Model, data: Data, q: Any, v: Any) -> np.ndarray:
    """Return `data.hg` (6,): linear momentum, and angular about the centre of mass.

    In world axes; `data.Ag` is filled too.
    """
    compute2(kernels.centroidal_momentum, model, data, q, v)
    return data.hg


def kinetic_energy(model: Model, data: Data, q: Any, v: Any) -> float:
    """Return v . M v / 2 [J]."""
    compute2(kernels.kinetic_energy, model, data, q, v)
    return data.buffer.item(at.H_ENERGY)


def potential_energy(model: Model, data: Data, q: Any) -> float:
    """Return the energy in the field of gravity [J], 0 with all mass at the world's origin."""
    compute(kernels.potential_energy, model, data, q)
    return data.buffer.item(at.H_ENERGY)
