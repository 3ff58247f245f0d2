"""Compiled functions of a `Data`'s buffer, for use inside other kernels.

They trust their arguments: float64 arrays, contiguous, of the right shape. `layout` says what
lies where in the buffer.
"""

from icir_control.dynamics.kernels.articulated import forward_dynamics
from icir_control.dynamics.kernels.blocks import gravity_of, mass_matrix_of, nle_of
from icir_control.dynamics.kernels.centroidal import (
    centers_of_mass,
    centroidal_map,
    centroidal_momentum,
    com_jacobian,
    kinetic_energy,
    potential_energy,
)
from icir_control.dynamics.kernels.composite import gravity_torque, mass_matrix
from icir_control.dynamics.kernels.factor import inverse_mass_matrix
from icir_control.dynamics.kernels.forward import accelerations, placements, velocities
from icir_control.dynamics.kernels.frames import frame_terms, placement_terms
from icir_control.dynamics.kernels.inverse import inverse_dynamics, nonlinear_effects
from icir_control.dynamics.kernels.manifold import differenced, integrated
from icir_control.dynamics.kernels.queries import (
    frame_acceleration,
    frame_classical_acceleration,
    frame_jacobian,
    frame_jacobian_rate,
    frame_pose,
    frame_velocity,
)
from icir_control.dynamics.kernels.terms import all_terms, terms

__all__ = [
    'accelerations',
    'all_terms',
    'centers_of_mass',
    'centroidal_map',
    'centroidal_momentum',
    'com_jacobian',
    'differenced',
    'forward_dynamics',
    'frame_acceleration',
    'frame_classical_acceleration',
    'frame_jacobian',
    'frame_jacobian_rate',
    'frame_pose',
    'frame_terms',
    'frame_velocity',
    'gravity_of',
    'gravity_torque',
    'integrated',
    'inverse_dynamics',
    'inverse_mass_matrix',
    'kinetic_energy',
    'mass_matrix',
    'mass_matrix_of',
    'nle_of',
    'nonlinear_effects',
    'placement_terms',
    'placements',
    'potential_energy',
    'terms',
    'velocities',
]
