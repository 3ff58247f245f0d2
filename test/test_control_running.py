"""What a user changes, adds and reads while the controller runs."""

from pathlib import Path

import numpy as np
import pytest
from closed_loop import HOME, READY, ClosedLoop, changed, model_of, parameters_of
from test_control_compliance import TOOL

from icir_control.app.robot import RobotFiles
from icir_control.control import Controller, ControllerConfig, Law, Plan
from icir_control.errors import ConfigurationError
from icir_control.simulation import Plant
from icir_control.spatial import Force
from icir_control.trajectory import JointTrajectory

DATA = Path(__file__).resolve().parent / 'data'


class Spring(Law):
    """A user's own law: soft springs to the posture in which it is entered."""

    TRACKS = True

    def plan(self, start):
        return Plan(JointTrajectory.to_rest(start.time, 1.0, start.q, start.v, start.q))

    def acceleration(self, tick):
        error = tick.position_reference - tick.q
        return 100.0 * error + 20.0 * (tick.velocity_reference - tick.v)


def with_mode(name: str, **figures) -> dict:
    parameters = parameters_of()
    parameters['mode_names'].append(name)
    parameters['modes'][name] = figures
    return parameters


def test_a_mode_is_added_in_yaml_alone():
    parameters = with_mode('up', key='u', law='task', translation=[0.0, 0.0, 0.04])
    loop = ClosedLoop(start=HOME, **parameters)
    before = loop.placement.translation
    loop.go('up', 2.5)
    np.testing.assert_allclose(loop.placement.translation - before, [0, 0, 0.04], atol=1e-9)


def test_a_law_of_ones_own_runs():
    parameters = with_mode('spring', key='p', law=f'{__name__}:Spring')
    loop = ClosedLoop(start=HOME, **parameters)
    loop.go('spring', 1.0)
    np.testing.assert_allclose(loop.q, HOME, atol=1e-9)
    moved = loop.pushed(np.array([0.0, 3.0, 0.0, 0.0, 0.0, 0.0]), 0.5)[:3]
    assert np.linalg.norm(moved) > 1e-3
    loop.run(4000)  # the slowest joint takes the push for a load until then
    np.testing.assert_allclose(loop.q, HOME, atol=1e-6)
    loop.go('ready', 2.5)
    np.testing.assert_allclose(loop.q, READY, atol=1e-9)


@pytest.mark.parametrize('mode', ['gravity', 'ready', 'down', 'float', 'impedance'])
def test_parts_of_the_torque_add_up(mode):
    loop = ClosedLoop(start=HOME, observer__gain=100.0, plant=Plant(mass_scale=1.05))
    loop.go('home', 0.3)
    loop.go(mode, 0.3)
    terms = loop.controller.torque_terms
    np.testing.assert_allclose(sum(terms.values()), loop.controller.torque, atol=1e-10)
    assert np.abs(terms['gravity']).max() > 1.0
    assert (mode in ('float', 'impedance')) == (np.abs(terms['compliance']).max() > 0.0)
    assert (mode in ('ready', 'down')) == (np.abs(terms['inertia']).max() > 0.0)
    assert np.abs(terms['observer']).max() > 0.0


def test_null_space_part_of_the_torque():
    home = np.radians([0.0, 15.0, 180.0, -130.0, 0.0, 55.0, 90.0])
    loop = ClosedLoop(robot='gen3_7dof', start=home)
    loop.go('float', 0.2)
    loop.world.push('half_arm_2_link', np.array([5.0, 5.0, 0.0, 0.0, 0.0, 0.0]))
    loop.run(200)
    terms = loop.controller.torque_terms
    np.testing.assert_allclose(sum(terms.values()), loop.controller.torque, atol=1e-10)
    assert np.abs(terms['null_space']).max() > 1e-3


def test_speed_scale_stretches_a_motion_and_keeps_its_precision():
    loop = ClosedLoop(start=HOME, speed_scale=0.5)
    recording = loop.go('ready', 3.0)
    assert np.abs(recording['position'][-1] - READY).max() > 0.05
    recording = loop.run(1500)
    np.testing.assert_allclose(loop.q, READY, atol=1e-10)
    assert np.abs(recording['position'] - recording['position_reference']).max() < 1e-12


def test_speed_scale_changes_in_motion_without_a_jump():
    loop = ClosedLoop(start=HOME)
    loop.go('ready', 0.8)
    torque = [loop.controller.torque_unsaturated.copy()]
    loop.controller.update({'speed_scale': 0.1})
    torque += [*loop.run(1000)['torque_unsaturated']]
    assert np.abs(np.diff(torque, axis=0)).max() < 1.0
    loop.controller.update({'speed_scale': 1.0})
    loop.run(3000)
    np.testing.assert_allclose(loop.q, READY, atol=1e-10)


