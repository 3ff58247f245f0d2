"""The kernels behind the public functions of one configuration: check, then compute.

Each returns 0, or says which of its arguments behind the buffer is wrong: 1, 2, ...
"""

import numpy as np

from icir_control.compiled import kernel
from icir_control.dynamics.kernels.checks import is_configuration, is_velocity
from icir_control.dynamics.kernels.terms import terms


@kernel
def checked_terms(buffer: np.ndarray, q: np.ndarray, v: np.ndarray) -> int:
    """Run `terms`."""
    if not is_configuration(buffer, q):
        return 1
    if not is_velocity(buffer, v):
        return 2
    terms(buffer, q, v)
    return 0
