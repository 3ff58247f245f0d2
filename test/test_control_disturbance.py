"""Wrong models and delays: what the observer and the predictor make of them."""

from dataclasses import replace

import numpy as np
import pytest
from closed_loop import HOME, READY, ClosedLoop, model_of, parameters_of
from test_control_compliance import TOOL

from icir_control.app.promises.accuracy import (
    NOISE,
    PLANTS,
    delayed_errors,
    observer_ratio,
)
from icir_control.app.promises.compliance import push_difference, stiffness_errors
from icir_control.app.promises.plants import DEVIATIONS
from icir_control.dynamics import ReferenceFrame, compute_all_terms, frame_jacobian
from icir_control.simulation import Plant

# `make demo` measures the same (`test_app_demo`, PROMISED).
measured_in_the_demo = pytest.mark.long

GAIN = 200.0  # 1/s, of the observer
OFF_AXIS = Plant(payload_mass=1.0, payload_offset=[0.05, 0.0, 0.0])
RESTING = {'mass': PLANTS['mass'], 'payload': Plant(payload_mass=1.0)}
"""Plants whose weight is learnt at rest."""

# With which the cubics begin: 6 times the way by the square of the duration.
HOME_ACCELERATION = 6.0 * np.abs(HOME).max() / 2.0**2  # rad/s^2
DOWN_ACCELERATION = 6.0 * 0.05 / 2.0**2  # m/s^2


@measured_in_the_demo
@pytest.mark.parametrize('noise', [0.0, NOISE])
@pytest.mark.parametrize('plant', PLANTS)
def test_observer_divides_the_error_of_a_wrong_model(plant, noise):
    ratio = observer_ratio('home', replace(PLANTS[plant], velocity_noise=noise))
    assert ratio >= (1.4 if noise else 3.0)


@measured_in_the_demo
@pytest.mark.parametrize('plant', PLANTS)
def test_observer_in_task_space(plant):
    assert observer_ratio('down', PLANTS[plant]) >= 3.0


def test_observer_tells_the_disturbance():
    """Held at home under a wrench, it settles at J^T f and at what a payload weighs."""
    loop = ClosedLoop(start=HOME, observer__gain=GAIN)
    loop.go('home', 2.2)
    wrench = np.array([4.0, -3.0, 5.0, 0.2, 0.1, -0.3])
    loop.pushed(wrench, 2.0)  # the lightest joint has the least gain, 3 1/s
    model = model_of()
    data = model.create_data()
    compute_all_terms(model, data, loop.q, np.zeros(6))
    tool = model.frame_id('end_effector_link')
    J = frame_jacobian(model, data, tool, ReferenceFrame.LOCAL_WORLD_ALIGNED)
    np.testing.assert_allclose(loop.controller.disturbance, J.T @ wrench, atol=1e-3)


@measured_in_the_demo
@pytest.mark.parametrize('mode', ['float', 'impedance'])
@pytest.mark.parametrize('axis', range(3))
def test_observer_does_not_cancel_a_hand(mode, axis):
    assert push_difference(mode, axis) <= 0.1


@pytest.mark.long
@pytest.mark.parametrize('name', DEVIATIONS)
def test_static_stiffness_on_plants_that_are_not_the_model(name):
    """In all six axes. MuJoCo's dry friction yields slowly to less than its 1 N m."""
    seconds = 15.0 if name == 'friction' else 4.0
    for axis in range(6):
        error, coupling = stiffness_errors(axis, Plant(**DEVIATIONS[name]), seconds)
        assert error < 0.05
        assert coupling < 0.02


@pytest.mark.slow
def test_weight_of_a_load_turns_with_the_tool():
    """Borne as constant torques of the joints, it would pull the tool off its spring."""
    loop = ClosedLoop(start=HOME, plant=OFF_AXIS)
    loop.go('hold', 3.0)
    before = loop.placement
    loop.go('impedance', 0.5)
    moved = loop.pushed(np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0]), 4.0)
    np.testing.assert_allclose(moved, [0.0, 0.0, 0.0, 0.05, 0.0, 0.0], rtol=0, atol=2e-4)
    loop.run(4000)
    assert np.linalg.norm(loop.placement.translation - before.translation) < 1e-4


def largest_step(torque) -> float:
    """Greatest change of a joint's torque from one tick to the next [N m]."""
    return np.abs(np.diff(torque, axis=0)).max()


