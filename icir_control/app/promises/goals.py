"""Goals: those within reach are reached, within the speed limits; all others are refused."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from icir_control.app.closed_loop import HOME, READY, ClosedLoop
from icir_control.app.measurement import Array, Metric, angle_between
from icir_control.errors import RefusedError
from icir_control.spatial import SE3, exp3

_NEAR = 0.02  # smallest singular value of an arm near a singularity
_SHORTEST, _LONGEST = 2.0, 20.0  # s that a motion takes
_SETTLING = 0.3  # s
_OFF_LIMITS, _OFF_FLOOR = np.radians(5.0), 0.05  # rad, m
_SHOULDER = np.array([0.0, 0.0, 0.28])  # m


@dataclass(frozen=True)
class Approach:
    """A motion to a goal, as it went.

    Attributes:
        distance: Of the tool from the goal at the end [m].
        speed_share: Greatest joint speed, as a share of its limit.
        last_speed_share: The same at the end.
        singular_value: The smallest on the way.
    """

    distance: float
    speed_share: float
    last_speed_share: float
    singular_value: float


def motions(count: int, seed: int = 1) -> Iterator[Approach]:
    """Send the arm to random goals that it accepts; a third of them near a singularity.

    The plant has a floor and an arm that collides with itself: a motion that touches something is
    not counted.

    Args:
        count: How many goals.
        seed: Of the random goals.
    """
    loop = ClosedLoop(start=HOME)
    rng = np.random.default_rng(seed)
    reached = 0
    while reached < count:
        motion = _motion(
            loop, HOME if reached % 2 else READY, _goal(loop, rng, singular=reached % 3 == 2)
        )
        if motion is not None:
            reached += 1
            yield motion


def reached(count: int) -> Iterator[Metric]:
    """Give how the goals within reach were reached.

    Args:
        count: How many goals.
    """
    done = list(motions(count))
    near = sum(motion.singular_value < _NEAR for motion in done)
    distance, speed, last_speed = np.max(
        [(motion.distance, motion.speed_share, motion.last_speed_share) for motion in done], axis=0
    )
    yield Metric('goals', len(done), upper=count, lower=count)
    yield Metric('near_singularity_share', near / count, lower=1.0 / 3.0)
    yield Metric('last_distance', float(distance), 'm', 1e-5)
    yield Metric('last_speed_share', float(last_speed), upper=1e-3)
    yield Metric('speed_share', float(speed), upper=1.05)


def reachable(count: int, seed: int = 4, mode: str = 'down') -> Iterator[Metric]:
    """Give how the poses are reached that an arm can have, half of them with seven joints.

    They are those of random postures off the position limits that keep the clearance to the floor
    and to the arm itself. In the plant the arm passes through both: what touches is left to the
    controller, which plans around neither but refuses.

    Args:
        count: How many.
        seed: Of the random postures.
        mode: That is sent there, with `path: any`.
    """
    distances, turns, speeds = [], [], []
    for robot in ('gen3_6dof', 'gen3_7dof'):
        rng = np.random.default_rng(seed)
        changes = {f'modes.{mode}.path': 'any'}
        loop = ClosedLoop(robot, start=np.zeros(int(robot[5])), changes=changes)
        loop.go('home', 5.0)
        home = loop.q.copy()
        poses = [_reachable_pose(loop, rng) for _ in range(count // 2)]
        loop.world.model.geom_contype[:] = loop.world.model.geom_conaffinity[:] = 0
        for goal in poses:
            loop.restart(home)
            loop.go(mode, 1e-3)
            try:
                loop.controller.set_target_pose(goal)
            except RefusedError:
                continue
            speeds.append(_run_to(loop, goal))
            distances.append(np.linalg.norm(loop.placement.translation - goal.translation))
            turns.append(angle_between(loop.placement.rotation, goal.rotation))
    yield Metric('reached', len(distances), upper=count, lower=count)
    yield Metric('last_distance', float(np.max(distances)), 'm', 1e-4)
    yield Metric('last_turn', float(np.max(turns)), 'rad', 1e-4)
    yield Metric('speed_share', float(np.max(speeds)), upper=1.05)


def refused(count: int = 100) -> Iterator[Metric]:
    """Give how many goals out of reach or outside the limits are refused, and what moves.

    Args:
        count: How many; half of them are poses, half of them joint positions.
    """
    loop = ClosedLoop(start=HOME)
    rng = np.random.default_rng(3)
    controller = loop.controller
    requests: dict[str, Callable[[], None]] = {
        'down': lambda: controller.set_target_pose(_far_pose(rng)),
        'home': lambda: controller.set_target_joints(_wide_posture(loop, rng)),
    }
    refusals = 0
    moved = 0.0
    for mode, request in requests.items():
        loop.go(mode, 2.5)
        before = loop.q.copy()
        for _ in range(count // 2):
            try:
                request()
            except RefusedError as error:
                refusals += error.reason in ('position_limit', 'out_of_reach')
            loop.run(1)
        moved = np.maximum(moved, np.abs(loop.q - before).max())
    yield Metric('refused', refusals, upper=count, lower=count)
    yield Metric('motion', float(moved), 'rad', 1e-9)


def _motion(loop: ClosedLoop, start: Array, goal: SE3) -> Approach | None:
    """Go from a posture to a goal; None where that is refused or touches something."""
    loop.restart(start)
    loop.go('down', 1e-3)
    try:
        loop.controller.set_target_pose(goal)
    except RefusedError:
        return None
    singular_value, speed_share, share = np.inf, 0.0, 0.0
    end = loop.time + _LONGEST
    earliest, has_arrived = loop.time + _SHORTEST, False
    while loop.time < end:
        loop.step()
        if loop.touches:
            return None
        # numpy's extremes keep what is not a number; Python's do not.
        singular_value = np.minimum(singular_value, loop.controller.smallest_singular_value)
        share = np.max(np.abs(loop.v) / loop.model.velocity_limit)
        speed_share = np.maximum(speed_share, share)
        if not has_arrived and loop.time > earliest and _has_arrived(loop, goal):
            has_arrived, end = True, loop.time + _SETTLING
    distance = np.linalg.norm(loop.placement.translation - goal.translation)
    return Approach(float(distance), float(speed_share), float(share), float(singular_value))


def _has_arrived(loop: ClosedLoop, goal: SE3) -> bool:
    """Return whether the reference of the tool rests at the goal."""
    controller = loop.controller
    if np.abs(controller.velocity_reference).max() >= 1e-6:
        return False
    return bool(np.abs(controller.reference_pose.translation - goal.translation).max() < 1e-6)


def _run_to(loop: ClosedLoop, goal: SE3) -> Array:
    """Run until the reference rests at a goal; return the greatest share of a speed limit."""
    speed_share, end = np.zeros(()), loop.time + _LONGEST
    while loop.time < end:
        loop.step()
        speed_share = np.maximum(speed_share, np.max(np.abs(loop.v) / loop.model.velocity_limit))
        if _has_arrived(loop, goal):
            end = min(end, loop.time + _SETTLING)
    return speed_share


def _reachable_pose(loop: ClosedLoop, rng: np.random.Generator) -> SE3:
    """The pose in a posture that is 5 degrees off the limits and keeps the clearance."""
    clearance = loop.controller.config.arm.clearance
    lower, upper = loop.model.lower_position_limit, loop.model.upper_position_limit
    lower = np.where(np.isfinite(lower), lower, -np.pi) + _OFF_LIMITS
    upper = np.where(np.isfinite(upper), upper, np.pi) - _OFF_LIMITS
    while True:
        q = rng.uniform(lower, upper)
        if clearance is not None and clearance.nearest(q)[1] < clearance.least:
            continue
        loop.world.reset(q)
        loop.world.read(loop.q, loop.v, np.empty_like(loop.q))
        if not loop.touches and loop.placement.translation[2] > _OFF_FLOOR:
            return loop.placement


def _goal(loop: ClosedLoop, rng: np.random.Generator, *, singular: bool) -> SE3:
    """A pose above the floor; near a singularity the elbow or the wrist is almost straight."""
    while True:
        q = np.clip(loop.model.random_configuration(rng), -2.5, 2.5)
        if singular:
            q[rng.choice([2, 4])] = rng.uniform(-0.05, 0.05)
        placement = loop.controller.config.arm.placement(q)
        if placement.translation[2] > 0.15:
            return placement


def _far_pose(rng: np.random.Generator) -> SE3:
    """A pose that the arm, 0.9 m from its shoulder to the tool, cannot have."""
    direction = rng.normal(size=3)
    way = rng.uniform(1.1, 3.0) * direction / np.linalg.norm(direction)
    return SE3(exp3(rng.uniform(-1.7, 1.7, 3)), _SHOULDER + way)


def _wide_posture(loop: ClosedLoop, rng: np.random.Generator) -> Array:
    """Home but for one joint, which is beyond one of its limits by up to 2 rad."""
    limits = loop.model.lower_position_limit, loop.model.upper_position_limit
    joint = rng.choice(np.flatnonzero(np.isfinite(limits[1])))
    q = HOME.copy()
    beyond = rng.uniform(1e-3, 2.0)
    q[joint] = rng.choice([limits[0][joint] - beyond, limits[1][joint] + beyond])
    return q
