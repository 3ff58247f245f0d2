"""Inverse kinematics: solutions, placed by MuJoCo; where there is none, the true cause."""

import numpy as np
import pytest
from mujoco_oracle import MujocoOracle

from icir_control import dynamics as icir
from icir_control.dynamics.inverse_kinematics import converge
from icir_control.errors import (
    InvalidValueError,
    OutOfReachError,
    PositionLimitError,
    UnknownNameError,
)
from icir_control.share import share_directory
from icir_control.spatial import SE3, log6

TOOL = 'end_effector_link'
ROBOTS = {
    'gen3_6dof': ('gen3_6dof', 'fixed'),
    'gen3_7dof': ('gen3_7dof', 'fixed'),
    'rolling': ('gen3_6dof', 'planar'),
    'flying': ('gen3_6dof', 'floating'),
}
COUNT = 200


def load(robot):
    name, root = ROBOTS[robot]
    return icir.load_urdf(share_directory() / f'urdf/{name}.urdf', root_joint=root)


def placed(model, q):
    """Where MuJoCo has the tool."""
    oracle, frame = MujocoOracle(model), model.frames[model.frame_id(TOOL)]
    oracle.set_state(q, np.zeros(model.nv))
    return SE3(*oracle.placement(frame.parent)) @ frame.placement


def goals(model, count, seed=0):
    """A reachable pose, and a configuration to start from."""
    rng, data = np.random.default_rng(seed), model.create_data()
    for _ in range(count):
        icir.forward_kinematics(model, data, model.random_configuration(rng))
        yield icir.frame_placement(model, data, TOOL), model.random_configuration(rng)


def is_within_limits(model, q):
    return ((q >= model.lower_position_limit) & (q <= model.upper_position_limit)).all()


@pytest.mark.parametrize('robot', ROBOTS)
def test_what_can_be_reached_is_found(robot):
    model = load(robot)
    data = model.create_data()
    for i, (goal, q0) in enumerate(goals(model, COUNT)):
        kept = q0.copy()
        q = icir.inverse_kinematics(model, data, TOOL, goal, q0)
        assert np.array_equal(q0, kept)
        assert is_within_limits(model, q)
        away = log6(goal.act_inv(icir.frame_placement(model, data, TOOL))).vector
        assert np.abs(away).max() < 1e-9, 'the data belong to the result'
        angles = np.abs(q - q0)[~np.isfinite(model.upper_position_limit)]
        if robot.startswith('gen3'):
            assert (angles <= np.pi + 1e-9).all(), 'by the nearest turn'
        if i % 10 == 0:
            assert placed(model, q).isclose(goal, 1e-9)


@pytest.mark.long
@pytest.mark.parametrize('robot', ['gen3_6dof', 'gen3_7dof'])
def test_of_ten_thousand_poses_all_but_one_in_two_hundred_are_found(robot):
    model = load(robot)
    data, found = model.create_data(), 0
    for goal, q0 in goals(model, 10_000, seed=1):
        try:
            icir.inverse_kinematics(model, data, TOOL, goal, q0)
        except (OutOfReachError, PositionLimitError):
            continue
        away = log6(goal.act_inv(icir.frame_placement(model, data, TOOL))).vector
        found += np.abs(away).max() < 1e-9
    assert found >= 9950


def test_a_solution_is_kept_and_its_neighbour_is_near():
    model = load('gen3_6dof')
    data, q0 = model.create_data(), np.radians([0.0, 45.0, 90.0, 0.0, 45.0, -90.0])
    icir.forward_kinematics(model, data, q0)
    goal = icir.frame_placement(model, data, TOOL)
    kept = icir.inverse_kinematics(model, data, model.frame_id(TOOL), goal, q0)
    assert np.array_equal(kept, q0)
    near = goal @ SE3.from_translation((0.0, 0.0, 0.01))
    q = icir.inverse_kinematics(model, data, TOOL, near, list(q0))
    assert 0.0 < icir.distance(model, q0, q) < 0.1


def test_solutions_come_in_the_order_of_the_time_to_reach_them():
    model = load('gen3_6dof')
    data = model.create_data()
    for goal, q0 in goals(model, 20):
        found = icir.inverse_kinematics_solutions(model, data, TOOL, goal, q0, 0.01)
        times = [np.max(np.abs(q - q0) / model.velocity_limit) for q in found]
        assert (np.diff(times) > -1e-9).all()
        assert all(is_within_limits(model, q) for q in found)
        assert all(placed(model, q).isclose(goal, 1e-9) for q in found[::5])


