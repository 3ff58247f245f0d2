"""The world: motion against independent integration, order, time, limits, faults."""

import logging

import numpy as np
import pytest
from simulation_worlds import (
    DOUBLE_PENDULUM,
    HOME,
    INERTIAS,
    JOINTS,
    LENGTHS,
    MASSES,
    READY,
    TREE,
    URDF,
    WHEEL_INERTIA,
    ZERO,
    double_pendulum,
    gen3,
    joint,
    link,
    robot,
    state,
    tree,
    wheel,
)

from icir_control.errors import (
    DivergenceError,
    IcirError,
    InvalidValueError,
    ModelError,
    SimulationError,
    UnknownNameError,
)
from icir_control.simulation import Plant, World

GRAVITY = 9.81


def pendulum_terms(q, v):
    """Return M and bias of the double pendulum: its Lagrange equations, angles from hanging."""
    (l1, _), (m1, m2), (i1, i2) = LENGTHS, MASSES, INERTIAS
    c1, c2 = 0.25, 0.2
    a = i1 + i2 + m1 * c1**2 + m2 * (l1**2 + c2**2)
    b, d = m2 * l1 * c2, i2 + m2 * c2**2
    cosine, sine = np.cos(q[1]), np.sin(q[1])
    mass = np.array([[a + 2 * b * cosine, d + b * cosine], [d + b * cosine, d]])
    coriolis = b * sine * np.array([-v[1] * (2 * v[0] + v[1]), v[0] ** 2])
    far = m2 * c2 * np.sin(q[0] + q[1])
    gravity = GRAVITY * np.array([(m1 * c1 + m2 * l1) * np.sin(q[0]) + far, far])
    return mass, coriolis + gravity


def test_motion_is_that_of_the_equations():
    world = double_pendulum()
    dt = 1e-3
    q, v = np.zeros(2), np.zeros(2)
    for step in range(3000):
        torque = np.array([1.5 * np.sin(0.004 * step), 0.3 * np.cos(0.011 * step)])
        world.step(torque)
        mass, bias = pendulum_terms(q, v)
        v = v + dt * np.linalg.solve(mass, torque - bias)
        q = q + dt * v
        position, velocity, effort = state(world)
        # A chaotic swing: the errors of rounding grow with it.
        np.testing.assert_allclose(position, q, atol=1e-9)
        np.testing.assert_allclose(velocity, v, atol=1e-9)
        np.testing.assert_array_equal(effort, torque)
    assert np.abs(q).max() > 0.5


