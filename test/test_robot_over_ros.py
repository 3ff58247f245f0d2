"""`icir_control.Robot` beside and over real processes: same bits, same verbs, a clean end."""

import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from session import Session
from std_srvs.srv import SetBool, Trigger

from icir_control import Robot

PERIOD = 1_000_000  # ns


def run_script(graph, text, *arguments):
    return graph.run([sys.executable, '-c', text, *arguments])


@pytest.mark.slow
def test_a_simulation_here_goes_as_two_processes_do_to_the_last_bit(ros_graph):
    session = Session(ros_graph, recorded=True)
    observer = session.observer

    def pause(is_paused):
        request = SetBool.Request(data=is_paused)
        assert observer.call(SetBool, 'mujoco_bridge/pause', request).success

    def ask(mode):
        """Ask between two ticks, while time stands still; the stamp of the first of both."""
        pause(True)
        observer.settle()
        stamp = session.states().stamp[-1]
        assert observer.call(Trigger, f'controller/modes/{mode}', Trigger.Request()).success
        pause(False)
        return stamp

    asked = []
    for mode in ('home', 'down'):
        asked.append(ask(mode))
        states = session.states_until(asked[-1] * 1e-9 + 2.5)
    robot = Robot.simulate()
    for mode, stamp in zip(('home', 'down'), asked, strict=True):
        robot.step(round(stamp / PERIOD) + 1 - round(robot.time * 1e9 / PERIOD))
        robot.go(mode)
    log = robot.log
    kept = states.until(log.time[-1])
    np.testing.assert_array_equal(kept.stamp, np.round(log.time * 1e9).astype(np.int64))
    assert len(np.unique(kept.position, axis=0)) > 4000
    assert kept.position.tobytes() == log.q.tobytes()
    assert kept.velocity.tobytes() == log.v.tobytes()
    assert kept.effort[1:].tobytes() == log.torque[:-1].tobytes()


CONNECTED = """
import sys
import numpy as np
from icir_control import Robot
from icir_control.errors import ConfigurationError, RefusedError, SingularityError

with Robot.connect(timeout=60.0) as robot:
    try:
        robot.down()
    except RefusedError as error:
        assert 'singularity' in str(error), error
        assert error.reason == 'singularity', vars(error)
        assert 0.0 <= error.value < error.lower, vars(error)
    else:
        raise AssertionError('down was not refused')
    assert robot.parameters.modes.jog.duration == 0.5
    robot.parameters.observer.gain = 30
    assert robot.parameters.observer.gain == 30.0
    assert '[1/s]' in repr(robot.parameters.observer)
    try:
        robot.parameters.observer.gain = -1.0
    except ConfigurationError as error:
        assert 'observer.gain' in str(error)
    changes = {'speed_scale': 0.5, 'observer.gain': -1.0}
    try:
        with robot.parameters.changed(changes):
            pass
    except ConfigurationError as error:
        assert 'observer.gain' in str(error)
    assert robot.parameters.speed_scale == 1.0
    for refused in (robot.step, lambda: robot.law(lambda tick: tick.q)):
        try:
            refused()
        except RefusedError:
            continue
        raise AssertionError(refused)
    robot.move_joints(robot.q + 0.05, duration=0.5)
    np.testing.assert_allclose(robot.q, 0.05, atol=1e-3)
print('all of it')
"""


def test_a_motion_parameters_and_refusals_over_topics(ros_graph):
    session = Session(ros_graph, bridge_parameters=('real_time_factor:=4.0',))
    script = run_script(ros_graph, CONNECTED)
    script.wait_for('all of it')
    assert script.wait() == 0
    assert session.bridge.running  # what it was only connected to goes on
    assert session.controller.running


ANOTHER_BRIDGE = """
import numpy as np
from icir_control import Robot
from icir_control.robot.session import MotionError

with Robot.connect(timeout=60.0) as robot:
    robot.move_joints([0.1, 0.2, 0.1, 0.0, 0.1, 0.0], duration=1.0)
    robot.run(3.0)
    before = robot.time
    robot.callbacks.append(lambda robot: robot.time > before + 0.5 and tell())

    def tell():
        robot.callbacks.clear()
        print('it runs', flush=True)

    try:
        robot.run(1e6)
    except MotionError as error:
        assert 'the end of 1e+06 s did not arrive: time went back' in str(error), error
    else:
        raise AssertionError('it was not noticed')
    # Where the arm is now, not where it was; and on it goes.
    assert robot.time < before, (robot.time, before)
    assert np.abs(robot.q).max() < 0.01, robot.q
    reference, pose = robot.session.reference_pose, robot.pose
    np.testing.assert_allclose(reference.translation, pose.translation, atol=1e-6)
    robot.move_joints(robot.q + 0.05, duration=0.5)
    np.testing.assert_allclose(robot.q, 0.05, atol=1e-3)
    log = robot.log
    assert (np.diff(log.time) > 0).all() and log.time[0] < before, log.time[[0, -1]]
    assert log.modes[0][0] < before, log.modes
print('all of it')
"""


