"""Compiled evaluation of trajectories; arrays in, output arrays last."""

import numpy as np

from icir_control.compiled import kernel
from icir_control.scratch import scratch_matrix, scratch_vector
from icir_control.spatial.kernels import exp3
from icir_control.spatial.kernels.coefficients import (
    sine_defect_ratio,
    sine_defect_ratio_slope,
    versine_ratio,
    versine_ratio_slope,
)

DEGREE = 5
"""Highest power of time in a trajectory: a quintic."""


@kernel
def polynomial_at(
    coefficients: np.ndarray, duration: float, elapsed: float, x: np.ndarray
) -> None:
    """Write the value of each row's polynomial at a time since its start.

    Before the start the path goes on backwards at its first velocity, and after the end it rests
    where it ends: so its differences over a period are right at both ends as well.

    Args:
        coefficients: (n, 6), the row of x_i: x_i(s) = sum_k c_ik s^k.
        duration: [s].
        elapsed: Time since the start, any sign [s].
        x: (n,) output.
    """
    s = min(max(elapsed, 0.0), duration)
    backwards = min(elapsed, 0.0)
    for i in range(x.shape[0]):
        value = coefficients[i, DEGREE]
        for k in range(DEGREE - 1, -1, -1):
            value = value * s + coefficients[i, k]
        x[i] = value + backwards * coefficients[i, 1]


@kernel
def polynomial_rates_at(
    coefficients: np.ndarray, duration: float, elapsed: float, xd: np.ndarray, xdd: np.ndarray
) -> None:
    """Write the first and second derivative of each row's path, as `polynomial_at` extends it.

    A time that is before the start by round-off alone so has the start's velocity.

    Args:
        coefficients: (n, 6), as in `polynomial_at`.
        duration: [s].
        elapsed: Time since the start [s].
        xd: (n,) output, first derivative.
        xdd: (n,) output, second derivative.
    """
    for i in range(xd.shape[0]):
        rate = 0.0
        curvature = 0.0
        if elapsed < 0.0:
            rate = coefficients[i, 1]
        elif elapsed < duration:
            for k in range(DEGREE, 0, -1):
                rate = rate * elapsed + k * coefficients[i, k]
            for k in range(DEGREE, 1, -1):
                curvature = curvature * elapsed + k * (k - 1) * coefficients[i, k]
        xd[i] = rate
        xdd[i] = curvature


@kernel
def pose_at(
    start: np.ndarray,
    coefficients: np.ndarray,
    duration: float,
    elapsed: float,
    pose: np.ndarray,
) -> None:
    """Write the pose of an SE(3) trajectory: p(s) and R(s) = R_0 exp(phi(s)).

    Args:
        start: (4, 3), rows 0-2 the rotation R_0.
        coefficients: (6, 6), rows 0-2 of p [m], rows 3-5 of phi [rad].
        duration: [s].
        elapsed: Time since the start [s].
        pose: (4, 3) output, rows 0-2 the rotation, row 3 the position.
    """
    x, turn = scratch_vector(6), scratch_matrix(3, 3)
    polynomial_at(coefficients, duration, elapsed, x)
    exp3(x[3:], turn)
    for i in range(3):
        pose[3, i] = x[i]
        for j in range(3):
            pose[i, j] = (
                start[i, 0] * turn[0, j] + start[i, 1] * turn[1, j] + start[i, 2] * turn[2, j]
            )


@kernel
def pose_rates_at(
    pose: np.ndarray,
    coefficients: np.ndarray,
    duration: float,
    elapsed: float,
    twist: np.ndarray,
    acceleration: np.ndarray,
) -> None:
    """Write the LOCAL twist and classical acceleration of an SE(3) trajectory.

    Args:
        pose: (4, 3), the pose at that time, from `pose_at`.
        coefficients: (6, 6), as in `pose_at`.
        duration: [s].
        elapsed: Time since the start [s].
        twist: (6,) output, linear first [m/s, rad/s].
        acceleration: (6,) output, classical [m/s^2, rad/s^2].
    """
    x, xd, xdd = scratch_vector(6), scratch_vector(6), scratch_vector(6)
    polynomial_at(coefficients, duration, elapsed, x)
    polynomial_rates_at(coefficients, duration, elapsed, xd, xdd)
    for i in range(3):
        twist[i] = pose[0, i] * xd[0] + pose[1, i] * xd[1] + pose[2, i] * xd[2]
        acceleration[i] = pose[0, i] * xdd[0] + pose[1, i] * xdd[1] + pose[2, i] * xdd[2]
    angular_rates(x[3:], xd[3:], xdd[3:], twist[3:], acceleration[3:])


@kernel
def angular_rates(
    phi: np.ndarray, phid: np.ndarray, phidd: np.ndarray, omega: np.ndarray, alpha: np.ndarray
) -> None:
    """Write angular velocity and acceleration, in body axes, from a rotation vector's rates.

    omega = J_r phi', with J_r = 1 - b [phi] + c [phi]^2; alpha is its derivative,
    J_r phi'' - b' phi x phi' + c' phi x (phi x phi') + c phi' x (phi x phi').

    Args:
        phi: (3,) rotation vector [rad].
        phid: (3,) [rad/s].
        phidd: (3,) [rad/s^2].
        omega: (3,) output [rad/s].
        alpha: (3,) output [rad/s^2].
    """
    square = phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2]
    square_rate = 2.0 * (phi[0] * phid[0] + phi[1] * phid[1] + phi[2] * phid[2])
    b, c = versine_ratio(square), sine_defect_ratio(square)
    b_rate = versine_ratio_slope(square) * square_rate
    c_rate = sine_defect_ratio_slope(square) * square_rate
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        turn_rate = phi[j] * phid[k] - phi[k] * phid[j]
        turn_acceleration = phi[j] * phidd[k] - phi[k] * phidd[j]
        # u x (phi x w) = phi (u.w) - w (u.phi), for the three double products.
        twice_rate = phi[i] * 0.5 * square_rate - phid[i] * square
        twice_acceleration = (
            phi[i] * (phi[0] * phidd[0] + phi[1] * phidd[1] + phi[2] * phidd[2])
            - phidd[i] * square
        )
        rate_square = phid[0] * phid[0] + phid[1] * phid[1] + phid[2] * phid[2]
        across = phi[i] * rate_square - phid[i] * 0.5 * square_rate
        omega[i] = phid[i] - b * turn_rate + c * twice_rate
        alpha[i] = (
            phidd[i]
            - b * turn_acceleration
            + c * twice_acceleration
            - b_rate * turn_rate
            + c_rate * twice_rate
            + c * across
        )
