"""Contacts of the hand, and of bodies whose motion is known; forces against MuJoCo's."""

import sys
from pathlib import Path

import mujoco
import numpy as np
import pytest

from icir_control.collision import (
    CollisionPairs,
    CollisionShape,
    HalfSpace,
    Sphere,
    distance_bias,
    distance_jacobian,
    load_collision_shapes,
)
from icir_control.contact import ContactSimulator, impact, project_velocity
from icir_control.dynamics import (
    ModelBuilder,
    compute_all_terms,
    crba,
    forward_kinematics,
    load_urdf,
    simulate,
)
from icir_control.errors import InvalidValueError, SimulationError, UnknownNameError
from icir_control.share import share_directory
from icir_control.spatial import SE3, Inertia, exp3

URDF = share_directory() / 'urdf' / 'hand.urdf'
G = 9.81
TIPS = ('finger13', 'finger23', 'finger33', 'thumb2')


@pytest.fixture(scope='module')
def hand():
    """The script that writes the hand."""
    folder = str(Path(__file__).resolve().parent.parent / 'docs')
    sys.path.insert(0, folder)
    try:
        import hand

        yield hand
    finally:
        sys.path.remove(folder)


@pytest.fixture(scope='module')
def shipped():
    model, shapes = load_urdf(URDF), load_collision_shapes(URDF)
    return model, CollisionPairs(model, shapes)


def closing(model, period=1.0, stiffness=400.0):
    """Computed torque that closes the fingers beyond what the palm allows, and opens them."""
    data, reference = model.create_data(), np.zeros(model.nv)

    def law(time, q, v):
        reference[2:11] = 1.1 * (1.0 - np.cos(2.0 * np.pi * time / period))
        reference[11] = 0.5
        compute_all_terms(model, data, q, v)
        ddq = stiffness * (reference - q) - 2.0 * np.sqrt(stiffness) * v
        return data.M @ ddq + data.nle

    return law


def test_the_urdf_is_what_the_script_writes(hand):
    assert URDF.read_text() == hand.urdf()


def test_inertias_of_the_urdf_are_those_of_solid_capsules():
    def moments(from_shapes):
        spec = mujoco.MjSpec.from_file(str(URDF))
        spec.compiler.inertiafromgeom = from_shapes
        for geom in spec.geoms:
            geom.density = 1000.0
        model = spec.compile()
        return model.body_mass, model.body_inertia, model.body_ipos

    given, computed = moments(0), moments(1)
    assert given[0].sum() == pytest.approx(0.6, rel=1e-8)
    ratio = given[0].sum() / computed[0].sum()
    np.testing.assert_allclose(given[0], ratio * computed[0], rtol=1e-6)
    np.testing.assert_allclose(given[1], ratio * computed[1], rtol=1e-6, atol=1e-14)
    np.testing.assert_allclose(given[2], computed[2], atol=1e-9)


def test_energy_never_rises_in_an_impact(shipped):
    (model, pairs), rng = shipped, np.random.default_rng(0)
    data = model.create_data()
    for _ in range(1000):
        M = crba(model, data, model.random_configuration(rng)).copy()
        J = distance_jacobian(model, data, pairs)[
            rng.choice(len(pairs), rng.integers(1, 8), False)
        ]
        v, restitution = rng.normal(size=model.nv), rng.choice([0.0, 0.4, 1.0])
        after = impact(M, J, v, restitution)
        assert after @ M @ after <= v @ M @ v * (1.0 + 1e-9)
        assert (J @ after).min() >= -1e-9
        # What opens already is let go.
        np.testing.assert_allclose(impact(M, J, after), after, atol=1e-9)


