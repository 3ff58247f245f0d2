"""Limits of the arm: speed at singularities and the workspace edge, effort, torque rate."""

import re

import numpy as np
import pytest
from closed_loop import HOME, READY, ClosedLoop, model_of

from icir_control.errors import RefusedError
from icir_control.spatial import SE3, exp3

SPEED_LIMIT = model_of().velocity_limit


@pytest.fixture(scope='module')
def loop():
    return ClosedLoop(start=HOME)


def restart(loop, q) -> None:
    loop.world.reset(q)
    loop.world.read(loop.q, loop.v, loop.effort)
    loop.controller.restart(loop.time, loop.q, loop.v)
    loop.run(1)
    loop.go('down', 0.001)


def goals(rng, near_singularity: bool):
    """Poses above the floor; near a singularity the elbow or the wrist is almost straight."""
    model = model_of()
    arm = ClosedLoop().controller.config.arm
    while True:
        q = np.clip(model.random_configuration(rng), -2.5, 2.5)
        if near_singularity:
            q[rng.choice([2, 4])] = rng.uniform(-0.05, 0.05)
        placement = arm.placement(q)
        if placement.translation[2] > 0.15:
            yield placement


def reach_goals(loop, count: int, seed: int) -> None:
    """Send the arm to goals that it accepts, and see that it arrives, never too fast.

    The plant also has a floor and arms that collide with themselves, which no law knows of: a
    motion that touches something is not counted.
    """
    rng = np.random.default_rng(seed)
    sources = [goals(rng, False), goals(rng, False), goals(rng, True)]
    reached = near = 0
    while reached < count:
        restart(loop, HOME if reached % 2 else READY)
        goal = next(sources[reached % 3])
        try:
            loop.controller.set_target_pose(goal)
        except RefusedError:
            continue
        takes = [re.search(r'takes ([\d.]+) s', e.text) for e in loop.controller.take_events()]
        seconds = max([2.0, *(float(found[1]) for found in takes if found)]) + 0.3
        least, touched = np.inf, False
        for _ in range(round(seconds / 1e-3)):
            loop.step()
            least = min(least, loop.controller.smallest_singular_value)
            touched = touched or loop.world.data.ncon > 0
            if touched:
                break
            assert (np.abs(loop.recording.v[-1]) <= 1.05 * SPEED_LIMIT).all()
            assert np.isfinite(loop.controller.torque).all()
        if touched:
            continue
        reached += 1
        near += least < 0.02
        off = loop.controller.current_pose.translation - goal.translation
        assert np.linalg.norm(off) < 1e-5
        assert np.abs(loop.v).max() < 1e-3
    assert near >= 0.15 * count, 'too few of the motions came near a singularity'


def test_goals_are_reached_within_the_speed_limits(loop):
    reach_goals(loop, 24, seed=1)


@pytest.mark.long
def test_200_goals_are_reached_within_the_speed_limits(loop):
    reach_goals(loop, 200, seed=2)


def test_goals_out_of_reach_are_refused_and_nothing_moves(loop):
    rng = np.random.default_rng(3)
    restart(loop, HOME)
    loop.run(2500)
    before = loop.q.copy()
    for _ in range(100):
        direction = rng.normal(size=3)
        distance = rng.uniform(1.1, 3.0)
        place = np.array([0.0, 0.0, 0.28]) + distance * direction / np.linalg.norm(direction)
        with pytest.raises(RefusedError, match='limits|out of reach'):
            loop.controller.set_target_pose(SE3(exp3(rng.uniform(-1.7, 1.7, 3)), place))
        loop.run(1)
    np.testing.assert_allclose(loop.q, before, atol=1e-9)


def test_path_through_a_singularity_is_slowed_down_and_passes():
    """The wrist of `ready` is turned through its straight pose: exactly singular on the way."""
    start = READY.copy()
    start[4] = 0.35
    loop = ClosedLoop(start=start)
    arm = loop.controller.config.arm
    goal_posture = start.copy()
    goal_posture[4] = -0.35
    loop.go('down', 0.001)
    loop.controller.set_target_pose(arm.placement(goal_posture))
    note = ' '.join(event.text for event in loop.controller.take_events())
    speed = 0.0
    for _ in range(9000):
        loop.step()
        speed = max(speed, (np.abs(loop.recording.v[-1]) / SPEED_LIMIT).max())
    off = loop.controller.current_pose.translation - arm.placement(goal_posture).translation
    assert np.linalg.norm(off) < 1e-5
    assert speed <= 1.05
    assert note == '' or 'instead of' in note


def test_effort_is_scaled_so_that_the_direction_of_acceleration_stays():
    """A step of the joint target asks for too much; what is given points the same way."""
    loop = ClosedLoop(start=HOME, joint_gains__kp=[4000.0] * 6)
    loop.go('home', 2.2)
    loop.controller._engine.record.q_after[:] += 0.5
    loop.step()
    controller, record = loop.controller, loop.controller._engine.record
    assert controller.saturated.any()
    assert (np.abs(controller.torque) <= loop.model.effort_limit).all()
    part = controller.torque - record.nle_before
    wanted = controller.torque_unsaturated - record.nle_before
    np.testing.assert_allclose(part, record.effort_share * wanted, atol=1e-9)
    assert 0.0 < record.effort_share < 1.0


def test_torque_rate_is_limited():
    rate = 20.0
    loop = ClosedLoop(start=HOME, limits__torque_rate=[rate] * 6)
    loop.run(10)
    torque = [loop.controller.torque.copy()]
    loop.controller.select('ready')
    limited = False
    for _ in range(500):
        loop.step()
        torque.append(loop.controller.torque.copy())
        limited = limited or loop.controller.rate_limited
    assert limited
    assert np.abs(np.diff(torque, axis=0)).max() <= rate * 1e-3 + 1e-12
