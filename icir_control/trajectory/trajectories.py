"""Trajectories of the joints, through two points or more, and of a frame in SE(3)."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from icir_control.errors import InvalidValueError, UnknownNameError
from icir_control.spatial import SE3, Motion, log3
from icir_control.spatial.arrays import Array, checked, checked_scalar
from icir_control.trajectory import kernels

SHORTEST, LONGEST = 1e-9, 1e9
"""[s] Durations of a motion."""

Profile = Callable[[ArrayLike, ArrayLike, ArrayLike, float], Array]
"""From a moving start to rest at a goal.

Args:
    start: (n,) position at s = 0.
    velocity: (n,) velocity at s = 0.
    goal: (n,) position at s = T.
    duration: T [s], from `SHORTEST` to `LONGEST`.

Returns:
    (n, 6): the coefficient of s^k in column k.

Raises:
    InvalidValueError: A duration that is no such number, or arrays that do not match.
"""


def cubic(start: ArrayLike, velocity: ArrayLike, goal: ArrayLike, duration: float) -> Array:
    """Return the cubic, a `Profile`: the tutorial's, slide "Joint space position control".

    x(s) = x_0 + v_0 s + (3 d / T^2 - 2 v_0 / T) s^2 - (2 d / T^3 - v_0 / T^2) s^3, d = x_f - x_0.
    """
    x0, v0, d, T = _checked(start, velocity, goal, duration)
    return _rows(x0, v0, 3.0 * d / T**2 - 2.0 * v0 / T, -2.0 * d / T**3 + v0 / T**2)


def quintic(start: ArrayLike, velocity: ArrayLike, goal: ArrayLike, duration: float) -> Array:
    """Return the quintic, a `Profile` whose ends do not accelerate.

    Six conditions on six coefficients (Lynch & Park, Modern Robotics, section 9.2.2.2), here with
    a start that may move. Its peak velocity is 15/8 d/T, a cubic's 3/2 d/T.
    """
    x0, v0, d, T = _checked(start, velocity, goal, duration)
    third = 10.0 * d / T**3 - 6.0 * v0 / T**2
    fourth = -15.0 * d / T**4 + 8.0 * v0 / T**3
    fifth = 6.0 * d / T**5 - 3.0 * v0 / T**4
    return _rows(x0, v0, np.zeros_like(x0), third, fourth, fifth)


def stop(start: ArrayLike, velocity: ArrayLike, duration: float) -> Array:
    """Return the way in which a motion comes to rest, without a jump of acceleration.

    The velocity falls as v(s) = v_0 (1 - 3 u^2 + 2 u^3), u = s / T; the way is v_0 T / 2.

    Args:
        start: (n,) position at s = 0.
        velocity: (n,) velocity at s = 0.
        duration: T [s], from `SHORTEST` to `LONGEST`.

    Returns:
        (n, 6): the coefficient of s^k in column k.

    Raises:
        InvalidValueError: A duration that is no such number.
    """
    x0, v0, _, T = _checked(start, velocity, start, duration)
    return _rows(x0, v0, np.zeros_like(x0), -v0 / T**2, v0 / (2.0 * T**3))


PROFILES: dict[str, Profile] = {'cubic': cubic, 'quintic': quintic}
"""The shapes that a mode may choose."""


def find_profile(name: str) -> Profile:
    """Return the profile of a name.

    Raises:
        UnknownNameError: A profile that does not exist.
    """
    if name not in PROFILES:
        raise UnknownNameError('profile', name, PROFILES)
    return PROFILES[name]


def _rows(*powers: Array) -> Array:
    """Return (n, 6) coefficients of the given powers, each (n,), from s^0 on; the others are 0."""
    coefficients = np.zeros((len(powers[0]), 6))
    coefficients[:, : len(powers)] = np.transpose(powers)
    return coefficients


def _checked(
    start: ArrayLike, velocity: ArrayLike, goal: ArrayLike, duration: float
) -> tuple[Array, Array, Array, float]:
    """Return start and velocity (n,), the way to the goal (n,), and the duration."""
    T = checked_duration(duration)
    count = np.asarray(start, dtype=object).size
    x0, v0, x1 = (
        checked(name, np.atleast_1d(x) if np.isscalar(x) else x, (count,))
        for name, x in (('start', start), ('velocity', velocity), ('goal', goal))
    )
    return x0, v0, x1 - x0, T


def checked_duration(duration: Any) -> float:
    """Return a duration [s] as a float: powers of an integer of numpy's may overflow.

    Raises:
        InvalidValueError: It is no number, or none whose powers are numbers.
    """
    expected = f'a number of seconds from {SHORTEST:g} to {LONGEST:g}'
    T = checked_scalar('duration', duration, expected, lowest=SHORTEST)
    if T > LONGEST:
        raise InvalidValueError('duration', duration, expected)
    return T


@dataclass(frozen=True, eq=False)
class JointTrajectory:
    """Joint positions as polynomials of time.

    Attributes:
        start_time: [s].
        duration: [s].
        coefficients: (nv, 6), of powers of the time since the start.
    """

    start_time: float
    duration: float
    coefficients: Array

    @classmethod
    def to_rest(
        cls,
        start_time: float,
        duration: float,
        start: ArrayLike,
        velocity: ArrayLike,
        goal: ArrayLike,
        *,
        profile: str = 'cubic',
    ) -> Self:
        """Plan a motion from a (moving) start to rest at a goal.

        Args:
            start_time: [s].
            duration: [s], from `SHORTEST` to `LONGEST`.
            start: (nv,) [rad or m].
            velocity: (nv,) at the start [rad/s or m/s].
            goal: (nv,) [rad or m].
            profile: `cubic` or `quintic`.

        Raises:
            UnknownNameError: A profile that does not exist.
            InvalidValueError: A time or duration that is no such number, or arrays that do not
                match.
        """
        coefficients = find_profile(profile)(start, velocity, goal, duration)
        return cls(checked_scalar('start_time', start_time), float(duration), coefficients)

    def position(self, time: float) -> Array:
        """Return q(t), (nv,) [rad or m]; before the start extrapolated, after the end at rest."""
        q = np.empty(len(self.coefficients))
        kernels.polynomial_at(self.coefficients, self.duration, time - self.start_time, q)
        return q

    def sample(self, time: float) -> tuple[Array, Array, Array]:
        """Return position, velocity and acceleration at a time, each (nv,)."""
        elapsed = time - self.start_time
        v, a = np.empty(len(self.coefficients)), np.empty(len(self.coefficients))
        kernels.polynomial_rates_at(self.coefficients, self.duration, elapsed, v, a)
        return self.position(time), v, a


@dataclass(frozen=True, eq=False)
class SE3Trajectory:
    """Placement of a frame as a function of time: p(s), R(s) = R_0 exp(phi(s)).

    Straight in translation, about one axis in rotation.
    For a start at rest this is the tutorial's SE3Cubic: phi(s) = tau(s) log(R_0^T R_f), with tau
    the cubic from 0 to 1. A start that moves gives phi its first velocity.

    Attributes:
        start_time: [s].
        duration: [s].
        start: Placement at the start, T_world_frame.
        coefficients: (6, 6), rows 0-2 of p in world axes [m], rows 3-5 of phi [rad].
    """

    start_time: float
    duration: float
    start: SE3
    coefficients: Array

    @classmethod
    def to_rest(
        cls,
        start_time: float,
        duration: float,
        start: SE3,
        twist: Motion,
        goal: SE3,
        *,
        profile: str = 'cubic',
    ) -> Self:
        """Plan a motion from a (moving) start to rest at a goal.

        Args:
            start_time: [s].
            duration: [s], from `SHORTEST` to `LONGEST`.
            start: T_world_frame at the start.
            twist: Of the frame at the start, in its own (LOCAL) axes [m/s, rad/s].
            goal: T_world_frame at the end.
            profile: `cubic` or `quintic`.

        Raises:
            UnknownNameError: A profile that does not exist.
            InvalidValueError: A time or duration that is no such number, or placements or a twist
                that are none.
        """
        _check_types(('start', start, SE3), ('twist', twist, Motion), ('goal', goal, SE3))
        x0 = np.concatenate([start.translation, np.zeros(3)])
        x1 = np.concatenate([goal.translation, log3(start.rotation.T @ goal.rotation)])
        coefficients = find_profile(profile)(x0, _first_rate(start, twist), x1, duration)
        start_time = checked_scalar('start_time', start_time)
        return cls(start_time, float(duration), start, coefficients)

    @classmethod
    def to_stop(cls, start_time: float, duration: float, start: SE3, twist: Motion) -> Self:
        """Plan how a moving frame comes to rest where it may.

        Args:
            start_time: [s].
            duration: [s], from `SHORTEST` to `LONGEST`.
            start: T_world_frame at the start.
            twist: Of the frame at the start, LOCAL [m/s, rad/s].

        Raises:
            InvalidValueError: As for `to_rest`.
        """
        _check_types(('start', start, SE3), ('twist', twist, Motion))
        x = np.concatenate([start.translation, np.zeros(3)])
        coefficients = stop(x, _first_rate(start, twist), duration)
        start_time = checked_scalar('start_time', start_time)
        return cls(start_time, float(duration), start, coefficients)

    def placement(self, time: float) -> SE3:
        """Return T_world_frame at a time; before the start extrapolated, after the end at rest."""
        start = np.vstack([self.start.rotation, self.start.translation])
        pose = np.empty((4, 3))
        elapsed = time - self.start_time
        kernels.pose_at(start, self.coefficients, self.duration, elapsed, pose)
        return SE3(pose[:3], pose[3])

    def sample(self, time: float) -> tuple[SE3, Motion, Motion]:
        """Return the placement, the twist and the classical acceleration, both LOCAL."""
        elapsed = time - self.start_time
        placement = self.placement(time)
        pose = np.vstack([placement.rotation, placement.translation])
        twist, acceleration = np.empty(6), np.empty(6)
        kernels.pose_rates_at(pose, self.coefficients, self.duration, elapsed, twist, acceleration)
        return placement, Motion(twist[:3], twist[3:]), Motion(acceleration[:3], acceleration[3:])


def _check_types(*arguments: tuple[str, Any, type]) -> None:
    """Refuse an argument, of those with name and type, that is of another type."""
    for name, value, kind in arguments:
        if not isinstance(value, kind):
            raise InvalidValueError(name, value, f'one of type {kind.__name__}')


def _first_rate(start: SE3, twist: Motion) -> Array:
    """Return p' in world axes and phi' at phi = 0, where the right Jacobian is the identity."""
    return np.concatenate([start.rotation @ twist.linear, twist.angular])


def spline(
    times: ArrayLike,
    positions: ArrayLike,
    velocities: ArrayLike,
    accelerations: ArrayLike | None = None,
) -> tuple[JointTrajectory, ...]:
    """Return the polynomials between points: cubics, or quintics where accelerations are given.

    Each has the positions, velocities and accelerations of its two ends (Lynch & Park, Modern
    Robotics, section 9.3).

    Args:
        times: (k,) increasing [s].
        positions: (k, nv) [rad or m].
        velocities: (k, nv).
        accelerations: (k, nv).

    Raises:
        InvalidValueError: Times that do not increase, or arrays that do not match.
    """
    times, positions = _checked_points(times, positions)
    velocities = checked('velocities', velocities, positions.shape)
    if accelerations is not None:
        accelerations = checked('accelerations', accelerations, positions.shape)
    segments = []
    for i, T in enumerate(np.diff(times)):
        p, v = positions[i], velocities[i]
        d, w = positions[i + 1] - p, velocities[i + 1]
        c = np.zeros((positions.shape[1], 6))
        c[:, 0], c[:, 1] = p, v
        if accelerations is None:
            c[:, 2] = (3.0 * d / T - 2.0 * v - w) / T
            c[:, 3] = (v + w - 2.0 * d / T) / T**2
        else:
            a, b = accelerations[i], accelerations[i + 1]
            c[:, 2] = 0.5 * a
            c[:, 3] = 0.5 * (20.0 * d / T - 12.0 * v - 8.0 * w - (3.0 * a - b) * T) / T**2
            c[:, 4] = 0.5 * (-30.0 * d / T + 16.0 * v + 14.0 * w + (3.0 * a - 2.0 * b) * T) / T**3
            c[:, 5] = 0.5 * (12.0 * d / T - 6.0 * (v + w) + (b - a) * T) / T**4
        segments.append(JointTrajectory(float(times[i]), float(T), c))
    return tuple(segments)


def smooth_velocities(
    times: ArrayLike, positions: ArrayLike, first: ArrayLike, last: ArrayLike
) -> Array:
    """Return the velocities with which a cubic spline has a continuous acceleration.

    For neighbours h and g apart, g v- + 2 (h + g) v + h v+ = 3 (g d- / h + h d+ / g), with d- and
    d+ the ways from the point before and to the point after (de Boor, A Practical Guide to
    Splines, chapter 4).

    Args:
        times: (k,) increasing [s].
        positions: (k, nv) [rad or m].
        first: (nv,) velocity at the first point.
        last: (nv,) velocity at the last one.

    Returns:
        (k, nv).

    Raises:
        InvalidValueError: Times that do not increase, or arrays that do not match.
    """
    times, positions = _checked_points(times, positions)
    first, last = (
        checked(name, x, positions[0].shape) for name, x in (('first', first), ('last', last))
    )
    h, d = np.diff(times), np.diff(positions, axis=0)
    v = np.empty_like(positions)
    v[0], v[-1] = first, last
    r = (h[1:] / h[:-1])[:, None]
    b = 3.0 * (r * d[:-1] + d[1:] / r)
    # Gauss's elimination of a tridiagonal system, which is diagonally dominant.
    share = 0.0
    for i in range(1, len(times) - 1):
        before, after = h[i], h[i - 1]
        pivot = 2.0 * (before + after) - before * share
        share = after / pivot
        v[i] = (b[i - 1] - before * v[i - 1]) / pivot
        h[i - 1] = share  # in its place, which is not needed any more
    for i in range(len(times) - 2, 0, -1):
        v[i] -= h[i - 1] * v[i + 1]
    return v


def _checked_points(times: ArrayLike, positions: ArrayLike) -> tuple[Array, Array]:
    """Return times (k,) that increase, and positions (k, nv), of two points at least."""
    count = np.asarray(times, dtype=object).size
    t = checked('times', times, (count,))
    steps = np.diff(t)
    if count < 2 or not ((steps >= SHORTEST) & (steps <= LONGEST)).all():
        expected = f'two numbers or more that increase, by {SHORTEST:g} to {LONGEST:g} s'
        raise InvalidValueError('times', times, expected)
    width = np.asarray(positions, dtype=object).shape[1:2] or (1,)
    return t, checked('positions', positions, (count, *width))
