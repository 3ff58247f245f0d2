"""Both nodes in one process: the same as in two, but faster."""

import signal
import sys
import time
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from diagnostic_msgs.msg import DiagnosticArray
from ros_processes import RosGraph
from session import CREEPING, Session
from state_source import HOME
from std_srvs.srv import SetBool, Trigger

SCHEDULE = "schedule:=['0.2 home', '1.0 ready', '2.2 float', '2.5 impedance']"
END = 3.0  # s, of a scheduled run
# Slow enough for the onlooker to see most states of both runs.
PACE = 2.0


def test_the_trajectory_is_that_of_two_processes_to_the_last_bit(ros_graph, tmp_path):
    composed = Session(ros_graph, SCHEDULE, bridge_parameters=CREEPING, composed=True)
    together = composed.record(END, pace=PACE)
    with RosGraph(tmp_path / 'logs') as graph:
        apart = Session(graph, SCHEDULE, bridge_parameters=CREEPING).record(END, pace=PACE)
    both = sorted(set(together) & set(apart))
    assert len(both) > 300
    assert [stamp for stamp in both if together[stamp] != apart[stamp]] == []
    assert len({together[stamp] for stamp in both}) > 0.9 * len(both)


def test_everything_slow_is_served_while_it_runs(ros_graph):
    session = Session(ros_graph, composed=True)
    call = session.observer.call
    session.wait(0.1)
    assert call(Trigger, 'controller/modes/home').success
    session.wait(2.5)
    np.testing.assert_allclose(session.position, HOME, rtol=0, atol=1e-4)
    assert call(SetBool, 'mujoco_bridge/pause', SetBool.Request(data=True)).message == 'paused'
    session.observer.spin_for(0.2)  # what was on its way
    paused = session.time
    assert call(Trigger, 'mujoco_bridge/step').success
    session.observer.spin_until(lambda: session.time > paused)
    assert session.time == pytest.approx(paused + 0.001, abs=1e-9)
    assert call(Trigger, 'mujoco_bridge/reset').success
    assert call(SetBool, 'mujoco_bridge/pause', SetBool.Request(data=False)).success
    session.controller.wait_for('new start at .*another run.*in mode gravity')
    session.wait(0.1)
    np.testing.assert_allclose(session.position, 0.0, atol=1e-9)


def test_free_running_answers_in_time(ros_graph):
    parameters = ('lockstep:=false', 'real_time_factor:=1.0')
    session = Session(ros_graph, bridge_parameters=parameters, composed=True)
    session.wait(0.2)
    assert session.observer.call(Trigger, 'controller/modes/home').success
    session.wait(2.5)
    np.testing.assert_allclose(session.position, HOME, rtol=0, atol=1e-3)
    assert 'no command for' not in session.bridge.output


def test_no_answer_is_missed_while_the_process_hangs(ros_graph):
    session = Session(ros_graph, bridge_parameters=('real_time_factor:=0.0',), composed=True)
    missed = deque(maxlen=1)

    def note(message: DiagnosticArray) -> None:
        for status in message.status:
            missed.extend(value.value for value in status.values if value.key == 'missed')

    session.observer.create_subscription(DiagnosticArray, '/diagnostics', note, 10)
    session.wait(0.1)
    for _ in range(20):  # a third of them between a state and the look for its answer
        session.bridge.send(signal.SIGSTOP)
        time.sleep(0.12)  # longer than after which a state is repeated; nothing tells of it
        session.bridge.send(signal.SIGCONT)
        session.wait(0.05)
    missed.clear()
    session.observer.spin_until(lambda: missed, what='diagnostics')
    assert missed.pop() == '0'


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGTERM])
def test_it_ends_when_asked(ros_graph, number):
    session = Session(ros_graph, composed=True)
    session.wait(0.01)
    begin = time.monotonic()
    assert session.bridge.stop(number) == 0
    assert time.monotonic() - begin < 3.0
    assert 'Traceback' not in session.bridge.output


def test_the_command_line_runs_it(ros_graph):
    command = (str(Path(sys.executable).parent / 'icir_control'), 'sim', '--viewer', 'none')
    sim = ros_graph.run([*command, '--composed', '--real-time-factor', '0'], terminal=True)
    sim.wait_for(r'q +quit')
    children = Path(f'/proc/{sim.pid}/task/{sim.pid}/children').read_text().split()
    (command,) = [Path(f'/proc/{child}/cmdline').read_text() for child in children]
    assert 'nodes.composed ' in command
    sim.type('h')
    sim.wait_for('(?m)^home')
    sim.type('q')
    assert sim.wait(3.0) == 0


def test_wrong_parameters_end_it_with_one_line(ros_graph):
    process = ros_graph.start('composed', '--ros-args', '-p', 'mujoco_bridge:timestep:=-1.0')
    assert process.wait() == 2
    last = process.output.strip().splitlines()[-1]
    assert last.startswith('composed: timestep = -1.0 is not valid')
    assert 'Traceback' not in process.output
