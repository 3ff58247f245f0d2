"""Any arm: a home that is no singularity; fewer than six joints bring the tool to a position."""

from pathlib import Path

import numpy as np
import pytest

from icir_control import Robot
from icir_control.control.arm import WELL_CONDITIONED, Arm
from icir_control.control.position_first import position_first
from icir_control.dynamics import KinematicTree, gravity_torque, load_urdf
from icir_control.errors import OutOfReachError, RefusedError
from icir_control.share import share_directory
from icir_control.spatial import SE3, Motion, exp3, exp6, log3

HAND = Path(__file__).resolve().parent / 'data' / 'arm_with_hand.urdf'


def arm_without(*locked, effort=80.0):
    chain = KinematicTree(HAND).chain(end_effector_frame='hand', locked=dict.fromkeys(locked, 0.2))
    return Arm(load_urdf(HAND, locked=chain.held, default_effort=effort), 'floor', 'hand')


def options_of(locked):
    frames = {'base_frame': 'floor', 'end_effector_frame': 'hand', 'default_effort': 80.0}
    return {**frames, 'locked_joints': [f'{name}=0.2' for name in locked]}


LESS = [
    ('turn',),
    ('turn', 'bend'),
    ('turn', 'bend', 'roll'),
    ('turn', 'bend', 'roll', 'swivel'),
]


@pytest.mark.parametrize('locked', [(), *LESS])
def test_home_is_no_singularity_where_the_middle_of_the_limits_is_one(locked):
    """The arm is stretched upwards there. Two joints in a plane reach a plane."""
    arm = arm_without(*locked)
    rows, rank = (6, 6) if arm.nv == 6 else (3, min(arm.nv, 3))

    def least(q):
        return np.linalg.svd(arm.jacobian(q)[:rows], compute_uv=False)[rank - 1]

    q = arm.rest_posture
    assert least(q) > WELL_CONDITIONED
    assert (arm.model.lower_position_limit < q).all()
    assert (q < arm.model.upper_position_limit).all()
    np.testing.assert_array_equal(q, arm_without(*locked).rest_posture)


def test_home_is_where_the_motors_hold_the_weight():
    """The shoulder's motor is weak: where 80 N m are enough for any posture, 3 N m are not."""
    weights = []
    for effort in (80.0, 3.0):
        arm = arm_without(effort=effort)
        weights.append(gravity_torque(arm.model, arm.model.create_data(), arm.rest_posture)[1])
    assert abs(weights[0]) > 3.0 > abs(weights[1])


@pytest.mark.parametrize('locked', LESS)
def test_the_position_comes_first_and_the_rotation_as_near_as_that_allows(locked):
    """No motion of the joints that leaves the position turns the tool nearer to the goal."""
    arm = arm_without(*locked)
    start, rng = arm.rest_posture, np.random.default_rng(3)
    near = arm.placement(start + rng.uniform(-0.1, 0.1, arm.nv))
    goal = SE3(near.rotation @ exp3(rng.uniform(-0.1, 0.1, 3)), near.translation)
    q = position_first(arm, goal, start)
    np.testing.assert_allclose(arm.placement(q).translation, goal.translation, rtol=0, atol=1e-8)
    _, values, directions = np.linalg.svd(arm.jacobian(q)[:3])
    for direction in directions[np.sum(values > 1e-6) :]:
        angles = [
            np.linalg.norm(log3(arm.placement(q + step * direction).rotation.T @ goal.rotation))
            for step in (-1e-4, 1e-4)
        ]
        assert abs(angles[1] - angles[0]) / 2e-4 < 1e-3


def test_a_position_out_of_reach_is_refused():
    arm = arm_without('turn', 'bend', 'roll')
    goal = SE3(np.eye(3), np.array([0.0, 0.0, 3.0]))
    with pytest.raises(OutOfReachError):
        position_first(arm, goal, arm.rest_posture)


@pytest.mark.slow
@pytest.mark.parametrize('mode', ['jog', 'impedance'])
@pytest.mark.parametrize('locked', LESS)
def test_the_tool_arrives_where_it_was_told_to_or_the_goal_is_refused(locked, mode):
    """Anchor: up to 0.06 m beside it, where the nearest pose was taken for a solution."""
    robot = Robot.simulate(HAND, **options_of(locked))
    loop, rng, refused = robot.session.loop, np.random.default_rng(5), 0
    robot.home()
    for _ in range(4):
        way = exp6(Motion(rng.uniform(-0.08, 0.08, 3), rng.uniform(-0.2, 0.2, 3)))
        goal = loop.controller.current_pose @ way
        loop.controller.select(mode)
        loop.controller.take_events()
        try:
            loop.controller.set_target_pose(goal)
        except RefusedError:
            refused += 1
            continue
        has_turned = not loop.controller.take_events()  # no word of a position alone
        loop.run(3000)
        reached = loop.controller.current_pose
        assert np.abs(reached.translation - goal.translation).max() < 1e-6
        assert not has_turned or np.abs(reached.rotation - goal.rotation).max() < 1e-6
    assert refused == (4 if len(locked) == 4 else 0)  # two joints move it on a surface


@pytest.mark.long
@pytest.mark.parametrize('locked', LESS)
def test_poses_that_few_joints_can_have_are_reached_from_anywhere(locked):
    robot = Robot.simulate(HAND, **options_of(locked), parameters={'modes.jog.path': 'any'})
    loop, rng = robot.session.loop, np.random.default_rng(2)
    controller, model = loop.controller, loop.model
    robot.home()
    controller.select('jog')
    for _ in range(20):
        lower, upper = model.lower_position_limit + 0.05, model.upper_position_limit - 0.05
        goal = arm_without(*locked).placement(rng.uniform(lower, upper))
        controller.take_events()
        controller.set_target_pose(goal)
        assert 'as far as they can' not in str(controller.take_events())
        loop.run(1000)
        while controller.motion_left > 0.0:
            loop.run(1000)
        loop.run(1500)
        reached = controller.current_pose
        assert np.abs(reached.translation - goal.translation).max() < 1e-6
        assert np.abs(reached.rotation - goal.rotation).max() < 1e-6


def test_five_joints_follow_a_straight_line_that_they_can_and_rest_at_its_end(tmp_path):
    """Anchor: at its end the joints shook at 0.1 rad/s, since the inverse was one by rounding."""
    urdf = tmp_path / 'five.urdf'
    text = (share_directory() / 'urdf/gen3_6dof.urdf').read_text()
    urdf.write_text(text.replace('name="gen3_6dof"', 'name="five"', 1))
    start = np.radians([0.0, 45.0, 90.0, 45.0, -90.0])
    robot = Robot.simulate(urdf, locked_joints=['joint_4=0.0'], start=start)
    loop = robot.session.loop
    loop.controller.select('jog')
    loop.run(100)
    pose, way = loop.controller.reference_pose, np.array([0.03, 0.0, -0.03])
    loop.controller.take_events()
    loop.controller.set_target_pose(SE3(pose.rotation, pose.translation + way))
    assert not loop.controller.take_events(), 'no word of a position alone'
    loop.run(3000)
    log = loop.run(1000)
    assert np.abs(log['velocity']).max() < 1e-8
    reached = loop.controller.current_pose
    assert np.abs(reached.translation - pose.translation - way).max() < 1e-9
    assert np.abs(reached.rotation - pose.rotation).max() < 1e-9
