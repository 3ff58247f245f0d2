"""Compiled functions of a `Data`'s buffer, for use inside other kernels.

They trust their arguments: float64 arrays, contiguous, of the right shape. `layout` says what
lies where in the buffer.
"""

from icir_control.dynamics.kernels.checked import checked_terms
from icir_control.dynamics.kernels.forward import placements, velocities
from icir_control.dynamics.kernels.frames import frame_terms, placement_terms
from icir_control.dynamics.kernels.queries import (
    frame_acceleration,
    frame_classical_acceleration,
    frame_jacobian,
    frame_jacobian_rate,
    frame_pose,
    frame_velocity,
)
from icir_control.dynamics.kernels.terms import gravity_of, mass_matrix_of, nle_of, terms

__all__ = [
    'checked_terms',
    'frame_acceleration',
    'frame_classical_acceleration',
    'frame_jacobian',
    'frame_jacobian_rate',
    'frame_pose',
    'frame_terms',
    'frame_velocity',
    'gravity_of',
    'mass_matrix_of',
    'nle_of',
    'placement_terms',
    'placements',
    'terms',
    'velocities',
]
