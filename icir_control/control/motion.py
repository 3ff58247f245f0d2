"""Motions that the arm can follow: lengthened to its velocity limits, refused at other limits."""

from dataclasses import replace
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from icir_control.control.arm import Arm
from icir_control.control.kernels.rehearse import ARRIVED, OUTSIDE, STUCK, TORQUE_SHARE, Ending
from icir_control.control.law import Plan, Start
from icir_control.control.workspace import REST_SPEED, Following, Workspace
from icir_control.dynamics import inverse_kinematics_solutions
from icir_control.dynamics.inverse_kinematics import solution_from
from icir_control.errors import (
    ClearanceError,
    PositionLimitError,
    RefusedError,
    SingularityError,
)
from icir_control.parameter import FloatArray, parameter
from icir_control.spatial import SE3
from icir_control.trajectory import PROFILES, JointTrajectory, SE3Trajectory, stop

SAMPLES = 201
"""Of a path, to look for limits: every 10 ms of a motion of 2 s."""

VELOCITY_SHARE = 0.9999
"""Of a velocity limit that a motion may take: between two samples it is a little faster."""

COMPLIANT_SHARE = 0.8
"""The same where a compliant arm may be faster than its reference."""

ATTEMPTS, JOINT_ATTEMPTS = 6, 20
"""At a straight motion, and one of the joints, each slower, until the joints follow it."""

MOST_STRETCH = 4.0
"""Of the time between two attempts: torque is no square of it where the weight counts, too."""

COMPLIANT_SPARE, TORQUE_SPARE = 1.05, 1.02
"""Times what an attempt has shown to be needed: the next one should not fail by a little."""

MARGIN = 0.01
"""[rad or m] That the end of a motion keeps to the position limits where that is possible."""

STRAIGHT = 1e-3
"""[m, rad] A straight path that begins in a singularity leaves the line by less, or is refused."""

REST_RATE = 2.0
"""[1/s] Where the tool's motion leaves joints free, their own dies away at this rate."""

_OVER_SPEED = 'would have been over its velocity limit'
_OVER_EFFORT = f'would have been over {TORQUE_SHARE:.0%} of its effort limit'

# Parameters that several laws have.
DURATION: float = parameter(
    2.0,
    's',
    'time that the motion takes; more where a joint would be too fast',
    lower=0.01,
    upper=600.0,
)
PROFILE: str = parameter('cubic', '', 'shape of the motion over time', choices=tuple(PROFILES))
SINGULARITY_THRESHOLD: float = parameter(
    0.02,
    '',
    'smallest singular value of the end-effector Jacobian below which it is damped',
    lower=1e-6,
    upper=1.0,
)
SINGULARITY_DAMPING: float = parameter(
    0.1,
    '',
    'damping of the inverse at a singularity; exactly 0 above the threshold',
    lower=0.0,
    upper=10.0,
)
PATH: str = parameter(
    'straight',
    '',
    'way of the end effector to a pose: straight, by a motion of the joints, or any of the two, '
    'straight where that is possible',
    choices=('straight', 'joint', 'any'),
)
STOP_TIME: float = parameter(
    0.5,
    's',
    'time in which a motion that the mode is entered with comes to rest',
    lower=0.01,
    upper=10.0,
)


def plan_stop(start: Start, duration: float) -> Plan:
    """Return the plan by which the joints come to rest, whatever is in the way."""
    halt = stop(start.q, start.v, duration)
    return Plan(JointTrajectory(start.time, duration, halt), duration)


def plan_joint_motion(
    arm: Arm,
    start: Start,
    goal: NDArray[np.float64],
    duration: float,
    profile: str,
    share: float = VELOCITY_SHARE,
) -> Plan:
    """Plan a motion of the joints to rest at a goal.

    Args:
        arm: The arm.
        start: Where it begins.
        goal: (nv,) [rad or m].
        duration: [s]; lengthened where a joint would be too fast.
        profile: `cubic` or `quintic`.
        share: Of the velocity limits that it may take.

    Raises:
        PositionLimitError: A goal, or a way to it, outside the position limits.
        ClearanceError: A way on which links come too near each other.
        RefusedError: A way on which a joint moves that its own friction holds, or on which the
            arm is too heavy for its motors.
    """
    arm.check_limits('the goal', goal)
    # A start faster than a limit cannot be helped by more time: its speed is then the limit.
    limit = np.maximum(share * arm.model.velocity_limit, np.abs(start.v))
    names, seconds, stopping, cause = arm.model.joint_names, duration, duration, ''
    if np.abs(start.v).max() >= REST_SPEED:
        # What the arm has of velocity need not take it farther because its way takes longer.
        way_times = _peak_speed(profile) * np.abs(goal - start.q) / limit
        seconds = max(duration, float(way_times.max()))
        if seconds > duration:
            cause = f'{names[int(np.argmax(way_times))]} {_OVER_SPEED}'
    for _ in range(JOINT_ATTEMPTS):
        paths = _joint_paths(start, seconds, stopping, goal, profile)
        needed: list[tuple[float, int, str]] = []
        rows = []
        for path in paths:
            times = path.start_time + np.linspace(0.0, path.duration, SAMPLES)
            samples = np.array([path.position(time) for time in times])
            speeds = np.abs(np.diff(samples, axis=0)) * (SAMPLES - 1) / path.duration
            excess = np.max(speeds / limit, axis=0)
            needed.append((float(excess.max()), int(np.argmax(excess)), _OVER_SPEED))
            needed.append((*arm.stretch(path, times), _OVER_EFFORT))
            rows.append(np.column_stack([times, samples]))
        factor, worst, words = max(needed, key=lambda one: one[0])
        if factor <= 1.0:
            break
        # A little more, so that the next attempt does not fail by rounding.
        more = min(factor * (1.0 + 1e-6), MOST_STRETCH)
        seconds, stopping = more * seconds, more * stopping
        cause = f'{names[worst]} {words}'
    times, samples = np.concatenate(rows)[:, 0], np.concatenate(rows)[:, 1:]
    arm.check_friction('the path', samples)
    arm.check_weight('the path', samples)
    for time, sample in zip(times, samples, strict=True):
        way = (time - start.time) / seconds
        arm.check_limits(f'the path, {way:.0%} of the way,', sample, start.q)
    arm.check_clearance('the path', samples)
    note = f'the motion takes {seconds:.3g} s instead of {duration:g} s: {cause}' if cause else ''
    return Plan(paths[0], seconds, note, paths[1:])