@pytest.mark.slow
@pytest.mark.parametrize('mode', ['home', 'float'])
def test_observer_switched_off_while_running(mode):
    """What it cancels dies away without a jump, and is then gone; it tells of nothing more."""
    loop = ClosedLoop(start=HOME, plant=Plant(payload_mass=1.0), observer__gain=GAIN)
    loop.go('home', 1.0)
    torque = [*loop.go(mode, 0.5)['torque_unsaturated']]
    assert np.abs(loop.controller.torque_terms['observer']).max() > 3.0
    loop.controller.update({'observer.gain': 0.0})
    torque += [*loop.run(1)['torque_unsaturated']]
    np.testing.assert_array_equal(loop.controller.disturbance, 0.0)
    # In float the arm then sinks, and meets a position limit after 2 s.
    torque += [*loop.run(1500)['torque_unsaturated']]
    assert largest_step(torque) < 0.1
    loop.run(1000)
    assert np.abs(loop.controller.torque_terms['observer']).max() < 1e-9
    if mode == 'home':
        torque = loop.controller.torque.copy()
        never = ClosedLoop(start=HOME, plant=Plant(payload_mass=1.0), observer__gain=0.0)
        never.go('home', 3.0)
        np.testing.assert_allclose(torque, never.controller.torque, atol=1e-6)


def test_observer_switched_off_where_nothing_is_cancelled():
    loop = ClosedLoop(start=HOME, plant=Plant(payload_mass=1.0), observer__gain=GAIN)
    loop.run(100)
    assert np.abs(loop.controller.disturbance).max() > 1.0
    loop.controller.update({'observer.gain': 0.0})
    loop.run(1)
    np.testing.assert_array_equal(loop.controller.disturbance, 0.0)


def entered_in_motion(mode: str, gain: float, plant: Plant) -> np.ndarray:
    """Where the tool is 0, 1 and 2 s after a mode was entered on the way to `home`."""
    loop = ClosedLoop(start=READY, plant=plant, observer__gain=gain, watchdog__speed=0.0)
    loop.go('hold', 0.5)
    loop.go('home', 1.0)
    assert np.abs(loop.v).max() > 1.0
    places = [loop.placement.translation]
    loop.controller.select(mode)
    for _ in range(2):
        loop.run(1000)
        places.append(loop.placement.translation)
    return np.array(places)


@pytest.mark.slow
@pytest.mark.parametrize('mode', ['gravity', 'float', 'impedance'])
@pytest.mark.parametrize('plant', ['damping', 'friction'])
def test_friction_learnt_in_motion_does_not_push_a_yielding_arm(mode, plant):
    """Once its motion has died away the arm goes no farther than it does without observer."""
    off = entered_in_motion(mode, 0.0, PLANTS[plant])
    on = entered_in_motion(mode, GAIN, PLANTS[plant])
    further = [np.linalg.norm(places[2] - places[1]) for places in (off, on)]
    assert further[1] < further[0] + 2e-3


@pytest.mark.parametrize('mode', ['gravity', 'float', 'impedance'])
@pytest.mark.parametrize('plant', ['mass', 'payload'])
def test_weight_learnt_at_rest_is_borne_by_a_yielding_arm(mode, plant):
    loop = ClosedLoop(start=HOME, plant=RESTING[plant], observer__gain=GAIN)
    loop.go('hold', 2.0)
    before = loop.placement.translation
    loop.go(mode, 1.0)
    assert np.linalg.norm(loop.placement.translation - before) < 1e-5


@pytest.mark.slow
@pytest.mark.parametrize('plant', ['mass', 'payload'])
def test_weight_learnt_at_rest_is_borne_also_by_an_arm_that_was_moving(plant):
    """What the tool sinks in the second after its motion has died away."""
    off = entered_in_motion('float', 0.0, RESTING[plant])
    on = entered_in_motion('float', GAIN, RESTING[plant])
    sunk = [places[1, 2] - places[2, 2] for places in (off, on)]
    assert abs(sunk[1]) < 0.3 * sunk[0]


def test_weight_is_learnt_at_rest_in_noise():
    """The noise of a velocity passed for motion: an impedance sank by 20 mm under 1 kg."""
    noise = {'position_noise': 1e-4, 'velocity_noise': 1e-2}
    loop = ClosedLoop(start=HOME, plant=Plant(payload_mass=1.0, **noise))
    loop.go('hold', 2.0)
    before = loop.placement.translation
    loop.go('impedance', 1.0)
    assert np.linalg.norm(loop.placement.translation - before) < 4e-3


def put_down(loop):
    """Take the payload of 1 kg away."""
    model = loop.world.model
    body = model.nbody - 1
    assert model.body_mass[body] == pytest.approx(1.0)
    model.body_mass[body] *= 1e-9
    model.body_inertia[body] *= 1e-9