def test_one_contact_gives_back_what_restitution_says(shipped):
    (model, pairs), rng = shipped, np.random.default_rng(1)
    data = model.create_data()
    M = crba(model, data, model.random_configuration(rng))
    J = distance_jacobian(model, data, pairs)[:1]
    v = -J[0]
    for restitution in (0.0, 0.3, 1.0):
        np.testing.assert_allclose(
            J @ impact(M, J, v, restitution), -restitution * (J @ v), atol=1e-12
        )
    elastic = impact(M, J, v, 1.0)
    assert elastic @ M @ elastic == pytest.approx(v @ M @ v, rel=1e-12)
    np.testing.assert_allclose(J @ project_velocity(J, v), 0.0, atol=1e-12)


def test_an_impact_takes_lists_and_whole_numbers():
    M, J, v = [[1, 0], [0, 2]], [[1, 0], [0, 1]], [-1, 2]
    after = impact(np.array(M, float), np.array(J, float), np.array(v, float), 0.5)
    np.testing.assert_allclose(after, [0.5, 2.0])
    for kind in (list, np.array):
        np.testing.assert_array_equal(impact(kind(M), kind(J), kind(v), 0.5), after)
    for wrong in ((M, J, [1.0]), (M, [1, 0], v), ([[1, 0]], J, v), (M, J, [np.nan, 0.0])):
        with pytest.raises(InvalidValueError, match='expected'):
            impact(*wrong)


def test_complementarity_and_penetration_of_the_closing_hand(shipped):
    """Force >= 0, distance >= 0, force * distance = 0 at the end of every step."""
    model, pairs = shipped
    simulator, h = ContactSimulator(model, pairs), 1e-3
    run = simulator.simulate(closing(model), 1.0)
    assert run.distance.min() > -1e-5
    assert (run.force > 0.0).sum() > 500
    assert run.force.min() >= 0.0
    data, n = model.create_data(), len(pairs)
    for k in range(len(run.force)):
        forward_kinematics(model, data, run.q[k])
        J, force = distance_jacobian(model, data, pairs), run.force[k, :n]
        # A pair that is too far to be looked at is not said to be near.
        at_end = run.distance[k, :n] + h * J @ run.v[k + 1]
        assert at_end.min() >= -1e-9
        np.testing.assert_allclose(force * at_end, 0.0, atol=1e-9)


@pytest.mark.parametrize('scheme', ['seed', 'seed_with_bias'])
def test_the_tutorial_s_schemes_keep_their_constraint(hand, scheme):
    model = hand.source_model()
    pairs = CollisionPairs(model, hand.capsules(), hand.SEED_PAIRS)
    simulator = ContactSimulator(model, pairs, scheme=scheme, impact='projection')
    run, data, n = simulator.simulate(closing(model), 0.8), model.create_data(), len(pairs)
    touched = np.flatnonzero((run.force > 0.0).any(axis=1))
    assert touched.size > 50
    assert run.force.min() >= 0.0
    for k in touched:
        # The acceleration that followed an impact, if there was one, is not in the record.
        if (run.force[k - 1] > 0.0).any():
            compute_all_terms(model, data, run.q[k], run.v[k])
            slack = distance_jacobian(model, data, pairs) @ (run.v[k + 1] - run.v[k]) / 1e-3
            slack += run.distance[k, :n]
            if scheme == 'seed_with_bias':
                slack += distance_bias(model, data, pairs)
            pressed = run.force[k, :n] > 0.0
            np.testing.assert_allclose(slack[pressed], 0.0, atol=1e-9)
    assert run.distance.min() > 0.0


def test_without_contact_it_is_the_free_simulator(shipped):
    model, pairs = shipped
    law = closing(model)
    ours = ContactSimulator(model, pairs)
    q = np.full(model.nv, 0.1)
    ours.restart(q)
    run = ours.simulate(law, 0.05)
    free = simulate(model, law, q, duration=0.05)
    np.testing.assert_allclose(run.q, free.q, rtol=1e-12)
    assert not run.force.any()


