"""The demo's metrics from recorded arrays: right ones pass, and each kind of wrong one is seen."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from icir_control.app.closed_loop import ClosedLoop
from icir_control.app.demo import table_of, write_report
from icir_control.app.demo.metrics import (
    command_difference,
    phase_metrics,
    replay,
    run_metrics,
    split,
)
from icir_control.app.demo.plan import Phase, Push, schedule_of
from icir_control.app.demo.rehearsal import rehearsed
from icir_control.app.demo.run import Run
from icir_control.app.measurement import DifferentRunsError, Metric, TimeSeries, have_passed
from icir_control.app.promises import measured as measured_promise
from icir_control.app.robot import RobotFiles
from icir_control.control import Controller, ControllerConfig, Law
from icir_control.control.config import Mode
from icir_control.dynamics import load_urdf
from icir_control.errors import ConfigurationError, RefusedError, UnknownNameError
from icir_control.nodes.transport.messages import FIELDS
from icir_control.share import find_model_file, share_directory
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
    return RobotFiles.of()


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
        state = {'position': q.copy(), 'velocity': v.copy(), 'effort': effort.copy()}
        rows.append({'time': time, **state})
        if k == 0:
            controller.restart(time, q, v, world.plant.euler_steps)
        for push in pushes:
            if abs(time - push.start) < 1e-9:
                world.push(TOOL, push.wrench)
            if abs(time - push.end) < 1e-9:
                world.clear_push(TOOL)
        world.step(plant_torque(controller.tick(time, q, v)))
    states = TimeSeries.from_rows(rows)
    place = config.arm.placement(states['position'][100]).translation
    published = TimeSeries(states.time[[100]], {'translation': place[None]})
    return Run(states, published, wall_seconds=2.0, end=PHASES[-1].end)


def world_of(config):
    return World(
        find_model_file(RobotFiles.of().model),
        joint_names=config.arm.model.joint_names,
        end_effector_frame=TOOL,
    )


@pytest.fixture(scope='module')
def run(robot, config):
    return simulated(robot, config)


def replayed(run, config):
    return replay(run.states, Controller(config.arm.model, config))


def with_columns(run, **columns):
    return replace(run, states=run.states.with_columns(columns))


def without(run, *rows):
    """The run as a recorder would have it that has missed some states."""
    return replace(run, states=run.states.take(np.delete(np.arange(len(run.states)), rows)))


def measured(run, config, phases=PHASES):
    series = replayed(run, config)
    parts = split(series, phases, config)
    metrics = {mode: phase_metrics(part) for mode, part in parts.items()}
    return metrics | {'run': run_metrics(run, series, parts, config, world_of(config))}


def value_of(metrics, mode, key):
    (value,) = [metric.value for metric in metrics[mode] if metric.key == key]
    return value


def test_a_run_as_it_should_be_passes(run, config):
    metrics = measured(run, config)
    assert have_passed(metrics), metrics
    assert run.steps == 6200
    assert run.real_time_factor == pytest.approx(6.2 / 2.0)


def test_the_reference_is_the_cubic_of_the_tutorial(run, config):
    """s(u) = 3 u^2 - 2 u^3, in the joints and along the straight line, written out here."""
    parts = split(replayed(run, config), PHASES, config)
    for mode, column, goal in (
        ('home', 'position_reference', np.deg2rad([0, 45, 90, 0, 45, -90])),
        ('down', 'translation_reference', None),
    ):
        phase, part = parts[mode].phase, parts[mode].rows
        reference = part[column]
        u = np.clip((part.time - phase.start) / 2.0, 0.0, 1.0)[:, None]
        way = np.array([0.0, 0.0, -0.05]) if goal is None else goal - reference[0]
        expected = reference[0] + (3.0 * u**2 - 2.0 * u**3) * way
        np.testing.assert_allclose(reference, expected, atol=1e-13)


@pytest.mark.slow
def test_hold_brings_a_moving_arm_to_rest_in_time_and_there_it_stays(run, config):
    metrics = measured(run, config)
    start, halt = 5400, 5900
    velocity = run.states['velocity']
    assert np.abs(velocity[start]).max() > 0.1
    assert np.abs(velocity[halt:]).max() < 1e-5
    assert value_of(metrics, 'hold', 'drift_rad') < 1e-6
    moved = run.states['position'].copy()
    moved[6000:] += 2e-6
    metrics = measured(with_columns(run, position=moved), config)
    assert value_of(metrics, 'hold', 'drift_rad') == pytest.approx(2e-6, rel=0.1)


def test_the_controllers_own_reference_is_the_same(run, config):
    series = replayed(run, config)
    for part in split(series, PHASES, config).values():
        own = series.between(part.phase.start, part.phase.end)
        for column in ('position_reference', 'translation_reference', 'rotation_reference'):
            np.testing.assert_allclose(own[column], part.rows[column], atol=1e-12)


def test_a_lost_state_is_counted(run, config):
    metrics = measured(without(run, 1000, 1001), config)
    assert value_of(metrics, 'run', 'lost_states') == 2
    assert not have_passed(metrics)


def test_a_second_run_fills_the_gaps_of_the_first(run):
    merged = without(run, 10, 11, 4000).merged(without(run, 5000))
    assert merged.lost == 0
    np.testing.assert_array_equal(merged.states.time, run.states.time)
    for name in FIELDS:
        np.testing.assert_array_equal(merged.states[name], run.states[name])
    assert without(run, 10, 20).merged(without(run, 10)).lost == 1
    assert without(run, 10, 6199, 6200).lost == 3


def test_a_second_run_that_differs_in_a_bit_is_seen(run):
    velocity = run.states['velocity'].copy()
    velocity[1234, 2] = np.nextafter(velocity[1234, 2], np.inf)
    with pytest.raises(DifferentRunsError, match=r'velocity at 1\.234 s') as caught:
        run.merged(with_columns(run, velocity=velocity))
    assert (caught.value.column, caught.value.time) == ('velocity', pytest.approx(1.234))


@pytest.mark.slow
def test_an_arm_that_does_not_get_the_torque_is_out_of_bounds(robot, config):
    bare = config.updated({'observer.gain': 0.0})  # the observer would make up for most of it
    metrics = measured(simulated(robot, bare, plant_torque=lambda tau: 0.9 * tau), bare)
    assert value_of(metrics, 'home', 'peak_joint_error_rad') > 20e-6
    assert value_of(metrics, 'down', 'peak_position_error_m') > 3e-6
    assert value_of(metrics, 'jog', 'peak_position_error_m') > 3e-6
    assert value_of(metrics, 'hold', 'peak_joint_error_rad') > 20e-6
    assert value_of(metrics, 'run', 'command_difference_nm') > 1e-3
    assert not have_passed(metrics)


@pytest.mark.slow
def test_commands_of_another_equation_are_seen(run, config):
    """The replay may be right, and the equation wrong: another gain is another command."""
    series = replayed(run, config)
    parts = split(series, PHASES, config)
    assert command_difference(parts['home'], config, world_of(config)) < 1e-6
    other = config.updated({'joint_gains.kp': [39000.0] * 6})
    moved = run.states['position'].copy()
    moved[500] += 1e-6
    parts = split(series.with_columns({'position': moved}), PHASES, config)
    seen = command_difference(parts['home'], config, world_of(config))
    other_law = command_difference(parts['home'], other, world_of(config))
    assert seen > 1e-4
    assert other_law == pytest.approx(seen * 39.0 / 40.0, rel=1e-2)


def test_a_mode_that_did_not_run_has_not_passed(run, config):
    other = tuple(
        replace(phase, mode='ready') if phase.mode == 'home' else phase for phase in PHASES
    )
    ready = measured(run, config, other)['ready']
    assert not have_passed({'ready': ready})


@pytest.mark.slow
def test_a_published_reference_that_differs_is_seen(run, config):
    published = run.published_reference
    other = published.with_columns({'translation': published['translation'] + 1e-6})
    metrics = measured(replace(run, published_reference=other), config)
    assert value_of(metrics, 'run', 'reference_difference_m') == pytest.approx(
        1e-6 * np.sqrt(3.0), rel=1e-3
    )
    assert not have_passed(metrics)


@pytest.mark.slow
def test_a_run_without_a_published_reference_has_not_passed(run, config):
    silent = run.published_reference.take(slice(0))
    metrics = measured(replace(run, published_reference=silent), config)
    assert not have_passed(metrics)


@pytest.mark.slow
def test_a_law_that_names_no_metrics_has_its_torque_alone(run, config, monkeypatch):
    monkeypatch.setattr(type(config.modes['gravity'].law), 'METRICS', ())
    (metric,) = measured(run, config)['gravity']
    assert metric.name == 'peak_torque_fraction'


def test_a_metric_keeps_both_its_bounds():
    assert Metric('displacement', 0.1, 'm', 0.25, 0.015).passed
    assert not Metric('displacement', 0.3, 'm', 0.25, 0.015).passed
    assert not Metric('displacement', 0.01, 'm', 0.25, 0.015).passed
    assert not Metric('displacement', np.nan, 'm', 0.25, 0.015).passed


def test_the_table_names_unit_value_and_verdict():
    metrics = {
        'home': [Metric('peak_joint_error', 12e-6, 'rad', 20e-6)],
        'float': [Metric('displacement', 0.3, 'm', 0.25, 0.015)],
        'observer': [Metric('mass_ratio', 12.0, lower=25.0)],
        'close': [Metric('drift', 0.5, 'rad')],
    }
    notes = {'close': 'the arm touches itself', 'down': 'left out: out of reach'}
    console = Console(width=100, no_color=True)
    with console.capture() as shown:
        console.print(table_of(metrics, 'mode', notes))
    lines = [' '.join(line.split()) for line in shown.get().splitlines()]
    assert 'home peak joint error 12 urad <= 20 urad ok' in lines
    assert 'float displacement 300 mm 15 to 250 mm OUT' in lines
    assert 'observer mass ratio 12 >= 25 OUT' in lines
    assert lines[lines.index('close the arm touches itself') + 1] == 'drift 500 mrad'
    assert 'down left out: out of reach' in lines


def test_the_report_says_what_could_not_be_measured(tmp_path, run):
    path = tmp_path / 'deep' / 'report.json'
    modes = {'home': [Metric('ran', np.nan, upper=1.0, lower=1.0)]}
    write_report(path, modes, [Metric('lost_states', 0.0, upper=0.0)], {}, run, {'down': 'why'})
    report = json.loads(path.read_text())
    assert report['passed'] is False
    assert report['modes'] == {'home': {'ran': None}}
    assert report['acceptance'] == {}
    assert report['notes'] == {'down': 'why'}
    assert report['steps'] == 6200


def test_a_promise_that_is_not_kept_fails_the_report(tmp_path, run):
    path = tmp_path / 'report.json'
    ratio = Metric('mass_ratio', 12.0, lower=25.0)
    write_report(path, {}, [], {'observer down': [ratio]}, run, {})
    report = json.loads(path.read_text())
    assert report['passed'] is False
    assert report['acceptance'] == {'observer_down': {'mass_ratio': 12.0}}
    assert report['bounds']['acceptance'] == {'observer_down': {'mass_ratio': [25.0, None]}}


def test_a_promise_that_ends_in_an_error_is_out_of_bounds():
    def broken():
        yield Metric('drift', 0.0, 'rad', 1.0)
        raise RefusedError('the arm is gone')

    metrics = list(measured_promise(broken))
    assert [metric.passed for metric in metrics] == [True, False]
    assert 'the arm is gone' in metrics[1].name


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
    robot = RobotFiles.of(params_file=str(params))
    assert robot.model.endswith(model.replace('MODEL', 'other.urdf'))
    assert robot.overrides_model is overrides
    assert RobotFiles.of(params_file=str(params), model=str(other)).overrides_model


@pytest.mark.parametrize('text', ['a: [', '\0'])
def test_a_parameter_file_that_is_no_yaml_is_named(tmp_path, text):
    params = tmp_path / 'params.yaml'
    params.write_text(text)
    with pytest.raises(ConfigurationError, match=r'params\.yaml is not YAML'):
        RobotFiles.of(params_file=str(params))


def test_a_robot_that_does_not_ship_is_refused_with_those_that_do():
    with pytest.raises(UnknownNameError, match='gen3_6dof'):
        RobotFiles.of('r2d2')
    assert RobotFiles.of().description() == (share_directory() / 'urdf/gen3_6dof.urdf').read_text()
    assert Path(RobotFiles.of().params_file).name == 'gen3_6dof.yaml'


@pytest.mark.parametrize(
    ('metric', 'error', 'words'),
    [
        ('joint_goal', ConfigurationError, "'joint_goal' of Own needs the attribute 'target'"),
        ('stiffness', ConfigurationError, "needs the attribute 'stiffness'"),
        ('hand_guiding', ConfigurationError, "needs the attribute 'GUIDED'"),
        ('speed', UnknownNameError, 'unknown metric of Own .speed.; valid: drift'),
    ],
)
def test_a_metric_that_cannot_be_measured_of_a_law_is_refused_before_the_run(metric, error, words):
    class Own(Law):
        METRICS = (metric,)

    loop = ClosedLoop(RobotFiles.of())
    loop.controller.config.modes['own'] = Mode('own', 'o', Own(loop.controller.config.arm))
    with pytest.raises(error, match=words):
        rehearsed(loop)
