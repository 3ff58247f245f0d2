"""Motions that the arm can follow: lengthened to its velocity limits, refused at other limits."""

import numpy as np
from numpy.typing import NDArray

from icir_control.control.arm import Arm
from icir_control.control.kernels.reference import ARRIVED, OUTSIDE
from icir_control.control.law import Plan, Start
from icir_control.control.workspace import Following, Workspace
from icir_control.errors import OutOfReachError, PositionLimitError, SingularityError
from icir_control.parameter import parameter
from icir_control.spatial import SE3
from icir_control.trajectory import PROFILES, JointTrajectory, SE3Trajectory

SAMPLES = 201
"""Of a path, to look for limits: every 10 ms of a motion of 2 s."""

VELOCITY_SHARE = 0.9999
"""Of a velocity limit that a motion may take: between two samples it is a little faster."""

REST_RATE = 2.0
"""[1/s] Where the tool's motion leaves joints free, their own dies away at this rate."""

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
    'smallest singular value of the end-effector Jacobian below which it is damped, and at which '
    'no motion of the tool starts',
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
STOP_TIME: float = parameter(
    0.5,
    's',
    'time in which a motion that the mode is entered with comes to rest',
    lower=0.01,
    upper=10.0,
)


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
        PositionLimitError: A goal, or a way to it, outside the position limits.
    """
    arm.check_limits('the goal', goal)
    # A start faster than a limit cannot be helped by more time: its speed is then the limit.
    limit = np.maximum(VELOCITY_SHARE * arm.model.velocity_limit, np.abs(start.v))
    seconds, note = duration, ''
    for _ in range(20):
        path = JointTrajectory.to_rest(
            start.time, seconds, start.q, start.v, goal, profile=profile
        )
        times = start.time + np.linspace(0.0, seconds, SAMPLES)
        samples = np.array([path.position(time) for time in times])
        speeds = np.abs(np.diff(samples, axis=0)) * (SAMPLES - 1) / seconds
        excess = np.max(speeds / limit, axis=0)
        worst = int(np.argmax(excess))
        if excess[worst] <= 1.0:
            break
        seconds *= min(float(excess[worst]) * (1.0 + 1e-6), 4.0)
        note = (
            f'the motion takes {seconds:.3g} s instead of {duration:g} s: '
            f'{arm.model.joint_names[worst]} would have been over its velocity limit'
        )
    for k, sample in enumerate(samples):
        arm.check_limits(f'the path, {k / (SAMPLES - 1):.0%} of the way,', sample, start.q)
    return Plan(path, seconds, note)


def plan_pose_motion(
    arm: Arm, start: Start, goal: SE3, duration: float, profile: str, following: Following
) -> Plan:
    """Plan a straight motion of the end effector to rest at a goal.

    The motion is rehearsed kinematically, tick by tick at full speed, before anything moves.

    Args:
        arm: The arm.
        start: Where it begins.
        goal: T_world_tool.
        duration: [s]; the motion takes longer where the joints cannot keep up.
        profile: `cubic` or `quintic`.
        following: How the joints follow the path.

    Raises:
        SingularityError: A start in a singularity.
        PositionLimitError: A way past a joint limit.
        OutOfReachError: A goal out of reach.
    """
    path = SE3Trajectory.to_rest(
        start.time, duration, start.pose, start.twist, goal, profile=profile
    )
    least = arm.smallest_singular_value(start.q)
    if not least >= following.singularity_threshold:
        raise SingularityError(least, following.singularity_threshold)
    model, workspace = arm.model, Workspace(arm.model, arm.frame)
    memory = workspace.memory
    memory.acceleration_limit[:] = arm.acceleration_limit
    workspace.tick.period = start.period
    memory.lowest[:] = np.minimum(model.lower_position_limit, start.q)
    memory.highest[:] = np.maximum(model.upper_position_limit, start.q)
    workspace.install_path(path)
    workspace.install_following(following)
    workspace.install_start(start.time, start.q, start.v)
    workspace.rehearse()
    ending, joint, place, seconds, least, left = memory.outcome.tolist()
    if ending == OUTSIDE:
        i = int(joint)
        raise PositionLimitError(
            f'the path, after {seconds:.2g} s,',
            model.joint_names[i],
            place,
            float(model.lower_position_limit[i]),
            float(model.upper_position_limit[i]),
        )
    if ending != ARRIVED:
        raise OutOfReachError(min(float(memory.path_time) / duration, 1.0), left, least)
    if seconds <= 1.02 * duration + 0.02:
        return Plan(path, duration)
    note = (
        f'the motion takes {seconds:.3g} s instead of {duration:.3g} s: the joints would have '
        f'been over their limits (smallest singular value on the way {least:.2g})'
    )
    return Plan(path, seconds, note)
