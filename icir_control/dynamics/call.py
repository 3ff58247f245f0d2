"""From a public function to its compiled kernel: the check of what only Python can see.

The kernels themselves check lengths, finite values and indices. What is left here is the type:
a kernel is compiled for contiguous float64 arrays once and for all, and refuses others with a
`TypeError`; only then are its arguments converted, so that the usual call pays nothing.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from icir_control.compiled import JIT_DISABLED
from icir_control.errors import InvalidValueError, ModelError

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
    """Run a checked kernel on the data of a model; see `run`."""
    check_pair(model, data)
    run(kernel, model, data.buffer, *vectors, names=names)


def run(
    kernel: Callable[..., int],
    model: 'Model',
    buffer: np.ndarray,
    *arguments: Any,
    names: Sequence[str],
) -> None:
    """Run a checked kernel on configurations and vectors of nv numbers.

    Args:
        kernel: A kernel of (buffer, vectors, outputs) that returns 0, or which vector is wrong,
            or -k if row k has no inertia to move.
        model: The model.
        buffer: The buffer of its data.
        arguments: The vectors, and behind them arrays that the kernel writes.
        names: Names of the vectors; those of configurations begin with q.

    Raises:
        InvalidValueError: A vector is of the wrong length or not finite.
        ModelError: Something that is to be accelerated has no inertia.
    """
    try:
        wrong = prepared[kernel](buffer, *arguments)
    except (KeyError, TypeError):
        given = zip(names, arguments, strict=False)
        vectors = [vector(name, value, _size(model, name)) for name, value in given]
        arguments = (*vectors, *arguments[len(names) :])
        wrong = ready(kernel, (buffer, *arguments))(buffer, *arguments)
    if wrong < 0:
        joint = next(joint for joint in model.joints if joint.row >= -wrong)
        raise ModelError(
            f'what joint {joint.name!r} moves has no inertia against its motion; give the links '
            'on it an inertia, or take the joint away'
        )
    if wrong:
        name, value = names[wrong - 1], arguments[wrong - 1]
        vector(name, value, _size(model, name))
        raise InvalidValueError(name, value, 'unit quaternions where joints have them')


def _size(model: 'Model', name: str) -> int:
    return model.nq if name.startswith('q') else model.nv
