"""Joints that mimic others: every quantity is that of the whole tree, projected."""

import pickle
from pathlib import Path

import numpy as np
import pytest
from agreement import assert_equal
from mujoco_oracle import MujocoOracle
from random_trees import random_inertia, random_placement

from icir_control import dynamics as icir
from icir_control.dynamics import JointKind, ModelBuilder
from icir_control.errors import ModelError, UnknownNameError
from icir_control.spatial import Force

HAND = Path(__file__).resolve().parent / 'data' / 'arm_with_hand.urdf'
LOCAL, WORLD, ALIGNED = icir.ReferenceFrame
SINGLE = (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC)
LEADERS = {
    # The leader behind the follower, before it, in another branch; and chains of followers.
    'joint_1': ('joint_4', -0.7, 0.2),
    'joint_3': ('joint_6', 0.5, -0.1),
    'joint_5': ('joint_1', 2.0, 0.3),
    'joint_7': ('joint_5', -1.0, 0.0),
    'joint_8': ('joint_2', 1.0, 0.5),
}
BASES = {0: None, 1: JointKind.FLOATING, 2: JointKind.SPHERICAL, 3: JointKind.PRISMATIC}


def random_mimics(seed, *, coupled):
    """A tree of ten joints, some of which mimic others unless they are joints of their own."""
    rng = np.random.default_rng(seed)
    builder, frames = ModelBuilder('mimics', gravity=rng.normal(size=3) * 6.0), ['universe']
    for i in range(10):
        kind = BASES[seed] if i == 0 and BASES[seed] else SINGLE[rng.integers(3)]
        name, parent = f'joint_{i}', frames[-1] if rng.uniform() < 0.6 else rng.choice(frames)
        builder.add_joint(
            name, kind, parent, random_placement(rng), axis=rng.normal(size=3),
            mimic=LEADERS.get(name) if coupled else None,
        )  # fmt: skip
        builder.add_body(f'link_{i}', name, random_inertia(rng), random_placement(rng))
        frames.append(f'link_{i}')
    return builder.build()


def expand(model, q):
    """The configuration of the whole tree, written down joint by joint."""
    by_name = {j.name: q[j.index_q : j.index_q + j.nq] for j in model.joints}

    def value(name):
        if name not in LEADERS:
            return by_name[name]
        leader, multiplier, offset = LEADERS[name]
        return multiplier * value(leader) + offset

    return np.concatenate([value(name) for name in (j.name for j in model.joints[1:])])


class Case:
    """A model, the whole tree of it, MuJoCo's of that, and a state."""

    def __init__(self, seed):
        self.rng = rng = np.random.default_rng(seed)
        self.model, self.tree = (random_mimics(seed, coupled=one) for one in (True, False))
        self.oracle = MujocoOracle(self.tree)
        self.q = self.model.random_configuration(rng)
        self.v, self.a, self.tau = rng.normal(size=(3, self.model.nv))
        self.q_tree = expand(self.model, self.q)
        self.G = self.model.coupling
        for e, column in zip(1e-6 * np.eye(self.model.nv), self.G.T, strict=True):
            q = expand(self.model, icir.integrate(self.model, self.q, e))
            way = icir.difference(self.tree, self.q_tree, q)
            np.testing.assert_allclose(1e-6 * column, way, atol=1e-15)
        self.oracle.set_state(self.q_tree, self.G @ self.v)
        self.data, self.data_tree = self.model.create_data(), self.tree.create_data()


@pytest.fixture(scope='module', params=BASES)
def case(request):
    return Case(request.param)


