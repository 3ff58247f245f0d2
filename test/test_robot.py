"""`icir_control.Robot` in one process: verbs, refusals, parameters, log; without ROS."""

import base64
import re
import subprocess
import sys
from copy import copy, deepcopy
from functools import partial
from io import BytesIO

import numpy as np
import pytest
from matplotlib.image import imread

from icir_control import Robot
from icir_control.control import Law, parameter
from icir_control.errors import (
    ConfigurationError,
    InvalidValueError,
    OutOfReachError,
    PositionLimitError,
    RefusedError,
    SingularityError,
    UnknownNameError,
)
from icir_control.robot.session import MotionError
from icir_control.share import share_directory
from icir_control.simulation import Plant
from icir_control.spatial import SE3, exp3, log3

HOME = np.radians([0.0, 45.0, 90.0, 0.0, 45.0, -90.0])


@pytest.fixture
def robot():
    return Robot.simulate(start=HOME)


@pytest.mark.slow
def test_what_is_not_as_it_was_asked_for_is_logged(tmp_path, caplog):
    urdf = tmp_path / 'weak.urdf'
    text = (share_directory() / 'urdf/gen3_6dof.urdf').read_text()
    urdf.write_text(
        text.replace('effort="39.0"', 'effort="4.0"').replace('effort="39"', 'effort="4"')
    )
    Robot.simulate(start=HOME)
    assert not caplog.records
    Robot.simulate(urdf, start=HOME)
    assert any('cannot hold the weight' in record.message for record in caplog.records)


@pytest.mark.slow
def test_the_package_and_a_simulation_need_no_ros():
    text = """
import sys
import icir_control
assert 'numpy' not in sys.modules and 'icir_control.robot' not in sys.modules
sys.modules['rclpy'] = None  # an import of it fails
robot = icir_control.Robot.simulate()
robot.step(3)
assert abs(robot.time - 0.004) < 1e-9
"""
    subprocess.run([sys.executable, '-c', text], check=True)


def test_verbs_return_when_the_arm_has_arrived():
    robot = Robot.simulate()
    robot.home()
    np.testing.assert_allclose(robot.q, HOME, atol=1e-9)
    assert robot.mode == 'home'
    assert robot.time == pytest.approx(2.0, abs=0.01)
    assert np.abs(robot.v).max() < 1e-6
    start = robot.pose
    robot.move_by([0.0, 0.02, -0.05], [0.0, 0.0, 0.1], duration=1.0)
    np.testing.assert_allclose(
        robot.pose.translation, start.translation + [0.0, 0.02, -0.05], atol=1e-7
    )
    turn = log3(robot.pose.rotation @ start.rotation.T)
    np.testing.assert_allclose(turn, [0.0, 0.0, 0.1], atol=1e-6)
    robot.move_to(start, duration=1.0)
    np.testing.assert_allclose(robot.pose.translation, start.translation, atol=1e-7)
    robot.move_to(start.translation + [0.01, 0.0, 0.0], duration=0.5)
    np.testing.assert_allclose(robot.pose.rotation, start.rotation, atol=1e-6)
    goal = HOME + 0.1
    robot.move_joints(goal, duration=1.0)
    np.testing.assert_allclose(robot.q, goal, atol=1e-7)
    robot.follow([0.5, 1.5], [[HOME[1]], [0.5]], joints=['joint_2'])
    np.testing.assert_allclose(robot.q, np.where(np.arange(6) == 1, 0.5, goal), atol=1e-7)
    # What a motion needed of the parameters is as before.
    assert robot.parameters.modes.jog.duration == 0.5


