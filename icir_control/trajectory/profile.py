"""Polynomials of time between two states of rest or motion, as rows of coefficients."""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.errors import InvalidValueError

Profile = Callable[[ArrayLike, ArrayLike, ArrayLike, float], NDArray[np.float64]]


def cubic(
    start: ArrayLike, velocity: ArrayLike, goal: ArrayLike, duration: float
) -> NDArray[np.float64]:
    """Return the cubic from a moving start to rest at a goal.

    x(s) = x_0 + v_0 s + (3 d / T^2 - 2 v_0 / T) s^2 - (2 d / T^3 - v_0 / T^2) s^3, d = x_f - x_0:
    the tutorial's trajectory, slide "Joint space position control".

    Args:
        start: (n,) position at s = 0.
        velocity: (n,) velocity at s = 0.
        goal: (n,) position at s = T.
        duration: T [s], above 0.

    Returns:
        (n, 6): the coefficient of s^k in column k.

    Raises:
        InvalidValueError: A duration that is not a positive number.
    """
    x0, v0, step = _checked(start, velocity, goal, duration)
    T = duration
    coefficients = np.zeros((len(x0), 6))
    coefficients[:, 0] = x0
    coefficients[:, 1] = v0
    coefficients[:, 2] = 3.0 * step / T**2 - 2.0 * v0 / T
    coefficients[:, 3] = -2.0 * step / T**3 + v0 / T**2
    return coefficients


def quintic(
    start: ArrayLike, velocity: ArrayLike, goal: ArrayLike, duration: float
) -> NDArray[np.float64]:
    """Return the quintic from a moving start to rest at a goal; its ends do not accelerate.

    Six conditions on six coefficients (Lynch & Park, Modern Robotics, section 9.2.2.2), here with
    a start that may move. Its peak velocity is 15/8 d/T, a cubic's 3/2 d/T.

    Args:
        start: (n,) position at s = 0.
        velocity: (n,) velocity at s = 0.
        goal: (n,) position at s = T.
        duration: T [s], above 0.

    Returns:
        (n, 6): the coefficient of s^k in column k.

    Raises:
        InvalidValueError: A duration that is not a positive number.
    """
    x0, v0, step = _checked(start, velocity, goal, duration)
    T = duration
    coefficients = np.zeros((len(x0), 6))
    coefficients[:, 0] = x0
    coefficients[:, 1] = v0
    coefficients[:, 3] = 10.0 * step / T**3 - 6.0 * v0 / T**2
    coefficients[:, 4] = -15.0 * step / T**4 + 8.0 * v0 / T**3
    coefficients[:, 5] = 6.0 * step / T**5 - 3.0 * v0 / T**4
    return coefficients


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
    coefficients = np.zeros((len(x0), 6))
    coefficients[:, 0] = x0
    coefficients[:, 1] = v0
    coefficients[:, 3] = -v0 / duration**2
    coefficients[:, 4] = v0 / (2.0 * duration**3)
    return coefficients


PROFILES: dict[str, Profile] = {'cubic': cubic, 'quintic': quintic}
"""The shapes that a mode may choose."""


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