@pytest.mark.slow
@pytest.mark.parametrize('robot', ['gen3_6dof', 'gen3_7dof'])
@pytest.mark.parametrize('mode', ['gravity', 'float', 'impedance'])
@pytest.mark.parametrize('moving', [False, True])
def test_a_load_that_was_put_down_is_not_borne_by_a_yielding_arm(robot, mode, moving):
    """The arm was driven away by a weight of 1 kg that was learnt before, and is gone."""
    home = np.radians(parameters_of(robot)['modes']['home']['target_deg'])
    plant = Plant(payload_mass=1.0, payload_offset=[0.05, 0.0, 0.05])
    loop = ClosedLoop(robot=robot, start=home, plant=plant)
    loop.go('hold', 2.0)
    if moving:
        loop.go('ready', 0.3)
    put_down(loop)
    loop.run(500 if moving else 50)
    limit = loop.model.velocity_limit
    coasting = np.abs(loop.world.velocity / limit).max()
    log = loop.go(mode, 2.0)
    assert np.abs(log['velocity'] / limit).max() < max(0.7, 1.2 * coasting)
    assert np.abs(log['position'][-1] - log['position'][1000]).max() < 0.1
    assert not any('braked' in event.text for event in loop.controller.take_events())


def test_a_hand_is_cancelled_little_by_little_where_the_arm_is_held_again():
    """The step of torque that a pushed arm needs to be held is no greater than without it."""

    def step_of_hold(gain: float) -> float:
        loop = ClosedLoop(start=HOME, observer__gain=gain)
        loop.go('gravity', 0.2)
        loop.world.push(TOOL, np.array([0.0, 10.0, 0.0, 0.0, 0.0, 0.0]))
        before = loop.run(100)['torque_unsaturated'][-1]
        step = largest_step([before, *loop.go('hold', 0.1)['torque_unsaturated']])
        if gain > 0.0:
            assert np.abs(loop.controller.disturbance).max() > 3.0
            cancelled = -loop.controller.torque_terms['observer']
            np.testing.assert_allclose(cancelled, loop.controller.disturbance, atol=0.1)
        return step

    assert step_of_hold(GAIN) < step_of_hold(0.0) + 0.5


@pytest.mark.parametrize('gain', [0.0, 25.0])
@pytest.mark.parametrize(
    'delay', [1, *(pytest.param(steps, marks=pytest.mark.slow) for steps in (2, 3))]
)
def test_predictor_makes_up_for_a_delay(delay, gain):
    """Off the path at the clock's time only by what it goes before the first torque arrives."""
    observer = {'observer.gain': gain}
    joints, tool = delayed_errors(delay, delay, observer)
    late = delay * (delay + 1) / 2
    assert joints < 1.15 * HOME_ACCELERATION * 1e-6 * late
    assert tool < 4.0 * DOWN_ACCELERATION * 1e-6 * late
    without = delayed_errors(delay, 0, observer)
    assert joints < 0.5 * without[0]
    assert tool < 0.8 * without[1]


def test_without_a_predictor_three_steps_of_delay_are_too_many():
    loop = ClosedLoop(plant=Plant(delay_steps=3))
    assert loop.go('home', 3.0).joint_error() > 1e-3


@pytest.mark.parametrize(
    ('joint', 'velocity'), [(0, 1e4), (1, 1e4), (1, -300.0), (3, 1e4)], ids=str
)
def test_one_sample_of_the_velocity_that_is_wrong_leaves_nothing_behind(joint, velocity):
    """Anchors: for 1e4 rad/s 60 to 72 times the speed limit, 5 rad off, stopped.

    The first sample of the torque that the model does not explain filled the estimates of all
    joints. The feedback alone, whose torque saturates for one tick, is as fast as this.
    """
    loops = [ClosedLoop(start=HOME, observer__gain=gain) for gain in (25.0, 0.0)]
    fastest = []
    for loop in loops:
        loop.go('home', 0.5)
        q, v = loop.world.position, loop.world.velocity.copy()
        v[joint] += velocity
        loop.world.step(loop.controller.tick(loop.time, q, v))
        log = loop.run(2500)
        assert loop.controller.mode == 'home'
        fastest.append(np.abs(log['velocity']).max())
    assert fastest[0] < 1.05 * fastest[1]
    assert np.abs(loops[0].q - HOME).max() < 1e-4


@pytest.mark.parametrize('share', [0.05, 0.2])
def test_a_missed_tick_does_not_hide_the_rotors(share):
    """The arm left its path by half a radian: changes over two periods passed for those of one."""
    rng = np.random.default_rng(0)
    loop = ClosedLoop(start=HOME, plant=Plant(rotor_inertia=0.05))
    loop.go('hold', 0.3)
    loop.controller.select('ready')
    worst = 0.0
    for _ in range(2500):
        if rng.random() < share:
            loop.world.step(loop.controller.torque)
        loop.step()
        worst = max(worst, np.abs(loop.controller.tracking_error[0]).max())
    assert worst < 3e-3