def ball(slope=0.0, radius=0.1, mass=2.0):
    """A ball that slides along x, y, z without turning, above a half-space with a slope."""
    builder = ModelBuilder('ball')
    parent = 'universe'
    for name, axis in zip('xyz', np.eye(3), strict=True):
        builder.add_joint(name, 'prismatic', parent, axis=axis)
        parent = name
    builder.add_body('ball', 'z', Inertia(mass, np.zeros(3), 0.01 * np.eye(3)))
    model = builder.build()
    tilt = SE3(exp3((0.0, slope, 0.0)))
    shapes = [
        CollisionShape('ball', 'ball', Sphere(radius)),
        CollisionShape('floor', 'universe', HalfSpace(), tilt),
    ]
    return model, CollisionPairs(model, shapes, [('ball', 'floor')])


def rest(time, q, v):
    return np.zeros(q.size)


def test_a_ball_rests_with_its_weight():
    model, pairs = ball()
    simulator = ContactSimulator(model, pairs)
    simulator.restart([0.0, 0.0, 0.3])
    run = simulator.simulate(rest, 0.5)
    assert run.force[-1] == pytest.approx([2.0 * G], rel=1e-9)
    assert run.q[-1] == pytest.approx([0.0, 0.0, 0.1], abs=1e-9)
    assert simulator.contacts[0].names == ('ball', 'floor')


def test_a_ball_rises_by_the_square_of_the_restitution():
    model, pairs = ball()
    simulator = ContactSimulator(model, pairs, restitution=0.8, timestep=1e-4)
    simulator.restart([0.0, 0.0, 0.6])
    height = simulator.simulate(rest, 0.7).q[:, 2] - 0.1
    lowest = height.argmin()
    assert height[lowest:].max() == pytest.approx(0.64 * 0.5, rel=0.01)
    assert height.min() > -1e-6


@pytest.mark.parametrize(('friction', 'acceleration'), [
    (0.0, G * np.sin(0.3)), (0.2, G * (np.sin(0.3) - 0.2 * np.cos(0.3))), (0.5, 0.0),
])  # fmt: skip
def test_a_block_on_a_slope_slides_or_sticks(friction, acceleration):
    model, pairs = ball(slope=0.3)
    simulator = ContactSimulator(model, pairs, friction={('ball', 'floor'): friction})
    simulator.restart([0.0, 0.0, 1.0])
    simulator.step(np.zeros(3))  # in the air
    simulator.restart([0.1 * np.sin(0.3), 0.0, 0.1 * np.cos(0.3)])
    run = simulator.simulate(rest, 0.3)
    along = np.array([np.cos(0.3), 0.0, -np.sin(0.3)])
    assert run.v[-1] @ along == pytest.approx(acceleration * 0.3, rel=1e-3, abs=1e-9)
    assert run.distance.min() > -1e-9
    assert run.force[-1] == pytest.approx([2.0 * G * np.cos(0.3)], rel=2e-3)
    # It opens by mu h v, and no further.
    assert run.distance.max() < 1e-3 * (1e-6 + friction * run.v[-1] @ along)


def test_a_joint_stops_at_its_limit():
    builder = ModelBuilder('pendulum')
    builder.add_joint('pivot', 'revolute', axis=(0, 1, 0), lower=-1.0, upper=0.4)
    builder.add_body('bob', 'pivot', Inertia.point_mass(1.0, (0.5, 0.0, 0.0)))
    model = builder.build()
    simulator = ContactSimulator(model, CollisionPairs(model, []))
    run = simulator.simulate(rest, 1.0)
    assert run.q[-1, 0] == pytest.approx(0.4, abs=1e-12)
    assert run.q.max() < 0.4 + 1e-9
    (contact,) = simulator.contacts
    assert contact.names == ('pivot', 'upper limit')
    assert contact.force == pytest.approx(G * 0.5 * np.cos(0.4), rel=1e-9)


