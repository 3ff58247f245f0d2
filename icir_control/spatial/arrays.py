"""Checked, read-only arrays: what the immutable values are made of."""

from collections.abc import Callable
from dataclasses import fields
from math import isfinite, nan
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from icir_control.errors import InvalidValueError

Array = NDArray[np.float64]
AnyArray = TypeVar('AnyArray', bound=NDArray[Any])


class Value:
    """A frozen dataclass that holds arrays: read-only, also in a copy, and compared by content."""

    def __post_init__(self) -> None:
        for part in self._parts():
            if isinstance(part, np.ndarray):
                freeze(part)

    def _parts(self) -> tuple[Any, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))  # type: ignore[arg-type]

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not type(self):
            return NotImplemented
        pairs = zip(self._parts(), other._parts(), strict=True)
        return all(np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in pairs)

    def __hash__(self) -> int:
        return hash((type(self), *(part for part in self._parts() if isinstance(part, str))))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._parts()


def checked(name: str, value: Any, shape: tuple[int, ...], *, largest: float = np.inf) -> Array:
    """Return a fresh float64 array of the given shape, or say what is wrong with the value.

    Raises:
        InvalidValueError: The value is not numeric, has another shape, is not finite, or has a
            number of a magnitude above `largest`.
    """
    expected = f'finite numbers of shape {shape}'
    if len(shape) == 1:
        expected = f'{shape[0]} finite numbers'
    try:
        given = np.asarray(value)
        # numpy would take the real part of a complex number, and the number that a text holds.
        array = np.array(given, dtype=float) if given.dtype.kind in 'biufO' else np.empty(0)
    except (TypeError, ValueError, OverflowError):
        raise InvalidValueError(name, value, expected) from None
    if array.shape != shape or not all(map(isfinite, array.ravel().tolist())):
        raise InvalidValueError(name, value, expected)
    if largest < np.inf and np.abs(array).max() > largest:
        raise InvalidValueError(name, value, f'{expected}, none above {largest:g}')
    return array


def checked_scalar(
    name: str,
    value: Any,
    expected: str = 'a finite number',
    *,
    lowest: float = -np.inf,
    above: float = -np.inf,
) -> float:
    """Return a finite float, or say what is wrong with the value.

    Args:
        name: What the value is for.
        value: Any number, also of numpy's types.
        expected: What is valid, for the message.
        lowest: The least valid number.
        above: What a valid number exceeds.

    Raises:
        InvalidValueError: The value is no finite number, or below what is valid.
    """
    try:
        number = nan if isinstance(value, str | bytes) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = nan
    if not (isfinite(number) and number >= lowest and number > above):
        raise InvalidValueError(name, value, expected)
    return number


def filled(kernel: Callable[[Array, Array], None], argument: Array, *shape: int) -> Array:
    """Return what a compiled kernel writes into its last argument, in a fresh array."""
    out = np.empty(shape)
    kernel(argument, out)
    return out


def freeze(array: AnyArray) -> AnyArray:
    """Make an array read-only, in place, and return it."""
    array.setflags(write=False)
    return array


def cross(a: Array, b: Array) -> Array:
    """Return a x b of two (3,) vectors; a tenth of the time of `numpy.cross`."""
    a0, a1, a2 = a.tolist()
    b0, b1, b2 = b.tolist()
    return np.array((a1 * b2 - a2 * b1, a2 * b0 - a0 * b2, a0 * b1 - a1 * b0))


def cross_matrix(a: Array) -> Array:
    """Return the (3, 3) matrix [a] with [a] b = a x b, unchecked."""
    x, y, z = a.tolist()
    return np.array(((0.0, -z, y), (z, 0.0, -x), (-y, x, 0.0)))


def close(a: Array, b: Array, tolerance: float) -> bool:
    """Tell whether max |a - b| / max(1, max |b|) is at most the tolerance."""
    return bool(np.abs(a - b).max() <= tolerance * max(1.0, np.abs(b).max()))


def text(array: Array) -> str:
    """Return an array in one line, six digits, for `repr`."""
    line = np.array2string(array, precision=6, separator=', ', suppress_small=True)
    return ' '.join(line.split()).replace('[ ', '[').replace(' ]', ']')