@pytest.mark.slow
def test_with_another_bridge_it_is_where_the_arm_is(ros_graph):
    session = Session(ros_graph, bridge_parameters=('real_time_factor:=4.0',))
    script = run_script(ros_graph, ANOTHER_BRIDGE)
    script.wait_for('it runs')
    assert session.bridge.stop() == 0
    session.start_bridge()
    script.wait_for('all of it')
    assert script.wait() == 0


MOVING = """
import sys
import numpy as np
from icir_control import Robot
from icir_control.errors import RefusedError
from icir_control.robot.session import MotionError

with Robot.connect(timeout=60.0) as robot:
    robot.home()
    np.testing.assert_allclose(np.degrees(robot.q), [0, 45, 90, 0, 45, -90], atol=1e-3)
    assert robot.mode == 'home', robot.mode
    start = robot.pose.translation
    robot.move_by([0.0, 0.0, -0.03], duration=1.0)
    np.testing.assert_allclose(robot.pose.translation - start, [0, 0, -0.03], atol=1e-9)
    try:
        robot.move_by([2.0, 0.0, 0.0])
    except RefusedError as error:
        assert 'out of reach' in str(error), error
        assert error.reason == 'out_of_reach', vars(error)
    else:
        raise AssertionError('it was not refused')
    robot.move_joints(robot.q + 0.05, duration=1.0)
    start = robot.pose.translation
    with robot.impedance(stiffness=[500.0] * 3 + [20.0] * 3):
        begin = robot.time
        robot.push([5.0, 0.0, 0.0], seconds=3.0)
    bridge = robot.session._bridge  # what others push holds for as long as before
    hold = robot.session._answer(bridge.parameters, ['external_wrench_hold'])
    assert hold == {'external_wrench_hold': 0.1}, hold
    # Not where it is by now: it goes back once the push has ended.
    moved = (robot.log.tool_position - start)[np.searchsorted(robot.log.time, begin) :]
    np.testing.assert_allclose(moved[moved[:, 0].argmax()], [0.01, 0, 0], atol=5e-4)
    assert robot.mode == 'hold', robot.mode
    log = robot.log
    assert (np.diff(log.time) > 0).all() and len(log) > 1000
    assert log.names == ('q', 'v', 'torque', 'tool_position')
    assert [mode for _, mode in log.modes][:2] == ['gravity', 'home'], log.modes
    log.save(sys.argv[1])
    try:
        with robot.impedance():
            robot.push([150.0, 150.0, 0.0], seconds=0.15)
            robot.run(1.0)
    except MotionError as error:
        assert 'mode impedance was broken off: mode impedance has ended, ' in str(error), error
    else:
        raise AssertionError('it was not noticed')
    assert robot.mode == 'hold', robot.mode
    robot.run(0.5)
    np.testing.assert_allclose(robot.v, 0.0, atol=1e-3)
print('all of it')
"""


@pytest.mark.slow
def test_the_same_verbs_over_topics(ros_graph, tmp_path):
    Session(ros_graph, bridge_parameters=('real_time_factor:=4.0',))
    script = run_script(ros_graph, MOVING, str(tmp_path / 'x.mcap'))
    script.wait_for('all of it')
    assert script.wait() == 0
    assert (tmp_path / 'x.mcap').stat().st_size > 10_000


@pytest.mark.slow
def test_nobody_to_connect_to_is_said(ros_graph):
    script = run_script(ros_graph, 'from icir_control import Robot; Robot.connect(timeout=0.5)')
    script.wait_for('ConfigurationError: there is no controller/list_parameters within 0.5 s')
    assert script.wait() == 1


@pytest.mark.long
def test_the_skeleton_for_a_real_arm_runs_over_topics(ros_graph, tmp_path):
    home = 'initial_configuration_deg:=[0.0, 45.0, 90.0, 0.0, 45.0, -90.0]'
    Session(ros_graph, bridge_parameters=('real_time_factor:=4.0', home))
    script = Path(__file__).resolve().parent.parent / 'examples' / 'real_arm.py'
    picture = str(tmp_path / 'x.png')
    skeleton = ros_graph.run([sys.executable, str(script), picture, 'connect'])
    skeleton.wait_for('back to')
    assert skeleton.wait() == 0


LAUNCHED = """
import os
from icir_control import Robot

domain = os.environ.get('ROS_DOMAIN_ID')
with Robot.launch(viewer='none', real_time_factor=0.0) as robot:
    assert os.environ.get('ROS_DOMAIN_ID') == domain
    robot.home()
    print('home at', round(robot.time), flush=True)
    robot.run(1e6)
"""


def children_of(pid: int) -> list[int]:
    return [int(one) for one in Path(f'/proc/{pid}/task/{pid}/children').read_text().split()]


@pytest.mark.long
def test_ctrl_c_ends_a_session_of_its_own_and_both_of_its_processes(ros_graph):
    script = run_script(ros_graph, LAUNCHED)
    script.wait_for('home at')
    children = children_of(script.pid)
    assert len(children) == 2
    assert script.stop(signal.SIGINT, timeout=10.0) != 0
    script.wait_for('KeyboardInterrupt')
    assert not [pid for pid in children if os.path.exists(f'/proc/{pid}')]