def test_parameters_that_change_before_the_first_state_hold_from_it_on():
    """The controller's process ended: no law was there yet to take its gains."""
    model = model_of()
    controller = Controller(model, ControllerConfig.from_parameters(parameters_of(), model))
    controller.update({'joint_gains.kp': [2500.0] * 6, 'speed_scale': 0.5})
    controller.restart(0.0, HOME, np.zeros(6))
    controller.tick(0.0, HOME, np.zeros(6))
    np.testing.assert_array_equal(controller._engine.tick_record.joint_kp, 2500.0)
    assert controller._engine.memory.speed_scale == 0.5


def test_hold_stops_the_arm_where_it_is():
    loop = ClosedLoop(start=HOME)
    loop.go('ready', 1.0)
    speed, q = np.abs(loop.v).max(), loop.q.copy()
    recording = loop.go('hold', 1.0)
    assert np.abs(loop.v).max() < 1e-9
    assert np.abs(loop.q - q).max() <= 0.5 * speed * 0.5 + 2e-3
    assert np.abs(np.diff(recording['torque_unsaturated'], axis=0)).max() < 3.0


def test_a_yielding_arm_is_kept_off_its_limits():
    """Pushed towards joint 3's limit for two seconds it stays inside, without the plant's stop."""
    start = HOME.copy()
    start[2] = model_of().upper_position_limit[2] - 0.2

    def deepest(margin: float) -> float:
        loop = ClosedLoop(start=start, limits__position_margin=margin)
        wrench = np.array([0.0, 0.0, -12.0, 0.0, 0.0, 0.0])
        loop.world.push('spherical_wrist_1_link', wrench)

        def push() -> None:
            arm, data = loop.controller.config.arm, loop.world.data
            R = data.body('spherical_wrist_1_link').xmat.reshape(3, 3)
            loop.world.push(
                'spherical_wrist_1_link', np.concatenate([R.T @ wrench[:3], [0, 0, 0]])
            )
            assert arm.nv == 6

        recording = loop.run(1500, push)
        return recording['position'][:, 2].max()

    limit = model_of().upper_position_limit[2]
    assert deepest(0.1) < limit
    assert deepest(0.0) > limit - 0.01


def test_a_finger_with_little_range_is_kept_off_both_its_limits(tmp_path):
    """It rests where it began, a quarter of its range from one; the other does not push it."""
    hand = (DATA / 'arm_with_hand.urdf').read_text().replace('effort="0"', 'effort="80"')
    (tmp_path / 'hand.urdf').write_text(hand)
    options = {'end_effector_frame': 'finger_2', 'locked_joints': ['pan=0.3']}
    loop = ClosedLoop(
        robot=RobotFiles.of(model=str(tmp_path / 'hand.urdf'), **options), start=None
    )
    assert loop.model.joint_names[-1] == 'finger_1'
    assert np.ptp(loop.run(500)['position'][:, -1]) < 1e-6


