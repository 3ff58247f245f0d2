"""Poses for arms with fewer than six joints: the position, then what is left of the rotation.

So are those of a finger, whose joints move while the others of its hand are held.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from icir_control.control.arm import Arm
from icir_control.control.law import Plan, Start
from icir_control.control.motion import COMPLIANT_SHARE, VELOCITY_SHARE, plan_joint_motion
from icir_control.errors import ConfigurationError, OutOfReachError
from icir_control.parameter import parameter
from icir_control.spatial import SE3, log3

HELD_LINK: str = parameter(
    '',
    '',
    'link that stays where it is while the end effector moves, such as the palm of a finger: '
    'all joints but those between the two are held; empty for none',
    running=False,
)

STEPS = 300
"""Of the iteration, at most; most goals take five to ten."""

NUDGE = 0.1
"""Share of the way to the middle of the limits at which it begins again, without a turn, where
that did not lead to the goal: a stretched finger has no direction to begin with."""

TOLERANCE = 1e-9
"""[m] Left between tool and position; [rad or m] last step of a joint."""

_DECAY = 0.97  # of the turn by step, so that at last the position alone counts
_LONGEST_STEP = 0.3  # rad or m
_DAMPING = 0.1  # of the turn: what cannot be turned must not shake the position
_RANK = 1e-3  # least singular value that counts, relative to the largest


def joints_beyond(arm: Arm, held_link: str) -> NDArray[np.intp]:
    """Return the joints, by their index in q, that move the end effector but not a link.

    Args:
        arm: The arm.
        held_link: Name of the link; empty for all joints of the arm.

    Raises:
        UnknownNameError: The arm has no such link.
        ConfigurationError: The end effector does not move beside that link.
    """
    if not held_link:
        return np.arange(arm.nv)
    free = _movers(arm, arm.end_effector_frame) - _movers(arm, held_link)
    if not free:
        raise ConfigurationError(
            f'held_link = {held_link!r} holds the end effector {arm.end_effector_frame!r}, too; '
            'expected a link that joints lie beyond'
        )
    return np.array(sorted(free))


def _movers(arm: Arm, frame: str) -> set[int]:
    """Return the degrees of freedom that move a frame, by their index in v."""
    joint, found = arm.model.frames[arm.model.frame_id(frame)].parent, set()
    while joint:
        one = arm.model.joints[joint]
        found |= {one.index_v + i for i in range(one.kind.nv)}
        joint = one.parent
    return found


def plan_position_motion(
    arm: Arm,
    start: Start,
    goal: SE3,
    duration: float,
    profile: str,
    joints: NDArray[np.intp],
    *,
    is_compliant: bool = False,
) -> Plan:
    """Plan a motion of some joints that brings the end effector to the position of a goal.

    Args:
        arm: The arm.
        start: Where it begins.
        goal: T_world_tool.
        duration: [s]; lengthened where a joint would be too fast.
        profile: `cubic` or `quintic`.
        joints: Those that move; the others stay.
        is_compliant: Whether the arm is compliant, and need not be at its reference.

    Raises:
        RefusedError: As `position_first` and `plan_joint_motion`.
    """
    share = VELOCITY_SHARE
    if is_compliant:
        share = COMPLIANT_SHARE
        q, v = position_first(arm, start.pose, start.q, joints), np.zeros(arm.nv)
        rows = arm.jacobian(q)[:3, joints]
        v[joints] = np.linalg.lstsq(rows, start.twist.vector[:3], rcond=_RANK)[0]
        start = replace(start, q=q, v=v)
    posture = position_first(arm, goal, start.q, joints)
    plan = plan_joint_motion(arm, start, posture, duration, profile, share)
    note = f'{len(joints)} joints bring the tool to the position, and turn it as far as they can'
    return replace(plan, note='; '.join(filter(None, [note, plan.note])))


def position_first(
    arm: Arm,
    goal: SE3,
    start: NDArray[np.float64],
    joints: NDArray[np.intp] | None = None,
) -> NDArray[np.float64]:
    """Return the posture (nv,) near a start with the tool at the position of a goal.

    What freedom the position leaves turns the tool towards the goal's rotation (Siciliano and
    Slotine 1991, two tasks by priority).

    Args:
        arm: The arm.
        goal: T_world_tool.
        start: (nv,) [rad or m].
        joints: Those that move, by their index in q; None for all. The others stay, or go back
            to the limit that they are beyond.

    Raises:
        OutOfReachError: The position is out of reach from the start, within the limits.
    """
    lower, upper = arm.model.lower_position_limit, arm.model.upper_position_limit
    moved = np.arange(arm.nv) if joints is None else joints
    low, high = np.minimum(lower, start)[moved], np.maximum(upper, start)[moved]
    left = np.inf, 0.0
    for share, turning in ((0.0, 1.0), (NUDGE, 0.0)):
        q = np.clip(start, lower, upper)
        q[moved] = (start + share * (arm.middle - start))[moved]
        for count in range(STEPS):
            before, turn = q[moved], turning * _DECAY**count
            step = _step(arm, goal, q, moved, turn)
            # A joint at a limit that it would leave takes no part.
            free = ((before > low) | (step > 0.0)) & ((before < high) | (step < 0.0))
            if free.any() and not free.all():
                step[:] = 0.0
                step[free] = _step(arm, goal, q, moved[free], turn)
            q[moved] = np.clip(before + step, low, high)
            if np.abs(q[moved] - before).max() < TOLERANCE:
                break
        way = arm.placement(q).inverse() @ goal
        distance = float(np.linalg.norm(way.translation))
        if distance <= TOLERANCE:
            return q
        left = min(left, (distance, float(np.linalg.norm(log3(way.rotation)))))
    raise OutOfReachError(*left)


def _step(
    arm: Arm, goal: SE3, q: NDArray[np.float64], moved: NDArray[np.intp], turning: float
) -> NDArray[np.float64]:
    """Return a Newton step of some joints; of the turn it takes a share."""
    way = arm.placement(q).inverse() @ goal
    linear, angular = np.split(arm.jacobian(q)[:, moved], 2)
    step = np.asarray(np.linalg.lstsq(linear, way.translation, rcond=_RANK)[0], dtype=float)
    _, values, directions = np.linalg.svd(linear)
    free = directions[np.sum(values > _RANK * values[0]) :].T
    if free.size:
        turn = log3(way.rotation) - angular @ step
        secondary = angular @ free
        damped = secondary.T @ secondary + _DAMPING**2 * np.eye(free.shape[1])
        step += turning * free @ np.linalg.solve(damped, secondary.T @ turn)
    step *= min(1.0, _LONGEST_STEP / max(np.abs(step).max(), 1e-12))
    return step
