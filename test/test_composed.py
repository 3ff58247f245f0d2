"""Both nodes in one process: the same as in two, but faster."""

import signal
import time
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from bridge_client import nanoseconds
from diagnostic_msgs.msg import DiagnosticArray
from ros_processes import ICIR_CONTROL, RosGraph
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from session import Session
from state_record import States, expect_same, kept_states
from state_source import HOME, stamp_of
from std_srvs.srv import SetBool, Trigger

from icir_control.share import share_directory

SCHEDULE = "schedule:=['0.05 home', '0.6 ready', '1.2 float', '1.4 impedance']"
END = 1.6  # s, of a scheduled run


@pytest.mark.slow
def test_the_trajectory_is_that_of_two_processes_to_the_last_bit(ros_graph, tmp_path):
    together = Session(ros_graph, SCHEDULE, composed=True, recorded=True).states_until(END)
    with RosGraph(tmp_path / 'logs') as graph:
        apart = Session(graph, SCHEDULE, recorded=True).states_until(END)
    states = expect_same(together, apart, END)
    assert len(np.unique(states.position, axis=0)) > 0.9 * len(states.stamp)


class Unheard:
    """The composed nodes, without anybody who listens to states or commands."""

    def __init__(self, graph: RosGraph, *parameters: str) -> None:
        self.observer = graph.observer()
        self.times: deque[int] = deque(maxlen=1)
        self.observer.create_subscription(
            Clock, '/clock', lambda message: self.times.append(nanoseconds(message.clock)), 1
        )
        arguments = [word for parameter in parameters for word in ('-p', parameter)]
        config = str(share_directory() / 'config' / 'gen3_6dof.yaml')
        headless = ('-p', 'mujoco_bridge:viewer:=none')
        self._record = graph.logs.with_name(f'{graph.logs.name}_states')
        options = ('--ros-args', '--params-file', config, *headless, *arguments)
        self.process = graph.start('composed', *options, record=self._record)

    def states(self) -> States:
        """Each state so far."""
        return kept_states(self._record, 6)

    def listen(self, depth: int = 1000) -> list[JointState]:
        """The states from now on."""
        states: list[JointState] = []
        self.observer.create_subscription(JointState, 'joint_states', states.append, depth)
        return states

    def run_until(self, seconds: float) -> None:
        """Watch until a simulation time."""
        end = round(seconds * 1e9)
        self.observer.spin_until(lambda: self.times and self.times[-1] >= end, what='the time')


@pytest.mark.slow
def test_handed_over_or_published_the_trajectory_is_the_same_to_the_last_bit(ros_graph, tmp_path):
    """States and torques; both hang on every bit of every state before them."""
    unheard = Unheard(ros_graph, 'mujoco_bridge:real_time_factor:=0.0', f'controller:{SCHEDULE}')
    unheard.run_until(END)
    with RosGraph(tmp_path / 'logs') as graph:
        # Slow enough to be found by who listens before it is over.
        heard = Unheard(graph, 'mujoco_bridge:real_time_factor:=0.5', f'controller:{SCHEDULE}')
        messages = heard.listen()
        heard.run_until(END)
        expect_same(unheard.states(), heard.states(), END)
        assert messages, 'nothing was published'
        kept = heard.states()
    at = dict(zip(kept.stamp.tolist(), kept.effort, strict=True))
    assert all(message.effort.tolist() == at[stamp_of(message)].tolist() for message in messages)


@pytest.mark.slow
def test_one_who_listens_later_hears_every_state(ros_graph):
    unheard = Unheard(ros_graph, 'mujoco_bridge:real_time_factor:=0.5')
    unheard.run_until(0.5)
    states = unheard.listen()

    def is_unbroken():
        # A listener that the machine starves loses some itself: it goes on until it has not.
        newest = np.array([stamp_of(state) for state in states[-300:]])
        return len(newest) == 300 and (np.diff(newest) == 1_000_000).all()

    unheard.observer.spin_until(is_unbroken, what='300 states in a row')
    assert stamp_of(states[0]) > 0.5e9