def test_the_equation_of_motion_is_the_projected_one(case):
    model, data, G, q, v, a, tau = (
        getattr(case, n) for n in ('model', 'data', 'G', 'q', 'v', 'a', 'tau')
    )
    M, nle = G.T @ case.oracle.mass_matrix() @ G, G.T @ case.oracle.nle()
    for _ in range(2):  # nothing is left over from the time before
        icir.compute_all_terms(model, data, q, v)
        assert_equal(data.M, M)
        assert_equal(data.nle, nle)
        assert np.array_equal(data.M, data.M.T)
        data.M[:], data.nle[:] = np.nan, np.nan
        assert_equal(icir.crba(model, data, q), M)
        assert_equal(icir.nonlinear_effects(model, data, q, v), nle)
        assert_equal(icir.minverse(model, data, q), np.linalg.inv(M))
        assert_equal(icir.rnea(model, data, q, v, a), M @ a + nle)
        assert_equal(icir.aba(model, data, q, v, tau), np.linalg.solve(M, tau - nle), 1e-9)
    forces = [Force.from_vector(f) for f in case.rng.normal(size=(model.njoints, 6))]
    whole = icir.rnea(case.tree, case.data_tree, case.q_tree, G @ v, G @ a, forces)
    assert_equal(icir.rnea(model, data, q, v, a, forces), G.T @ whole)
    back = icir.aba(model, data, q, v, G.T @ whole, forces)
    assert_equal(back, a, 1e-9)
    case.oracle.set_state(case.q_tree, 0 * case.oracle.v)
    assert_equal(icir.gravity_torque(model, data, q), G.T @ case.oracle.nle())
    case.oracle.set_state(case.q_tree, G @ v)


def test_what_is_centroidal_is_projected(case):
    model, data, G, q, v = (getattr(case, n) for n in ('model', 'data', 'G', 'q', 'v'))
    tree, data_tree, q_tree, v_tree = case.tree, case.data_tree, case.q_tree, G @ v
    assert_equal(icir.center_of_mass(model, data, q), case.oracle.com(0))
    assert_equal(icir.center_of_mass_jacobian(model, data, q), case.oracle.com_jacobian() @ G)
    assert_equal(icir.centroidal_map(model, data, q), case.oracle.centroidal_map() @ G)
    assert_equal(icir.centroidal_momentum(model, data, q, v), case.oracle.momentum())
    potential, kinetic = case.oracle.energies()
    assert_equal(icir.potential_energy(model, data, q), potential)
    assert_equal(icir.kinetic_energy(model, data, q, v), kinetic)
    rate = icir.centroidal_map_time_variation(model, data, q, v)
    assert_equal(rate, icir.centroidal_map_time_variation(tree, data_tree, q_tree, v_tree) @ G)
    for joint in range(1, model.njoints):
        ours = icir.center_of_mass_jacobian(model, data, q, joint)
        assert_equal(ours, icir.center_of_mass_jacobian(tree, data_tree, q_tree, joint) @ G)
    a = G @ case.a
    assert_equal(
        icir.center_of_mass_acceleration(model, data, q, v, case.a),
        icir.center_of_mass_acceleration(tree, data_tree, q_tree, v_tree, a),
    )


