"""Limits of the arm: speed at singularities and the workspace edge, effort, torque rate."""

import numpy as np
import pytest
from closed_loop import HOME, READY, ClosedLoop, TwoUrdfs, model_of, urdf_of

from icir_control.app.promises.goals import motions, reachable, refused
from icir_control.control import Waypoints
from icir_control.dynamics import gravity_torque
from icir_control.errors import RefusedError
from icir_control.spatial import SE3

SPEED_LIMIT = model_of().velocity_limit


# `make demo` sends it to 24 goals (`test_app_demo`, PROMISED).
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


# `make demo` measures the same (`test_app_demo`, PROMISED).
@pytest.mark.long
def test_goals_out_of_reach_are_refused_and_nothing_moves():
    metrics = {metric.key: metric.value for metric in refused(100)}
    assert metrics['refused'] == 100
    assert metrics['motion_rad'] < 1e-9


@pytest.mark.long  # `make demo` sends it to 60 poses, as above
@pytest.mark.parametrize('count', [60, 500])
def test_every_pose_that_the_arm_can_have_is_reached(count):
    metrics = {metric.key: metric.value for metric in reachable(count, seed=count)}
    assert metrics['reached'] == count
    assert metrics['last_distance_m'] < 1e-4
    assert metrics['last_turn_rad'] < 1e-4
    assert metrics['speed_share'] <= 1.05


@pytest.mark.long
def test_every_pose_is_reached_on_a_spring():
    metrics = {metric.key: metric.value for metric in reachable(100, 100, 'impedance')}
    assert metrics['reached'] == 100
    assert metrics['last_distance_m'] < 1e-4
    assert metrics['last_turn_rad'] < 1e-4
    assert metrics['speed_share'] <= 1.05


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


def test_the_torque_of_the_path_comes_first_and_feedback_is_scaled():
    """An arm off its path asks for too much feedback: what remains of it points the same way."""
    loop = ClosedLoop(start=HOME, joint_gains__kp=[4000.0] * 6)
    loop.go('ready', 0.3)
    memory, tick = loop.controller._engine.memory, loop.controller._engine.tick_record
    controller, limit = loop.controller, loop.model.effort_limit
    controller.tick(loop.time, loop.q + 0.03, loop.v)
    path = tick.M @ tick.acceleration_reference + tick.nle - memory.compensation
    path = np.clip(path, -limit, limit)
    share, wanted = memory.effort_share, controller.torque_unsaturated - path
    assert controller.saturated.any()
    assert 0.0 < share < 1.0
    np.testing.assert_allclose(controller.torque, path + share * wanted, atol=1e-9)
    # No more of it would fit.
    assert np.abs(np.abs(controller.torque) - limit).min() < 1e-9
    assert (np.abs(controller.torque) <= limit).all()


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


STRETCHED = np.radians([0.0, 85.0, 0.0, 0.0, 0.0, 0.0])


def test_a_way_on_which_the_motors_do_not_bear_the_arm_is_refused():
    weak = urdf_of().read_text().replace('effort="39"', 'effort="12"')
    loop = TwoUrdfs(weak, weak, HOME)
    controller = loop.controller
    loop.go('jog', 0.05)
    there = controller.current_pose

    def tool(x):
        controller.set_target_pose(SE3(there.rotation, there.translation + [x, 0.0, 0.0]))

    def joint_2(angle):
        controller.follow(Waypoints(('joint_2', 'joint_3'), [4.0], [[angle, 0.5 * angle]]))

    tool(0.2)
    loop.go('', 0.3)
    reference = controller.position_reference.copy()
    for request in (
        lambda: controller.set_target_joints(STRETCHED),
        lambda: tool(0.4),
        lambda: joint_2(1.5),
    ):
        with pytest.raises(RefusedError, match='loads joint_2 with a weight of .* effort of 12'):
            request()
        np.testing.assert_array_equal(controller.position_reference, reference)
    with pytest.raises(RefusedError) as refusal:
        controller.set_target_joints(STRETCHED)
    weight = abs(gravity_torque(loop.model, loop.model.create_data(), STRETCHED)[1])
    error = refusal.value
    assert (error.reason, error.joint, error.upper) == ('effort_limit', 'joint_2', 12.0)
    assert error.value == pytest.approx(weight)
    # Where it is too heavy already, it may go to where it is less so.
    loop = TwoUrdfs(weak, weak, STRETCHED)
    loop.controller.select('home')
    with pytest.raises(RefusedError, match='loads joint_2'):
        loop.controller.set_target_joints(STRETCHED + [0.0, 0.05, 0.0, 0.0, 0.0, 0.0])