@pytest.mark.parametrize(
    ('act', 'error', 'words'),
    [
        (lambda robot: robot.go('fly'), RefusedError, "unknown mode 'fly'; valid: gravity, home"),
        (lambda robot: robot.move_by([2.0, 0.0, 0.0]), OutOfReachError, 'out of reach'),
        (
            lambda robot: robot.move_joints(HOME + 3.0, duration=9.0),
            PositionLimitError,
            'outside its limits',
        ),
        (lambda robot: robot.move_joints(HOME[:5]), InvalidValueError, '6 finite numbers'),
        (lambda robot: robot.move_joints(-HOME, duration=0.1), RefusedError, 'its limit is'),
        (lambda robot: robot.move_to([np.nan] * 3), InvalidValueError, '3 finite numbers'),
        (lambda robot: robot.move_to(np.eye(4)), InvalidValueError, 'an SE3, or 3 finite'),
        (lambda robot: robot.move_to('home'), InvalidValueError, 'an SE3, or 3 finite'),
        (lambda robot: robot.push([1.0]), InvalidValueError, '3 finite numbers'),
        (lambda robot: robot.push([1.0, 0, 0], link='foot'), UnknownNameError, 'foot'),
        (lambda robot: robot.push([1.0, 0, 0], seconds=-1), InvalidValueError, '0 or more'),
        (lambda robot: robot.run(np.nan), InvalidValueError, 'seconds .*0 or more'),
        (lambda robot: robot.run(-1.0), InvalidValueError, 'seconds .*0 or more'),
        (lambda robot: robot.law(3), InvalidValueError, 'subclass of icir_control.control.Law'),
        (lambda robot: robot.step(-1), InvalidValueError, 'control periods'),
        (lambda robot: robot.step(2.0), InvalidValueError, 'whole number of control periods'),
        (lambda robot: robot.step(np.nan), InvalidValueError, 'whole number of control periods'),
        (lambda robot: robot.step(None), InvalidValueError, 'whole number of control periods'),
        (lambda robot: robot.fly(), AttributeError, 'nor a mode of this name; modes: .*home'),
        (lambda robot: robot.log.save('run.csv'), ConfigurationError, r'ends in \.mcap'),
    ],
)
def test_what_cannot_be_is_refused_before_anything_moves(robot, act, error, words):
    with pytest.raises(error, match=words):
        act(robot)
    robot.step(100)
    np.testing.assert_allclose(robot.q, HOME, atol=1e-9)


def test_a_refusal_carries_its_reason():
    robot = Robot.simulate()
    with pytest.raises(SingularityError) as refused:
        robot.down()
    assert refused.value.reason == 'singularity'
    assert robot.mode == 'gravity'


def test_a_motion_that_is_broken_off_or_takes_too_long_says_so(robot):
    robot.timeout = 0.3
    with pytest.raises(MotionError, match=r'mode ready did not arrive: .* longer than 0\.3 s'):
        robot.ready()
    # A duration that was asked for comes on top.
    robot.move_joints(robot.q + 0.02, duration=0.5)
    with pytest.raises(RefusedError) as refused:
        robot.move_joints(HOME, duration=0.1)
    slower = float(re.search(r'; (\S+) times slower it would not$', str(refused.value))[1])
    with pytest.raises(RefusedError, match='rad/s, its limit'):
        robot.move_joints(HOME, duration=0.1 * slower - 0.01)
    robot.move_joints(HOME, duration=0.1 * slower)
    # Far more than the arm can bear: the watchdog brakes it.
    heavy = Robot.simulate(start=HOME, plant=Plant(payload_mass=30.0))
    with pytest.raises(MotionError, match='the arm is braked'):
        heavy.ready()


def test_impedance_is_a_spring_for_as_long_as_the_context_lasts(robot):
    start = robot.pose.translation
    with robot.impedance(stiffness=[400.0] * 3 + [20.0] * 3) as soft:
        assert soft.mode == 'impedance'
        soft.push([4.0, 0.0, 0.0], seconds=3.0)
        np.testing.assert_allclose(soft.pose.translation - start, [0.01, 0, 0], atol=2e-4)
        soft.run(2.0)
        np.testing.assert_allclose(soft.pose.translation, start, atol=1e-4)
        soft.move_by([0.0, 0.0, 0.02])
        soft.run(2.0)
        np.testing.assert_allclose(soft.pose.translation - start, [0, 0, 0.02], atol=1e-4)
    assert robot.mode == 'hold'
    assert robot.parameters.modes.impedance.stiffness.tolist() == [500.0] * 3 + [20.0] * 3
    with pytest.raises(ZeroDivisionError), robot.impedance():
        raise ZeroDivisionError
    assert robot.mode == 'hold'