def test_the_force_of_a_pressed_finger_is_mujoco_s():
    """One finger is pressed on the palm with a constant torque, the other joints are held."""
    model, shapes = load_urdf(URDF), load_collision_shapes(URDF)
    pairs = CollisionPairs(model, shapes, [('wpalmt', 'finger23')])
    data, goal = model.create_data(), np.zeros(model.nv)
    goal[5:8] = 1.78, 1.79, 0.8
    stiffness = np.where(np.isin(np.arange(model.nv), (5, 6, 7)), 0.3, 2.0)

    def law(time, q, v):
        compute_all_terms(model, data, q, v)
        return data.g + stiffness * (goal - q) - data.M @ (60.0 * v)

    simulator = ContactSimulator(model, pairs)
    ours = simulator.simulate(law, 1.5).force[-1, 0]
    assert ours > 0.05

    theirs = mujoco.MjModel.from_xml_path(str(URDF))
    theirs.geom_contype[:] = theirs.geom_conaffinity[:] = 0
    palm, tip = (body_shape(theirs, body, k) for body, k in (('wrist', 1), ('finger23', 0)))
    theirs.geom_contype[[palm, tip]] = theirs.geom_conaffinity[[palm, tip]] = 1
    theirs.opt.timestep, theirs.geom_solref[:] = 1e-3, (0.004, 1.0)
    state = mujoco.MjData(theirs)
    state.qpos[:] = simulator.q
    force = np.zeros(6)
    for _ in range(1500):
        state.qfrc_applied[:] = law(state.time, state.qpos.copy(), state.qvel.copy())
        mujoco.mj_step(theirs, state)
    assert state.ncon == 1
    mujoco.mj_contactForce(theirs, state, 0, force)
    assert ours == pytest.approx(force[0], rel=0.02)


def body_shape(model, body, k):
    return int(model.body(body).geomadr[0]) + k


def test_contacts_that_contradict_each_other_are_named_and_nothing_moves():
    model, _ = ball()
    down = SE3.from_translation((0.0, 0.0, 0.15)) @ SE3(exp3((np.pi, 0.0, 0.0)))
    shapes = [
        CollisionShape('ball', 'ball', Sphere(0.1)),
        CollisionShape('floor', 'universe', HalfSpace()),
        CollisionShape('ceiling', 'universe', HalfSpace(), down),
    ]
    pairs = CollisionPairs(model, shapes, [('ball', 'floor'), ('ball', 'ceiling')])
    simulator = ContactSimulator(model, pairs)
    simulator.restart([0.0, 0.0, 0.07], [0.1, 0.0, 0.0])
    with pytest.raises(SimulationError, match='ball and floor .*ball and ceiling'):
        simulator.step(np.zeros(3))
    np.testing.assert_array_equal(simulator.q, [0.0, 0.0, 0.07])
    np.testing.assert_array_equal(simulator.v, [0.1, 0.0, 0.0])
    assert simulator.time == 0.0
    assert not simulator.force.any()


@pytest.mark.parametrize(('error', 'wrong'), [
    (UnknownNameError, {'scheme': 'best'}), (UnknownNameError, {'impact': 'soft'}),
    (UnknownNameError, {'friction': {('ball', 'roof'): 0.1}}),
    (InvalidValueError, {'friction': -0.1}), (InvalidValueError, {'restitution': 1.1}),
    (InvalidValueError, {'timestep': 0.0}), (InvalidValueError, {'margin': float('nan')}),
    (InvalidValueError, {'friction': 0.1, 'scheme': 'seed'}),
    (InvalidValueError, {'restitution': 0.1, 'impact': 'projection'}),
])  # fmt: skip
def test_what_is_not_valid_is_refused(error, wrong):
    model, pairs = ball()
    with pytest.raises(error, match='valid'):
        ContactSimulator(model, pairs, **wrong)


def test_a_torque_or_state_that_does_not_fit_is_refused():
    model, pairs = ball()
    simulator = ContactSimulator(model, pairs)
    for call in (
        lambda: simulator.step([0.0]),
        lambda: simulator.restart([0.0]),
        lambda: simulator.restart(model.neutral(), time=np.nan),
        lambda: simulator.simulate(rest, -1.0),
    ):
        with pytest.raises(InvalidValueError, match='expected'):
            call()
