"""Motions near the limits of speed and torque, one after the other, on plants beside the model."""

import mujoco
import numpy as np
import pytest
from closed_loop import HOME, ClosedLoop, model_of

from icir_control.errors import InvalidValueError
from icir_control.simulation import Plant

MODEL = model_of()
LOAD = {'payload_mass': 1.0, 'payload_offset': (0.1, 0.0, 0.0)}
ALL_AT_ONCE = {
    'observer.gain': 200.0,
    'observer.uncertain_inertia': 0.0,
    'observer.uncertain_mass': 0.0,
    'observer.uncertain_delay_steps': 0,
}


def errors_in_turn(plant, modes, **changes):
    """The greatest error of each mode, entered as soon as the one before has come to its end."""
    loop = ClosedLoop(start=np.zeros(6), plant=Plant(**plant), clearance=0.0, **changes)
    errors = []
    for mode in modes:
        loop.controller.select(mode)
        loop.clear_log()
        while loop.controller.motion_left > 0.0:
            loop.step(10)
        log = loop.log
        errors.append(np.abs(log['position'] - log['position_reference']).max())
    return np.array(errors)


@pytest.mark.slow
@pytest.mark.parametrize('mass', [1.1, 1.2])
@pytest.mark.parametrize('observer', [{}, ALL_AT_ONCE], ids=['shipped', 'fast'])
def test_what_one_motion_has_shown_of_a_heavier_arm_does_no_harm_in_the_next(mass, observer):
    """Without a rest between them; a heavier arm couples its joints, which a rotor does not."""
    modes = ('home', 'down', 'ready', 'home', 'down')
    errors = errors_in_turn({'mass_scale': mass}, modes, **observer)
    without = errors_in_turn({'mass_scale': mass}, modes, observer__gain=0.0)
    assert (errors < 0.6 * without).all(), errors / without


@pytest.mark.slow
@pytest.mark.parametrize('rotor', [0.05, 0.2])
def test_rotors_that_a_motion_has_shown_are_known_in_the_next_one_whatever_its_direction(rotor):
    modes = ('home', 'down', 'ready', 'home', 'down')
    errors = errors_in_turn({'rotor_inertia': rotor}, modes)
    without = errors_in_turn({'rotor_inertia': rotor}, modes, observer__gain=0.0)
    assert errors[0] < without[0]
    assert (errors[1:] < 0.05 * without[1:]).all(), errors / without


@pytest.mark.slow
@pytest.mark.parametrize(
    ('plant', 'start', 'goal', 'duration'),
    [
        (  # the last joint sticks, and is behind its path when it breaks away
            {'rotor_inertia': 0.05, 'joint_friction': 1.0},
            (0.855, 0.003, 0.549, 0.71, -1.127, -1.659),
            (0.282, -0.59, -0.353, 0.145, -0.925, -0.887),
            1.066,
        ),
        (  # the second joint has too little torque for a tenth of a second
            LOAD,
            (1.098, 0.776, 0.044, -0.771, -1.017, -0.42),
            (0.825, 0.505, 0.344, -0.68, -1.176, -0.459),
            0.5,
        ),
    ],
    ids=['sticking', 'saturated'],
)
def test_a_joint_that_is_behind_does_not_overspeed_where_it_would_not_without_the_observer(
    plant, start, goal, duration
):
    speeds, errors = [], []
    for gain in (25.0, 0.0):
        loop = ClosedLoop(
            start=np.array(start),
            plant=Plant(**plant),
            clearance=0.0,
            observer__gain=gain,
            modes__home__target_deg=np.degrees(goal).tolist(),
            modes__home__duration=duration,
        )
        loop.go('hold', 2.0)
        loop.go('home', duration + 0.5)
        assert loop.controller.mode == 'home', loop.controller.take_events()
        log = loop.log
        speeds.append(np.abs(log['velocity'] / MODEL.velocity_limit).max())
        errors.append(np.abs(log['position'] - log['position_reference']).max())
    assert max(speeds) < 1.2
    assert errors[0] < 1.05 * errors[1]


@pytest.mark.slow
@pytest.mark.parametrize('plant', [LOAD, {'payload_mass': 2.0}])
def test_an_arm_that_holds_a_load_up_comes_to_rest_after_a_push(plant):
    """What was learnt of a load at rest has a potential: it drives no joint round and round."""
    loop = ClosedLoop(start=HOME, plant=Plant(**plant))
    loop.go('hold', 2.3)
    loop.go('gravity', 0.5)
    world = loop.world
    world.data.xfrc_applied[world.model.body('forearm_link').id, 1] = 20.0
    loop.run(500)
    world.data.xfrc_applied[:] = 0.0
    loop.run(60000)
    speeds = np.abs(loop.log['velocity'] / MODEL.velocity_limit).max(axis=1)
    assert speeds[-20000:].max() < 0.05