def test_a_mode_that_the_watchdog_ends_is_told_once_and_the_arm_is_held(robot):
    spring = {'stiffness': [500.0] * 3 + [20.0] * 3}
    too_fast = r'mode impedance was broken off: .* joint_4 was beyond 1\.2 times its velocity'
    with pytest.raises(MotionError, match=too_fast) as told, robot.impedance(**spring):
        robot.push([150.0, 150.0, 0.0], seconds=0.15)
    assert told.value.__cause__.reason == 'speed'
    assert robot.mode == 'hold'
    robot.run(0.5)
    assert np.abs(robot.v).max() < 1e-6
    robot.impedance(**spring)
    with pytest.raises(MotionError, match=too_fast):
        robot.push([150.0, 150.0, 0.0], seconds=0.15)
    robot.run(0.5)  # who wants to see how it comes to rest goes on
    assert robot.mode == ''


def test_an_error_of_the_block_is_not_hidden_by_the_brake(robot):
    def fail_while_it_is_braked():
        with robot.impedance(stiffness=[500.0] * 3 + [20.0] * 3):
            try:
                robot.push([150.0, 150.0, 0.0], seconds=0.15)
            except MotionError:
                raise ZeroDivisionError from None

    with pytest.raises(ZeroDivisionError):
        fail_while_it_is_braked()
    assert robot.mode == 'hold'


def test_impedance_without_a_block_lasts(robot):
    before = robot.parameters.modes.impedance.stiffness.tolist()
    robot.impedance(stiffness=[400.0] * 6, damping_ratio=0.5)
    assert robot.mode == 'impedance'
    assert robot.parameters.modes.impedance.stiffness.tolist() == [400.0] * 6
    with pytest.raises(ConfigurationError, match="parameter 'stiffnes'; valid: .*stiffness"):
        robot.impedance(stiffnes=before)
    with robot.impedance(stiffness=before):
        assert robot.parameters.modes.impedance.stiffness.tolist() == before
    assert robot.mode == 'hold'
    assert robot.parameters.modes.impedance.stiffness.tolist() == [400.0] * 6


class Spring(Law):
    """Pulls the joints to zero."""

    stiffness: float = parameter(100.0, '1/s^2', 'of every joint', lower=0.0)

    def acceleration(self, tick):
        return -self.stiffness * tick.q - 2.0 * self.stiffness**0.5 * tick.v


def test_laws_of_ones_own():
    robot = Robot.simulate(start=0.2 * HOME)
    robot.law(Spring, stiffness=25.0)
    assert robot.mode == 'Spring'
    robot.run(1.0)
    # Critically damped: q = (1 + w t) exp(-w t) q0.
    np.testing.assert_allclose(robot.q, 1.2 * np.exp(-5.0) * HOME, atol=1e-4)

    def brake(tick):
        return -5.0 * tick.v

    robot.law(brake)
    robot.run(2.0)
    assert np.abs(robot.v).max() < 1e-2
    assert robot.mode == 'brake'
    with pytest.raises(ConfigurationError, match='stiffness = -1'):
        robot.law(Spring, stiffness=-1.0)
    robot.law(lambda tick: tick.q[:2])
    assert robot.mode == '<lambda>'
    with pytest.raises(MotionError, match='was broken off: .* failed in acceleration') as failed:
        robot.step()
    assert failed.value.__cause__.reason == 'law_failed'
    assert robot.mode == ''  # the arm is held up
    robot.step()  # it is told once
    assert robot.log.modes[-1][1] == ''
    robot.law(lambda tick: None)
    with pytest.raises(MotionError, match=r'test_robot:<lambda> .* returned None; expected 6'):
        robot.step()


def test_laws_that_are_objects_and_not_functions(robot):
    class Brake:
        def __call__(self, tick):
            return -5.0 * tick.v

    for law, name in ((Brake(), 'Brake'), (partial(lambda k, tick: -k * tick.v, 5.0), 'partial')):
        robot.law(law)
        robot.step()
        assert robot.mode == name


def test_parameters_are_attributes_with_units(robot):
    gains = robot.parameters.joint_gains
    gains.kp = 2500.0 * np.ones(6)
    assert robot.session.loop.controller.config.joint_gains[0].tolist() == [2500.0] * 6
    with pytest.raises(ValueError, match='read-only'):
        gains.kp[0] = 1.0  # which the controller would not hear of
    assert '1/s^2' in repr(gains)
    assert dir(gains) == ['kd', 'kp']
    with pytest.raises(ConfigurationError, match=r'observer\.gain = -1'):
        robot.parameters.observer.gain = -1.0
    with pytest.raises(AttributeError, match=r"unknown parameter 'observer\.gian'; valid: obs"):
        _ = robot.parameters.observer.gian
    with pytest.raises(ConfigurationError, match=r"unknown parameter 'observer\.gian'; valid: "):
        robot.parameters.observer.gian = 3.0
    with pytest.raises(ConfigurationError, match='cannot change while the controller runs'):
        robot.parameters.base_frame = 'base_link'


