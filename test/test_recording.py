"""What a run leaves in a file: each state, readable by others, however the recorder ends."""

import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from ros_processes import ICIR_CONTROL
from sensor_msgs.msg import JointState
from session import PAUSE, Session

PERIOD_NS = 1_000_000


def content(path: Path) -> dict[str, list]:
    """Every message by topic, read by rosbags, with the definitions of the file alone."""
    messages: dict[str, list] = {}
    AnyReader = pytest.importorskip('rosbags.highlevel').AnyReader
    with AnyReader([path]) as reader:
        for connection, _, raw in reader.messages():
            message = reader.deserialize(raw, connection.msgtype)
            messages.setdefault(connection.topic, []).append(message)
    return messages


def stamps_of(messages: list) -> np.ndarray:
    """The stamps [ns], each once: a state is repeated while time stands still."""
    return np.unique([m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in messages])


def start_recorder(graph, path, *options, **keywords):
    recorder = graph.run([*ICIR_CONTROL, 'record', str(path), *options], **keywords)
    recorder.wait_for('waiting for joint_states')
    return recorder


@pytest.fixture
def recorded(ros_graph, tmp_path):
    """A recorder that was there before the first state, a session, and some of it in the file."""
    path = tmp_path / 'run.mcap'
    recorder = start_recorder(ros_graph, path)
    # Reading the file takes longer the more is in it.
    pace = ('real_time_factor:=1.0',)
    session = Session(ros_graph, "schedule:=['0.5 home']", bridge_parameters=pace, recorded=True)
    session.observer.pause = 0.3
    session.observer.spin_until(lambda: has_found_all(path), what='every topic in the file')
    session.observer.pause = PAUSE
    return path, recorder, session


def has_found_all(path: Path) -> bool:
    """Whether the recorder has found all publishers, as far as its file shows it."""
    too_short = (
        pytest.importorskip('rosbags.highlevel').AnyReaderError,
        pytest.importorskip('rosbags.rosbag2').ReaderError,
    )
    try:
        messages = content(path)
    except too_short:
        return False
    told = {event.node for event in messages.get('/parameter_events', ())}
    wanted = {'/joint_states', '/joint_commands', '/controller/mode', '/robot_description'}
    return wanted <= messages.keys() and {'/mujoco_bridge', '/controller'} <= told


@pytest.mark.slow
def test_each_state_is_in_the_file_as_it_was(recorded):
    path, recorder, session = recorded
    states = session.states_until(2.0)
    session.push((0.0, 0.0, 5.0), hold=0.2)
    session.wait(0.3)
    assert recorder.stop(signal.SIGTERM, 20.0) == 0
    recorder.wait_for(r'states \(0 missing\), \d+ commands \(0 missing\)')
    messages = content(path)
    stamps = stamps_of(messages['/joint_states'])
    assert (np.diff(stamps) == PERIOD_NS).all()
    assert stamps[-1] >= 2e9
    rows = {
        m.header.stamp.sec * 10**9 + m.header.stamp.nanosec: m for m in messages['/joint_states']
    }
    kept = states.since(stamps[0] * 1e-9)
    for name in ('position', 'velocity', 'effort'):
        written = np.array([getattr(rows[stamp], name) for stamp in kept.stamp])
        assert written.tobytes() == getattr(kept, name).tobytes()
    commands = stamps_of(messages['/joint_commands'])
    assert (np.diff(commands) == PERIOD_NS).all()
    assert [m.data for m in messages['/controller/mode']][-1:] == ['home']
    assert [m.wrench.force.z for m in messages['/mujoco_bridge/external_wrench']] == [5.0]
    assert '<robot name="gen3_6dof"' in messages['/robot_description'][0].data
    given = {
        (event.node, parameter.name): parameter.value
        for event in messages['/parameter_events']
        for parameter in event.new_parameters
    }
    assert given['/mujoco_bridge', 'timestep'].double_value == 1e-3
    assert list(given['/controller', 'schedule'].string_array_value) == ['0.5 home']
    # A later change, as the bridge has published it.
    (hold,) = [p for e in messages['/parameter_events'] for p in e.changed_parameters]
    assert (hold.name, hold.value.double_value) == ('external_wrench_hold', 0.2)


