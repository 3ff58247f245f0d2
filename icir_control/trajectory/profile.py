"""Polynomials of time between two states of rest or motion, as rows of coefficients."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.errors import InvalidValueError, UnknownNameError

Profile = Callable[[ArrayLike, ArrayLike, ArrayLike, float], NDArray[np.float64]]
"""From a moving start to rest at a goal.

Args:
    start: (n,) position at s = 0.
    velocity: (n,) velocity at s = 0.
    goal: (n,) position at s = T.
    duration: T [s], above 0.

Returns:
    (n, 6): the coefficient of s^k in column k.

Raises:
    InvalidValueError: A duration that is not a positive number, or arrays that do not match.
"""


def cubic(
    start: ArrayLike, velocity: ArrayLike, goal: ArrayLike, duration: float
) -> NDArray[np.float64]:
    """Return the cubic, a `Profile`: the tutorial's, slide "Joint space position control".

    x(s) = x_0 + v_0 s + (3 d / T^2 - 2 v_0 / T) s^2 - (2 d / T^3 - v_0 / T^2) s^3, d = x_f - x_0.
    """
    x0, v0, d = _checked(start, velocity, goal, duration)
    T = duration
    return _rows(x0, v0, 3.0 * d / T**2 - 2.0 * v0 / T, -2.0 * d / T**3 + v0 / T**2)


def quintic(
    start: ArrayLike, velocity: ArrayLike, goal: ArrayLike, duration: float
) -> NDArray[np.float64]:
    """Return the quintic, a `Profile` whose ends do not accelerate.

    Six conditions on six coefficients (Lynch & Park, Modern Robotics, section 9.2.2.2), here with
    a start that may move. Its peak velocity is 15/8 d/T, a cubic's 3/2 d/T.
    """
    x0, v0, d = _checked(start, velocity, goal, duration)
    T = duration
    return _rows(
        x0,
        v0,
        np.zeros_like(x0),
        10.0 * d / T**3 - 6.0 * v0 / T**2,
        -15.0 * d / T**4 + 8.0 * v0 / T**3,
        6.0 * d / T**5 - 3.0 * v0 / T**4,
    )


def stop(start: ArrayLike, velocity: ArrayLike, duration: float) -> NDArray[np.float64]:
    """Return the way in which a motion comes to rest, without a jump of acceleration.

    The velocity falls as v(s) = v_0 (1 - 3 u^2 + 2 u^3), u = s / T; the way is v_0 T / 2.

    Args:
        start: (n,) position at s = 0.
        velocity: (n,) velocity at s = 0.
        duration: T [s], above 0.

    Returns:
        (n, 6): the coefficient of s^k in column k.

    Raises:
        InvalidValueError: A duration that is not a positive number.
    """
    x0, v0, _ = _checked(start, velocity, start, duration)
    T = duration
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


def _rows(*powers: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (n, 6) coefficients of the given powers, each (n,), from s^0 on; the others are 0."""
    coefficients = np.zeros((len(powers[0]), 6))
    coefficients[:, : len(powers)] = np.transpose(powers)
    return coefficients


def _checked(
    start: ArrayLike, velocity: ArrayLike, goal: ArrayLike, duration: float
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    if not (np.isfinite(duration) and duration > 0.0):
        raise InvalidValueError('duration', duration, 'a number of seconds above 0')
    x0 = np.atleast_1d(np.asarray(start, dtype=float))
    v0 = np.atleast_1d(np.asarray(velocity, dtype=float))
    x1 = np.atleast_1d(np.asarray(goal, dtype=float))
    for name, x in (('start', x0), ('velocity', v0), ('goal', x1)):
        if x.shape != x0.shape or x.ndim != 1 or not np.isfinite(x).all():
            raise InvalidValueError(name, x, f'{len(x0)} finite numbers')
    return x0, v0, x1 - x0