def test_a_robot_is_not_copied(robot):
    for way in (copy, deepcopy):
        with pytest.raises(RefusedError, match='cannot be copied'):
            way(robot)


def test_the_log_has_named_series(robot):
    robot.down()
    log = robot.log
    rows = len(log)
    assert rows == round(robot.time * 1000)
    assert log.q.shape == log.torque.shape == (rows, 6)
    np.testing.assert_allclose(np.diff(log.time), 1e-3, atol=1e-9)
    assert log.modes[1] == (pytest.approx(0.001), 'down')
    # The tool by the model of the simulation, not by ours.
    pose = robot.session.loop.world.frame_placement(log.q[-1])
    np.testing.assert_allclose(log.tool_position[-1], pose[:, 3], atol=1e-12)
    assert 0.0 < np.abs(log.tool_error).max() < 1e-6
    assert 'tool_error' in log.names
    with pytest.raises(AttributeError, match="unknown series 'tool_eror'; valid: q, v"):
        _ = log.tool_eror
    figure = log.plot('q', 'tool_error')
    first, second = figure.axes
    assert first.get_ylabel() == 'q\n[rad]'
    np.testing.assert_array_equal(second.lines[2].get_ydata(), log.tool_error[:, 2])
    assert [text.get_text() for text in first.get_legend().get_texts()] == [
        *robot.model.joint_names
    ]


def test_a_saved_log_names_the_files_of_its_arm(robot, tmp_path):
    """A film draws the meshes that lie beside them."""
    pytest.importorskip('mcap')
    reader = pytest.importorskip('icir_control.app.recording.reader')
    robot.log.save(tmp_path / 'run.mcap')
    recording = reader.Recording(tmp_path / 'run.mcap')
    given = {'model': 'package://icir_control/urdf/gen3_6dof.urdf'}
    assert recording.parameters == {'controller': given}


def test_the_log_as_a_table(robot):
    robot.step(10)
    robot.ready()
    table = robot.log.to_pandas()
    assert table.index.name == 'time'
    assert table['mode'].iloc[0] == 'gravity'
    assert table['mode'].iloc[-1] == 'ready'
    np.testing.assert_array_equal(table['q/joint_2'], robot.log.q[:, 1])
    assert table['tool_error/rz'].abs().max() < 1e-6


def test_the_log_grows(robot):
    before = robot.log.q
    robot.step(10_000)
    log = robot.log
    assert len(log) == 10_001
    np.testing.assert_array_equal(log.q[:1], before)
    np.testing.assert_allclose(log.time, np.arange(10_001) * 1e-3, atol=1e-9)


def test_the_log_is_of_the_plant_and_not_of_its_sensors():
    robot = Robot.simulate(start=HOME, plant=Plant(position_noise=1e-3, velocity_noise=1e-3))
    robot.step(200)
    assert np.abs(np.diff(robot.log.q, axis=0)).max() < 1e-4
    np.testing.assert_array_equal(
        robot.log.q[-1] + 1e-3 * robot.session.loop.world.velocity, robot.q
    )


def test_the_arm_is_held_at_the_end_whatever_has_happened():
    robot = Robot.simulate(start=HOME)

    def fail_in_a_motion():
        with robot:
            robot.session.select('ready')
            robot.run(0.5)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_in_a_motion()
    assert robot.mode == 'hold'
    assert np.abs(robot.v).max() < 1e-3
    assert 'closed' in repr(robot)
    robot.close()  # once more is no error


def test_another_arm_by_its_urdf(tmp_path):
    urdf = tmp_path / 'arm.urdf'
    text = (share_directory() / 'urdf' / 'gen3_7dof.urdf').read_text()
    urdf.write_text(text.replace('name="gen3_7dof"', 'name="mine"'))
    with Robot.simulate(urdf) as robot:
        assert robot.model.name == 'mine'
        robot.home()
        start = robot.pose
        robot.move_by([0.0, 0.0, -0.03])
        error = start.inverse() @ robot.pose
        assert np.linalg.norm(error.translation) == pytest.approx(0.03, abs=1e-6)
    with pytest.raises(UnknownNameError, match="unknown robot 'gen4'; valid: gen3_6dof"):
        Robot.simulate('gen4')
    with pytest.raises(ConfigurationError, match='there is no file'):
        Robot.simulate('no/such.urdf')
    with pytest.raises(ConfigurationError, match='package_dirs: there is no folder /'):
        Robot.simulate(package_dirs=['no/folder'])


