"""Goals of the tool that no straight path leads to: inverse kinematics, ways by joints, causes."""

import numpy as np
import pytest
from closed_loop import HOME, READY, UPRIGHT, ClosedLoop

from icir_control.dynamics import inverse_kinematics, inverse_kinematics_solutions
from icir_control.errors import (
    OutOfReachError,
    PositionLimitError,
    RefusedError,
    SingularityError,
)
from icir_control.spatial import SE3, log3

ROBOTS = 'gen3_6dof', 'gen3_7dof'


def loop_of(robot='gen3_6dof', **changes):
    nv = int(robot[5])
    return ClosedLoop(robot=robot, start=np.zeros(nv), **changes)


def home_of(loop):
    return loop.controller.config.modes['home'].law.target


def postures_at(arm, goal, start, margin=0.0):
    data = arm.model.create_data()
    return inverse_kinematics_solutions(arm.model, data, arm.frame, goal, start, margin)


def distance(a, b):
    """Between two poses [m, rad]."""
    turn = np.linalg.norm(log3(a.rotation.T @ b.rotation))
    return np.hypot(np.linalg.norm(a.translation - b.translation), turn)


def random_posture(loop, rng, margin=0.09):
    lower, upper = loop.model.lower_position_limit, loop.model.upper_position_limit
    lower = np.where(np.isfinite(lower), lower, -np.pi) + margin
    upper = np.where(np.isfinite(upper), upper, np.pi) - margin
    return rng.uniform(lower, upper)


@pytest.mark.parametrize('robot', ROBOTS)
def test_postures_are_at_the_pose_within_limits_and_in_order(robot):
    loop = loop_of(robot)
    arm, model, start = loop.controller.config.arm, loop.model, home_of(loop)
    rng = np.random.default_rng(2)
    for _ in range(100):
        goal = arm.placement(random_posture(loop, rng))
        postures = postures_at(arm, goal, start, 0.01)
        for q in postures:
            assert distance(arm.placement(q), goal) < 1e-9
            arm.check_limits('a posture', q)
            angles = np.abs(q - start)[~np.isfinite(model.upper_position_limit)]
            assert (angles <= np.pi + 1e-9).all(), 'by the nearest turn'
        times = [np.max(np.abs(q - start) / model.velocity_limit) for q in postures]
        assert (np.diff(times) > -1e-9).all()
        assert np.array_equal(postures[0], postures_at(arm, goal, start, 0.01)[0])


def test_the_present_posture_and_its_neighbours_are_kept():
    loop = loop_of()
    arm = loop.controller.config.arm
    np.testing.assert_allclose(postures_at(arm, arm.placement(HOME), HOME)[0], HOME, atol=1e-9)
    near = HOME + 0.02
    data = arm.model.create_data()
    found = inverse_kinematics(arm.model, data, arm.frame, arm.placement(near), HOME)
    np.testing.assert_allclose(postures_at(arm, arm.placement(near), HOME)[0], near, atol=1e-8)
    np.testing.assert_allclose(found, near, atol=1e-8)
    turned = HOME + 2.0 * np.pi * np.array([3.0, 0.0, 0.0, -1.0, 0.0, 2.0])
    found = postures_at(arm, arm.placement(READY), turned)[0]
    assert np.abs(found - turned).max() <= np.pi + 1e-9


def test_a_singular_goal_is_found():
    loop = loop_of()
    arm = loop.controller.config.arm
    q = postures_at(arm, arm.placement(UPRIGHT), HOME)[0]
    assert distance(arm.placement(q), arm.placement(UPRIGHT)) < 1e-9


def test_what_is_out_of_reach_says_how_near_the_tool_comes():
    loop = loop_of()
    arm = loop.controller.config.arm
    goal = arm.placement(HOME)
    far = SE3(goal.rotation, np.array([2.0, 0.0, 0.3]))
    with pytest.raises(OutOfReachError, match='nearer to it than') as caught:
        postures_at(arm, far, HOME)
    assert 1.0 < caught.value.value < 1.5
    assert caught.value.reason == 'out_of_reach'


def test_a_goal_past_a_limit_names_joint_and_value():
    """The elbow 0.1 rad past its limit; the other elbow, and other wrists, are past theirs."""
    loop = loop_of()
    arm, upper = loop.controller.config.arm, loop.model.upper_position_limit
    q = HOME.copy()
    q[2] = upper[2] + 0.1
    with pytest.raises(PositionLimitError, match='the goal, in the posture') as caught:
        postures_at(arm, arm.placement(q), HOME)
    error = caught.value
    i = loop.model.joint_names.index(error.joint)
    assert (error.lower, error.upper) == (-upper[i], upper[i])
    assert abs(error.value) > upper[i]


