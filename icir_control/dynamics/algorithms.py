"""The dynamics of a whole model: functions of a model, its data and a state.

Each fills `data` and returns its main result, which is a view into `data`: the next call
overwrites it. Configurations q are (nq,) [rad or m], velocities v, accelerations and torques
(nv,). All raise `InvalidValueError` for a vector of the wrong length or with a number that is not
finite, and for data of another model.
"""

from typing import Any

from icir_control.dynamics import kernels
from icir_control.dynamics.call import compute, prepared
from icir_control.dynamics.data import Data
from icir_control.dynamics.model import Model


def compute_all_terms(model: Model, data: Data, q: Any, v: Any) -> None:
    """Compute all that M(q) ddq + nle(q, v) = tau holds, in one pass.

    Fills `data.oMi`, `.oMf`, `.v`, `.J`, `.M`, `.nle`, `.g`, the watched frame's terms, and the
    accelerations at ddq = 0 (`data.a`) that `frame_classical_acceleration` reads.
    """
    if data.model is model:
        try:
            if data.terms(data.buffer, q, v) == 0:
                return
        except TypeError:
            # The first call, or other types than the kernel takes: go the careful way.
            data.terms = None
    compute(kernels.checked_terms, model, data, q, v, names=('q', 'v'))
    data.terms = prepared.get(kernels.checked_terms)