def _peak_speed(profile: str) -> float:
    """Return the greatest speed of a motion by 1 in 1 s, which it has in its middle."""
    _, v, _ = JointTrajectory.to_rest(0.0, 1.0, [0.0], [0.0], [1.0], profile=profile).sample(0.5)
    return float(v[0])


def _joint_paths(
    start: Start, seconds: float, stopping: float, goal: FloatArray, profile: str
) -> tuple[JointTrajectory, ...]:
    """Return one polynomial to rest at a goal, or two, of which the first also ends a velocity.

    A joint that moves at v, and has no way to go, goes by 4/27 v times the time of that velocity.

    Args:
        start: Where they begin.
        seconds: T, of the way [s].
        stopping: In which the first velocity dies away, T at most [s].
        goal: (nv,) [rad or m].
        profile: `cubic` or `quintic`.
    """
    time, q, v = start.time, start.q, start.v
    zero = np.zeros_like(v)
    if stopping == seconds:
        return (JointTrajectory.to_rest(time, seconds, q, v, goal, profile=profile),)
    way = JointTrajectory.to_rest(time, seconds, q, zero, goal, profile=profile).coefficients
    halt = JointTrajectory.to_rest(time, stopping, zero, v, zero, profile=profile).coefficients
    # The same polynomial in powers of the time since the velocity is gone.
    shifts = [[comb(j, k) * stopping ** max(j - k, 0) for k in range(6)] for j in range(6)]
    return (
        JointTrajectory(time, stopping, way + halt),
        JointTrajectory(time + stopping, seconds - stopping, way @ np.array(shifts)),
    )


def plan_pose_motion(
    arm: Arm,
    start: Start,
    goal: SE3,
    duration: float,
    profile: str,
    following: Following,
    path: str = 'straight',
    *,
    is_compliant: bool = False,
) -> Plan:
    """Plan a motion of the end effector to rest at a goal.

    Args:
        arm: The arm.
        start: Where it begins.
        goal: T_world_tool.
        duration: [s]; the motion takes longer where the joints cannot keep up.
        profile: `cubic` or `quintic`.
        following: How the joints follow a straight path.
        path: `straight`, `joint`, or `any`: straight where that is possible.
        is_compliant: Whether the arm is compliant, and need not be at its reference.

    Raises:
        OutOfReachError: A goal out of reach.
        PositionLimitError: A goal, or a way, past a joint limit.
        ClearanceError: A way on which links come too near each other.
        SingularityError: A straight way too near a singularity.
        RefusedError: A straight way that is too fast for the joints, or a way on which a joint
            moves that its own friction holds, or on which the arm is too heavy for its motors.
    """
    cause = ''
    if is_compliant:
        start = _on_reference(arm, start, following.singularity_threshold)
    if path != 'joint':
        try:
            return _plan_straight(
                arm, start, goal, duration, profile, following, is_compliant=is_compliant
            )
        except RefusedError as error:
            if path == 'straight':
                # What makes the goal itself impossible is the cause, if there is such a thing.
                _postures_at(arm, goal, start.q)
                raise
            cause = f'the tool goes by a motion of the joints: {error}'
    share = COMPLIANT_SHARE if is_compliant else VELOCITY_SHARE
    refusal: RefusedError | None = None
    for posture in _postures_at(arm, goal, start.q, MARGIN):
        try:
            plan = plan_joint_motion(arm, start, posture, duration, profile, share)
        except RefusedError as error:
            # A moving arm may have no room to turn round; another posture may lie ahead.
            if refusal is None or _is_nearer(error, refusal):
                refusal = error
        else:
            return replace(plan, note='; '.join(filter(None, [cause, plan.note])))
    assert refusal is not None  # there is at least one posture
    raise refusal


