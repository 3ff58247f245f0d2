"""Motions that the arm can follow: lengthened to its velocity limits, refused at other limits."""

from collections.abc import Callable
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from icir_control.control.arm import Arm
from icir_control.control.kernels.record import install_path, install_start, new_record
from icir_control.control.kernels.tick import try_pose_path
from icir_control.control.law import Plan, Start
from icir_control.errors import RefusedError
from icir_control.spatial import SE3
from icir_control.trajectory import JointTrajectory, SE3Trajectory

SAMPLES = 201
"""Of a path, to look for limits: every 10 ms of a motion of 2 s."""

Path = TypeVar('Path', JointTrajectory, SE3Trajectory)

VELOCITY_SHARE = 0.9999
"""Of a velocity limit that a motion may take: between two samples it is a little faster."""


def plan_joint_motion(
    arm: Arm, start: Start, goal: NDArray[np.float64], duration: float, profile: str
) -> Plan:
    """Plan a motion of the joints to rest at a goal.

    Args:
        arm: The arm.
        start: Where it begins.
        goal: (nv,) [rad or m].
        duration: [s]; lengthened where a joint would be too fast.
        profile: `cubic` or `quintic`.

    Raises:
        RefusedError: A goal, or a way to it, outside the position limits.
    """
    outside = arm.outside_limits(goal)
    if outside:
        raise RefusedError(f'the goal has {outside}')

    def path_of(seconds: float) -> tuple[JointTrajectory, NDArray[np.float64]]:
        path = JointTrajectory.to_rest(
            start.time, seconds, start.q, start.v, goal, profile=profile
        )
        times = start.time + np.linspace(0.0, seconds, SAMPLES)
        return path, np.array([path.position(time) for time in times])

    path, samples, note = _within_velocity_limits(arm, path_of, start, duration)
    _check_position_limits(arm, samples, start)
    return Plan(path, note)


def plan_pose_motion(
    arm: Arm, start: Start, goal: SE3, duration: float, profile: str, singularity: float
) -> Plan:
    """Plan a straight motion of the end effector to rest at a goal.

    The path is followed kinematically before anything moves.

    Args:
        arm: The arm.
        start: Where it begins.
        goal: T_world_tool.
        duration: [s]; lengthened where a joint would be too fast.
        profile: `cubic` or `quintic`.
        singularity: Least singular value of the Jacobian that the path may meet.

    Raises:
        RefusedError: A path that meets a singularity, leaves the workspace or a joint's limits.
    """

    def path_of(seconds: float) -> tuple[SE3Trajectory, NDArray[np.float64]]:
        path = SE3Trajectory.to_rest(
            start.time, seconds, start.pose, start.twist, goal, profile=profile
        )
        samples, singular_values = follow(arm, start, path)
        worst = int(np.argmin(singular_values))
        if not singular_values[worst] >= singularity:
            where = 'starts' if worst == 0 else f'comes, {worst / (SAMPLES - 1):.0%} of the way,'
            raise RefusedError(
                f'the path {where} too near a singularity: smallest singular value of the '
                f'Jacobian {singular_values[worst]:.2g}, at least {singularity:g} is needed'
            )
        return path, samples

    path, samples, note = _within_velocity_limits(arm, path_of, start, duration)
    _check_position_limits(arm, samples, start)
    return Plan(path, note)


def follow(
    arm: Arm, start: Start, path: SE3Trajectory
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return joint positions (n, nv) along a pose path, and the smallest singular values (n,)."""
    control = new_record(arm.nv)
    record = control[0]
    record.frame = arm.frame
    install_path(record, path)
    install_start(record, start.time, start.q, start.v)
    samples, singular_values = np.empty((SAMPLES, arm.nv)), np.empty(SAMPLES)
    try_pose_path(arm.data.buffer, control, samples, singular_values)
    return samples, singular_values


def _within_velocity_limits(
    arm: Arm,
    path_of: Callable[[float], tuple[Path, NDArray[np.float64]]],
    start: Start,
    duration: float,
) -> tuple[Path, NDArray[np.float64], str]:
    """Return a path, its samples and a note, with a duration that the joints can keep up with.

    A start faster than a limit cannot be helped by more time, so the limit is then its speed.
    """
    limit = np.maximum(VELOCITY_SHARE * arm.model.velocity_limit, np.abs(start.v))
    seconds = duration
    for _ in range(20):
        path, samples = path_of(seconds)
        step = seconds / (SAMPLES - 1)
        excess = np.max(np.abs(np.diff(samples, axis=0)) / step / limit, axis=0)
        worst = int(np.argmax(excess))
        if excess[worst] <= 1.0:
            break
        name = arm.model.joint_names[worst]
        seconds *= min(float(excess[worst]) * (1.0 + 1e-6), 4.0)
    if seconds == duration:
        return path, samples, ''
    return (
        path,
        samples,
        f'the motion takes {seconds:.3g} s instead of {duration:g} s: {name} would have been '
        'over its velocity limit',
    )


def _check_position_limits(arm: Arm, samples: NDArray[np.float64], start: Start) -> None:
    """Refuse a path that leaves the limits; one that starts outside may come back."""
    model = arm.model
    lower = np.minimum(model.lower_position_limit, start.q)
    upper = np.maximum(model.upper_position_limit, start.q)
    outside = (samples < lower) | (samples > upper)
    if outside.any():
        k, i = np.argwhere(outside)[0]
        raise RefusedError(
            f'the path leaves the limits of {model.joint_names[i]} '
            f'[{model.lower_position_limit[i]:.4g}, {model.upper_position_limit[i]:.4g}] '
            f'{k / (SAMPLES - 1):.0%} of the way, at {samples[k, i]:.4g}'
        )
