"""An arm within a robot: which joints it has, where the others are held, what they then weigh."""

from pathlib import Path

import numpy as np
import pytest

from icir_control.dynamics import (
    KinematicTree,
    ReferenceFrame,
    compute_all_terms,
    frame_jacobian,
    frame_placement,
    load_urdf,
)
from icir_control.errors import InvalidValueError, ModelError, ModelMismatchError, UnknownNameError
from icir_control.nodes.bridge.config import check_model
from icir_control.simulation import World
from icir_control.spatial.inertia import nearest_moments

DATA = Path(__file__).resolve().parent / 'data'
HAND = DATA / 'arm_with_hand.urdf'
ARM = ('swivel', 'shoulder', 'elbow', 'roll', 'bend', 'turn')


def test_a_hand_and_what_is_beside_the_arm_are_held():
    """At zero or the limit next to it; a joint that mimics another follows it."""
    chain = KinematicTree(HAND).chain(end_effector_frame='hand')
    assert chain.held == {'pan': 0.3, 'finger_1': 0.0, 'finger_2': 0.1}
    assert chain.without_effort == ('swivel (line 19)', 'shoulder (line 25)')
    assert load_urdf(HAND, locked=chain.held).joint_names == ARM


def test_the_end_of_an_arm_is_the_hand_that_its_fingers_share():
    chain = KinematicTree(HAND).chain(locked={'pan': 0.5, 'finger_1': 0.02})
    assert chain.end_effector_frame == 'hand'
    assert chain.held == pytest.approx({'pan': 0.5, 'finger_1': 0.02, 'finger_2': -0.1})


@pytest.mark.parametrize(
    ('base', 'end', 'arm'),
    [
        ('fore', 'hand', ARM[3:]),
        ('', 'fore', ARM[:3]),
        ('', 'bend', ARM[:5]),
        ('upper', 'bend', ARM[2:5]),
        ('camera', 'flange', ARM),
    ],
)
def test_the_arm_lies_between_base_and_end_effector(base, end, arm):
    chain = KinematicTree(HAND).chain(base, end)
    assert load_urdf(HAND, locked=chain.held).joint_names == arm


@pytest.mark.parametrize(
    ('keywords', 'moving'),
    [
        ({'end_effector_frame': 'finger_2'}, (*ARM, 'finger_1')),
        ({'end_effector_frame': 'finger_1'}, (*ARM, 'finger_1')),
        ({'end_effector_frame': 'finger_2', 'locked': {'finger_1': 0.02}}, ARM),
        ({'whole_tree': True}, ('pan', *ARM, 'finger_1')),
        ({'base_frame': 'hand', 'end_effector_frame': 'finger_2'}, ('finger_1',)),
    ],
)
def test_what_mimics_a_joint_of_the_arm_moves_with_it(keywords, moving):
    chain = KinematicTree(HAND).chain(**keywords)
    model = load_urdf(HAND, locked=chain.held)
    assert model.joint_names == moving
    is_coupled = 'finger_1' in moving
    assert ('finger_2' in chain.held) != is_coupled
    assert model.njoints - 1 - model.nv == is_coupled


@pytest.mark.parametrize(
    ('keywords', 'error', 'words'),
    [
        ({}, ModelError, 'several arms.*--end-effector-frame.*such as hand$'),
        ({'locked': {'thumb': 0.0}}, UnknownNameError, "'thumb'.*finger_1"),
        ({'locked': {'fixture': 0.0}}, UnknownNameError, "'fixture'"),
        ({'locked': {'finger_1': 0.06}}, InvalidValueError, "'finger_1'.*0.06.*0 to 0.05"),
        ({'locked': {'elbow': float('nan')}}, InvalidValueError, "'elbow'.*nan"),
    ],
)
def test_what_is_no_arm_is_refused(keywords, error, words):
    with pytest.raises(error, match=words):
        KinematicTree(HAND).chain(**keywords)


@pytest.mark.parametrize('limit', ['', 'lower="0" upper="0"', 'lower="0"'])
def test_limits_of_zero_are_none_in_a_chain_and_in_the_model(limit):
    """To the letter the joint could not move: no tool reads them so."""
    text = HAND.read_text().replace('lower="0.3" upper="1.0"', limit)
    assert text != HAND.read_text()
    held = KinematicTree(text).chain(locked={'pan': 0.5}).held
    assert held['pan'] == 0.5
    assert 'pan' not in load_urdf(text, locked=held).joint_names
    assert KinematicTree(text).chain(end_effector_frame='hand').held['pan'] == 0.0


def test_a_trunk_with_two_arms_is_no_arm_with_fingers():
    with pytest.raises(ModelError, match='several arms.*right_tool'):
        KinematicTree(DATA / 'branching.urdf').chain()


HELD = {'pan': 0.5, 'finger_1': 0.02, 'finger_2': -0.4, 'elbow': 0.7}