@pytest.mark.slow
def test_states_of_another_bridge_are_recorded_from_their_topic(ros_graph, tmp_path):
    path = tmp_path / 'run.mcap'
    recorder = start_recorder(ros_graph, path, '--namespace', 'left')
    observer = ros_graph.observer(namespace='left')
    robot = observer.create_publisher(JointState, 'joint_states', 10)
    sent = []

    def publish():
        state = JointState(name=['a'], position=[float(len(sent))])
        state.header.stamp.nanosec = len(sent) * PERIOD_NS
        sent.append(state)
        robot.publish(state)

    timer = observer.create_timer(0.01, publish)
    observer.spin_until(lambda: robot.get_subscription_count() > 0, what='the recorder listens')
    first = len(sent)
    observer.spin_until(lambda: len(sent) == first + 100, what='states are sent')
    timer.cancel()
    observer.spin_for(0.3)
    assert recorder.stop(signal.SIGTERM, 20.0) == 0
    kept = content(path)['/left/joint_states'][-100:]
    rows = [(list(m.name), list(m.position), m.header.stamp.nanosec) for m in kept]
    assert rows == [(m.name, list(m.position), m.header.stamp.nanosec) for m in sent[-100:]]


@pytest.mark.slow
def test_a_namespace_that_cannot_be_is_refused(ros_graph, tmp_path):
    command = [*ICIR_CONTROL, 'record', str(tmp_path / 'run.mcap'), '--namespace', 'two words']
    recorder = ros_graph.run(command)
    assert recorder.wait() == 2
    assert "must not contain characters other than alphanumerics, '_', or '/'" in recorder.output
    assert 'Traceback' not in recorder.output


@pytest.mark.slow
def test_a_killed_recorder_leaves_a_file_that_others_read(recorded):
    path, recorder, session = recorded
    session.wait(1.0)
    # What is older than a second of wall time is on the disk.
    before = session.time
    session.observer.spin_for(1.0)
    recorder.send(signal.SIGKILL)
    recorder.wait()
    stamps = stamps_of(content(path)['/joint_states'])
    assert len(stamps) > 100
    assert (np.diff(stamps) == PERIOD_NS).all()
    assert stamps[-1] * 1e-9 >= before


def limit_files() -> None:
    """What a full disk does: a write beyond so many bytes fails."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))


@pytest.mark.parametrize('command', [('record', 'run.csv'), ('sim', '--record', 'run.csv')])
def test_a_recording_that_is_named_as_another_file_is_refused(command, tmp_path):
    done = subprocess.run(
        [*ICIR_CONTROL, *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert 'run.csv is not valid; expected a name that ends in .mcap' in done.stderr
    assert not any(tmp_path.iterdir())


@pytest.mark.slow
def test_a_full_disk_ends_the_recording_and_not_the_simulation(ros_graph, tmp_path):
    path = tmp_path / 'run.mcap'
    command = [*ICIR_CONTROL, 'record', str(path)]
    environment = {**ros_graph.environment, 'ROS_LOG_DIR': str(tmp_path)}
    recorder = subprocess.Popen(
        command, env=environment, preexec_fn=limit_files, stderr=subprocess.PIPE, text=True
    )
    try:
        # So slow that what is written at a time is far less than what there is room for.
        pace = ('real_time_factor:=1.0',)
        session = Session(ros_graph, "schedule:=['0.2 home']", bridge_parameters=pace)
        words = recorder.communicate(timeout=300.0)[1]
    finally:
        recorder.kill()
        recorder.wait()
    assert recorder.returncode == 1
    assert 'recording has stopped: File too large' in words
    assert 'Traceback' not in words
    stamps = stamps_of(content(path)['/joint_states'])
    assert len(stamps) > 100
    assert (np.diff(stamps) == PERIOD_NS).all()
    session.wait(0.1)


@pytest.mark.slow
def test_the_simulation_records_itself_and_never_over_another_file(ros_graph, tmp_path):
    path = tmp_path / 'run.mcap'
    command = [*ICIR_CONTROL, 'sim', '--viewer', 'none', '--record', str(path)]
    sim = ros_graph.run(command, terminal=True)
    sim.wait_for('q +quit')
    # A mode is refused before the first state.
    sim.wait_for('in mode gravity')
    sim.type('h')
    sim.wait_for('(?m)^home')
    sim.type('q')
    assert sim.wait(20.0) == 0
    sim.wait_for(r'states \(0 missing\)')
    assert stamps_of(content(path)['/joint_states'])[0] == 0
    size = path.stat().st_size
    again = ros_graph.run(command)
    assert again.wait() == 2
    assert f'{path} cannot be recorded to: File exists' in again.output
    assert 'Traceback' not in again.output
    assert path.stat().st_size == size


def test_nothing_of_it_is_loaded_without_a_recording():
    code = (
        'import sys, icir_control, icir_control.app.main, icir_control.app.sim\n'
        'print({"mcap", "mcap_ros2", "plotly", "imageio_ffmpeg"} & set(sys.modules))'
    )
    run = subprocess.run(
        [sys.executable, '-c', code], capture_output=True, text=True, env=os.environ
    )
    assert run.stdout.strip() == 'set()'
