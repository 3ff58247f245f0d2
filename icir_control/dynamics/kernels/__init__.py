"""Compiled functions of a `Data`'s buffer, for use inside other kernels.

They trust their arguments: float64 arrays, contiguous, of the right shape; the functions of
`icir_control.dynamics` call kernels that check. `layout` says what lies where in the buffer.
"""

from icir_control.dynamics.kernels.checked import CheckedKernel
from icir_control.dynamics.kernels.frames import frame_terms, placement_terms
from icir_control.dynamics.kernels.layout import gravity_of, mass_matrix_of, nle_of
from icir_control.dynamics.kernels.terms import terms

__all__ = [
    'CheckedKernel',
    'frame_terms',
    'gravity_of',
    'mass_matrix_of',
    'nle_of',
    'placement_terms',
    'terms',
]
