"""Compiled functions of a `Data`'s buffer, for use inside other kernels.

They trust their arguments: float64 arrays, contiguous, of the right shape; the functions of
`icir_control.dynamics` call kernels that check. `layout` says what lies where in the buffer.
"""

from icir_control.dynamics.kernels.checked import CheckedKernel as CheckedKernel
from icir_control.dynamics.kernels.frames import frame_terms as frame_terms
from icir_control.dynamics.kernels.frames import placement_terms as placement_terms
from icir_control.dynamics.kernels.inverse import terms as terms
from icir_control.dynamics.kernels.layout import gravity_of as gravity_of
from icir_control.dynamics.kernels.layout import mass_matrix_of as mass_matrix_of
from icir_control.dynamics.kernels.layout import nle_of as nle_of
