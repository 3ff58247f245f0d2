"""The demo's figures from recorded arrays: right ones pass, and each kind of wrong one is seen."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from icir_control.app.acceptance import Check
from icir_control.app.figure import Figure
from icir_control.app.figures import figures_of, run_figures
from icir_control.app.parts import parts_of
from icir_control.app.plan import Phase, Push, schedule_of
from icir_control.app.recording import DifferentRunsError, Recording
from icir_control.app.replay import Replay
from icir_control.app.report import has_passed, table_of, write_report
from icir_control.app.robot import Robot
from icir_control.control import Controller, ControllerConfig
from icir_control.dynamics import load_urdf
from icir_control.errors import ConfigurationError, RefusedError, UnknownNameError
from icir_control.nodes.model_file import find_model_file
from icir_control.share import share_directory
from icir_control.simulation import World

TOOL = 'end_effector_link'
PHASES = (
    Phase('gravity', 0.0, 0.1),
    Phase('home', 0.1, 2.3),
    Phase('down', 2.3, 4.5),
    Phase('jog', 4.5, 4.8),
    Phase('float', 4.8, 5.4, (Push(4.9, 0.5, 0, 10.0),)),
    Phase('hold', 5.4, 6.2),
)


@pytest.fixture(scope='module')
def robot():
    return Robot.of()


@pytest.fixture(scope='module')
def config(robot):
    model = load_urdf(find_model_file(robot.model))
    parameters = robot.parameters('controller') | {'schedule': schedule_of(PHASES)}
    del parameters['model']
    return ControllerConfig.from_parameters(parameters, model)


def simulated(robot, config, *, plant_torque=lambda torque: torque):
    """Run the phases without ROS; a row for each state, as a recorder would have seen it."""
    model = config.arm.model
    world = World(
        find_model_file(robot.model), joint_names=model.joint_names, end_effector_frame=TOOL
    )
    controller = Controller(model, config)
    q, v, effort = np.zeros((3, model.nv))
    rows = []
    pushes = [push for phase in PHASES for push in phase.pushes]
    for k in range(round(PHASES[-1].end / 1e-3) + 1):
        world.read(q, v, effort)
        time = k * 1_000_000 * 1e-9
        rows.append((time, q.copy(), v.copy(), effort.copy()))
        if k == 0:
            controller.restart(time, q, v)
        for push in pushes:
            if abs(time - push.start) < 1e-9:
                world.push(TOOL, push.wrench)
            if abs(time - push.end) < 1e-9:
                world.clear_push(TOOL)
        world.step(plant_torque(controller.tick(time, q, v)))
    time, position, velocity, effort = map(np.array, zip(*rows, strict=True))
    told = {time[100]: config.arm.placement(position[100]).translation}
    return Recording(time, position, velocity, effort, told, wall_seconds=2.0, end=PHASES[-1].end)


@pytest.fixture(scope='module')
def recording(robot, config):
    return simulated(robot, config)


def replayed(recording, config):
    return Replay.of(recording, Controller(config.arm.model, config))


def measured(recording, config):
    replay = replayed(recording, config)
    figures = {
        part.phase.mode: figures_of(part) for part in parts_of(PHASES, config, recording, replay)
    }
    return figures | {'run': run_figures(recording, replay)}


def value_of(figures, mode, name):
    (value,) = [figure.value for figure in figures[mode] if figure.name == name]
    return value


def test_a_run_as_it_should_be_passes(recording, config):
    figures = measured(recording, config)
    assert has_passed(figures), figures
    assert recording.steps == 6200
    assert recording.real_time_factor == pytest.approx(6.2 / 2.0)


def test_the_reference_is_the_cubic_of_the_tutorial(recording, config):
    """s(u) = 3 u^2 - 2 u^3, in the joints and along the straight line, written out here."""
    parts = {
        part.phase.mode: part
        for part in parts_of(PHASES, config, recording, replayed(recording, config))
    }
    for mode, reference, goal in (
        ('home', parts['home'].position_reference, np.deg2rad([0, 45, 90, 0, 45, -90])),
        ('down', parts['down'].pose_reference[0], None),
    ):
        part = parts[mode]
        u = np.clip((part.time - part.phase.start) / 2.0, 0.0, 1.0)[:, None]
        way = np.array([0.0, 0.0, -0.05]) if goal is None else goal - reference[0]
        expected = reference[0] + (3.0 * u**2 - 2.0 * u**3) * way
        np.testing.assert_allclose(reference, expected, atol=1e-13)


def test_hold_brings_a_moving_arm_to_rest_in_time_and_there_it_stays(recording, config):
    figures = measured(recording, config)
    start, halt = 5400, 5900
    assert np.abs(recording.velocity[start]).max() > 0.1
    assert np.abs(recording.velocity[halt:]).max() < 1e-5
    assert value_of(figures, 'hold', 'drift_rad') < 1e-6
    moved = recording.position.copy()
    moved[6000:] += 2e-6
    figures = measured(replace(recording, position=moved), config)
    assert value_of(figures, 'hold', 'drift_rad') == pytest.approx(2e-6, rel=0.1)


def test_the_controllers_own_reference_is_the_same(recording, config):
    replay = replayed(recording, config)
    for part in parts_of(PHASES, config, recording, replay):
        own = replay.position_reference[part.rows], replay.translation_reference[part.rows]
        np.testing.assert_allclose(own[0], part.position_reference, atol=1e-12)
        np.testing.assert_allclose(own[1], part.pose_reference[0], atol=1e-12)


def test_a_lost_state_is_counted(recording, config):
    kept = np.delete(np.arange(len(recording.time)), [1000, 1001])
    arrays = {
        name: getattr(recording, name)[kept] for name in ('time', 'position', 'velocity', 'effort')
    }
    figures = measured(replace(recording, **arrays), config)
    assert value_of(figures, 'run', 'lost_states') == 2
    assert not has_passed(figures)


def test_a_second_run_fills_the_gaps_of_the_first(recording):
    def without(*rows):
        kept = np.delete(np.arange(len(recording.time)), rows)
        names = ('time', 'position', 'velocity', 'effort')
        return replace(recording, **{name: getattr(recording, name)[kept] for name in names})

    united = without(10, 11, 4000).united(without(5000))
    assert united.lost == 0
    for name in ('time', 'position', 'velocity', 'effort'):
        np.testing.assert_array_equal(getattr(united, name), getattr(recording, name))
    assert without(10, 20).united(without(10)).lost == 1
    assert without(10, 6199, 6200).lost == 3


def test_a_second_run_that_differs_in_a_bit_is_seen(recording):
    velocity = recording.velocity.copy()
    velocity[1234, 2] = np.nextafter(velocity[1234, 2], np.inf)
    with pytest.raises(DifferentRunsError, match=r'velocity at 1\.234 s'):
        recording.united(replace(recording, velocity=velocity))


def test_an_arm_that_does_not_get_the_torque_is_out_of_bounds(robot, config):
    figures = measured(simulated(robot, config, plant_torque=lambda tau: 0.9 * tau), config)
    assert value_of(figures, 'home', 'peak_joint_error_rad') > 20e-6
    assert value_of(figures, 'down', 'peak_position_error_m') > 3e-6
    assert value_of(figures, 'jog', 'peak_position_error_m') > 3e-6
    assert value_of(figures, 'hold', 'peak_joint_error_rad') > 20e-6
    assert value_of(figures, 'run', 'command_difference_nm') > 1e-3
    assert not has_passed(figures)


def test_a_mode_that_did_not_run_has_not_passed(recording, config):
    other = tuple(
        replace(phase, mode='ready') if phase.mode == 'home' else phase for phase in PHASES
    )
    parts = parts_of(other, config, recording, replayed(recording, config))
    (ready,) = [figures_of(part) for part in parts if part.phase.mode == 'ready']
    assert not has_passed({'ready': ready})


def test_a_published_reference_that_differs_is_seen(recording, config):
    told = {stamp: position + 1e-6 for stamp, position in recording.told_reference.items()}
    figures = measured(replace(recording, told_reference=told), config)
    assert value_of(figures, 'run', 'reference_difference_m') == pytest.approx(
        1e-6 * np.sqrt(3.0), rel=1e-3
    )
    assert not has_passed(figures)


def test_a_figure_keeps_both_its_bounds():
    assert Figure('displacement_m', 0.1, 0.25, 0.015).passed
    assert not Figure('displacement_m', 0.3, 0.25, 0.015).passed
    assert not Figure('displacement_m', 0.01, 0.25, 0.015).passed
    assert not Figure('displacement_m', np.nan, 0.25, 0.015).passed


def test_the_table_names_unit_value_and_verdict():
    figures = {
        'home': [Figure('peak_joint_error_rad', 12e-6, 20e-6)],
        'float': [Figure('displacement_m', 0.3, 0.25, 0.015)],
        'observer': [Figure('mass_ratio', 12.0, lower=25.0)],
    }
    console = Console(width=100, no_color=True)
    with console.capture() as shown:
        console.print(table_of(figures, 'mode'))
    lines = [' '.join(line.split()) for line in shown.get().splitlines()]
    assert 'home peak joint error 12 urad <= 20 urad ok' in lines
    assert 'float displacement 300 mm 15 to 250 mm OUT' in lines
    assert 'observer mass ratio 12 >= 25 OUT' in lines


def test_the_report_says_what_could_not_be_measured(tmp_path, recording):
    path = tmp_path / 'deep' / 'report.json'
    modes = {'home': [Figure('ran', np.nan, 1.0, 1.0)]}
    run = [Figure('lost_states', 0.0, 0.0)]
    write_report(path, modes, run, {}, recording)
    report = json.loads(path.read_text())
    assert report['passed'] is False
    assert report['modes'] == {'home': {'ran': None}}
    assert report['acceptance'] == {}
    assert report['steps'] == 6200


def test_a_promise_that_is_not_kept_fails_the_report(tmp_path, recording):
    path = tmp_path / 'report.json'
    ratio = Figure('mass_ratio', 12.0, lower=25.0)
    write_report(path, {}, [], {'observer down': [ratio]}, recording)
    report = json.loads(path.read_text())
    assert report['passed'] is False
    assert report['acceptance'] == {'observer_down': {'mass_ratio': 12.0}}
    assert report['bounds']['acceptance'] == {'observer_down': {'mass_ratio': [25.0, None]}}


def test_a_promise_that_ends_in_an_error_is_out_of_bounds():
    def broken():
        yield Figure('drift_rad', 0.0, 1.0)
        raise RefusedError('the arm is gone')

    figures = list(Check('broken', broken).figures())
    assert [figure.passed for figure in figures] == [True, False]
    assert 'the arm is gone' in figures[1].name


def test_the_schedule_leaves_the_first_phase_to_the_controller():
    assert schedule_of(PHASES) == ['0.1 home', '2.3 down', '4.5 jog', '4.8 float', '5.4 hold']


@pytest.mark.parametrize(
    ('text', 'model', 'overrides'),
    [
        ('/**/mujoco_bridge: {ros__parameters: {model: MODEL}}', 'MODEL', False),
        ('/**: {ros__parameters: {model: MODEL}}', 'MODEL', False),
        ('/**/controller: {ros__parameters: {schedule: []}}', 'gen3_6dof.urdf', True),
        ('', 'gen3_6dof.urdf', True),
    ],
)
def test_the_model_is_the_files_where_it_names_one(tmp_path, text, model, overrides):
    other = tmp_path / 'other.urdf'
    other.write_text('<robot name="other"/>')
    params = tmp_path / 'params.yaml'
    params.write_text(text.replace('MODEL', str(other)))
    robot = Robot.of(params_file=str(params))
    assert robot.model.endswith(model.replace('MODEL', 'other.urdf'))
    assert robot.overrides_model is overrides
    assert Robot.of(params_file=str(params), model=str(other)).overrides_model


@pytest.mark.parametrize('text', ['a: [', '\0'])
def test_a_parameter_file_that_is_no_yaml_is_named(tmp_path, text):
    params = tmp_path / 'params.yaml'
    params.write_text(text)
    with pytest.raises(ConfigurationError, match=r'params\.yaml is not YAML'):
        Robot.of(params_file=str(params))


def test_a_robot_that_does_not_ship_is_refused_with_those_that_do():
    with pytest.raises(UnknownNameError, match='gen3_6dof'):
        Robot.of('r2d2')
    assert Robot.of().description() == (share_directory() / 'urdf/gen3_6dof.urdf').read_text()
    assert Path(Robot.of().params_file).name == 'gen3_6dof.yaml'
