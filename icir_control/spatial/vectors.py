"""Spatial vectors: motions and forces, six numbers with the linear part first, and screw axes."""

from dataclasses import dataclass
from math import inf, sqrt
from numbers import Real
from typing import Any, Self, overload

import numpy as np

from icir_control.errors import InvalidValueError
from icir_control.spatial.arrays import (
    Array,
    Value,
    checked,
    close,
    cross,
    cross_matrix,
    freeze,
    text,
)
from icir_control.spatial.so3 import unit

_new = object.__new__


class Vector6:
    """An immutable 6-vector: linear part, then angular part.

    `Motion` and `Force` are the two kinds; they never mix, since they change frame differently.
    """

    __slots__ = ('_vector',)
    # numpy then leaves `np.float64(2) * motion` to `__rmul__` instead of building an object array.
    __array_ufunc__ = None

    _vector: Array

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
    def trusted(cls, vector: Array) -> Self:
        """Wrap a float64 array (6,) without check or copy, and make it read-only.

        For callers in a hurry; the array (and what it is a view of) must not change any more.
        """
        # A quarter of the time of `flags.writeable = False`, and of this whole function.
        vector.setflags(False)  # type: ignore[call-arg]
        self = _new(cls)
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
    def vector(self) -> Array:
        """The six numbers, linear part first; read-only."""
        return self._vector

    @property
    def angular_first(self) -> Array:
        """The six numbers in Lynch & Park's order, angular part first; a fresh array."""
        return np.roll(self._vector, 3)

    @property
    def linear(self) -> Array:
        """The linear part (3,), read-only."""
        return self._vector[:3]

    @property
    def angular(self) -> Array:
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

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).trusted, (np.array(self._vector),)

    def __repr__(self) -> str:
        parts = f'linear={text(self.linear)}, angular={text(self.angular)}'
        return f'{type(self).__name__}({parts})'


class Motion(Vector6):
    """A twist [m/s, rad/s] or a spatial acceleration: linear part, then angular.

    The linear part belongs to the body's point that lies in the frame's origin.
    """

    __slots__ = ()

    @overload
    def cross(self, other: 'Motion') -> 'Motion': ...
    @overload
    def cross(self, other: 'Force') -> 'Force': ...
    def cross(self, other: 'Motion | Force') -> 'Motion | Force':
        """Return the rate at which `other`, at rest in a body, changes as the body moves so.

        On a motion it is the Lie bracket, (w x v' + v x w', w x w'); on a force it is
        (w x f, w x tau + v x f).

        Raises:
            InvalidValueError: The argument is neither a `Motion` nor a `Force`.
        """
        v, w = self.linear, self.angular
        out = np.empty(6)
        if isinstance(other, Motion):
            out[:3] = cross(w, other.linear) + cross(v, other.angular)
            out[3:] = cross(w, other.angular)
            return Motion.trusted(out)
        if isinstance(other, Force):
            out[:3] = cross(w, other.linear)
            out[3:] = cross(w, other.angular) + cross(v, other.linear)
            return Force.trusted(out)
        raise InvalidValueError('other', other, 'a Motion or a Force')

    @property
    def cross_matrix(self) -> Array:
        """The (6, 6) matrix ad with ad y = self x y on the vector of a `Motion`."""
        w = cross_matrix(self.angular)
        return np.block([[w, cross_matrix(self.linear)], [np.zeros((3, 3)), w]])

    @property
    def dual_cross_matrix(self) -> Array:
        """The (6, 6) matrix ad* = -ad^T with ad* f = self x f on the vector of a `Force`."""
        return -self.cross_matrix.T

    def dot(self, force: 'Force') -> float:
        """Return the power phi . nu [W] of a wrench in the same frame on this twist.

        Raises:
            InvalidValueError: The argument is not a `Force`.
        """
        if not isinstance(force, Force):
            raise InvalidValueError('force', force, 'a Force')
        return force.dot(self)

    def classical(self, twist: 'Motion') -> 'Motion':
        """Return the classical acceleration for this spatial acceleration.

        Its linear part, v' + w x v, is the second derivative of the position of the frame's
        origin, in the frame's axes; the spatial one is that of a point fixed in space.

        Args:
            twist: The body's twist in the same frame.

        Raises:
            InvalidValueError: The twist is not a `Motion`.
        """
        if not isinstance(twist, Motion):
            raise InvalidValueError('twist', twist, 'a Motion')
        out = np.array(self._vector)
        out[:3] += cross(twist.angular, twist.linear)
        return Motion.trusted(out)

    def moved(self, rotation: Array, translation: Array) -> Self:
        """Return the twist in the parent frame: w_a = R w_b, v_a = R v_b + p x w_a."""
        out = np.empty(6)
        out[3:] = rotation.dot(self.angular)
        out[:3] = rotation.dot(self.linear) + cross(translation, out[3:])
        return self.trusted(out)

    def moved_back(self, rotation: Array, translation: Array) -> Self:
        """Return the twist in the child frame: w_b = R^T w_a, v_b = R^T (v_a - p x w_a)."""
        out = np.empty(6)
        out[3:] = self.angular.dot(rotation)
        out[:3] = (self.linear - cross(translation, self.angular)).dot(rotation)
        return self.trusted(out)


