"""What + and - are for configurations, where joints have quaternions."""

from typing import Any

import numpy as np

from icir_control.dynamics import kernels
from icir_control.dynamics.call import run_carefully
from icir_control.dynamics.kernels.entrance import Entry
from icir_control.dynamics.model import Model


def integrate(model: Model, q: Any, v: Any) -> np.ndarray:
    """Return the configuration (nq,) that the constant velocity v reaches from q in unit time.

    A floating joint moves along a screw, with its twist constant in the body; a quaternion keeps
    its unit length; all other coordinates add, also the three of a planar joint. For a step of
    h seconds, pass h v.

    Args:
        model: The model.
        q: Configuration (nq,) [rad or m].
        v: Velocity (nv,), times the duration.

    Raises:
        InvalidValueError: A vector is of the wrong length, not finite, or a quaternion in it is
            far from unit length.
    """
    out = np.empty(model.nq)
    _run(kernels.integrated, model, q, v, out)
    return out


def difference(model: Model, q0: Any, q1: Any) -> np.ndarray:
    """Return the velocity (nv,) that leads from q0 to q1 in unit time: integrate's inverse.

    Quaternions turn by at most pi.

    Args:
        model: The model.
        q0: Configuration (nq,) to start from.
        q1: Configuration (nq,) to reach.

    Raises:
        InvalidValueError: As for `integrate`.
    """
    out = np.empty(model.nv)
    _run(kernels.differenced, model, q0, q1, out)
    return out


def _run(kernel: Entry, model: Model, a: Any, b: Any, out: np.ndarray) -> None:
    try:
        if kernel.call(model.buffer, a, b, out) == 0:
            return
    except TypeError:
        # Not compiled yet, or other types than it takes.
        pass
    run_carefully(kernel, model, model.buffer, a, b, out)