def test_the_brake_gives_a_loaded_arm_no_energy():
    """A load that swings at the last joint, thrown by a push; kinetic and potential energy."""
    loop = ClosedLoop(start=HOME, plant=Plant(**LOAD))
    loop.go('hold', 2.0)
    world = loop.world
    world.model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    world.data.xfrc_applied[world.model.body('bracelet_link').id, :3] = (120.0, 80.0, 0.0)
    while loop.controller.braked_by is None:
        loop.step()
    world.data.xfrc_applied[:] = 0.0
    energies = []
    for _ in range(40):
        loop.step(5)
        mujoco.mj_forward(world.model, world.data)
        energies.append(world.data.energy.sum())
    # What was learnt of the load in one posture errs in others, by less than the load weighs.
    assert max(energies) < energies[0] + 0.5
    assert energies[-1] < energies[0]


@pytest.mark.slow
@pytest.mark.parametrize('mode', ['gravity', 'float', 'impedance'])
@pytest.mark.parametrize('beyond', [0.0, 0.05, 0.1])
def test_an_arm_that_starts_beyond_a_position_limit_stays_there(mode, beyond):
    """Anchor: up to 2.2 rad/s and 0.6 rad far, without any command."""
    loop = ClosedLoop(start=HOME, clearance=0.0)
    world = loop.world
    world.model.jnt_limited[:] = 0
    world.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    world.data.qpos[2] = MODEL.upper_position_limit[2] + beyond
    start = world.data.qpos.copy()
    mujoco.mj_forward(world.model, world.data)
    loop.controller.restart(loop.time, *world.measured, 1)
    loop.clear_log()
    loop.go(mode, 3.0)
    assert np.abs(loop.log['velocity']).max() < 1e-6
    # It gives way inwards, and no farther out.
    loop.world.data.qfrc_applied[2] = 10.0
    assert loop.run(1000)['position'][:, 2].max() < start[2] + 0.04
    loop.world.data.qfrc_applied[2] = -10.0
    assert loop.run(1000)['position'][-1, 2] < start[2] - 0.05


@pytest.mark.slow
@pytest.mark.parametrize('mode', ['hold', 'impedance', 'home'])
@pytest.mark.parametrize(
    ('wrong', 'words'),
    [
        ((np.full(6, np.nan), np.zeros(6)), 'q = .*nan.* expected 6 finite numbers'),
        ((HOME, [0.0, 0.0, np.inf, 0.0, 0.0, 0.0]), 'v = .*inf'),
        ((HOME[:5], np.zeros(5)), 'expected 6 finite numbers'),
        ((1e200 * HOME, np.zeros(6)), 'none above 1e[+]100'),
    ],
    ids=['nan', 'inf', 'short', 'huge'],
)
def test_a_state_that_is_none_is_refused_and_the_next_one_is_answered(mode, wrong, words):
    loop = ClosedLoop(start=HOME)
    loop.go(mode, 0.1)
    with pytest.raises(InvalidValueError, match=words):
        loop.controller.tick(loop.time + 1e-3, *wrong)
    loop.run(500)
    assert loop.controller.mode == mode
    assert np.isfinite(loop.controller.torque).all()
    assert np.abs(loop.q - HOME).max() < 1e-3
    assert not loop.controller.take_events()


@pytest.mark.slow
@pytest.mark.parametrize('rotor', [0.005, 0.05])
@pytest.mark.parametrize('moves', [False, True])
def test_an_arm_whose_rotors_are_gone_comes_to_rest(rotor, moves):
    """What was a part of the model is none any more once the watchdog has to stop the arm."""
    loop = ClosedLoop(start=HOME, plant=Plant(rotor_inertia=rotor), clearance=0.0)
    loop.go('ready', 2.5)
    loop.go('home', 2.5)
    if moves:
        loop.go('ready', 1.0)
    loop.world.model.dof_armature[:] = 0.0
    loop.run(6000)  # held at once, the last joint creeps until 1 N m of its estimate has died away
    assert np.abs(loop.log['velocity'] / MODEL.velocity_limit)[-1000:].max() < 1e-3
    loop.go('home', 2.5)
    assert loop.controller.mode == 'home'
    assert np.abs(loop.q - HOME).max() < 1e-3


def test_an_arm_that_is_thrown_to_a_hundred_times_its_limits_is_stopped():
    """243 N at the tool for 0.8 s; a brake of twice the damping made the plant diverge."""
    for phase in (0.577, 0.581, 0.61):
        loop = ClosedLoop(start=HOME)
        loop.go('hold', 0.3)
        loop.go('home', phase)
        loop.world.push(loop.tool, [-109.1, -189.5, 108.0, 0.0, 0.0, 0.0])
        loop.run(777)
        loop.world.clear_push(loop.tool)
        loop.run(3000)
        assert np.abs(loop.v / MODEL.velocity_limit).max() < 0.05
