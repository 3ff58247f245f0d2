"""From a public function to its compiled kernel: the check of what only Python can see.

The kernels themselves check lengths, finite values and indices. What is left here is the type:
a kernel is compiled for contiguous float64 arrays once and for all, and refuses others with a
`TypeError`; only then are its arguments converted, so that the usual call pays nothing.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from icir_control.compiled import JIT_DISABLED
from icir_control.errors import InvalidValueError

if TYPE_CHECKING:
    from icir_control.dynamics.data import Data
    from icir_control.dynamics.model import Model

prepared: dict[Callable[..., int], Callable[..., int]] = {}
"""The kernels that are compiled and take nothing else any more."""


def ready(kernel: Callable[..., int], arguments: Sequence[Any]) -> Callable[..., int]:
    """Return the kernel, compiled for arguments of the types of the given ones, and no others."""
    if not JIT_DISABLED and kernel not in prepared:
        from numba import typeof

        kernel.compile(tuple(typeof(argument) for argument in arguments))
        kernel.disable_compile()
        prepared[kernel] = kernel
    return kernel


def vector(name: str, value: Any, size: int) -> np.ndarray:
    """Return a float64 array (size,) that a kernel takes.

    Raises:
        InvalidValueError: The value is not that many finite numbers.
    """
    expected = f'{size} finite numbers'
    try:
        array = np.array(value, dtype=float)
    except (TypeError, ValueError):
        raise InvalidValueError(name, value, expected) from None
    if array.shape != (size,) or not np.isfinite(array).all():
        raise InvalidValueError(name, value, expected)
    return array


def check_pair(model: 'Model', data: 'Data') -> None:
    """Refuse a `Data` of another model.

    Raises:
        InvalidValueError: The data were not made by `model.create_data()`.
    """
    if data.model is not model:
        raise InvalidValueError('data', data, f'one that model {model.name!r} created')


def compute(
    kernel: Callable[..., int], model: 'Model', data: 'Data', *vectors: Any, names: Sequence[str]
) -> None:
    """Run a checked kernel on a configuration and further vectors of nv numbers.

    Args:
        kernel: A kernel of (buffer, q, ...) that returns 0, or which argument is wrong.
        model: The model.
        data: Its data, filled by the kernel.
        vectors: q and what else the kernel takes.
        names: Their names.

    Raises:
        InvalidValueError: A vector is of the wrong length or not finite.
    """
    check_pair(model, data)
    try:
        wrong = prepared[kernel](data.buffer, *vectors)
    except (KeyError, TypeError):
        vectors = [
            vector(name, value, model.nq if name == 'q' else model.nv)
            for name, value in zip(names, vectors, strict=True)
        ]
        wrong = ready(kernel, (data.buffer, *vectors))(data.buffer, *vectors)
    if wrong:
        name, value = names[wrong - 1], vectors[wrong - 1]
        vector(name, value, model.nq if name == 'q' else model.nv)
        raise InvalidValueError(name, value, 'unit quaternions where joints have them')
