"""Spatial inertia of a rigid body: mass, centre of mass, rotational inertia about it."""

from typing import Any, Self

import numpy as np

from icir_control.errors import InvalidValueError
from icir_control.spatial import arrays
from icir_control.spatial.arrays import Array, checked, cross, cross_matrix, freeze, text
from icir_control.spatial.vectors import Force, Motion

_SLACK = 1e-9
"""What rounding may cost symmetry and the triangle inequality, relative to the largest moment."""


class Inertia:
    """Y = (m, c, I): the map from a body's twist to its momentum.

    I is taken about the centre of mass, in the axes of the frame, and c from its origin.
    """

    __slots__ = ('_com', '_mass', '_rotational')
    __array_ufunc__ = None

    def __init__(self, mass: float, com: Any, rotational: Any) -> None:
        """Take copies of the three.

        Args:
            mass: m [kg], not negative.
            com: c (3,) [m], the centre of mass.
            rotational: I (3, 3) [kg m^2], about the centre of mass.

        Raises:
            InvalidValueError: A negative mass, or a rotational inertia that no body has:
                not symmetric, or one principal moment larger than the other two together.
        """
        self._mass = arrays.checked_scalar('mass', mass)
        if self._mass < 0.0:
            raise InvalidValueError('mass', mass, 'a number of kilograms that is not negative')
        self._com = freeze(checked('com', com, (3,)))
        self._rotational = freeze(_checked_rotational(rotational))

    @classmethod
    def trusted(cls, mass: float, com: Array, rotational: Array) -> Self:
        """Wrap float64 arrays (3,), (3, 3) without check or copy, and make them read-only."""
        self = cls.__new__(cls)
        self._mass, self._com, self._rotational = mass, freeze(com), freeze(rotational)
        return self

    @classmethod
    def point_mass(cls, mass: float, com: Any) -> Self:
        """Return the inertia of a point."""
        return cls(mass, com, np.zeros((3, 3)))

    @classmethod
    def zero(cls) -> Self:
        """Return the inertia of nothing."""
        return cls.trusted(0.0, np.zeros(3), np.zeros((3, 3)))

    @classmethod
    def random(cls, rng: np.random.Generator) -> Self:
        """Return the inertia of a random cloud of points, which is that of a possible body."""
        points = rng.standard_normal((6, 3))
        centred = points - points.mean(axis=0)
        mass = rng.uniform(0.1, 10.0)
        second_moment = mass / 6 * centred.T @ centred
        rotational = np.trace(second_moment) * np.eye(3) - second_moment
        return cls(mass, rng.standard_normal(3), rotational)

    @property
    def mass(self) -> float:
        """The mass m [kg]."""
        return self._mass

    @property
    def com(self) -> Array:
        """The centre of mass c (3,) [m] from the frame's origin, read-only."""
        return self._com

    @property
    def rotational(self) -> Array:
        """The rotational inertia I (3, 3) [kg m^2] about the centre of mass, read-only."""
        return self._rotational

    @property
    def rotational_at_origin(self) -> Array:
        """I + m [c] [c]^T (3, 3) [kg m^2], about the frame's origin (parallel axes)."""
        c = cross_matrix(self._com)
        return self._rotational + self._mass * c @ c.T

    @property
    def matrix(self) -> Array:
        """The (6, 6) matrix [[m 1, m [c]^T], [m [c], I + m [c] [c]^T]], linear part first."""
        mc = self._mass * cross_matrix(self._com)
        return np.block([[self._mass * np.eye(3), mc.T], [mc, self.rotational_at_origin]])

    @property
    def parameters(self) -> Array:
        """The ten parameters (10,) that forces are linear in, in Pinocchio's order.

        m, m c, and xx, xy, yy, xz, yz, zz of the rotational inertia about the origin.
        """
        moments = self.rotational_at_origin[np.tril_indices(3)]
        return np.concatenate(([self._mass], self._mass * self._com, moments))

    def __mul__(self, motion: Motion) -> Force:
        """Return the momentum Y nu of a twist, or the force Y alpha of an acceleration."""
        if not isinstance(motion, Motion):
            return NotImplemented
        out = np.empty(6)
        # m (v - c x w), and I w + c x m (v - c x w)
        out[:3] = self._mass * (motion.linear - cross(self._com, motion.angular))
        out[3:] = self._rotational.dot(motion.angular) + cross(self._com, out[:3])
        return Force.trusted(out)

    def kinetic_energy(self, twist: Motion) -> float:
        """Return nu . Y nu / 2 [J].

        Raises:
            InvalidValueError: The argument is not a `Motion`.
        """
        _check_motion(twist)
        return 0.5 * twist.dot(self * twist)

    def bias_force(self, twist: Motion) -> Force:
        """Return nu x (Y nu) in the cheat sheet's form: five cross products, one product I w.

        Raises:
            InvalidValueError: The argument is not a `Motion`.
        """
        _check_motion(twist)
        v, w, c = twist.linear, twist.angular, self._com
        beta = self._mass * cross(c, w)
        momentum = self._mass * v - beta
        out = np.empty(6)
        out[:3] = cross(w, momentum)
        out[3:] = cross(w, cross(c, momentum) + self._rotational.dot(w)) - cross(v, beta)
        return Force.trusted(out)

    def moved(self, rotation: Array, translation: Array) -> Self:
        """Return the inertia in the parent frame: (m, p + R c, R I R^T)."""
        com = translation + rotation.dot(self._com)
        return self.trusted(self._mass, com, rotation @ self._rotational @ rotation.T)

    def moved_back(self, rotation: Array, translation: Array) -> Self:
        """Return the inertia in the child frame: (m, R^T (c - p), R^T I R)."""
        com = (self._com - translation).dot(rotation)
        return self.trusted(self._mass, com, rotation.T @ self._rotational @ rotation)

    def __add__(self, other: Self) -> Self:
        """Return the inertia of both bodies held together, given in one frame.

        The rotational part gains m1 m2 / (m1 + m2) [d] [d]^T with d from one centre to the other.
        """
        if not isinstance(other, Inertia):
            return NotImplemented
        mass = self._mass + other._mass
        rotational = self._rotational + other._rotational
        if mass == 0.0:
            return self.trusted(0.0, np.zeros(3), rotational)
        share = other._mass / mass
        apart = other._com - self._com
        d = cross_matrix(apart)
        rotational = rotational + self._mass * share * d @ d.T
        return self.trusted(mass, self._com + share * apart, rotational)

    def isclose(self, other: Self, tolerance: float = 1e-12) -> bool:
        """Tell whether max |a - b| / max(1, max |b|) of the matrices is at most the tolerance."""
        if not isinstance(other, Inertia):
            raise InvalidValueError('other', other, 'an Inertia')
        return arrays.close(self.matrix, other.matrix, tolerance)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Inertia):
            return NotImplemented
        return (
            self._mass == other._mass
            and np.array_equal(self._com, other._com)
            and np.array_equal(self._rotational, other._rotational)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        parts = self._mass, np.array(self._com), np.array(self._rotational)
        return type(self).trusted, parts

    def __repr__(self) -> str:
        parts = f'com={text(self._com)}, rotational={text(self._rotational)}'
        return f'Inertia(mass={self._mass:g}, {parts})'


def nearest_moments(moments: Array) -> Array:
    """Return the principal moments of inertia (3,) of a body that are nearest to others.

    With the second moments of mass s = tr / 2 - I, which no mass makes negative (Wensing, Kim and
    Slotine 2018, eq. 10), I = sum(s) - s.
    """
    spread = np.maximum(0.5 * np.sum(moments) - moments, 0.0)
    return np.asarray(np.sum(spread) - spread)


def _check_motion(twist: Any) -> None:
    if not isinstance(twist, Motion):
        raise InvalidValueError('twist', twist, 'a Motion')


def _checked_rotational(value: Any) -> Array:
    """Return I (3, 3) about the centre of mass, if some distribution of mass could have it."""
    rotational = checked('rotational', value, (3, 3))
    slack = _SLACK * np.abs(rotational).max()
    if np.abs(rotational - rotational.T).max() > slack:
        raise InvalidValueError('rotational', value, 'a symmetric matrix')
    # Enough to be positive too: a <= b + c and b <= a + c give 0 <= c.
    low, middle, high = np.linalg.eigvalsh(rotational).tolist()
    if low + middle < high - slack:
        moments = f'{low:.6g}, {middle:.6g}, {high:.6g}'
        raise InvalidValueError(
            'rotational',
            value,
            f'principal moments that satisfy a + b >= c, as every body has; these are {moments}',
        )
    return rotational