def test_frames_move_as_in_the_whole_tree(case):
    model, data, G = case.model, case.model.create_data('link_9'), case.G
    tree, data_tree = case.tree, case.data_tree
    icir.compute_all_terms(model, data, case.q, case.v)
    watched, last = data.watched, model.frame_id('link_9')
    icir.forward_kinematics(tree, data_tree, case.q_tree, G @ case.v)
    jacobian = icir.frame_jacobian(tree, data_tree, last) @ G
    assert_equal(watched.jacobian, jacobian)
    assert_equal(watched.twist, jacobian @ case.v)
    drift = icir.frame_classical_acceleration(tree, data_tree, last).vector
    assert_equal(watched.drift, drift)
    assert_equal(data.J, data_tree.J @ G)
    icir.forward_kinematics(model, data, case.q, case.v, case.a)
    icir.forward_kinematics(tree, data_tree, case.q_tree, G @ case.v, G @ case.a)
    for joint in range(1, model.njoints):
        R, p = case.oracle.placement(joint)
        assert_equal(data.oMi[joint].matrix[:3], np.c_[R, p])
        J, dJ = case.oracle.jacobian(joint, p)
        frame = model.frame_of_joint[joint]
        assert_equal(icir.frame_jacobian(model, data, frame, ALIGNED), J @ G)
        rate = icir.frame_jacobian_time_variation(model, data, frame, ALIGNED)
        assert_equal(rate, dJ @ G)
        twist = icir.frame_velocity(model, data, frame, ALIGNED).vector
        assert_equal(twist, J @ G @ case.v)
        acceleration = icir.frame_classical_acceleration(model, data, frame, ALIGNED).vector
        assert_equal(acceleration, J @ G @ case.a + dJ @ G @ case.v)
    for reference in (LOCAL, WORLD, ALIGNED):
        ours = icir.frame_acceleration_derivatives(model, data, last, reference)
        theirs = icir.frame_acceleration_derivatives(tree, data_tree, last, reference)
        ours += icir.frame_velocity_derivatives(model, data, last, reference)
        theirs += icir.frame_velocity_derivatives(tree, data_tree, last, reference)
        for one, other in zip(ours, theirs, strict=True):
            assert_equal(one, other @ G)


def test_derivatives_are_those_of_finite_differences(case):
    model, data, q, v = case.model, case.data, case.q, case.v
    h = 1e-6

    def slope(function, by):
        columns = [function(h * e, by) - function(-h * e, by) for e in np.eye(model.nv)]
        return np.array(columns).T / (2.0 * h)

    def rnea(d, by):
        at = icir.integrate(model, q, d) if by == 'q' else q
        return icir.rnea(model, data, at, v + d if by == 'v' else v, case.a).copy()

    def aba(d, by):
        at = icir.integrate(model, q, d) if by == 'q' else q
        return icir.aba(model, data, at, v + d if by == 'v' else v, case.tau).copy()

    for derivatives, function, given in (
        (icir.rnea_derivatives, rnea, case.a),
        (icir.aba_derivatives, aba, case.tau),
    ):
        by_q, by_v = (one.copy() for one in derivatives(model, data, q, v, given)[:2])
        scale = max(1.0, np.abs(by_q).max())
        np.testing.assert_allclose(by_q, slope(function, 'q'), atol=1e-6 * scale)
        np.testing.assert_allclose(by_v, slope(function, 'v'), atol=1e-6 * scale)
    M = icir.crba(model, data, q).copy()
    assert_equal(icir.aba_derivatives(model, data, q, v, case.tau)[2], np.linalg.inv(M))
    C = icir.coriolis_matrix(model, data, q, v).copy()
    icir.compute_all_terms(model, data, q, v)
    assert_equal(C @ v, data.nle - data.g)

    def mass(t):
        return icir.crba(model, data, icir.integrate(model, q, t * v)).copy()

    skew = (mass(h) - mass(-h)) / (2.0 * h) - C - C.T
    np.testing.assert_allclose(skew, 0.0, atol=1e-6 * np.abs(M).max())


def test_the_regressor_gives_the_torque(case):
    model = case.model
    Y = icir.joint_torque_regressor(model, case.data, case.q, case.v, case.a)
    parameters = np.concatenate([inertia.parameters for inertia in model.inertias[1:]])
    assert_equal(Y @ parameters, icir.rnea(model, case.data, case.q, case.v, case.a))


def test_configurations_have_no_place_for_followers(case):
    model = case.model
    q1 = icir.integrate(model, case.q, 0.1 * case.v)
    np.testing.assert_allclose(icir.difference(model, case.q, q1), 0.1 * case.v, atol=1e-12)
    moved = icir.integrate(case.tree, case.q_tree, case.G @ (0.1 * case.v))
    np.testing.assert_allclose(expand(model, q1), moved, atol=1e-12)
    by_q, by_v = icir.integrate_derivatives(model, case.q, case.v)
    assert by_q.shape == by_v.shape == (model.nv, model.nv)
    assert model.neutral().shape == (model.nq,)