def test_a_pose_that_is_too_far_says_how_near_the_tool_comes():
    model = load('gen3_6dof')
    far = SE3.from_translation((3.0, 0.0, 0.3))
    with pytest.raises(OutOfReachError, match='no posture was found') as caught:
        icir.inverse_kinematics(model, model.create_data(), TOOL, far, model.neutral())
    assert 1.9 < caught.value.value < 2.5


def test_a_pose_past_a_limit_names_the_joint():
    """A single joint, which cannot turn as far."""
    builder = icir.ModelBuilder().add_joint('hinge', 'revolute', lower=-1.0, upper=1.0)
    builder.add_joint('slide', 'prismatic', 'hinge', axis=(1, 0, 0), lower=0.0, upper=1.0)
    body = load('gen3_6dof').inertias[1]
    model = builder.add_body('a', 'hinge', body).add_body('b', 'slide', body).build()
    data = model.create_data()
    icir.forward_kinematics(model, data, [1.2, 0.5])
    goal = icir.frame_placement(model, data, 'b')
    with pytest.raises(PositionLimitError, match='hinge at 1.2 rad, outside its limits') as caught:
        icir.inverse_kinematics(model, data, 'b', goal, [0.0, 0.0])
    error = caught.value
    assert (error.joint, error.lower, error.upper) == ('hinge', -1.0, 1.0)
    assert error.value == pytest.approx(1.2)
    icir.forward_kinematics(model, data, [0.7, 0.5])
    goal = icir.frame_placement(model, data, 'b')
    q = icir.inverse_kinematics(model, data, 'b', goal, [0.0, 0.0])
    assert np.allclose(q, [0.7, 0.5], atol=1e-9)


def test_bad_arguments_are_named():
    model = load('flying')
    data, goal, q0 = model.create_data(), SE3.identity(), model.neutral()
    for wrong, message in (
        ((None, data, TOOL, goal, q0), r'^model = None'),
        ((model, None, TOOL, goal, q0), r'^data = None'),
        ((model, data, 99, goal, q0), r'^frame_id = 99'),
        ((model, data, TOOL, np.eye(4), q0), r'(?s)^goal = .*an SE3'),
        ((model, data, TOOL, goal, q0[1:]), r'(?s)^q0 = .*13 finite numbers'),
        ((model, data, TOOL, goal, 2 * q0), r'(?s)^q0 = .*unit length'),
    ):
        for solve in (icir.inverse_kinematics, icir.inverse_kinematics_solutions):
            with pytest.raises(InvalidValueError, match=message):
                solve(*wrong)
    with pytest.raises(UnknownNameError, match="'hand'; valid: universe"):
        icir.inverse_kinematics(model, data, 'hand', goal, q0)


def converged(q, count, enough, target, limit):
    """Where starts beside q lead if the tool is to be where it is at q; the way that is left."""
    model = load('gen3_6dof')
    data, limits = model.create_data(), np.full(6, limit)
    icir.forward_kinematics(model, data, q)
    pose = icir.frame_placement(model, data, TOOL)
    goal, left = np.vstack([pose.rotation, pose.translation]), np.full((count, 2), np.inf)
    starts, frame = np.tile(q + 0.1, (count, 1)), model.frame_id(TOOL)
    converge(data.buffer, frame, goal, starts, -limits, limits, target, enough, left)
    return starts, left[:, 0]


@pytest.mark.parametrize('enough', [1, 3])
def test_starts_beyond_those_that_are_enough_stay(enough):
    q = np.full(6, 0.5)
    found, left = converged(q, 5, enough, q, np.inf)
    assert np.abs(found[:enough] - q).max() < 1e-8
    assert np.array_equal(found[enough:], np.tile(q + 0.1, (5 - enough, 1)))
    assert np.isfinite(left).tolist() == [m < enough for m in range(5)]


@pytest.mark.parametrize(
    ('angle', 'target', 'turns'),
    [(1.0, 8.0, 1), (-1.0, -8.0, -1), (5.0, 9.9, 0), (-5.0, -9.9, 0), (8.0, -9.9, -2)],
)
def test_a_solution_is_turned_to_near_its_target_within_the_limits(angle, target, turns):
    q = np.full(6, 0.5)
    q[0] = angle
    (found,), (left,) = converged(q, 1, 1, np.array([target, *q[1:]]), 10.0)
    assert left < 1e-8
    assert found[0] == pytest.approx(angle + turns * 2.0 * np.pi, abs=1e-8)
