"""The plant's figures do what they say, and nothing else."""

import numpy as np
import pytest
from simulation_worlds import (
    HOME,
    READY,
    WHEEL_INERTIA,
    ZERO,
    gen3,
    state,
    tree,
    wheel,
)

from icir_control.errors import ConfigurationError
from icir_control.simulation import Plant


def actual_terms(world, q):
    """Return M and bias at rest of the plant, through accelerations alone.

    The world is driven from rest by each unit torque in turn; M^-1 and bias follow.
    """
    size = len(q)

    def acceleration(torque):
        world.reset(q)
        world.step(torque)
        return world.data.qacc.copy()

    free = acceleration(np.zeros(size))
    inverse = np.column_stack([acceleration(unit) - free for unit in np.eye(size)])
    mass = np.linalg.inv(inverse)
    return mass, -mass @ free


def test_no_difference_is_no_difference():
    world = gen3()
    mass, bias = actual_terms(world, READY)
    np.testing.assert_allclose(mass, world.mass_matrix(READY), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(bias, world.bias(READY, ZERO), rtol=1e-9, atol=1e-10)
    assert world.plant.differences == {}


def test_mass_scale_scales_what_moves():
    world = gen3(plant=Plant(mass_scale=1.1))
    mass, bias = actual_terms(world, READY)
    np.testing.assert_allclose(mass, 1.1 * world.mass_matrix(READY), rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(bias, 1.1 * world.bias(READY, ZERO), rtol=1e-9, atol=1e-10)
    assert world.model.body('base_link').mass[0] == 1.697
    assert world.model.body_subtreemass[1] == pytest.approx(1.697 + 1.1 * 5.4251)


def test_payload_is_a_point_mass_at_the_end_effector():
    payload = 0.8
    world = gen3(plant=Plant(payload_mass=payload))
    mass, bias = actual_terms(world, READY)
    jacobian = world.frame_jacobian(READY)[:3]
    np.testing.assert_allclose(
        mass, world.mass_matrix(READY) + payload * jacobian.T @ jacobian, rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(
        bias, world.bias(READY, ZERO) + payload * 9.81 * jacobian[2], rtol=1e-9, atol=1e-9
    )


def test_payload_off_the_axis_is_a_point_mass_there():
    mass, offset = 0.8, np.array([0.1, -0.05, 0.03])
    world = gen3(plant=Plant(payload_mass=mass, payload_offset=offset.tolist()))
    M, bias = actual_terms(world, READY)
    jacobian, turn = np.split(world.frame_jacobian(READY), 2)
    arm = world.frame_placement(READY)[:, :3] @ offset
    jacobian = jacobian + np.cross(turn.T, arm).T
    np.testing.assert_allclose(
        M, world.mass_matrix(READY) + mass * jacobian.T @ jacobian, rtol=1e-6, atol=1e-6
    )
    np.testing.assert_allclose(
        bias, world.bias(READY, ZERO) + mass * 9.81 * jacobian[2], rtol=1e-9, atol=1e-9
    )


def test_rotor_inertia_adds_to_the_diagonal_and_weighs_nothing():
    world = gen3(plant=Plant(rotor_inertia=0.05))
    mass, bias = actual_terms(world, READY)
    expected = world.mass_matrix(READY) + 0.05 * np.eye(6)
    np.testing.assert_allclose(mass, expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(bias, world.bias(READY, ZERO), rtol=1e-9, atol=1e-10)
    assert not world.armature.any(), 'what the URDF says'


def test_payload_is_not_scaled_with_the_links():
    world = gen3(plant=Plant(mass_scale=2.0, payload_mass=0.5))
    assert world.model.body_subtreemass[1] == pytest.approx(1.697 + 2 * 5.4251 + 0.5)


def test_damping_is_viscous_and_implicit():
    damping, dt = 0.5, 1e-3
    world = wheel(plant=Plant(joint_damping=damping))
    world.data.qvel[:] = 3.0
    for step in range(1, 501):
        world.step(np.zeros(1))
        expected = 3.0 / (1 + dt * damping / WHEEL_INERTIA) ** step
        assert state(world)[1][0] == pytest.approx(expected, rel=1e-10)
    assert expected < 1.0


def test_damping_adds_to_that_of_the_urdf():
    world = tree(plant=Plant(joint_damping=1.5, joint_friction=0.25))
    np.testing.assert_array_equal(world.model.dof_damping, [5.5, 1.5, 1.5])
    np.testing.assert_array_equal(world.model.dof_frictionloss, [2.25, 0.25, 0.25])


def test_friction_holds_a_small_torque_and_takes_its_part_of_a_large_one():
    friction = 0.6
    held, driven, free = (wheel(plant=Plant(joint_friction=f)) for f in (friction, friction, 0.0))
    for _ in range(1000):
        held.step(np.array([0.9 * friction]))
        driven.step(np.array([2.0]))
        free.step(np.array([0.9 * friction]))
    # MuJoCo's friction is a stiff constraint that creeps a little.
    assert state(free)[1][0] == pytest.approx(0.9 * friction / WHEEL_INERTIA)
    assert abs(state(held)[1][0]) < 0.01 * state(free)[1][0]
    assert state(driven)[1][0] == pytest.approx((2.0 - friction) / WHEEL_INERTIA, rel=1e-2)


def test_velocity_noise_has_its_size_and_spares_the_rest():
    noisy, clean = gen3(plant=Plant(velocity_noise=1e-3, noise_seed=4)), gen3()
    torque = clean.bias(HOME, ZERO)
    errors = []
    for _ in range(2000):
        noisy.step(torque)
        clean.step(torque)
        (q1, v1, tau1), (q0, v0, tau0) = state(noisy), state(clean)
        np.testing.assert_array_equal(q1, q0)
        np.testing.assert_array_equal(tau1, tau0)
        errors.append(v1 - v0)
    errors = np.array(errors)
    assert errors.std() == pytest.approx(1e-3, rel=0.03)
    assert abs(errors.mean()) < 3e-5
    # White: neither in time nor between joints.
    assert abs(np.mean(errors[1:] * errors[:-1])) < 3e-8
    assert abs(np.mean(errors[:, 0] * errors[:, 1])) < 1e-7


def test_noise_is_reproducible_and_the_same_at_every_look():
    def record(world):
        velocities = [state(world)[1]]
        for _ in range(20):
            world.step(ZERO)
            velocities.append(state(world)[1])
            np.testing.assert_array_equal(state(world)[1], velocities[-1])
        return np.array(velocities)

    world = gen3(plant=Plant(velocity_noise=0.01, noise_seed=1))
    first = record(world)
    assert np.abs(first[0]).max() > 0.0
    world.reset()
    np.testing.assert_array_equal(record(world), first)
    same = gen3(plant=Plant(velocity_noise=0.01, noise_seed=1))
    np.testing.assert_array_equal(record(same), first)
    other = gen3(plant=Plant(velocity_noise=0.01, noise_seed=2))
    assert not np.array_equal(record(other), first)


def test_position_noise_has_its_size_and_spares_the_velocity():
    world = gen3(plant=Plant(position_noise=1e-4, noise_seed=4))
    errors = []
    for _ in range(2000):
        world.step(world.bias(world.position, world.velocity))
        q, v, _ = state(world)
        np.testing.assert_array_equal(v, world.velocity)
        np.testing.assert_array_equal(state(world)[0], q)
        errors.append(q - world.position)
    assert np.std(errors) == pytest.approx(1e-4, rel=0.03)
    first = errors[0]
    world.reset()
    world.step(world.bias(HOME, ZERO))
    np.testing.assert_allclose(state(world)[0] - world.position, first, atol=1e-15)


def test_noise_of_position_and_velocity_are_independent():
    world = gen3(plant=Plant(position_noise=1.0, velocity_noise=1.0))
    errors = []
    for _ in range(500):
        world.step(world.bias(HOME, ZERO))
        q, v, _ = state(world)
        errors.append([q - world.position, v - world.velocity])
    first, second = np.moveaxis(errors, 1, 0)
    assert abs(np.mean(first * second)) < 0.05


def test_an_encoder_counts_and_its_velocity_is_a_difference():
    bits, dt = 12, 1e-3
    world = wheel(plant=Plant(encoder_bits=bits))
    count = 2.0 * np.pi / 2**bits
    world.reset(velocity=[2.0])
    before, velocity, _ = state(world)
    assert abs(velocity[0] - 2.0) <= count / dt, 'known from the first state on'
    for _ in range(300):
        world.step(np.array([0.1]))
        q, v, _ = state(world)
        assert abs(q[0] - world.position[0]) <= 0.5 * count + 1e-12
        assert q[0] / count == pytest.approx(round(q[0] / count), abs=1e-6)
        np.testing.assert_allclose(v, (q - before) / dt, atol=1e-9)
        before = q
    assert abs(q[0] - world.position[0]) > 0.0


def test_an_encoder_of_a_sliding_joint_divides_a_metre():
    world = tree(plant=Plant(encoder_bits=4))
    for _ in range(300):
        world.step(np.zeros(3))
    q = state(world)[0]
    turn = np.array([1.0, 2.0 * np.pi, 2.0 * np.pi])
    assert np.abs(world.position).max() > 0.1
    np.testing.assert_allclose(q, np.round(world.position * 16 / turn) * turn / 16, atol=1e-12)


def test_an_encoder_at_rest_reads_no_velocity():
    world = gen3(plant=Plant(encoder_bits=17))
    np.testing.assert_array_equal(state(world)[1], 0.0)


def fallen(**plant) -> float:
    """The angle of a damped wheel after 0.2 s under a constant torque."""
    world = wheel(plant=Plant(joint_damping=2.0, **plant))
    for _ in range(20):
        world.step(np.array([1.0]))
    assert world.time_ns == 20_000_000
    return float(world.position[0])


def test_integrators_and_substeps_approach_the_motion_of_continuous_time():
    rate = 2.0 / WHEEL_INERTIA
    t = 0.02
    exact = 0.5 * (t - (1.0 - np.exp(-rate * t)) / rate)
    euler = abs(fallen() - exact)
    assert abs(fallen(integrator='rk4') - exact) < 1e-4 * euler
    assert abs(fallen(substeps=10) - exact) < 0.11 * euler
    assert fallen(integrator='implicitfast') == pytest.approx(fallen(), abs=1e-12)


def test_a_push_acts_in_every_substep_and_with_every_integrator():
    for plant in (Plant(substeps=5), Plant(integrator='rk4'), Plant(integrator='implicitfast')):
        world = wheel(plant=plant)
        world.push('wheel', [0.0, 0.0, 0.0, 0.0, 0.0, 0.4])
        for _ in range(100):
            world.step(np.zeros(1))
        assert world.velocity[0] == pytest.approx(0.1 * 0.4 / WHEEL_INERTIA, rel=1e-6)


@pytest.mark.parametrize('delay', [0, 1, 2, 3])
def test_a_command_arrives_exactly_its_delay_later(delay):
    world = gen3(plant=Plant(delay_steps=delay))
    hold = world.bias(HOME, ZERO)
    rng = np.random.default_rng(0)
    for _ in range(2):
        commands = [hold + rng.uniform(-1, 1, 6) for _ in range(12)]
        for step, command in enumerate(commands):
            kept = command.copy()
            world.step(command)
            # What happens to the caller's array afterwards changes nothing.
            command[:] = np.nan
            commands[step] = kept
            effort = state(world)[2]
            if step < delay:
                # Nothing has arrived yet: the arm is held against its weight.
                np.testing.assert_array_equal(effort, hold)
                np.testing.assert_allclose(state(world)[0], HOME, atol=1e-12)
            else:
                np.testing.assert_array_equal(effort, commands[step - delay])
        world.reset()


def test_a_delayed_plant_holds_its_own_weight_before_the_first_command():
    world = gen3(plant=Plant(delay_steps=3, payload_mass=1.0, mass_scale=1.2))
    for _ in range(3):
        world.step(ZERO)
        np.testing.assert_allclose(state(world)[1], 0.0, atol=1e-12)
    world.step(ZERO)
    assert np.abs(state(world)[1]).max() > 1e-3


# --- validation


@pytest.mark.parametrize(
    ('name', 'value', 'expected'),
    [
        ('mass_scale', 0.0, 'at least 0.001'),
        ('mass_scale', -1.0, 'at least 0.001'),
        ('mass_scale', float('inf'), 'finite'),
        ('mass_scale', '1.0', 'finite number'),
        ('mass_scale', True, 'finite number'),
        ('joint_damping', -0.1, 'at least 0'),
        ('joint_friction', float('nan'), 'finite'),
        ('payload_mass', -1, 'at least 0'),
        ('payload_mass', None, 'finite number'),
        ('velocity_noise', -1e-9, 'at least 0'),
        ('noise_seed', -1, 'at least 0'),
        ('noise_seed', 1.0, 'integer'),
        ('delay_steps', 4, 'at most 3'),
        ('delay_steps', -1, 'at most 3'),
        ('delay_steps', 1.0, 'an integer'),
        ('delay_steps', True, 'at most 3'),
        ('rotor_inertia', -0.1, 'at least 0'),
        ('payload_offset', [0.1, 0.0], '3 finite numbers'),
        ('payload_offset', [0.1, 0.0, float('nan')], '3 finite numbers'),
        ('payload_offset', [0.1, 0.0, 11.0], 'at most 10'),
        ('payload_offset', 0.1, '3 finite numbers'),
        ('position_noise', -1e-9, 'at least 0'),
        ('encoder_bits', 33, 'at most 32'),
        ('encoder_bits', 17.5, 'an integer'),
        ('integrator', 'heun', 'one of euler, rk4, implicitfast'),
        ('integrator', 1, 'one of euler'),
        ('substeps', 0, 'at least 1'),
        ('substeps', 101, 'at most 100'),
    ],
)
def test_a_plant_that_cannot_be_is_refused(name, value, expected):
    with pytest.raises(ConfigurationError, match=rf'plant\.{name} .*{expected}'):
        Plant(**{name: value})


def test_differences_name_what_was_changed():
    assert Plant(noise_seed=9).differences == {}
    assert Plant(mass_scale=1.1, delay_steps=2).differences == {
        'mass_scale': 1.1,
        'delay_steps': 2,
    }
    assert Plant(payload_offset=[0.1, 0.0, 0.0]).differences == {}, 'of no payload'
    assert Plant(payload_mass=1.0, payload_offset=[0.1, 0, 0], integrator='rk4').differences == {
        'payload_mass': 1.0,
        'payload_offset': [0.1, 0.0, 0.0],
        'integrator': 'rk4',
    }
    plant = Plant(payload_mass=1)
    assert isinstance(plant.payload_mass, float)
    with pytest.raises(AttributeError):
        plant.payload_mass = 2.0


def test_losses_are_added_to_those_of_the_urdf():
    world = tree(plant=Plant(joint_damping=1.5, joint_friction=0.25))
    np.testing.assert_array_equal(np.sort(world.model.dof_damping), [1.5, 1.5, 5.5])
    np.testing.assert_array_equal(np.sort(world.model.dof_frictionloss), [0.25, 0.25, 2.25])
    assert world.joint_damping.tolist() == [4.0, 0.0, 0.0], 'what the URDF says'