def test_four_steps_down_and_more_go_straight_and_the_last_says_why_not():
    loop = loop_of(modes__down__duration=1.0)
    loop.go('home', 2.5)
    steps, refused = 0, None
    while refused is None:
        before = loop.placement
        try:
            recording = loop.go('down', 1.2)
        except RefusedError as error:
            refused = error
            continue
        steps += 1
        moved = loop.placement.translation - before.translation
        np.testing.assert_allclose(moved, [0.0, 0.0, -0.05], atol=1e-8)
        tools = [loop.controller.config.arm.placement(q) for q in recording['position'][::50]]
        off = np.array([tool.translation - before.translation for tool in tools])[:, :2]
        assert np.abs(off).max() < 1e-4
    assert steps >= 4
    assert refused.reason == 'position_limit'


@pytest.mark.parametrize('path', ['joint', 'any'])
def test_from_the_singular_upright_pose_by_joints(path):
    loop = loop_of(modes__down__path=path)
    before = loop.placement
    loop.go('down', 3.0)
    moved = loop.placement.translation - before.translation
    np.testing.assert_allclose(moved, [0.0, 0.0, -0.05], atol=1e-9)
    assert np.abs(loop.v).max() < 1e-9
    note = loop.controller.take_events()[-1:]
    if path == 'any':
        assert 'by a motion of the joints: the path, where it starts' in note[0].text
    # From there it goes straight on.
    loop.go('down', 3.0)
    np.testing.assert_allclose(
        loop.placement.translation - before.translation, [0.0, 0.0, -0.1], atol=1e-9
    )


@pytest.mark.slow
def test_a_straight_path_is_refused_for_its_own_cause():
    """A posture with the wrist on the other side, which only the joints get to."""
    loop = loop_of()
    arm = loop.controller.config.arm
    causes = set()
    rng = np.random.default_rng(5)
    for _ in range(40):
        loop.restart(HOME)
        loop.go('down', 1e-3)
        try:
            loop.controller.set_target_pose(arm.placement(random_posture(loop, rng)))
        except (PositionLimitError, SingularityError) as error:
            causes.add((error.reason, str(error).partition(',')[0]))
    assert causes == {('position_limit', 'the path'), ('singularity', 'the path')}


@pytest.mark.parametrize('mode', ['down', 'impedance'])
def test_a_target_on_the_way_by_joints_starts_from_the_reference(mode):
    """No jump of the torque where a new target meets a moving arm, or one that is pushed."""
    loop = loop_of(**{f'modes__{mode}__path': 'joint'})
    arm = loop.controller.config.arm
    loop.restart(HOME)
    loop.go(mode, 0.5)
    loop.controller.set_target_pose(arm.placement(READY))
    loop.run(700)
    assert np.abs(loop.v).max() > 0.1
    before = loop.controller.torque.copy()
    reference = loop.controller.reference_pose
    loop.controller.set_target_pose(arm.placement(HOME))
    loop.run(1)
    assert np.abs(loop.controller.torque - before).max() < 2.0
    assert distance(loop.controller.reference_pose, reference) < 2e-3
    loop.run(6000)
    assert distance(loop.placement, arm.placement(HOME)) < 1e-6


def test_a_pushed_arm_keeps_its_spring_where_the_reference_goes_by_joints():
    loop = loop_of(modes__impedance__path='joint')
    loop.restart(HOME)
    loop.go('impedance', 0.5)
    push = np.array([0.0, 10.0, 0.0, 0.0, 0.0, 0.0])
    moved = loop.pushed(push, 2.0)
    assert moved[1] == pytest.approx(0.02, rel=0.01)
    goal = loop.controller.reference_pose
    for _ in range(2):  # the second from a joint path
        loop.world.push(
            loop.tool, np.concatenate([loop.placement.rotation.T @ push[:3], push[3:]])
        )
        before = loop.controller.torque.copy()
        loop.controller.set_target_pose(goal)
        loop.run(1)
        assert np.abs(loop.controller.torque - before).max() < 0.5
        assert distance(loop.controller.reference_pose, goal) < 1e-5
        loop.pushed(push, 0.3)


def test_a_new_target_keeps_the_speed_of_the_tool():
    loop = loop_of()
    arm = loop.controller.config.arm
    loop.restart(HOME)
    loop.go('down', 1.0)
    loop.controller.set_target_pose(arm.placement(HOME))
    speed = loop.run(20)['velocity']
    step = np.abs(np.diff(speed, axis=0)).max()
    assert step < 1e-3