def test_reference_wrench_presses():
    """Held by a stiff hand, the tool presses with what was asked."""
    loop = ClosedLoop(
        start=HOME,
        modes__impedance__reference_wrench=[0.0, 0.0, -8.0, 0.0, 0.0, 0.0],
    )
    loop.go('impedance', 0.001)
    moved = loop.pushed(np.array([0.0, 0.0, 8.0, 0.0, 0.0, 0.0]), 2.0)[:3]
    np.testing.assert_allclose(moved, 0.0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize('shape', ['axes', 'matrix'])
def test_damping_that_is_given(shape):
    """A spring of its own damping: 5 N still give 10 mm, and slowly where it is damped much."""
    damping = np.diag([200.0, 200.0, 200.0, 8.0, 8.0, 8.0])
    given = np.diag(damping) if shape == 'axes' else damping.ravel()
    loop = ClosedLoop(start=HOME, modes__impedance__damping=given.tolist())
    loop.go('impedance', 0.5)
    wrench = np.array([5.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    early = loop.pushed(wrench, 0.4)[:3]
    assert early[0] == pytest.approx(0.01 * (1 - np.exp(-1.0)), rel=0.15), 'D / K is 0.4 s'
    loop.world.push(TOOL, np.zeros(6))
    loop.run(3000)
    assert np.abs(loop.v).max() < 1e-3


@pytest.mark.parametrize(
    ('damping', 'message'), [([1.0] * 5, 'has 5 numbers'), ([-1.0] * 6, 'feed energy')]
)
def test_damping_that_is_none_is_refused(damping, message):
    parameters = changed(parameters_of(), modes__impedance__damping=damping)
    with pytest.raises(ConfigurationError, match=message):
        ControllerConfig.from_parameters(parameters, model_of())


@pytest.mark.slow
@pytest.mark.parametrize('axis', [0, 1, 2])
def test_inertia_that_is_wished_for_where_the_wrench_is_measured(axis):
    """5 kg on every axis: under a step of 5 N the tool moves as such a mass would."""
    loop = ClosedLoop(start=HOME, modes__impedance__inertia=[5.0, 5.0, 5.0, 0.1, 0.1, 0.1])
    loop.go('impedance', 0.2)
    force = np.zeros(3)
    force[axis] = 5.0
    before, speeds = loop.placement.translation, []

    def push() -> None:
        in_tool = loop.placement.rotation.T @ force
        loop.world.push(TOOL, np.concatenate([in_tool, np.zeros(3)]))
        loop.controller.set_measured_wrench(Force(in_tool, np.zeros(3)))
        R = loop.placement.rotation
        twist = loop.controller.config.arm.motion(loop.q, loop.v)[1]
        speeds.append((R @ twist.linear)[axis])

    loop.run(3000, push)
    # Critically damped at omega = sqrt(500 / 5): v(t) = (F / m) t exp(-omega t).
    times = 1e-3 * np.arange(3000)
    expected = 1.0 * times * np.exp(-10.0 * times)
    np.testing.assert_allclose(speeds, expected, atol=0.03 * expected.max())
    np.testing.assert_allclose(loop.placement.translation - before, force / 500.0, atol=5e-5)


def test_a_measured_wrench_that_stops_coming_counts_no_more():
    loop = ClosedLoop(start=HOME, modes__impedance__inertia=[5.0] * 3 + [0.1] * 3)
    loop.go('impedance', 0.2)
    before = loop.placement.translation
    loop.controller.set_measured_wrench(Force(np.array([0.0, 0.0, 5.0]), np.zeros(3)))
    loop.run(3000)
    np.testing.assert_allclose(loop.placement.translation, before, atol=1e-4)


def test_a_wrench_that_was_measured_before_a_new_start_counts_no_more():
    loop = ClosedLoop(start=HOME, modes__impedance__inertia=[5.0] * 3 + [0.1] * 3)
    loop.go('impedance', 0.2)
    before = loop.placement.translation
    # A run that had come further: by its time the wrench holds for 100 s of this one.
    loop.controller.restart(loop.time + 100.0, loop.q, loop.v)
    loop.controller.set_measured_wrench(Force(np.array([0.0, 0.0, 5.0]), np.zeros(3)))
    loop.controller.restart(loop.time, loop.q, loop.v)
    loop.go('impedance', 3.0)
    np.testing.assert_allclose(loop.placement.translation, before, atol=1e-4)


@pytest.mark.parametrize(
    'before',
    [
        Plant(position_noise=1e-4, velocity_noise=1e-2),
        pytest.param(Plant(rotor_inertia=0.05, joint_friction=1.0), marks=pytest.mark.slow),
        pytest.param(Plant(payload_mass=0.5, integrator='rk4'), marks=pytest.mark.slow),
    ],
    ids=['noise', 'rotors and friction', 'payload, continuous'],
)
@pytest.mark.parametrize('plant', [Plant(), Plant(encoder_bits=17)], ids=['exact', 'encoders'])
def test_a_new_start_is_as_the_first_one_to_the_last_bit(before, plant):
    """Anchor: encoders after noise, error doubled where what was learnt of the noise stays."""

    def torques(loop: ClosedLoop) -> np.ndarray:
        modes = ('home', 'down', 'impedance', 'float', 'gravity', 'jog', 'ready')
        return np.vstack([loop.go(mode, 0.6)['torque'] for mode in modes])

    loop = ClosedLoop(start=HOME, plant=before)
    for mode in ('ready', 'down', 'impedance', 'float', 'jog', 'home'):
        loop.go(mode, 0.6)
    other = ClosedLoop(start=HOME, plant=plant)
    loop.world = ClosedLoop(start=HOME, plant=plant).world
    for one in (loop, other):
        one.restart(HOME)  # both at the same time, which goes on
    assert np.array_equal(torques(loop), torques(other))


@pytest.mark.slow
def test_what_fades_while_the_arm_rests_is_gone():
    """The least of numbers, which are not normalised, would double the time of a tick."""
    loop = ClosedLoop(start=HOME)
    loop.go('home', 0.5)
    loop.go('gravity', 80.0)
    memory = loop.controller._engine.memory
    least = np.finfo(float).smallest_normal
    for name in memory.dtype.names:
        values = np.abs(np.asarray(memory[name], dtype=float))
        assert not ((values > 0.0) & (values < least)).any(), name