def _is_nearer(error: RefusedError, other: RefusedError) -> bool:
    """Return whether a posture is refused for a greater distance than the other: it tells more.

    Where the goal itself is too near something, the posture that is best tells how near.
    """
    both = isinstance(error, ClearanceError) and isinstance(other, ClearanceError)
    return both and error.value > other.value


def _postures_at(arm: Arm, goal: SE3, q: np.ndarray, margin: float = 0.0) -> list[np.ndarray]:
    """Return postures (nv,) with the tool at a pose, those first that are reached soonest."""
    data = arm.model.create_data()
    return inverse_kinematics_solutions(arm.model, data, arm.frame, goal, q, margin)


def _on_reference(arm: Arm, start: Start, threshold: float) -> Start:
    """Return a start with the joints where the pose of the reference would have them."""
    q = solution_from(arm.model, arm.model.create_data(), arm.frame, start.pose, start.q)
    if q is None:
        return start
    v = np.zeros_like(q)
    if arm.nv < 6 or arm.smallest_singular_value(q) >= threshold:
        v[:] = np.linalg.lstsq(arm.jacobian(q), start.twist.vector)[0]
    return replace(start, q=q, v=v)


def _plan_straight(
    arm: Arm,
    start: Start,
    goal: SE3,
    duration: float,
    profile: str,
    following: Following,
    *,
    is_compliant: bool,
) -> Plan:
    """Plan a straight motion, and rehearse it kinematically, tick by tick at full speed."""
    model, planned = arm.model, duration
    first, threshold = arm.smallest_singular_value(start.q), following.singularity_threshold
    for _ in range(ATTEMPTS):
        path = SE3Trajectory.to_rest(
            start.time, planned, start.pose, start.twist, goal, profile=profile
        )
        memory, trace = _rehearsed(
            arm, start, path, following, COMPLIANT_SHARE if is_compliant else 1.0
        )
        end = Ending(*memory.outcome.tolist())
        is_slowed = _is_longer(end.duration, planned)
        if end.kind == STUCK and not end.singular_value < threshold:
            planned *= 2.0  # so much too fast that the joints did not even begin to follow
        elif end.kind == ARRIVED and is_compliant and is_slowed:
            planned = COMPLIANT_SPARE * end.duration  # a compliant arm does not slow its path down
        elif end.kind == ARRIVED and end.square > 1.0:
            # More torque than there is.
            planned *= TORQUE_SPARE * min(float(np.sqrt(end.square)), MOST_STRETCH)
        else:
            break
    arm.check_friction('the path', trace)
    arm.check_weight('the path', trace)
    what = f'the path, {min(float(memory.path_time) / path.duration, 1.0):.0%} of the way,'
    if end.kind == OUTSIDE:
        i = int(end.joint)
        raise PositionLimitError(
            what,
            model.joint_names[i],
            end.position,
            float(model.lower_position_limit[i]),
            float(model.upper_position_limit[i]),
            'm' if arm.translates[i] else 'rad',
        )
    is_stuck = end.kind == STUCK
    if first < threshold and (is_stuck or end.farthest > STRAIGHT):
        raise SingularityError('the path, where it starts,', first, threshold)
    if is_stuck or (is_compliant and is_slowed):
        if end.singular_value < threshold:
            raise SingularityError(what, end.singular_value, threshold)
        raise RefusedError(
            f'{what} is too fast for the joints: {end.off_path:.2g} m or rad off it'
        )
    arm.check_clearance('the path', trace)
    joints = (start.q, start.v) if is_compliant else None
    if not _is_longer(end.duration, duration):
        return Plan(path, duration, joints=joints)
    # That of fewer than six joints is always 0.
    cause = f' (smallest singular value {end.singular_value:.2g})' if arm.nv >= 6 else ''
    note = (
        f'the motion takes {end.duration:.3g} s instead of {duration:.3g} s: the joints would '
        f'have been over their limits of speed or torque{cause}'
    )
    return Plan(path, end.duration, note, joints=joints)


def _is_longer(seconds: float, planned: float) -> bool:
    """Return whether a motion takes longer than planned, by more than the joints lag behind."""
    return seconds > 1.02 * planned + 0.02


def _rehearsed(
    arm: Arm, start: Start, path: SE3Trajectory, following: Following, share: float
) -> tuple[Any, FloatArray]:
    """Return the memory in which the joints have followed a path to its end, and their way.

    Args:
        arm: The arm.
        start: Where it begins.
        path: For the tool.
        following: How the joints follow it.
        share: Of the velocity limits that they may take.
    """
    model, workspace = arm.model, Workspace(arm.model, arm.frame)
    memory = workspace.memory
    memory.acceleration_limit[:] = arm.acceleration_limit
    memory.velocity_limit[:] *= share
    workspace.tick.period = start.period
    memory.lowest[:] = np.minimum(model.lower_position_limit, start.q)
    memory.highest[:] = np.maximum(model.upper_position_limit, start.q)
    workspace.install_path(path)
    workspace.install_following(following)
    workspace.install_start(start.time, start.q, start.v)
    return memory, workspace.rehearse()