@pytest.mark.slow
@pytest.mark.parametrize(
    'topic', [pytest.param('joint_states', marks=pytest.mark.long), 'joint_commands']
)
def test_a_second_publisher_stops_time_until_it_is_gone(ros_graph, topic):
    unheard = Unheard(ros_graph, 'mujoco_bridge:real_time_factor:=0.0')
    unheard.run_until(0.5)
    duplicate = ros_graph.observer('duplicate')
    publisher = duplicate.create_publisher(JointState, topic, 1)
    unheard.process.wait_for(f'/{topic} has several publishers: .*/duplicate.*; only one may')
    unheard.observer.settle()
    still = unheard.times[-1]
    for _ in range(50):
        message = JointState(name=[f'joint_{i}' for i in range(1, 7)])
        message.position = message.velocity = message.effort = [0.1] * 6
        message.header.frame_id = 'of the duplicate'
        publisher.publish(message)
        duplicate.spin_for(0.01)
    unheard.observer.settle()
    assert unheard.times[-1] == still
    duplicate.destroy_publisher(publisher)
    unheard.process.wait_for('every topic has one publisher again')
    unheard.run_until(still * 1e-9 + 0.5)


@pytest.mark.slow
def test_everything_slow_is_served_while_it_runs(ros_graph):
    session = Session(ros_graph, composed=True)
    call = session.observer.call
    session.wait(0.1)
    assert call(Trigger, 'controller/modes/home').success
    session.wait(2.5)
    np.testing.assert_allclose(session.position, HOME, rtol=0, atol=1e-4)
    assert call(SetBool, 'mujoco_bridge/pause', SetBool.Request(data=True)).message == 'paused'
    session.observer.settle()
    paused = session.time
    assert call(Trigger, 'mujoco_bridge/step').success
    session.observer.spin_until(lambda: session.time > paused)
    assert session.time == pytest.approx(paused + 0.001, abs=1e-9)
    assert call(Trigger, 'mujoco_bridge/reset').success
    assert call(SetBool, 'mujoco_bridge/pause', SetBool.Request(data=False)).success
    session.controller.wait_for('new start at .*another run.*in mode gravity')
    session.wait(0.1)
    np.testing.assert_allclose(session.position, 0.0, atol=1e-9)


@pytest.mark.slow
def test_free_running_answers_in_time(ros_graph):
    parameters = ('lockstep:=false', 'real_time_factor:=1.0')
    session = Session(ros_graph, bridge_parameters=parameters, composed=True)
    session.wait(0.2)
    assert session.observer.call(Trigger, 'controller/modes/home').success
    session.wait(2.5)
    np.testing.assert_allclose(session.position, HOME, rtol=0, atol=1e-3)
    assert 'no command for' not in session.bridge.output


@pytest.mark.slow
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


@pytest.mark.slow
@pytest.mark.parametrize(
    'number', [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.long)]
)
def test_it_ends_when_asked(ros_graph, number):
    session = Session(ros_graph, composed=True, fresh=True)
    session.wait(0.01)
    assert session.bridge.stop(number, timeout=3.0) == 0
    assert 'Traceback' not in session.bridge.output


@pytest.mark.slow
def test_the_command_line_runs_it(ros_graph):
    command = (*ICIR_CONTROL, 'sim', '--viewer', 'none')
    sim = ros_graph.run([*command, '--composed', '--real-time-factor', '0'], terminal=True)
    sim.wait_for(r'q +quit')
    children = Path(f'/proc/{sim.pid}/task/{sim.pid}/children').read_text().split()
    (command,) = [Path(f'/proc/{child}/cmdline').read_text() for child in children]
    assert 'icir_control.nodes\0composed\0' in command
    sim.wait_for('in mode gravity')
    sim.type('h')
    sim.wait_for('(?m)^home')
    sim.type('q')
    assert sim.wait(3.0) == 0


@pytest.mark.slow
def test_wrong_parameters_end_it_with_one_line(ros_graph):
    process = ros_graph.start('composed', '--ros-args', '-p', 'mujoco_bridge:timestep:=-1.0')
    assert process.wait() == 2
    last = process.output.strip().splitlines()[-1]
    assert last.startswith('composed: timestep = -1.0 is not valid')
    assert 'Traceback' not in process.output
