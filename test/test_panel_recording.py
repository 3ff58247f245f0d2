"""What a button of the page records: the nodes of its namespace, in a process of its own."""

import os
import re
import signal
from pathlib import Path

import pytest
from ros_processes import PATIENCE
from sensor_msgs.msg import JointState
from test_app_sim import wait_until

from icir_control.app.recording.reader import Recording
from icir_control.nodes.process import children


@pytest.fixture
def recording(ros_graph, tmp_path, monkeypatch):
    """A recording of a namespace in which states are published, and its observer."""
    pytest.importorskip('viser', reason='the extra `panel` is not installed')
    from icir_control.nodes.panel import controls

    for name, value in ros_graph.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    observer = ros_graph.observer(namespace='left')
    states = observer.create_publisher(JointState, 'joint_states', 10)

    def publish():
        publish.count += 1
        numbers = [float(publish.count)]
        state = JointState(name=['a'], position=numbers, velocity=numbers, effort=numbers)
        state.header.stamp.nanosec = publish.count * 1_000_000
        states.publish(state)

    publish.count = 0
    observer.create_timer(0.01, publish)
    recording = controls.RecorderControl(observer)

    def wait_for(words):
        def found():
            recording.update()
            return re.search(words, recording.sentence)

        observer.spin_until(found, what=words)
        return found()

    recording.wait_for = wait_for
    recording.toggle()
    assert recording.is_running
    yield recording
    recording.close()


def recorder_of(file: str) -> int:
    """Return the process id of the recorder of a file."""
    pids = Path(f'/proc/{os.getpid()}/task/{os.getpid()}/children').read_text().split()
    (found,) = (one for one in pids if file in Path(f'/proc/{one}/cmdline').read_text())
    return int(found)


@pytest.mark.slow
def test_the_namespace_of_the_panel_is_recorded(recording):
    recording.wait_for('starting the recorder')
    file = recording.wait_for(r'recording (/\S+\.mcap), \d').group(1)
    recording.toggle()
    recording.wait_for(rf'^{file}: \d\.\d+ s of simulation, \d+ states')
    assert not recording.is_running
    states = Recording(file).states
    assert len(states) > 0
    assert (states['position'][:, 0] > 0.0).all()


@pytest.mark.slow
def test_a_recorder_that_dies_is_said(recording):
    file = recording.wait_for(r'recording (/\S+\.mcap), \d').group(1)
    os.kill(recorder_of(file), signal.SIGKILL)
    recording.wait_for(r'the recorder has ended \(signal SIGKILL\)$')
    assert not recording.is_running


SLOW = """
import signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
print('begun')
signal.sigwait({signal.SIGTERM})
time.sleep(2.0)
print('finished')
"""


@pytest.mark.slow
def test_a_recorder_has_time_to_finish_its_file(tmp_path, monkeypatch):
    (tmp_path / 'slow_recorder.py').write_text(SLOW)
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))
    monkeypatch.setattr(children, 'RECORDER', 'slow_recorder')
    lines = []
    with children.RecorderProcess(tmp_path / 'run.mcap', lambda _, line: lines.append(line)):
        wait_until(lambda: lines == ['begun'], PATIENCE, 'the recorder runs')
    assert lines == ['begun', 'finished']