def test_motion_converges_to_the_continuous_one():
    def right_side(time, y):
        mass, bias = pendulum_terms(y[:2], y[2:])
        torque = np.array([np.sin(5 * time), 0.2])
        return np.concatenate([y[2:], np.linalg.solve(mass, torque - bias)])

    y, h = np.array([0.4, -0.3, 0.0, 0.0]), 1e-3
    for step in range(500):
        t = step * h
        k1 = right_side(t, y)
        k2 = right_side(t + h / 2, y + h / 2 * k1)
        k3 = right_side(t + h / 2, y + h / 2 * k2)
        k4 = right_side(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    errors = []
    for timestep in (1e-3, 5e-4, 2.5e-4):
        world = double_pendulum(timestep=timestep, initial_configuration=[0.4, -0.3])
        for step in range(round(0.5 / timestep)):
            world.step(np.array([np.sin(5 * step * timestep), 0.2]))
        assert world.time_ns == 500_000_000
        errors.append(np.abs(state(world)[0] - y[:2]).max())
    # Euler's method: half the step, half the error.
    assert errors[0] < 5e-3
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(2.0, rel=0.05)


@pytest.mark.slow
def test_energy_of_a_free_swing_stays():
    def energy(world):
        q, v, _ = state(world)
        mass, _ = pendulum_terms(q, v)
        (l1, _), (m1, m2) = LENGTHS, MASSES
        height = -m1 * 0.25 * np.cos(q[0])
        height -= m2 * (l1 * np.cos(q[0]) + 0.2 * np.cos(q[0] + q[1]))
        return 0.5 * v @ mass @ v + GRAVITY * height

    world = double_pendulum(timestep=1e-4, initial_configuration=[1.0, 0.5])
    start = energy(world)
    kinetic = 0.0
    for _ in range(20_000):
        world.step(np.zeros(2))
        q, v, _ = state(world)
        kinetic = max(kinetic, 0.5 * v @ pendulum_terms(q, v)[0] @ v)
        assert energy(world) == pytest.approx(start, abs=0.01)
    assert kinetic > 2.0


def test_a_prismatic_joint_falls_freely():
    # The lift alone would fall with g; its URDF damping (4) and friction (2) hold back a little.
    world = tree(initial_configuration=[0.7, 0.0, 0.0])
    assert world.joint_damping.tolist() == [4.0, 0.0, 0.0]
    assert world.joint_friction.tolist() == [2.0, 0.0, 0.0]
    weight = world.bias([0.7, 0.0, 0.0], np.zeros(3))[0]
    assert weight == pytest.approx(5.5 * GRAVITY, rel=1e-12)
    world.step(np.array([weight - 10.0, *world.bias([0.7, 0, 0], np.zeros(3))[1:]]))
    _, velocity, _ = state(world)
    assert -1e-3 * 10.0 / 3.0 < velocity[0] < -1e-3 * (10.0 - 2.5) / 6.0


def test_gravity_compensation_holds_home():
    world = gen3()
    torque = world.bias(HOME, ZERO)
    for _ in range(1000):
        world.step(torque)
    position, velocity, effort = state(world)
    np.testing.assert_allclose(position, HOME, atol=1e-9)
    np.testing.assert_allclose(velocity, 0.0, atol=1e-8)
    np.testing.assert_array_equal(effort, torque)
    assert np.abs(torque).max() > 5.0


# --- order, time, limits


def test_every_array_follows_the_joint_names():
    straight, turned = gen3(), gen3(HOME[::-1], joint_names=JOINTS[::-1])
    torque = np.array([1.0, -2.0, 3.0, -0.4, 0.5, 0.6])
    for _ in range(50):
        straight.step(torque)
        turned.step(torque[::-1].copy())
    for one, other in zip(state(straight), state(turned), strict=True):
        np.testing.assert_array_equal(one, other[::-1])
    np.testing.assert_array_equal(
        straight.mass_matrix(READY), turned.mass_matrix(READY[::-1])[::-1, ::-1]
    )
    np.testing.assert_array_equal(
        straight.bias(READY, HOME), turned.bias(READY[::-1], HOME[::-1])[::-1]
    )
    np.testing.assert_array_equal(
        straight.frame_jacobian(READY), turned.frame_jacobian(READY[::-1])[:, ::-1]
    )
    np.testing.assert_array_equal(straight.effort_limit, [39, 39, 39, 9, 9, 9])
    np.testing.assert_array_equal(turned.effort_limit, [9, 9, 9, 39, 39, 39])
    np.testing.assert_array_equal(straight.brake_torque(5.0), turned.brake_torque(5.0)[::-1])


def test_time_is_whole_nanoseconds_and_never_goes_back():
    world = gen3(timestep=0.0007)
    assert (world.timestep_ns, world.steps, world.time_ns) == (700_000, 0, 0)
    for _ in range(3):
        world.step(ZERO)
    assert (world.steps, world.time_ns) == (3, 2_100_000)
    world.reset()
    assert world.time_ns == 2_100_000
    world.step(ZERO)
    assert world.time_ns == 2_800_000
    assert world.data.time == pytest.approx(2.8e-3, abs=1e-12)


def test_the_plant_saturates_by_itself():
    world = gen3()
    for torque in ([100.0, -100.0, 100.0, -100.0, 100.0, -100.0], [38.9, 0, 0, 8.9, 0, 0]):
        world.step(np.array(torque))
        effort = state(world)[2]
        np.testing.assert_array_equal(
            effort, np.clip(torque, *np.outer([-1, 1], [39] * 3 + [9] * 3))
        )


def test_a_joint_without_a_limit_takes_any_torque():
    world = wheel()
    assert world.effort_limit.tolist() == [np.inf]
    world.step(np.array([5000.0]))
    assert state(world)[1][0] == pytest.approx(5000.0 * 1e-3 / WHEEL_INERTIA)


def test_nothing_is_added_to_the_urdf():
    world = gen3()
    for figures in (world.armature, world.joint_damping, world.joint_friction):
        np.testing.assert_array_equal(figures, ZERO)
    np.testing.assert_array_equal(world.model.dof_armature, ZERO)
    assert world.model.nu == world.model.nv == 6
    np.testing.assert_array_equal(world.model.actuator_gear[:, 0], np.ones(6))
    assert world.model.body('end_effector_link').id > 0


# --- determinism and reset


def run(world, steps=400):
    rng = np.random.default_rng(3)
    base = world.bias(HOME, ZERO)
    record = []
    for _ in range(steps):
        world.step(base + rng.uniform(-2, 2, 6))
        record.append(np.concatenate(state(world)))
    return np.array(record)


def test_the_same_torques_give_the_same_bits():
    first, second = gen3(), gen3()
    record = run(first)
    np.testing.assert_array_equal(run(second), record)
    assert np.abs(record[-1][:6] - HOME).max() > 0.01
    first.push('bracelet_link', [5, 5, 5, 0, 0, 0])
    first.step(ZERO)
    first.reset()
    np.testing.assert_array_equal(run(first), record)


def test_looking_at_a_world_does_not_change_its_course():
    watched, alone = gen3(), gen3()
    base = watched.bias(HOME, ZERO)
    for step in range(100):
        if step % 7 == 0:
            state(watched)
            watched.brake_torque(3.0)
            watched.mass_matrix(READY)
            watched.bias(READY, HOME)
            watched.frame_jacobian(ZERO)
        watched.step(base * 0.9)
        alone.step(base * 0.9)
    for one, other in zip(state(watched), state(alone), strict=True):
        np.testing.assert_array_equal(one, other)


def test_reset_goes_to_the_given_configuration_at_rest():
    world = gen3()
    run(world, 50)
    world.reset(READY)
    position, velocity, effort = state(world)
    np.testing.assert_array_equal(position, READY)
    np.testing.assert_array_equal(velocity, ZERO)
    np.testing.assert_array_equal(effort, ZERO)
    world.reset()
    np.testing.assert_array_equal(state(world)[0], HOME)


def test_reset_takes_a_velocity_by_the_order_of_the_names():
    velocity = np.array([0.1, -0.2, 0.3, -0.4, 0.5, -0.6])
    one, turned = gen3(), gen3(HOME[::-1], joint_names=JOINTS[::-1])
    one.reset(HOME, velocity)
    turned.reset(HOME[::-1], velocity[::-1])
    np.testing.assert_array_equal(state(one)[1], velocity)
    for world in (one, turned):
        world.step(ZERO)
    for ahead, behind in zip(state(one), state(turned), strict=True):
        np.testing.assert_array_equal(ahead, behind[::-1])
    np.testing.assert_allclose(state(one)[0] - HOME, 1e-3 * state(one)[1], atol=1e-15)


@pytest.mark.parametrize('velocity', [[0.0] * 5, [np.nan] * 6, [np.inf, *[0.0] * 5]])
def test_reset_refuses_a_velocity_that_is_none_and_leaves_the_world(velocity):
    world = gen3()
    run(world, 50)
    before = state(world)
    with pytest.raises(InvalidValueError, match='velocity'):
        world.reset(READY, velocity)
    for one, other in zip(state(world), before, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_default_outside_the_limits_moves_to_the_nearest_inside_them():
    """At a limit itself, which is 0.1 m here, it would be pushed away."""
    assert state(tree())[0].tolist() == pytest.approx([0.21, 0.0, 0.0])


# --- the oracle


def test_oracle_agrees_with_the_closed_form():
    world = double_pendulum()
    rng = np.random.default_rng(8)
    for _ in range(20):
        q, v = rng.uniform(-3, 3, 2), rng.uniform(-4, 4, 2)
        mass, bias = pendulum_terms(q, v)
        np.testing.assert_allclose(world.mass_matrix(q), mass, rtol=1e-12)
        np.testing.assert_allclose(world.bias(q, v), bias, rtol=1e-11, atol=1e-12)
        # The tip: lengths along the rods, from the hanging pose, turning about y.
        (l1, l2), both = LENGTHS, q[0] + q[1]
        tip = np.array([-l2 * np.cos(both), l2 * np.sin(both)])
        elbow = np.array([-l1 * np.cos(q[0]), l1 * np.sin(q[0])])
        expected = np.zeros((6, 2))
        expected[[0, 2], 0], expected[[0, 2], 1] = tip + elbow, tip
        expected[4] = 1.0
        np.testing.assert_allclose(world.frame_jacobian(q), expected, atol=1e-13)


def test_oracle_does_not_see_the_plant():
    plain = gen3()
    other = gen3(plant=Plant(mass_scale=1.3, payload_mass=1.0, joint_damping=2, joint_friction=1))
    np.testing.assert_array_equal(plain.mass_matrix(READY), other.mass_matrix(READY))
    np.testing.assert_array_equal(plain.bias(READY, HOME), other.bias(READY, HOME))
    np.testing.assert_array_equal(other.joint_damping, ZERO)
    np.testing.assert_array_equal(other.joint_friction, ZERO)


# --- braking


@pytest.mark.parametrize('plant', [Plant(), Plant(mass_scale=1.2, payload_mass=0.5)])
def test_the_brake_stops_the_arm_within_its_limits(plant):
    world = gen3(READY, plant=plant)
    speed = np.array([1.0, -0.8, 1.0, -1.2, 1.2, 1.2])
    world.data.qvel[:] = speed
    for step in range(2000):
        torque = world.brake_torque(20.0)
        assert np.all(np.abs(torque) <= world.effort_limit)
        world.step(torque)
        if step == 499:
            assert np.abs(state(world)[1]).max() < 0.05
    position, velocity, _ = state(world)
    assert np.abs(velocity).max() < 1e-9
    # It stays where it stopped, against gravity.
    assert np.abs(position - READY).max() < 0.2


# --- faults


def test_divergence_names_the_joint_and_ends_with_a_reset(tmp_path, monkeypatch, caplog):
    monkeypatch.chdir(tmp_path)
    world = gen3()
    expected = run(gen3(), 50)
    torque = world.bias(HOME, ZERO)
    for _ in range(5):
        world.step(torque)
    before = np.concatenate(state(world)[:2])
    world.push('bracelet_link', [1e16, 0, 1e16, 0, 0, 0])
    with (
        caplog.at_level(logging.WARNING),
        pytest.raises(DivergenceError, match='joint_') as caught,
    ):
        world.step(torque)
    assert caught.value.joint in JOINTS
    assert '0.005 s' in str(caught.value)
    assert isinstance(caught.value, SimulationError)
    assert 'unstable' in caplog.text
    np.testing.assert_array_equal(np.concatenate(state(world)[:2]), before)
    assert world.steps == 5
    with pytest.raises(DivergenceError, match='reset'):
        world.step(torque)
    world.reset()
    np.testing.assert_array_equal(run(world, 50), expected)
    # MuJoCo leaves no file behind.
    assert list(tmp_path.iterdir()) == []


def test_divergence_is_noticed_where_it_happens():
    world = tree(initial_configuration=[0.5, 0.0, 0.0])
    world.data.qvel[2] = np.nan
    with pytest.raises(DivergenceError, match="velocity of joint 'right_arm'") as caught:
        world.step(np.zeros(3))
    assert caught.value.joint == 'right_arm'


@pytest.mark.parametrize(
    ('torque', 'message'),
    [
        (np.zeros(5), '6 numbers'),
        (np.zeros(1), '6 numbers'),
        (np.zeros((1, 6)), '6 numbers'),
        (np.array([0, 0, np.nan, 0, 0, 0]), "joint 'joint_3'"),
        (np.array([0, 0, 0, 0, 0, -np.inf]), "joint 'joint_6'"),
    ],
)
def test_a_bad_torque_is_refused_before_anything_moves(torque, message):
    world = gen3()
    with pytest.raises(InvalidValueError, match=message):
        world.step(torque)
    assert world.steps == 0
    np.testing.assert_array_equal(state(world)[0], HOME)


def test_a_huge_torque_is_finite_and_saturates():
    world = gen3()
    world.step(np.full(6, 1e30))
    np.testing.assert_array_equal(state(world)[2], world.effort_limit)


@pytest.mark.parametrize(
    ('options', 'error', 'message'),
    [
        ({'joint_names': JOINTS[:5]}, ModelError, 'missing: joint_6'),
        ({'joint_names': (*JOINTS, 'joint_1')}, ModelError, 'once'),
        (
            {'joint_names': (*JOINTS[:5], 'elbow')},
            UnknownNameError,
            "joint 'elbow'; valid: joint_1",
        ),
        ({'joint_names': (*JOINTS, 'end_effector')}, UnknownNameError, "joint 'end_effector'"),
        (
            {'end_effector_frame': 'tool'},
            UnknownNameError,
            "frame 'tool'; valid: world, base_link",
        ),
        ({'timestep': 0.0}, InvalidValueError, 'timestep'),
        ({'timestep': -0.001}, InvalidValueError, 'timestep'),
        ({'timestep': float('nan')}, InvalidValueError, 'timestep'),
        ({'timestep': True}, InvalidValueError, 'timestep'),
        ({'timestep': 0.5}, InvalidValueError, 'up to 0.02'),
        ({'timestep': 1e-3 / 7}, InvalidValueError, 'whole number of nanoseconds'),
        ({'initial_configuration': np.zeros(5)}, InvalidValueError, '6 finite numbers'),
        ({'initial_configuration': np.full(6, np.nan)}, InvalidValueError, '6 finite numbers'),
        ({'initial_configuration': [0, 0, 3, 0, 0, 0]}, InvalidValueError, "'joint_3'.*-2.57 to"),
        ({'urdf': '/no/such/file.urdf'}, ModelError, '/no/such/file.urdf'),
        ({'urdf': ''}, ModelError, 'cannot read'),
        ({'urdf': '<robot name="x"><link'}, ModelError, 'not XML'),
        ({'urdf': '<sdf/>'}, ModelError, 'root is <sdf>'),
    ],
)
def test_bad_input_is_refused_with_the_reason(options, error, message):
    arguments = {
        'urdf': URDF / 'gen3_6dof.urdf',
        'joint_names': JOINTS,
        'end_effector_frame': 'end_effector_link',
    } | options
    with pytest.raises(error, match=message) as caught:
        World(arguments.pop('urdf'), **arguments)
    assert isinstance(caught.value, IcirError)


@pytest.mark.parametrize(
    ('old', 'new', 'message'),
    [
        ('<mass value="0.7"/>', '<mass value="0"/>', "moving bodies.*'lower'"),
        ('ixx="0.01"', 'ixx="0.1"', "link 'lower'.*no body has one"),
        ('ixx="0.01"', 'ixx="-0.01"', "'lower'"),
        ('name="elbow" type="continuous"', 'name="elbow" type="planar"', "'elbow' .* 'planar'"),
        ('name="elbow" type="continuous"', 'name="elbow" type="bogus"', "'elbow' .* 'bogus'"),
        ('<parent link="upper"/>', '', "'elbow' has no <parent"),
        ('<parent link="upper"/>', '<parent link="lost"/>', 'MuJoCo refuses'),
        ('<parent link="upper"/>', '<parent link="lower"/>', 'MuJoCo refuses'),
        ('axis xyz="0 1 0"', 'axis xyz="0 0 0"', 'axis'),
    ],
)
def test_a_faulty_urdf_is_refused_with_the_element(old, new, message):
    text = DOUBLE_PENDULUM
    assert old in text
    with pytest.raises(ModelError, match=message):
        World(text.replace(old, new), joint_names=('swing', 'elbow'), end_effector_frame='tip')


# --- other robots


def test_the_text_and_the_file_give_the_same_world(tmp_path):
    path = tmp_path / 'tree.urdf'
    path.write_text('\n<?xml version="1.0"?>\n'.lstrip() + TREE)
    names = ('rise', 'left_arm', 'right_arm')
    one = World(str(path), joint_names=names, end_effector_frame='right')
    other = World('\n  ' + path.read_text(), joint_names=names, end_effector_frame='right')
    q = [0.4, 0.3, -0.2]
    np.testing.assert_array_equal(one.mass_matrix(q), other.mass_matrix(q))


@pytest.mark.parametrize(
    'carrier', ['<link name="carrier"/>', link('carrier', 0.0, inertia=(0.0, 0.0, 0.0))]
)
def test_mass_behind_a_fixed_joint_moves_its_carrier(carrier):
    # A carrier without inertia of its own is fine: what is fixed to it moves with it.
    text = robot(
        carrier,
        link('load', 2.0, inertia=(0.1, 0.1, 0.1)),
        joint('spin', 'continuous', 'base', 'carrier', '0 0 1'),
        joint('weld', 'fixed', 'carrier', 'load', '0.5 0 0'),
    )
    world = World(text, joint_names=('spin',), end_effector_frame='load')
    assert world.mass_matrix([0.0])[0, 0] == pytest.approx(0.1 + 2.0 * 0.25, rel=1e-12)
