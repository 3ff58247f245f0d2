"""Rotors that turn with the motors: what they add to the dynamics, in model and plant."""

from dataclasses import replace

import numpy as np
import pytest
from mujoco_oracle import MujocoOracle
from random_trees import random_tree

from icir_control import Robot
from icir_control import dynamics as icir
from icir_control.errors import (
    ConfigurationError,
    InvalidValueError,
    ModelError,
    UnknownNameError,
)
from icir_control.nodes.bridge.config import check_model
from icir_control.share import share_directory
from icir_control.simulation import World
from icir_control.spatial import Inertia

ARM = share_directory() / 'urdf/gen3_6dof.urdf'
WHEEL = (
    '<robot name="wheel"><link name="base"/><link name="rim"><inertial><mass value="1"/>'
    '<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    '<joint name="axle" type="continuous"><parent link="base"/><child link="rim"/>'
    '<dynamics armature="0.25"/><limit effort="9" velocity="2"/></joint></robot>'
)


@pytest.fixture(params=range(12))
def pair(request):
    """A tree without rotors and the same with some, and a state of both."""
    rng, bare = np.random.default_rng(request.param), random_tree(request.param)
    joints = tuple(replace(one, armature=rng.uniform(0.0, 0.5, one.nv)) for one in bare.joints)
    geared = icir.Model(bare.name, joints, bare.inertias, bare.frames, bare.gravity)
    return bare, geared, bare.random_configuration(rng), rng.normal(size=(3, bare.nv))


def test_rotors_are_on_the_diagonal_of_the_mass_matrix(pair):
    bare, geared, q, (v, a, tau) = pair
    rotors = np.diag(geared.armature)
    assert rotors.any()
    data, data_bare = geared.create_data(), bare.create_data()
    M = icir.crba(geared, data, q).copy()
    close = {'rtol': 1e-12, 'atol': 1e-12}
    np.testing.assert_allclose(M, icir.crba(bare, data_bare, q) + rotors, **close)
    nle = icir.nonlinear_effects(bare, data_bare, q, v).copy()
    torque = icir.rnea(bare, data_bare, q, v, a) + rotors @ a
    scale = {'rtol': 0.0, 'atol': 1e-12 * (1.0 + np.abs(torque).max() + np.abs(nle).max())}
    np.testing.assert_allclose(icir.rnea(geared, data, q, v, a), torque, **scale)
    np.testing.assert_allclose(M @ icir.aba(geared, data, q, v, tau), tau - nle, **scale)
    np.testing.assert_allclose(icir.minverse(geared, data, q) @ M, np.eye(len(v)), atol=1e-11)
    icir.compute_all_terms(geared, data, q, v)
    np.testing.assert_allclose(data.M, M, **close)
    np.testing.assert_allclose(data.nle, nle, **scale)
    energy = icir.kinetic_energy(geared, data, q, v)
    assert energy == pytest.approx(0.5 * v @ M @ v, rel=1e-12)


