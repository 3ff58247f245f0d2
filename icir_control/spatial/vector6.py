"""What motions and forces have in common: six numbers, linear part first, that add and scale."""

from numbers import Real
from typing import Any, Self

import numpy as np

from icir_control.errors import InvalidValueError
from icir_control.spatial.arrays import checked, close, freeze, text


class Vector6:
    """An immutable 6-vector: linear part, then angular part.

    `Motion` and `Force` are the two kinds; they never mix, since they change frame differently.
    """

    __slots__ = ('_vector',)
    # numpy then leaves `np.float64(2) * motion` to `__rmul__` instead of building an object array.
    __array_ufunc__ = None

    _vector: np.ndarray

    def __init__(self, linear: Any = (0.0, 0.0, 0.0), angular: Any = (0.0, 0.0, 0.0)) -> None:
        """Take copies of the two parts.

        Args:
            linear: (3,), velocity [m/s] or force [N].
            angular: (3,), angular velocity [rad/s] or moment about the origin [N m].

        Raises:
            InvalidValueError: A part is not three finite numbers.
        """
        parts = checked('linear', linear, (3,)), checked('angular', angular, (3,))
        self._vector = freeze(np.concatenate(parts))

    @classmethod
    def trusted(cls, vector: np.ndarray) -> Self:
        """Wrap a float64 array (6,) without check or copy, and make it read-only.

        For callers in a hurry; the array (and what it is a view of) must not change any more.
        """
        self = cls.__new__(cls)
        vector.flags.writeable = False
        self._vector = vector
        return self

    @classmethod
    def from_vector(cls, vector: Any) -> Self:
        """Return the value with the given six numbers, linear part first.

        Raises:
            InvalidValueError: The vector is not six finite numbers.
        """
        return cls.trusted(checked('vector', vector, (6,)))

    @classmethod
    def from_angular_first(cls, vector: Any) -> Self:
        """Return the value whose six numbers come angular part first (Lynch & Park's order).

        Raises:
            InvalidValueError: The vector is not six finite numbers.
        """
        return cls.trusted(np.roll(checked('vector', vector, (6,)), 3))

    @classmethod
    def zero(cls) -> Self:
        """Return six zeros."""
        return cls.trusted(np.zeros(6))

    @classmethod
    def random(cls, rng: np.random.Generator) -> Self:
        """Return six standard normal numbers."""
        return cls.trusted(rng.standard_normal(6))

    @property
    def vector(self) -> np.ndarray:
        """The six numbers, linear part first; read-only."""
        return self._vector

    @property
    def angular_first(self) -> np.ndarray:
        """The six numbers in Lynch & Park's order, angular part first; a fresh array."""
        return np.roll(self._vector, 3)

    @property
    def linear(self) -> np.ndarray:
        """The linear part (3,), read-only."""
        return self._vector[:3]

    @property
    def angular(self) -> np.ndarray:
        """The angular part (3,), read-only."""
        return self._vector[3:]

    def isclose(self, other: Self, tolerance: float = 1e-12) -> bool:
        """Tell whether max |a - b| / max(1, max |b|) is at most the tolerance."""
        return close(self._vector, self._same(other)._vector, tolerance)

    def _same(self, other: Any) -> Self:
        if type(other) is not type(self):
            raise InvalidValueError('other', other, f'a {type(self).__name__}')
        return other

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        return self.trusted(self._vector + other._vector)

    def __sub__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        return self.trusted(self._vector - other._vector)

    def __neg__(self) -> Self:
        return self.trusted(-self._vector)

    def __mul__(self, factor: float) -> Self:
        if not isinstance(factor, Real):
            return NotImplemented
        return self.trusted(self._vector * float(factor))

    __rmul__ = __mul__

    def __truediv__(self, divisor: float) -> Self:
        if not isinstance(divisor, Real):
            return NotImplemented
        return self.trusted(self._vector / float(divisor))

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return np.array_equal(self._vector, other._vector)

    __hash__ = None

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).trusted, (np.array(self._vector),)

    def __repr__(self) -> str:
        parts = f'linear={text(self.linear)}, angular={text(self.angular)}'
        return f'{type(self).__name__}({parts})'
