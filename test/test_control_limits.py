"""Limits of the arm: speed at singularities and the workspace edge, effort, torque rate."""

import numpy as np
import pytest
from closed_loop import HOME, READY, ClosedLoop, model_of

from icir_control.app.promises.goals import motions, refused

SPEED_LIMIT = model_of().velocity_limit


# `make test` sends it to 24 goals in its run of the demo (`test_app_demo`, PROMISED).
@pytest.mark.long
def test_goals_are_reached_within_the_speed_limits():
    reach_goals(24, seed=1)


@pytest.mark.long
def test_200_goals_are_reached_within_the_speed_limits():
    reach_goals(200, seed=2)


def reach_goals(count: int, seed: int) -> None:
    """Send the arm to goals that it accepts, and see that it arrives, never too fast."""
    near = 0
    for motion in motions(count, seed):
        assert motion.speed_share <= 1.05
        assert motion.last_speed_share < 1e-3
        assert motion.distance < 1e-5
        near += motion.singular_value < 0.02
    assert near >= count / 3, 'too few of the motions came near a singularity'


# `make test` measures the same in its run of the demo (`test_app_demo`, PROMISED).
@pytest.mark.long
def test_goals_out_of_reach_are_refused_and_nothing_moves():
    metrics = {metric.key: metric.value for metric in refused(100)}
    assert metrics['refused'] == 100
    assert metrics['motion_rad'] < 1e-9


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
        speed = max(speed, (np.abs(loop.v) / SPEED_LIMIT).max())
    off = loop.controller.current_pose.translation - arm.placement(goal_posture).translation
    assert np.linalg.norm(off) < 1e-5
    assert speed <= 1.05
    assert note == '' or 'instead of' in note


def test_effort_is_scaled_so_that_the_direction_of_acceleration_stays():
    """A step of the joint target asks for too much; what is given points the same way."""
    loop = ClosedLoop(start=HOME, joint_gains__kp=[4000.0] * 6)
    loop.go('home', 2.2)
    memory = loop.controller._engine.memory
    memory.q_after[:] += 0.5
    loop.step()
    controller, nle = loop.controller, loop.controller._engine.tick_record.nle
    assert controller.saturated.any()
    assert (np.abs(controller.torque) <= loop.model.effort_limit).all()
    part = controller.torque - nle
    wanted = controller.torque_unsaturated - nle
    np.testing.assert_allclose(part, memory.effort_share * wanted, atol=1e-9)
    assert 0.0 < memory.effort_share < 1.0


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