def test_inverse_kinematics_finds_where_the_whole_tree_was(case):
    model, data, frame = case.model, case.data, case.model.frame_id('link_9')
    icir.forward_kinematics(model, data, case.q)
    goal = icir.frame_placement(model, data, frame)
    start = icir.integrate(model, case.q, 0.05 * case.v)
    q = icir.inverse_kinematics(model, data, frame, goal, start)
    assert_equal(icir.frame_placement(model, data, frame).matrix, goal.matrix, 1e-9)
    icir.forward_kinematics(case.tree, case.data_tree, expand(model, q))
    place = icir.frame_placement(case.tree, case.data_tree, frame)
    assert_equal(place.matrix, goal.matrix, 1e-9)


def test_models_with_mimics_are_kept_and_compared(case, tmp_path):
    model = case.model
    model.save(tmp_path / 'model.json')
    for other in (icir.Model.load(tmp_path / 'model.json'), pickle.loads(pickle.dumps(model))):
        assert other == model
        assert other.joints == model.joints
    assert model != case.tree


def gripper(*, coupled):
    """Two fingers, of which the first in the tree mimics the second."""
    builder, rng = ModelBuilder('gripper'), np.random.default_rng(3)
    mimic = ('right', -1.0, 0.1) if coupled else None
    limits = {'lower': -0.5, 'upper': 0.3, 'velocity': 3.0, 'damping': 0.5, 'friction': 0.2}
    builder.add_joint('left', 'revolute', mimic=mimic, **limits)
    builder.add_body('left', 'left', random_inertia(rng))
    limits = {'lower': -0.6, 'upper': 0.4, 'velocity': 4.0, 'damping': 0.1, 'friction': 0.1}
    builder.add_joint('right', 'revolute', effort=7.0, **limits)
    return builder.add_body('right', 'right', random_inertia(rng)).build()


def test_an_appended_gripper_keeps_its_couplings(case):
    for arm, q_arm in ((case.model, case.q_tree), (case.tree, case.q_tree)):
        ours, whole = (
            icir.append_model(one, gripper(coupled=coupled), 'link_9')
            for one, coupled in ((arm, True), (case.tree, False))
        )
        q_own = case.q if arm is case.model else case.q_tree
        q, q_whole = np.r_[q_own, 0.3], np.r_[q_arm, -0.2, 0.3]
        G, v = ours.coupling, case.rng.normal(size=ours.nv)
        data, theirs = ours.create_data(), whole.create_data()
        assert_equal(icir.crba(ours, data, q), G.T @ icir.crba(whole, theirs, q_whole) @ G)
        nle = icir.nonlinear_effects(whole, theirs, q_whole, G @ v)
        assert_equal(icir.nonlinear_effects(ours, data, q, v), G.T @ nle)


def test_a_leader_has_the_limits_and_losses_of_its_followers():
    model = gripper(coupled=True)
    assert (model.nq, model.nv, model.na, model.njoints) == (1, 1, 1, 3)
    assert model.joint_names == ('right',)
    # left = 0.1 - right, from -0.5 to 0.3
    assert model.lower_position_limit == pytest.approx([-0.2])
    assert model.upper_position_limit == pytest.approx([0.4])
    assert model.velocity_limit == [3.0]
    assert model.effort_limit == [7.0]
    assert model.joint_damping == pytest.approx([0.6])
    assert model.joint_friction == pytest.approx([0.3])
    q = model.random_configuration(np.random.default_rng(0))
    assert -0.2 <= q[0] <= 0.4


def with_follower(mimic, kind='prismatic', **limits):
    builder = ModelBuilder().add_joint('one', 'revolute', lower=0.0, upper=1.0)
    builder.add_body('one', 'one', random_inertia(np.random.default_rng(0)))
    builder.add_joint('two', kind, 'one', mimic=mimic, **limits)
    return builder.add_body('two', 'two', random_inertia(np.random.default_rng(1)))


