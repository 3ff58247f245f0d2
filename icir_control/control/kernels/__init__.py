"""The compiled half of the controller: plain arrays and one record, in and out."""

from icir_control.control.kernels.follow import rehearse
from icir_control.control.kernels.reference import advance_reference
from icir_control.control.kernels.tick import (
    actuate,
    prepare,
    sense,
    start_path,
    step,
    tick,
)
from icir_control.dynamics.kernels import gravity_of, mass_matrix_of, nle_of, terms

__all__ = [
    'actuate',
    'advance_reference',
    'gravity_of',
    'mass_matrix_of',
    'nle_of',
    'prepare',
    'rehearse',
    'sense',
    'start_path',
    'step',
    'terms',
    'tick',
]