def test_start_and_parameters_of_a_simulation():
    robot = Robot.simulate(
        start=HOME, timestep=2e-3, parameters={'modes.ready.duration': 3.0, 'observer.gain': 0.0}
    )
    robot.ready()
    assert robot.time == pytest.approx(3.0, abs=0.01)
    assert np.diff(robot.log.time)[0] == pytest.approx(2e-3)
    T = SE3(exp3([0.0, 0.0, 0.2]) @ robot.pose.rotation, robot.pose.translation)
    robot.move_to(T)
    np.testing.assert_allclose(robot.pose.rotation, T.rotation, atol=1e-6)


def test_a_plant_by_the_names_of_its_parameters():
    robot = Robot.simulate(plant={'payload_mass': 0.5})
    assert robot.session.world.plant.payload_mass == 0.5
    with pytest.raises(ConfigurationError, match='did you mean plant.payload_mass'):
        Robot.simulate(plant={'payload_mas': 0.5})
    with pytest.raises(InvalidValueError, match='a Plant, or its parameters by name'):
        Robot.simulate(plant='heavy')


def test_callbacks_are_called_while_a_verb_lets_time_pass(robot):
    times = []
    robot.callbacks.append(lambda robot: times.append(robot.time))
    robot.move_by([0.0, 0.0, 0.05], duration=0.5)
    robot.run(0.12)
    steps = np.diff([0.001, *times])
    assert 0.0 < steps.min() <= steps.max() < 0.0515
    assert times[-1] == robot.time
    silent = Robot.simulate(start=HOME)
    silent.move_by([0.0, 0.0, 0.05], duration=0.5)
    silent.run(0.12)
    assert silent.q.tolist() == robot.q.tolist()

    def lower(robot):
        robot.run(0.01)  # is not called by itself again
        raise KeyError('enough')

    robot.callbacks.append(lower)
    start = robot.time
    with pytest.raises(KeyError, match='enough'), robot:
        robot.ready()
    assert robot.time > start + 0.5  # it was held at the end
    assert np.abs(robot.v).max() < 1e-3


def test_callbacks_come_as_often_where_the_control_period_is_longer():
    gains = {'joint_gains.kp': [2500.0] * 6, 'task_gains.kp': [2500.0] * 6}  # stable at 5 ms
    robot, times = Robot.simulate(timestep=5e-3, parameters=gains), []
    robot.callbacks.append(lambda robot: times.append(robot.time))
    robot.run(1.0)
    assert np.diff(times).max() < 0.0515


def test_a_long_motion_shows_a_bar_where_it_is_seen_or_asked_for(robot, capfd, monkeypatch):
    monkeypatch.setattr('icir_control.robot.shown.LONG', 0.0)
    monkeypatch.setenv('TERM', 'xterm')
    for name in ('FORCE_COLOR', 'TTY_COMPATIBLE', 'TTY_INTERACTIVE'):
        monkeypatch.delenv(name, raising=False)
    robot.move_joints(HOME + 0.1)
    assert capfd.readouterr() == ('', '')  # no terminal
    robot.progress = True
    robot.move_joints(HOME)
    told = capfd.readouterr()
    assert 'trajectory' in told.err
    assert told.out == ''


@pytest.mark.slow
def test_a_notebook_shows_the_arm_its_parameters_and_its_log(robot):
    robot.run(0.01)
    shown = robot._repr_html_()
    assert 'mode gravity, 0.011 s' in shown
    if 'src="data:image/png;base64,' not in shown:
        pytest.skip('nothing can be drawn here without a window')
    data = base64.b64decode(shown.partition('base64,')[2].partition('"')[0])
    picture = imread(BytesIO(data), format='png')
    assert picture.shape == (480, 640, 4)
    assert picture[..., :3].std() > 0.05
    assert '<td>observer.gain</td><td>25.0</td>' in robot.parameters.observer._repr_html_()
    assert '<td>tool_error</td><td>11 x 6</td><td>m, rad</td>' in robot.log._repr_html_()