def test_derivatives_know_rotors(pair):
    bare, geared, q, (v, a, tau) = pair
    data, data_bare = geared.create_data(), bare.create_data()
    ours = icir.rnea_derivatives(geared, data, q, v, a)
    theirs = icir.rnea_derivatives(bare, data_bare, q, v, a)
    for one, other in zip(ours[:2], theirs[:2], strict=True):
        np.testing.assert_array_equal(one, other)
    rotors = geared.armature
    np.testing.assert_allclose(data.tau, data_bare.tau + rotors * a, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(data.M, data_bare.M + np.diag(rotors), rtol=1e-12, atol=1e-12)
    M = data.M.copy()
    by_q, by_v = (one.copy() for one in icir.aba_derivatives(geared, data, q, v, tau)[:2])
    slopes = icir.rnea_derivatives(geared, geared.create_data(), q, v, data.ddq.copy())
    for one, slope in ((by_q, slopes[0]), (by_v, slopes[1])):
        np.testing.assert_allclose(M @ one, -slope, atol=1e-9 * (1.0 + np.abs(slope).max()))


def test_mujoco_agrees():
    rotors = dict(
        zip(icir.load_urdf(ARM).joint_names, (0.5, 0.4, 0.3, 0.2, 0.1, 0.05), strict=True)
    )
    model = icir.load_urdf(ARM, armature=rotors)
    oracle, rng = MujocoOracle(icir.load_urdf(ARM)), np.random.default_rng(0)
    oracle.model.dof_armature[:] = model.armature
    data = model.create_data()
    for _ in range(5):
        q, v = rng.uniform(-1.0, 1.0, (2, 6))
        oracle.set_state(q, v)
        icir.compute_all_terms(model, data, q, v)
        np.testing.assert_allclose(data.M, oracle.mass_matrix(), rtol=0.0, atol=1e-12)


def test_a_gear_moves_the_rotor_of_what_mimics():
    builder = icir.ModelBuilder()
    for name, mimic in (('a', None), ('b', ('a', -3.0, 0.1))):
        builder.add_joint(name, 'revolute', armature=0.2, mimic=mimic)
        builder.add_body(f'link {name}', name, Inertia.random(np.random.default_rng(1)))
    model = builder.build()
    assert model.armature == pytest.approx([0.2 * (1.0 + 9.0)])
    bare = replace(model.joints[1], armature=np.zeros(1))
    joints = (model.joints[0], bare, model.joints[2])
    without = icir.Model(model.name, joints, model.inertias, model.frames, model.gravity)
    for one in (model, without):
        assert one.nv == 1
    M, M_bare = (icir.crba(one, one.create_data(), [0.3])[0, 0] for one in (model, without))
    assert M - M_bare == pytest.approx(2.0, rel=1e-12)


def test_model_and_plant_read_the_same_rotor(tmp_path):
    model = icir.load_urdf(WHEEL)
    assert model.armature.tolist() == [0.25]
    model.save(tmp_path / 'wheel.json')
    assert icir.Model.load(tmp_path / 'wheel.json') == model
    for given, expected in ((None, 0.25), ({'axle': 0.5}, 0.5)):
        world = World(WHEEL, joint_names=('axle',), end_effector_frame='rim', armature=given)
        assert world.armature.tolist() == [expected]
        check_model(icir.load_urdf(WHEEL, armature=given), world)


def test_an_arm_with_rotors_is_tracked_to_round_off():
    home = np.radians([0.0, 45.0, 90.0, 0.0, 45.0, -90.0])
    robot = Robot.simulate(armature=['joint_1=0.5', 'joint_6=0.2'])
    assert robot.model.armature.tolist() == [0.5, 0.0, 0.0, 0.0, 0.0, 0.2]
    robot.home()
    assert np.abs(robot.q - home).max() < 1e-11
    assert np.abs(robot.log.q - robot.log.q_reference).max() < 1e-12


@pytest.mark.parametrize('bad', [-0.1, np.inf, np.nan, 'heavy', (1.0, 2.0)])
def test_what_no_rotor_has_is_refused(bad):
    with pytest.raises(InvalidValueError, match='armature of joint a'):
        icir.ModelBuilder().add_joint('a', 'revolute', armature=bad)


def test_what_a_urdf_cannot_mean_is_refused():
    for text, message in (('-1', 'armature'), ('x', 'armature'), ('1_0', 'armature')):
        with pytest.raises(ModelError, match=message):
            icir.load_urdf(WHEEL.replace('"0.25"', f'"{text}"'))
    with pytest.raises(UnknownNameError, match="'wing'.*axle"):
        icir.load_urdf(WHEEL, armature={'wing': 1.0})
    with pytest.raises(ConfigurationError, match='armature has .* such as "joint_1=0.1"'):
        Robot.simulate(armature=['joint_1'])
    with pytest.raises(ModelError, match='expected one number, finite and not negative'):
        Robot.simulate(armature=['joint_1=-1'])
    for given in ({'armature': ['joint_1=nan']}, {'locked_joints': ['joint_1=nan']}):
        with pytest.raises(ConfigurationError, match='expected a joint and a finite number'):
            Robot.simulate(**given)


def test_a_urdf_stands_on_joints_by_name_in_a_field_of_ones_own():
    lift = {'lift': 'prismatic', 'turn': 'continuous'}
    model = icir.load_urdf(WHEEL, root_joint=lift, gravity=(0.0, 0.0, -1.62))
    assert model.joint_names == ('lift', 'turn', 'axle')
    data = model.create_data()
    assert icir.gravity_torque(model, data, [0.0, 0.0, 0.3]).tolist() == [1.62, 0.0, 0.0]
    icir.forward_kinematics(model, data, [0.5, np.pi / 2, 0.0])
    assert icir.frame_placement(model, data, 'rim').translation.tolist() == [0.0, 0.0, 0.5]
    with pytest.raises(InvalidValueError, match='kinds of several joints by name'):
        icir.load_urdf(WHEEL, root_joint='flying')
    with pytest.raises(ModelError, match='screw'):
        icir.load_urdf(WHEEL, root_joint={'lift': 'screw'})
    with pytest.raises(InvalidValueError, match='gravity'):
        icir.load_urdf(WHEEL, gravity=(0.0, 1.0))
