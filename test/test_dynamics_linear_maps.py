"""Derivatives of frames, maps and configurations: against differences, MuJoCo and Pinocchio."""

import mujoco
import numpy as np
import pytest
from agreement import assert_equal
from mujoco_oracle import MujocoOracle
from random_trees import random_tree

from icir_control import dynamics as icir
from icir_control.errors import InvalidValueError, UnknownNameError
from icir_control.share import share_directory
from icir_control.spatial import Inertia

try:
    import pinocchio as pin
except ImportError:
    pin = None

SEEDS = 0, 3, 6, 8, 10, 13
LENGTH = 1e-6


@pytest.fixture(params=SEEDS)
def tree(request):
    """A tree of all kinds of joint, a state and an acceleration."""
    model, rng = random_tree(request.param), np.random.default_rng(request.param)
    return model, model.random_configuration(rng), *rng.normal(size=(2, model.nv))


def differences(model, function, q, v, a):
    """Central differences of function(q, v, a), by each; by q along the manifold."""
    results = []
    for which in range(3):
        columns = []
        for unit in np.eye(model.nv) * LENGTH:
            pair = []
            for step in (unit, -unit):
                state = [q, v, a]
                state[which] = icir.integrate(model, q, step) if not which else state[which] + step
                pair.append(np.array(function(*state)))
            columns.append((pair[0] - pair[1]) / (2.0 * LENGTH))
        results.append(np.array(columns).T)
    return results


