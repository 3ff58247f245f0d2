"""What the public functions check before a trusting kernel runs, compiled along with it.

A checked kernel returns 0, or says which of its arguments behind the buffer is wrong: 1, 2, ...
It asks for one vector after the other: with one function for all of them, which returns that
number, a call for a six-joint arm took 20 ns more.
"""

from math import isfinite

import numpy as np

from icir_control.compiled import inlined
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.blocks import link, rows_of


@inlined
def is_vector(x: np.ndarray, size: int) -> bool:
    """Tell whether x has the given length and is finite."""
    total = 0.0
    for value in x:
        total += abs(value)
    # Infinite or not a number as soon as one of them is.
    return x.size == size and isfinite(total)


@inlined
def is_configuration(buffer: np.ndarray, q: np.ndarray) -> bool:
    """Tell whether q is finite, long enough, and its quaternions are about unit ones."""
    if not is_vector(q, int(buffer[at.H_NQ])):
        return False
    if buffer[at.H_FREE] == 0.0:
        return True
    rows = rows_of(buffer)
    for k in range(1, rows.shape[0]):
        motion = link(rows, k, at.MOTION)
        if motion == at.TURNS_FREELY or motion == at.MOVES_FREELY:
            i = link(rows, k, at.INDEX_Q)
            if motion == at.MOVES_FREELY:
                i += 3
            square = q[i] ** 2 + q[i + 1] ** 2 + q[i + 2] ** 2 + q[i + 3] ** 2
            if not 0.99 < square < 1.01:
                return False
    return True


@inlined
def is_velocity(buffer: np.ndarray, v: np.ndarray) -> bool:
    """Tell whether v, an acceleration or a torque, is finite and has nv numbers."""
    return is_vector(v, int(buffer[at.H_NV]))