@pytest.mark.parametrize(
    ('mimic', 'options', 'error', 'words'),
    [
        (('ghost', 1.0, 0.0), {}, UnknownNameError, "'ghost'.*one, two"),
        (('two', 1.0, 0.0), {}, ModelError, "'two' mimics joints that mimic each other"),
        (('one', 1.0, 0.0), {'kind': 'cylindrical'}, ModelError, "'two' is cylindrical"),
    ],
)
def test_what_cannot_be_coupled_is_refused(mimic, options, error, words):
    with pytest.raises(error, match=words):
        with_follower(mimic, **options).build()


def test_limits_that_leave_no_room_are_left_out(caplog):
    model = with_follower(('one', -1.0, 0.0), lower=0.0, upper=1.0).build()
    assert "'two' is -1 times 'one'" in caplog.text
    assert (model.lower_position_limit, model.upper_position_limit) == ([0.0], [1.0])


def test_a_follower_without_ratio_stands_still():
    model = with_follower(('one', 0.0, 0.25)).build()
    data = model.create_data()
    icir.forward_kinematics(model, data, [0.4])
    np.testing.assert_allclose(data.oMi[2].translation, [0.0, 0.0, 0.25], atol=1e-15)


def test_a_leader_is_not_turned_by_whole_turns():
    """Its follower would be elsewhere, where the ratio is no whole number."""
    builder, rng = ModelBuilder(), np.random.default_rng(0)
    for i in range(6):
        builder.add_joint(f'joint_{i}', 'continuous', f'link_{i - 1}' if i else 'universe',
                          random_placement(rng))  # fmt: skip
        builder.add_body(f'link_{i}', f'joint_{i}', random_inertia(rng))
    builder.add_joint('follower', 'continuous', 'link_5', mimic=('joint_5', 0.5, 0.0))
    model = builder.add_body('tip', 'follower', random_inertia(rng), random_placement(rng)).build()
    data, q = model.create_data(), rng.uniform(-1.0, 1.0, 6) + [0, 0, 0, 0, 0, 7.0]
    icir.forward_kinematics(model, data, q)
    goal = icir.frame_placement(model, data, 'tip')
    for found in icir.inverse_kinematics_solutions(model, data, 'tip', goal, np.zeros(6)):
        icir.forward_kinematics(model, data, found)
        assert_equal(icir.frame_placement(model, data, 'tip').matrix, goal.matrix, 1e-9)


def test_mimics_in_a_urdf(caplog):
    model = icir.load_urdf(HAND)
    whole = icir.load_urdf(HAND, mimic=False)
    assert "'finger_2' mimics 'finger_1'" in caplog.text
    assert (whole.nv, model.nv, model.joint_names[-1]) == (9, 8, 'finger_1')
    assert model.coupling[-1].tolist() == [0, 0, 0, 0, 0, 0, 0, -10]
    rng = np.random.default_rng(0)
    q = model.random_configuration(rng)
    q_whole = np.r_[q, 0.1 - 10.0 * q[-1]]
    M = icir.crba(whole, whole.create_data(), q_whole)
    assert_equal(icir.crba(model, model.create_data(), q), model.coupling.T @ M @ model.coupling)
    # What mimics a joint that is held is held as well; one that is held itself mimics no more.
    held, alike = (
        icir.load_urdf(HAND, locked=locked)
        for locked in ({'finger_1': 0.02}, {'finger_1': 0.02, 'finger_2': -0.1})
    )
    assert held.nv == 7
    assert held.inertias[-1].rotational == pytest.approx(alike.inertias[-1].rotational, abs=1e-15)
    assert icir.load_urdf(HAND, locked={'finger_2': 0.0}).coupling.tolist() == np.eye(8).tolist()
