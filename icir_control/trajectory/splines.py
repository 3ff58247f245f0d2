"""Splines of the joints through several points: chains of polynomials."""

import numpy as np

from icir_control.spatial.arrays import Array
from icir_control.trajectory.trajectories import JointTrajectory


def spline(
    times: Array, positions: Array, velocities: Array, accelerations: Array | None = None
) -> tuple[JointTrajectory, ...]:
    """Return the polynomials between points: cubics, or quintics where accelerations are given.

    Each has the positions, velocities and accelerations of its two ends (Lynch & Park, Modern
    Robotics, section 9.3).

    Args:
        times: (k,) increasing [s].
        positions: (k, nv) [rad or m].
        velocities: (k, nv).
        accelerations: (k, nv).
    """
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


def smooth_velocities(times: Array, positions: Array, first: Array, last: Array) -> Array:
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
    """
    count, h = len(times), np.diff(times)
    d = np.diff(positions, axis=0)
    A, b = np.eye(count), np.empty_like(positions)
    b[0], b[-1] = first, last
    for i in range(1, count - 1):
        A[i, i - 1 : i + 2] = h[i], 2.0 * (h[i - 1] + h[i]), h[i - 1]
        b[i] = 3.0 * (h[i] / h[i - 1] * d[i - 1] + h[i - 1] / h[i] * d[i])
    velocities: Array = np.asarray(np.linalg.solve(A, b), dtype=np.float64)
    return velocities
