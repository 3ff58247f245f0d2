"""Motions that the arm can follow: lengthened to its velocity limits, refused at other limits."""

import numpy as np
from numpy.typing import NDArray

from icir_control.control.arm import Arm
from icir_control.control.kernels.record import REHEARSE, TASK, install_path, install_start
from icir_control.control.kernels.rehearsal import ARRIVED, OUTSIDE
from icir_control.control.law import Plan, Start
from icir_control.errors import RefusedError
from icir_control.spatial import SE3
from icir_control.trajectory import JointTrajectory, SE3Trajectory

SAMPLES = 201
"""Of a path, to look for limits: every 10 ms of a motion of 2 s."""

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
        raise RefusedError(f'the goal has {outside}', reason='position_limit')
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
    _check_position_limits(arm, samples, start)
    return Plan(path, note)


def plan_pose_motion(
    arm: Arm,
    start: Start,
    goal: SE3,
    duration: float,
    profile: str,
    singularity: float,
    singularity_damping: float,
) -> Plan:
    """Plan a straight motion of the end effector to rest at a goal.

    The motion is rehearsed kinematically, tick by tick at full speed, before anything moves.

    Args:
        arm: The arm.
        start: Where it begins.
        goal: T_world_tool.
        duration: [s]; the motion takes longer where the joints cannot keep up.
        profile: `cubic` or `quintic`.
        singularity: Smallest singular value of the Jacobian below which the inverse is damped,
            and below which no motion starts.
        singularity_damping: Its damping.

    Raises:
        RefusedError: A start in a singularity, a goal out of reach, or a way past a joint limit.
    """
    path = SE3Trajectory.to_rest(
        start.time, duration, start.pose, start.twist, goal, profile=profile
    )
    workspace = arm.new_workspace()
    record = workspace.record
    record.law, record.period = TASK, start.period
    record.singularity, record.singularity_damping = singularity, singularity_damping
    record.lowest[:] = np.minimum(arm.model.lower_position_limit, start.q)
    record.highest[:] = np.maximum(arm.model.upper_position_limit, start.q)
    install_path(record, path)
    install_start(record, start.time, start.q, start.v)
    least = arm.smallest_singular_value(start.q)
    if not least >= singularity:
        raise RefusedError(
            'the path starts too near a singularity: smallest singular value of the Jacobian '
            f'{least:.2g}, at least {singularity:g} is needed; move the joints first',
            reason='singularity',
        )
    workspace.run(REHEARSE)
    share = min(record.path_time / duration, 1.0)
    return Plan(path, _judge(arm, record.outcome, duration, share))


def _judge(arm: Arm, outcome: NDArray[np.float64], expected: float, share: float) -> str:
    """Return a note on a rehearsal that succeeds; refuse the motion of one that does not."""
    ending, joint, place, seconds, least, left = outcome
    if ending == OUTSIDE:
        i = int(joint)
        model = arm.model
        raise RefusedError(
            f'the path leaves the limits of {model.joint_names[i]} '
            f'[{model.lower_position_limit[i]:.4g}, {model.upper_position_limit[i]:.4g}] '
            f'after {seconds:.2g} s, at {place:.4g}',
            reason='position_limit',
        )
    if ending != ARRIVED:
        raise RefusedError(
            f'the goal is out of reach: the arm gets stuck at {share:.0%} of the motion, with '
            f'{left:.2g} m or rad between tool and path; smallest singular value of the '
            f'Jacobian on the way {least:.2g}',
            reason='out_of_reach',
        )
    if seconds <= 1.02 * expected + 0.02:
        return ''
    return (
        f'the motion takes {seconds:.3g} s instead of {expected:.3g} s: the joints would have '
        f'been over their limits (smallest singular value on the way {least:.2g})'
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
            f'{k / (SAMPLES - 1):.0%} of the way, at {samples[k, i]:.4g}',
            reason='position_limit',
        )