def test_held_joints_leave_the_dynamics_of_the_others():
    """M, nle, Jacobian and placements are those of the whole robot, whose joints rest there."""
    whole, arm = load_urdf(HAND, mimic=False), load_urdf(HAND, locked=HELD)
    rng = np.random.default_rng(1)
    q, v = arm.random_configuration(rng), rng.uniform(-2, 2, arm.nv)
    moving = [whole.joint_names.index(name) for name in arm.joint_names]
    q_whole, v_whole = np.zeros((2, whole.nv))
    for name, value in HELD.items():
        q_whole[whole.joint_names.index(name)] = value
    q_whole[moving], v_whole[moving] = q, v
    data, data_whole = arm.create_data(), whole.create_data()
    compute_all_terms(arm, data, q, v)
    compute_all_terms(whole, data_whole, q_whole, v_whole)
    close = {'rtol': 0, 'atol': 1e-13}
    np.testing.assert_allclose(data.M, data_whole.M[np.ix_(moving, moving)], **close)
    np.testing.assert_allclose(data.nle, data_whole.nle[moving], **close)
    for link in ('hand', 'finger_1', 'finger_2', 'camera', 'fore'):
        place = frame_placement(arm, data, arm.frame_id(link))
        place_whole = frame_placement(whole, data_whole, whole.frame_id(link))
        np.testing.assert_allclose(place.matrix, place_whole.matrix, **close)
    world = ReferenceFrame.WORLD
    J = frame_jacobian(arm, data, arm.frame_id('hand'), world)
    J_whole = frame_jacobian(whole, data_whole, whole.frame_id('hand'), world)
    np.testing.assert_allclose(J, J_whole[:, moving], **close)


@pytest.mark.parametrize('held', [HELD, {**HELD, 'roll': 0.3, 'turn': -1.0}])
def test_mujoco_has_the_same_arm_of_it(held):
    """Links without mass, a flange that MuJoCo refuses and held joints among them."""
    model = load_urdf(HAND, locked=held, default_effort=30.0)

    def world_with(**changes):
        options = {'locked': held, 'default_effort': 30.0, **changes}
        return World(HAND, joint_names=model.joint_names, end_effector_frame='hand', **options)

    world = world_with()
    check_model(model, world)
    limits = {'swivel': 30, 'shoulder': 30, 'elbow': 50, 'roll': 20, 'bend': 20, 'turn': 20}
    assert model.effort_limit.tolist() == [limits[name] for name in model.joint_names]
    for _ in range(100):
        world.step(world.bias(world.position, world.velocity))
    np.testing.assert_allclose(world.velocity, 0.0, atol=1e-6)
    with pytest.raises(ModelMismatchError):
        check_model(model, world_with(locked={**held, 'finger_1': 0.021}))
    with pytest.raises(ModelMismatchError, match='effort limit'):
        check_model(model, world_with(default_effort=31.0))


def test_a_locked_joint_that_there_is_not_is_refused():
    with pytest.raises(UnknownNameError, match="'thumb'.*finger_1"):
        load_urdf(HAND, locked={'thumb': 0.0})


def test_a_velocity_limit_of_zero_is_none(caplog):
    text = HAND.read_text().replace('effort="50" velocity="2"', 'effort="50" velocity="0"')
    model = load_urdf(text)
    limits = dict(zip(model.joint_names, model.velocity_limit, strict=True))
    assert limits['elbow'] == np.inf
    assert limits['roll'] == 3.0
    assert "'elbow' has a velocity limit of 0" in caplog.text


POSSIBLE, IMPOSSIBLE = 'iyy="0.04" izz="0.005"', 'iyy="0.01" izz="0.1"'
WRONG = HAND.read_text().replace(POSSIBLE, IMPOSSIBLE)


def test_an_inertia_that_no_body_has_is_refused_or_repaired(caplog):
    with pytest.raises(ModelError, match=r"'shoulder' moves .*0.01, 0.04, 0.1 .*--repair"):
        load_urdf(WRONG)
    options = {
        'default_effort': 30.0,
        'repair': True,
        'locked': {'pan': 0.3, 'finger_1': 0.02, 'finger_2': 0.0},
    }
    model = load_urdf(WRONG, **options)
    assert 'repaired to 0.035, 0.065, 0.1 kg m^2' in caplog.text
    world = {'joint_names': model.joint_names, 'end_effector_frame': 'hand'}
    check_model(model, World(WRONG, **world, **options))
    with pytest.raises(ModelError, match='negative, or larger'):
        World(WRONG, **world, **{**options, 'repair': False})


@pytest.mark.parametrize('seed', range(20))
def test_the_repaired_inertia_is_the_nearest_that_a_body_can_have(seed):
    """Nearest in second moments of mass, of which any that are positive are some body's."""
    rng = np.random.default_rng(seed)
    wrong, half_trace = rng.uniform(-1.0, 1.0, 3), 0.5
    spread = half_trace * wrong.sum() - wrong
    nearest = nearest_moments(wrong)
    found = half_trace * nearest.sum() - nearest
    assert found.min() >= -1e-15
    for other in np.maximum(found + rng.uniform(-0.1, 0.1, (200, 3)), 0.0):
        assert np.linalg.norm(found - spread) <= np.linalg.norm(other - spread) + 1e-12
