"""What the controller is compared with: paths as formulas of time, and textbook computed torque.

Nothing of the controller has a part in the paths: they are cubics, counted on the plant's clock
from the moment of the switch; positions are the plant's, poses are MuJoCo's.

The computed torque is that of Luh, Walker & Paul 1980 and Lynch & Park, ch. 11, on our dynamics.
Its reference is the path at the tick: position, velocity, acceleration. It has no observer, no
limits, and of its past it knows an integral at most.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from icir_control.app.closed_loop import ClosedLoop
from icir_control.app.measurement import Array, TimeSeries, angle_between
from icir_control.dynamics import (
    Model,
    ReferenceFrame,
    compute_all_terms,
    frame_jacobian,
    frame_jacobian_time_variation,
    frame_placement,
)
from icir_control.simulation import World
from icir_control.spatial import log3


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


KP: Final = 40000.0  # 1/s^2, that of the shipped controller

_NEWTON_STEPS = 4  # each squares the error


class ComputedTorque:
    """tau = M (a_r + kp (q_r - q) + kd (v_r - v)) + nle, with kd = 2 sqrt(kp)."""

    def __init__(self, model: Model, kp: float = KP, ki: float = 0.0) -> None:
        """Prepare for an arm.

        Args:
            model: Of the arm.
            kp: Of every joint, by inertia [1/s^2].
            ki: The same of the integral of the error [1/s^3].
        """
        self._model, self._data = model, model.create_data()
        self._kp, self._kd, self._ki = kp, 2.0 * np.sqrt(kp), ki
        self._integral = np.zeros(model.nv)

    def torque(self, reference: Array, q: Array, v: Array, period: float) -> Array:
        """Return the torque (nv,) [N m or N].

        Args:
            reference: (3, nv) position, velocity, acceleration.
            q: (nv,) [rad or m].
            v: (nv,) [rad/s or m/s].
            period: Since the last call [s].
        """
        q_r, v_r, a_r = reference
        self._integral += period * (q_r - q)
        ddq = a_r + self._kp * (q_r - q) + self._kd * (v_r - v) + self._ki * self._integral
        compute_all_terms(self._model, self._data, q, v)
        return self._data.M @ ddq + self._data.nle


def joint_reference(times: Array, start: Array, goal: Array, duration: float) -> Array:
    """Return (n, 3, nv) position, velocity, acceleration on a cubic between two postures.

    Args:
        times: (n,) since the start [s].
        start: (nv,) posture [rad or m].
        goal: (nv,) posture [rad or m].
        duration: [s].
    """
    reference = cubic(times, duration).T[:, :, None] * (goal - start)
    reference[:, 0] += start
    return reference


def tool_reference(
    model: Model, tool: str, times: Array, start: Array, way: Array, duration: float
) -> Array:
    """Return the same, (n, 3, 6), while the tool goes straight on and keeps its orientation.

    Args:
        model: Of an arm with six joints.
        tool: Name of the tool's frame.
        times: (n,) since the start [s].
        start: (6,) posture [rad or m].
        way: (3,) in axes of the world [m].
        duration: [s].
    """
    frame, axes, data = (
        model.frame_id(tool),
        ReferenceFrame.LOCAL_WORLD_ALIGNED,
        model.create_data(),
    )
    rest, q, still = np.zeros(3), start, np.zeros(model.nv)
    compute_all_terms(model, data, start, still)
    first = frame_placement(model, data, frame)
    reference = np.empty((len(times), 3, model.nv))
    for row, (share, rate, acceleration) in zip(reference, cubic(times, duration).T, strict=True):
        for _ in range(_NEWTON_STEPS):
            compute_all_terms(model, data, q, still)
            pose = frame_placement(model, data, frame)
            offset = first.translation + share * way - pose.translation
            missing = np.append(offset, log3(first.rotation @ pose.rotation.T))
            q = q + np.linalg.solve(frame_jacobian(model, data, frame, axes), missing)
        compute_all_terms(model, data, q, still)
        J = frame_jacobian(model, data, frame, axes)
        v = np.linalg.solve(J, np.append(rate * way, rest))
        compute_all_terms(model, data, q, v)
        dJ = frame_jacobian_time_variation(model, data, frame, axes)
        row[:] = q, v, np.linalg.solve(J, np.append(acceleration * way, rest) - dJ @ v)
    return reference
