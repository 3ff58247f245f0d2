"""Where an arm should be, from formulas of time alone, and how far it is from there.

Nothing of the controller has a part in it: the paths are cubics written here, counted on the
plant's clock from the moment of the switch; positions are the plant's, poses are MuJoCo's.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from icir_control.app.closed_loop import ClosedLoop
from icir_control.app.measurement import Array, TimeSeries, angle_between
from icir_control.simulation import World


def cubic(time: ArrayLike, duration: float) -> Array:
    """Return share of the way, its rate and the rate of that, (3, ...), of 3 u^2 - 2 u^3.

    Before 0 and from the duration on it rests.

    Args:
        time: Since the start, numbers in any shape [s].
        duration: [s].
    """
    u = np.clip(np.asarray(time) / duration, 0.0, 1.0)
    moving = (np.asarray(time) >= 0.0) & (u < 1.0)
    share = u * u * (3.0 - 2.0 * u)
    rates = moving * np.array([6.0 * (u - u * u) / duration, (6.0 - 12.0 * u) / duration**2])
    return np.array([share, *rates])


def joint_error(
    log: TimeSeries, begin: float, start: Array, goal: Array, duration: float
) -> float:
    """Return how far a joint was from a cubic between two postures at most [rad or m].

    Args:
        log: Of `ClosedLoop`.
        begin: When the motion begins [s].
        start: (nv,) posture [rad or m].
        goal: (nv,) posture [rad or m].
        duration: [s].
    """
    path = start + np.outer(cubic(log.time - begin, duration)[0], goal - start)
    return float(np.abs(log['position'] - path).max())


def tool_error(
    world: World, log: TimeSeries, begin: float, start: Array, way: ArrayLike, duration: float
) -> tuple[float, float]:
    """Return how far the tool was from a cubic on a straight line at most [m], and turned [rad].

    Args:
        world: The plant; its poses.
        log: Of `ClosedLoop`.
        begin: When the motion begins [s].
        start: (nv,) posture in which it begins [rad or m].
        way: (3,) in axes of the world [m].
        duration: [s].
    """
    first = world.frame_placement(start)
    poses = np.array([world.frame_placement(q) for q in log['position']])
    line = first[:, 3] + np.outer(
        cubic(log.time - begin, duration)[0], np.asarray(way, dtype=float)
    )
    distance = np.linalg.norm(poses[:, :, 3] - line, axis=1)
    return float(distance.max()), float(angle_between(poses[:, :, :3], first[:, :3]).max())


def joint_motion_error(
    loop: ClosedLoop, mode: str, seconds: float, goal: Array, duration: float = 2.0
) -> float:
    """Run a mode that goes to a posture from rest; return its `joint_error` [rad or m]."""
    begin, start = loop.time, loop.world.position
    return joint_error(loop.go(mode, seconds), begin, start, goal, duration)


def tool_motion_error(
    loop: ClosedLoop,
    mode: str,
    seconds: float,
    way: Sequence[float] = (0.0, 0.0, -0.05),
    duration: float = 2.0,
) -> tuple[float, float]:
    """Run a mode that moves the tool from rest; return its `tool_error` [m], [rad]."""
    begin, start = loop.time, loop.world.position
    return tool_error(loop.world, loop.go(mode, seconds), begin, start, way, duration)
