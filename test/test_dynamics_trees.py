"""Every quantity, of 20 random trees of all kinds of joint, against MuJoCo."""

import os
import subprocess
import sys

import numpy as np
import pytest
from agreement import assert_equal
from fuzz import EXAMPLES
from mujoco_oracle import MujocoOracle
from random_trees import SIZES, random_tree

from icir_control import dynamics as icir
from icir_control.errors import InvalidValueError
from icir_control.spatial import Force, skew

LOCAL, WORLD, ALIGNED = icir.ReferenceFrame


@pytest.fixture(scope='module', params=range(len(SIZES)), ids=lambda seed: f'tree{seed}')
def tree(request):
    model = random_tree(request.param)
    return model, MujocoOracle(model)


def states(model, count, seed):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        yield rng, model.random_configuration(rng), rng.normal(size=model.nv)


def local_jacobian(R, J):
    return np.vstack([R.T @ J[:3], R.T @ J[3:]])


def check_dynamics(model, oracle, data, rng, q, v):
    a, tau = rng.normal(size=model.nv), rng.normal(size=model.nv)
    M, nle = oracle.mass_matrix(), oracle.nle()
    icir.compute_all_terms(model, data, q, v)
    assert_equal(data.M, M)
    assert_equal(data.nle, nle)
    assert np.array_equal(data.M, data.M.T)
    # What the next functions return is theirs, not left over.
    data.M[data.M != 0.0] = np.nan
    data.nle[:] = np.nan
    assert_equal(icir.crba(model, data, q), M)
    assert_equal(icir.nonlinear_effects(model, data, q, v), nle)
    assert_equal(icir.minverse(model, data, q), np.linalg.inv(M))
    assert_equal(icir.rnea(model, data, q, v, a), M @ a + nle)
    assert_equal(icir.aba(model, data, q, v, tau), oracle.acceleration(tau), 1e-9)

    forces, pull = [Force.zero()], np.zeros(model.nv)
    for joint in range(1, model.njoints):
        f = rng.normal(size=6)
        forces.append(Force.from_vector(f))
        R, p = oracle.placement(joint)
        pull += local_jacobian(R, oracle.jacobian(joint, p)[0]).T @ f
    assert_equal(icir.rnea(model, data, q, v, a, forces), M @ a + nle - pull)
    assert_equal(icir.aba(model, data, q, v, tau - pull, forces), oracle.acceleration(tau), 1e-9)


def check_gravity(model, oracle, data, q):
    oracle.set_state(q, np.zeros(model.nv))
    assert_equal(data.g, oracle.nle())
    data.g[:] = np.nan
    assert_equal(icir.gravity_torque(model, data, q), oracle.nle())


def check_centroidal(model, oracle, data, q, v):
    assert_equal(icir.center_of_mass(model, data, q), oracle.com(0))
    for joint in range(1, model.njoints):
        R, p = oracle.placement(joint)
        assert_equal(data.com[joint], R.T @ (oracle.com(joint) - p))
    assert_equal(icir.center_of_mass_jacobian(model, data, q), oracle.com_jacobian())
    assert_equal(icir.centroidal_map(model, data, q), oracle.centroidal_map())
    assert_equal(icir.centroidal_momentum(model, data, q, v), oracle.momentum())
    potential, kinetic = oracle.energies()
    assert_equal(icir.potential_energy(model, data, q), potential)
    assert_equal(icir.kinetic_energy(model, data, q, v), kinetic)


def check_frame(model, oracle, data, frame, v, a):
    """After `forward_kinematics` with v and a: all that is asked of one frame."""
    body = model.frames[frame].parent
    R, p = oracle.placement(body)
    place = model.frames[frame].placement
    R, p = R @ place.rotation, p + R @ place.translation
    assert_equal(icir.frame_placement(model, data, frame).matrix[:3], np.c_[R, p])
    assert_equal(data.oMf[frame].matrix[:3], np.c_[R, p])

    J, dJ = oracle.jacobian(body, p)
    twist = J @ v
    linear, omega = twist[:3], twist[3:]
    shift, rate = skew(p), skew(linear)
    jacobians = {
        ALIGNED: (J, dJ),
        LOCAL: (
            local_jacobian(R, J),
            local_jacobian(R, np.vstack([dJ[:3] - skew(omega) @ J[:3], dJ[3:]
                                         - skew(omega) @ J[3:]])),
        ),
        WORLD: (
            np.vstack([J[:3] + shift @ J[3:], J[3:]]),
            np.vstack([dJ[:3] + shift @ dJ[3:] + rate @ J[3:], dJ[3:]]),
        ),
    }  # fmt: skip
    for reference, (jacobian, derivative) in jacobians.items():
        assert_equal(icir.frame_jacobian(model, data, frame, reference), jacobian)
        assert_equal(icir.frame_jacobian_time_variation(model, data, frame, reference), derivative)
        velocity = jacobian @ v
        assert_equal(icir.frame_velocity(model, data, frame, reference).vector, velocity)
        # The derivative of the twist's coordinates is the spatial acceleration's, in axes that
        # are at rest or move with the body; those of LOCAL_WORLD_ALIGNED move without turning.
        spatial = jacobian @ a + derivative @ v
        turn = np.cross(velocity[3:], velocity[:3])
        if reference is ALIGNED:
            spatial[:3] -= turn
        assert_equal(icir.frame_acceleration(model, data, frame, reference).vector, spatial)
        spatial[:3] += turn
        classical = icir.frame_classical_acceleration(model, data, frame, reference)
        assert_equal(classical.vector, spatial)