class Force(Vector6):
    """A wrench [N, N m] or a momentum [N s, N m s]: linear part, then moment about the origin."""

    __slots__ = ()

    def dot(self, motion: Motion) -> float:
        """Return the power phi . nu [W] of this wrench on a twist in the same frame.

        Raises:
            InvalidValueError: The argument is not a `Motion`.
        """
        if not isinstance(motion, Motion):
            raise InvalidValueError('motion', motion, 'a Motion')
        return float(self._vector.dot(motion.vector))

    def moved(self, rotation: Array, translation: Array) -> Self:
        """Return the wrench in the parent frame: f_a = R f_b, tau_a = R tau_b + p x f_a."""
        out = np.empty(6)
        out[:3] = rotation.dot(self.linear)
        out[3:] = rotation.dot(self.angular) + cross(translation, out[:3])
        return self.trusted(out)

    def moved_back(self, rotation: Array, translation: Array) -> Self:
        """Return the wrench in the child frame: f_b = R^T f_a, tau_b = R^T (tau_a - p x f_a)."""
        out = np.empty(6)
        out[:3] = self.linear.dot(rotation)
        out[3:] = (self.angular - cross(translation, self.linear)).dot(rotation)
        return self.trusted(out)


@dataclass(frozen=True, eq=False, repr=False)
class ScrewAxis(Value):
    """The line through `point` along `direction`, with a pitch (Lynch & Park, section 3.3.2.2).

    Attributes:
        point: q (3,) [m], any point of the line.
        direction: s (3,), a unit vector.
        pitch: h [m/rad], the slide per turn; infinite for a translation without rotation.
    """

    point: Array
    direction: Array
    pitch: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, 'point', freeze(checked('point', self.point, (3,))))
        object.__setattr__(self, 'direction', freeze(unit('direction', self.direction)))
        try:
            pitch = float(self.pitch)
        except (TypeError, ValueError):
            pitch = -inf
        if not pitch > -inf:
            expected = 'a number of metres per radian, or inf for a pure translation'
            raise InvalidValueError('pitch', self.pitch, expected)
        object.__setattr__(self, 'pitch', pitch)

    @property
    def motion(self) -> Motion:
        """The unit twist along the screw: (-s x q + h s, s), or (s, 0) of infinite pitch."""
        if self.pitch == inf:
            return Motion(linear=self.direction)
        slide = self.pitch * self.direction - cross(self.direction, self.point)
        return Motion(slide, self.direction)

    @classmethod
    def of(cls, motion: Motion) -> tuple[Self, float]:
        """Return the screw of a twist and the rate along it: motion = rate * screw.motion.

        The rate is that of the angle [rad/s], or [m/s] if the twist does not turn; the point is
        the one of the line nearest to the origin.

        Raises:
            InvalidValueError: The twist is zero, so that it has no axis.
        """
        v, w = motion.linear, motion.angular
        if not motion.vector.any():
            raise InvalidValueError('motion', motion, 'a twist that is not zero')
        if not w.any():
            return cls(np.zeros(3), v, inf), sqrt(v.dot(v))
        direction = unit('angular', w)
        rate = float(direction.dot(w))  # where |w|^2 would underflow, too
        scaled = v / rate
        return cls(cross(direction, scaled), direction, float(direction.dot(scaled))), rate

    def __repr__(self) -> str:
        line = f'point={text(self.point)}, direction={text(self.direction)}'
        return f'ScrewAxis({line}, pitch={self.pitch:g})'


def screw_axis(point: Any, direction: Any, pitch: float = 0.0) -> Motion:
    """Return the unit twist S of the screw {q, s, h}: V = S dtheta/dt, and exp6(S theta)."""
    return ScrewAxis(point, direction, pitch).motion
