"""The start of a recorded simulation: nothing is changed by a key before it is in the file."""

import os
import signal
import sys
from contextlib import suppress
from pathlib import Path

import pytest
import suspended_recorder
from ros_processes import ICIR_CONTROL, PATIENCE
from test_app_sim import children_of, is_gone, wait_until

from icir_control.app.recording.reader import Recording

SUPPORT = Path(suspended_recorder.__file__).parent
MODULE = (
    'from icir_control.nodes.process import children\n'
    f'children.RECORDER = {suspended_recorder.__name__!r}\n'
    'from icir_control.app.main import main\n'
    'main()'
)
WAITING, RECORDING, PARAMETERS = 'waiting for', 'recording to', 'parameters of'
KEYBOARD = 'waiting for the controller'  # its first line
NO_KEYBOARD = 'no terminal, so no keys'
FILE = 'run.mcap'
ENDS_WITHIN = 20.0  # s


@pytest.fixture
def start(ros_graph, tmp_path):
    """Start a simulation whose recorder is suspended at a line; its process, and the recorder."""
    recorders = []

    def start_suspended(suspended_at, *options, terminal=True):
        command = [sys.executable, '-P', '-c', MODULE, 'sim', '--viewer', 'none', *options]
        paths = filter(None, (str(SUPPORT), os.environ.get('PYTHONPATH')))
        sim = ros_graph.run(
            [*command, '--record', str(tmp_path / FILE)],
            terminal=terminal,
            environment={'PYTHONPATH': os.pathsep.join(paths), 'SUSPENDED_AT': suspended_at},
        )
        sim.wait_for(suspended_at)
        recorders.append(recorder_of(sim.pid))
        wait_until(lambda: state_of(recorders[-1]) == 'T', PATIENCE, 'the recorder is suspended')
        return sim, recorders[-1]

    yield start_suspended
    # Of a test that has failed: a suspended process does not end with its parent.
    for recorder in recorders:
        with suppress(ProcessLookupError):
            os.kill(recorder, signal.SIGCONT)


def recorder_of(pid: int) -> int:
    """Return the process id of the recorder that a simulation has started."""
    pids = Path(f'/proc/{pid}/task/{pid}/children').read_text().split()
    # A child that has just been forked shows its parent's command line, which has the name, too.
    words = f'\0-m\0{suspended_recorder.__name__}\0'
    (found,) = (one for one in pids if words in Path(f'/proc/{one}/cmdline').read_text())
    return int(found)


def niceness_of(pid: int) -> int:
    """Return the niceness of a process's main thread; its other threads may have another."""
    return os.getpriority(os.PRIO_PROCESS, pid)


def state_of(pid: int) -> str:
    return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ('suspended_at', 'options'),
    [
        (RECORDING, ()),
        # Here the nodes start as soon as the recorder has subscribed.
        (WAITING, ('--composed',)),
    ],
)
def test_keys_are_served_once_the_start_is_recorded(start, tmp_path, suspended_at, options):
    sim, recorder = start(suspended_at, *options)
    sim.wait_for('in mode gravity')
    # The first line of the keyboard comes whether the controller runs or not.
    assert KEYBOARD not in sim.output
    niceness = niceness_of(recorder)
    os.kill(recorder, signal.SIGCONT)
    sim.wait_for('q +quit')
    assert sim.output.index(PARAMETERS) < sim.output.index(KEYBOARD)
    # From now on the recorder may be late.
    wait_until(lambda: niceness_of(recorder) > niceness, PATIENCE, 'a lower priority')
    sim.type('-')
    sim.wait_for('speed scale 0.7')
    sim.type('q')
    assert sim.wait(ENDS_WITHIN) == 0
    recording = Recording(tmp_path / FILE)
    assert recording.given['controller']['speed_scale'] == 1.0
    assert recording.parameters['controller']['speed_scale'] == 0.7


@pytest.mark.slow
def test_without_a_terminal_it_says_so_once_the_start_is_recorded(start, tmp_path):
    sim, recorder = start(RECORDING, terminal=False)
    sim.wait_for('in mode gravity')
    assert NO_KEYBOARD not in sim.output
    os.kill(recorder, signal.SIGCONT)
    sim.wait_for(NO_KEYBOARD)
    assert sim.output.index(PARAMETERS) < sim.output.index(NO_KEYBOARD)
    assert sim.stop(signal.SIGTERM, ENDS_WITHIN) == 0
    assert set(Recording(tmp_path / FILE).given) == {'mujoco_bridge', 'controller'}


@pytest.mark.slow
@pytest.mark.parametrize(
    ('way', 'status', 'words'),
    [
        ('sigterm', 0, ''),
        ('controller', 2, 'the controller has ended (signal SIGKILL)'),
        ('recorder', 2, 'the recorder has ended (signal SIGKILL)'),
    ],
)
def test_the_wait_for_the_recorder_ends_with_the_simulation(start, way, status, words):
    sim, recorder = start(RECORDING)
    sim.wait_for('in mode gravity')
    pids = {**children_of(sim.pid), 'recorder': recorder}
    assert set(pids) == {'bridge', 'controller', 'recorder'}
    if way == 'sigterm':
        sim.send(signal.SIGTERM)
    else:
        os.kill(pids[way], signal.SIGKILL)
    assert sim.wait(ENDS_WITHIN) == status
    assert words in sim.output
    assert KEYBOARD not in sim.output
    assert 'Traceback' not in sim.output
    assert all(map(is_gone, pids.values()))


@pytest.mark.slow
def test_a_recorded_simulation_that_cannot_run_ends_with_the_reason(ros_graph, tmp_path):
    command = (*ICIR_CONTROL, 'sim', '--viewer', 'none', '--real-time-factor', '-1')
    sim = ros_graph.run([*command, '--record', str(tmp_path / FILE)])
    assert sim.wait() == 2
    assert 'real_time_factor' in sim.output
    assert 'the mujoco_bridge has ended (status 2)' in sim.output
    assert 'Traceback' not in sim.output