def check_kinematics(model, oracle, data, rng, q, v):
    a = rng.normal(size=model.nv)
    icir.forward_kinematics(model, data, q, v, a)
    for frame in rng.choice(model.nframes, size=min(model.nframes, 6), replace=False):
        check_frame(model, oracle, data, int(frame), v, a)
    joint = int(rng.integers(1, model.njoints))
    R, p = oracle.placement(joint)
    J, dJ = oracle.jacobian(joint, p)
    assert_equal(icir.joint_jacobian(model, data, joint, ALIGNED), J)
    assert_equal(data.oMi[joint].matrix[:3], np.c_[R, p])
    twist = local_jacobian(R, J) @ v
    assert_equal(data.v[joint].vector, twist)
    acceleration = local_jacobian(R, J) @ a + local_jacobian(R, dJ) @ v
    acceleration[:3] -= np.cross(twist[3:], twist[:3])
    assert_equal(data.a[joint].vector, acceleration)
    assert_equal(data.J[:3] + np.cross(data.J[3:].T, p).T, twist_columns(model, oracle, p))


def twist_columns(model, oracle, p):
    """The velocity of a point at p on whatever each degree of freedom moves, at unit speed."""
    columns = np.zeros((3, model.nv))
    for i, joint in enumerate(model.joints[1:], 1):
        own = slice(joint.index_v, joint.index_v + joint.nv)
        columns[:, own] = oracle.jacobian(i, p)[0][:3, own]
    return columns


def check(model, oracle, count):
    data = model.create_data()
    for rng, q, v in states(model, count, seed=model.nv):
        oracle.set_state(q, v)
        check_dynamics(model, oracle, data, rng, q, v)
        check_centroidal(model, oracle, data, q, v)
        check_kinematics(model, oracle, data, rng, q, v)
        icir.compute_all_terms(model, data, q, v)
        check_gravity(model, oracle, data, q)


# In plain Python a state of the largest tree takes a third of a second.
COUNT = int(os.environ.get('TREE_STATES', EXAMPLES // 2))


def test_every_quantity_agrees_with_mujoco(tree):
    check(*tree, COUNT)


def run_without_compiler(count):
    environment = os.environ | {'NUMBA_DISABLE_JIT': '1', 'TREE_STATES': str(count)}
    command = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', __file__]
    command += ['-k', 'every_quantity']
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert f'{len(SIZES)} passed' in done.stdout, done.stdout


@pytest.mark.slow
def test_plain_python_gives_the_same_at_two_states():
    run_without_compiler(2)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_plain_python_gives_the_same_at_all_states():
    run_without_compiler(50)


@pytest.mark.parametrize('seed', range(len(SIZES)))
def test_the_centre_of_mass_moves_as_its_position_changes(seed):
    """Against differences of MuJoCo's positions; and what holds the tree still against forces."""
    model, h = random_tree(seed), 1e-4
    oracle, data = MujocoOracle(model), model.create_data()
    for rng, q, v in states(model, 3, seed):
        a = rng.normal(size=model.nv)

        def position(t):
            oracle.set_state(icir.integrate(model, q, t * v + 0.5 * t * t * a), v)  # noqa: B023
            return oracle.com(0).copy()

        before, now, after = position(-h), position(0.0), position(h)
        velocity = icir.center_of_mass_velocity(model, data, q, v)
        assert_equal(velocity, (after - before) / (2 * h), 1e-6)
        acceleration = icir.center_of_mass_acceleration(model, data, q, v, a)
        assert_equal(acceleration, (after - 2 * now + before) / h**2, 1e-5)
        assert icir.total_mass(model) == pytest.approx(oracle.model.body_subtreemass[0])

        still, push = 0.0 * v, {1: Force(rng.normal(size=3), rng.normal(size=3))}
        tau = icir.static_torque(model, data, q, push).copy()
        assert_equal(icir.aba(model, data, q, still, tau, push), still, 1e-9)


@pytest.mark.parametrize('seed', range(len(SIZES)))
def test_interpolation_moves_at_constant_velocity(seed):
    model = random_tree(seed)
    for rng, q0, _ in states(model, 3, seed):
        q1 = model.random_configuration(rng)
        assert_equal(icir.interpolate(model, q0, q1, 0.0), q0, 1e-14)
        assert icir.distance(model, icir.interpolate(model, q0, q1, 1.0), q1) < 1e-12
        way = icir.difference(model, q0, q1)
        part = icir.interpolate(model, q0, q1, 0.3)
        assert_equal(icir.difference(model, q0, part), 0.3 * way, 1e-11)
        assert icir.distance(model, q0, q1) == pytest.approx(np.linalg.norm(way))
        with pytest.raises(InvalidValueError, match='^t = '):
            icir.interpolate(model, q0, q1, np.nan)