@pytest.mark.parametrize('reference', icir.ReferenceFrame)
def test_derivatives_of_a_frame_are_those_of_differences(tree, reference):
    model, q, v, a = tree
    data, other = model.create_data(), model.create_data()
    icir.forward_kinematics(model, data, q, v, a)
    for frame in (model.frames[-1].name, model.nframes // 2):
        for ask, derivatives in (
            (icir.frame_velocity, icir.frame_velocity_derivatives),
            (icir.frame_acceleration, icir.frame_acceleration_derivatives),
        ):

            def of_state(q, v, a):
                icir.forward_kinematics(model, other, q, v, a)
                return ask(model, other, frame, reference).vector  # noqa: B023

            ours = derivatives(model, data, frame, reference)
            # Those of a velocity by a are zero.
            for one, by in zip(ours, differences(model, of_state, q, v, a), strict=False):
                assert_equal(one, by, 1e-7)
        jacobian = icir.frame_jacobian(model, data, frame, reference)
        assert np.array_equal(ours[2], jacobian)


def test_the_centroidal_map_changes_as_it_is_said(tree):
    model, q, v, a = tree
    data = model.create_data()
    rate = icir.centroidal_map_time_variation(model, data, q, v)
    ahead, behind = (
        icir.centroidal_map(model, model.create_data(), icir.integrate(model, q, step * v))
        for step in (LENGTH, -LENGTH)
    )
    assert_equal(rate, (ahead - behind) / (2.0 * LENGTH), 1e-7)
    # Newton: the rate of the momentum is what acts, here the weight and the ground.
    map_now = data.Ag.copy()
    assert_equal(map_now, icir.centroidal_map(model, model.create_data(), q))
    force = icir.total_mass(model) * icir.center_of_mass_acceleration(model, data, q, v, a)
    assert_equal((map_now @ a + rate @ v)[:3], force)


def test_derivatives_of_integrate_are_those_of_differences(tree):
    model, q, v, _ = tree
    end = icir.integrate(model, q, v)
    for which, ours in enumerate(icir.integrate_derivatives(model, q, v)):
        for unit, column in zip(np.eye(model.nv) * LENGTH, ours.T, strict=True):
            ahead, behind = (
                icir.integrate(model, icir.integrate(model, q, step), v)
                if which == 0
                else icir.integrate(model, q, v + step)
                for step in (unit, -unit)
            )
            change = icir.difference(model, end, ahead) - icir.difference(model, end, behind)
            assert_equal(column, change / (2.0 * LENGTH), 1e-7)


def test_the_centre_of_mass_of_a_subtree_moves_as_in_mujoco(tree):
    model, q, v, _ = tree
    oracle, data = MujocoOracle(model), model.create_data()
    oracle.set_state(q, v)
    for i, joint in enumerate(model.joints):
        theirs = np.zeros((3, model.nv))
        mujoco.mj_jacSubtreeCom(oracle.model, oracle.data, theirs, oracle.bodies[i])
        theirs = theirs @ oracle.T
        assert_equal(icir.center_of_mass_jacobian(model, data, q, i), theirs)
        assert_equal(icir.center_of_mass_jacobian(model, data, q, joint.name), theirs)


def test_torques_are_linear_in_the_inertial_parameters(tree):
    model, q, v, a = tree
    data = model.create_data()
    regressor = icir.joint_torque_regressor(model, data, q, v, a)
    parameters = np.concatenate([inertia.parameters for inertia in model.inertias[1:]])
    assert_equal(regressor @ parameters, icir.rnea(model, data, q, v, a))
    # Of each body by itself, too.
    body = Inertia(2.0, (0.1, -0.2, 0.3), np.diag((0.3, 0.4, 0.5)))
    last = [Inertia.zero()] * model.njoints
    last[-1] = body
    alone = icir.Model(model.name, model.joints, tuple(last), model.frames, model.gravity)
    torque = icir.rnea(alone, alone.create_data(), q, v, a)
    assert_equal(regressor[:, -10:] @ body.parameters, torque)


def test_bad_arguments_are_named():
    model = random_tree(3)
    data, q, zero = model.create_data(), model.neutral(), np.zeros(model.nv)
    icir.forward_kinematics(model, data, q)
    for ask in (icir.frame_velocity_derivatives, icir.frame_acceleration_derivatives):
        with pytest.raises(InvalidValueError, match='call forward_kinematics'):
            ask(model, data, 0 if model.frames[0].parent else model.nframes - 1)
        with pytest.raises(UnknownNameError, match='frame'):
            ask(model, data, 'none')
    with pytest.raises(InvalidValueError, match='joint_id'):
        icir.center_of_mass_jacobian(model, data, q, model.njoints)
    with pytest.raises(InvalidValueError, match=r'^v = '):
        icir.centroidal_map_time_variation(model, data, q, [1.0])
    with pytest.raises(InvalidValueError, match=r'^v = '):
        icir.integrate_derivatives(model, q, np.full(model.nv, np.nan))
    with pytest.raises(InvalidValueError, match=r'^a = '):
        icir.joint_torque_regressor(model, data, q, zero, None)


@pytest.mark.skipif(pin is None, reason='the optional oracle `pin` is not installed')
def test_they_mean_the_same_in_pinocchio():
    path = str(share_directory() / 'urdf/gen3_7dof.urdf')
    model, theirs = icir.load_urdf(path, root_joint='floating'), pin.JointModelFreeFlyer()
    theirs = pin.buildModelFromUrdf(path, theirs)
    data, their = model.create_data(), theirs.createData()
    rng = np.random.default_rng(0)
    q, (v, a) = model.random_configuration(rng), rng.normal(size=(2, model.nv))
    their_q = []
    for joint, one in zip(model.joints[1:], list(theirs.joints)[1:], strict=True):
        part = q[joint.index_q : joint.index_q + joint.nq]
        their_q.extend((np.cos(part[0]), np.sin(part[0])) if one.nq == 2 else part)
    their_q = np.array(their_q)
    icir.forward_kinematics(model, data, q, v, a)
    pin.computeForwardKinematicsDerivatives(theirs, their, their_q, v, a)
    pin.updateFramePlacements(theirs, their)
    name = 'end_effector_link'
    frame, pin_frame = model.frame_id(name), theirs.getFrameId(name)
    # Pinocchio's derivatives in LOCAL_WORLD_ALIGNED are not those of the velocity in it.
    for reference, pin_reference in (
        (icir.ReferenceFrame.LOCAL, pin.LOCAL),
        (icir.ReferenceFrame.WORLD, pin.WORLD),
    ):
        by_q, by_v = pin.getFrameVelocityDerivatives(theirs, their, pin_frame, pin_reference)
        ours = icir.frame_velocity_derivatives(model, data, frame, reference)
        assert_equal(ours[0], by_q)
        assert_equal(ours[1], by_v)
        answer = pin.getFrameAccelerationDerivatives(theirs, their, pin_frame, pin_reference)
        ours = icir.frame_acceleration_derivatives(model, data, frame, reference)
        for one, other in zip(ours, answer[-3:], strict=True):
            assert_equal(one, other)
    pin.dccrba(theirs, their, their_q, v)
    assert_equal(icir.centroidal_map_time_variation(model, data, q, v), their.dAg)
    regressor = pin.computeJointTorqueRegressor(theirs, their, their_q, v, a)
    assert_equal(icir.joint_torque_regressor(model, data, q, v, a), regressor)
    for which, ours in enumerate(icir.integrate_derivatives(model, q, v)):
        answer = pin.dIntegrate(theirs, their_q, v, (pin.ARG0, pin.ARG1)[which])
        assert_equal(ours, answer)
    for i in range(1, model.njoints):
        jacobian = pin.jacobianSubtreeCenterOfMass(theirs, their, their_q, i)
        assert_equal(icir.center_of_mass_jacobian(model, data, q, i), jacobian)
