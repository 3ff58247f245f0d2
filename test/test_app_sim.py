"""`icir_control sim` as a user meets it: typed at, interrupted, and with nodes that die."""

import os
import signal
import sys
import termios
import time
from pathlib import Path

import pytest
from ros_processes import ICIR_CONTROL, MODULE
from std_msgs.msg import String
from wall_time import Stopwatch

from icir_control.app.main import main
from icir_control.nodes.transport.qos import LATCHED

COMMAND = (*ICIR_CONTROL, 'sim', '--viewer', 'none')
ENDS_WITHIN = 3.0  # s


def children_of(pid):
    """Return the process ids of a process's children, by what they run."""
    pids = Path(f'/proc/{pid}/task/{pid}/children').read_text().split()
    commands = {int(child): Path(f'/proc/{child}/cmdline').read_text() for child in pids}
    return {
        name: child
        for child, command in commands.items()
        for name in ('bridge', 'controller')
        if f'icir_control.nodes\0{name}\0' in command
    }


def is_gone(pid):
    try:
        return Path(f'/proc/{pid}/stat').read_text().rpartition(')')[2].split()[0] == 'Z'
    except FileNotFoundError:
        return True


def wait_until(condition, timeout, what):
    watch = Stopwatch()
    while not condition():
        assert not watch.is_over(timeout), what
        time.sleep(0.02)


def start(graph, *options, terminal=True):
    return graph.run([*COMMAND, *options], terminal=terminal)


def test_an_unknown_command_is_refused_with_those_that_there_are(monkeypatch, capsys):
    monkeypatch.setattr(sys, 'argv', ['icir_control', 'simulate'])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 2
    assert "unknown command 'simulate'; valid: sim, panel, record" in capsys.readouterr().err


def test_keys_select_modes_and_q_leaves_nothing_behind(ros_graph):
    sim = start(ros_graph, '--real-time-factor', '0')
    settings = termios.tcgetattr(sim.slave)
    sim.wait_for(r'q +quit')
    pids = children_of(sim.pid)
    assert set(pids) == {'bridge', 'controller'}
    observer = ros_graph.observer()
    modes = []
    observer.create_subscription(
        String, 'controller/mode', lambda m: modes.append(m.data), LATCHED
    )
    observer.spin_until(lambda: modes == ['gravity'], what='the initial mode')
    sim.type('k')
    sim.wait_for('down refused: .*singular')
    sim.type('h')
    observer.spin_until(lambda: modes == ['gravity', 'home'], what='mode home')
    sim.wait_for('(?m)^home')
    assert sim.output.count('down refused') == 1
    sim.type('q')
    assert sim.wait(ENDS_WITHIN) == 0
    assert all(map(is_gone, pids.values()))
    assert termios.tcgetattr(sim.slave) == settings


@pytest.mark.slow
def test_the_line_at_the_bottom_tells_what_the_arm_does(ros_graph):
    environment = {'TERM': 'xterm', 'COLUMNS': '120'}
    sim = ros_graph.run(
        [*COMMAND, '--real-time-factor', '0.5'], terminal=True, environment=environment
    )
    sim.wait_for(
        r'gravity, arrived \| tool -?0\.000 0\.001 1\.1\d\d m \| error \S+ m \| torque 0%'
    )
    sim.wait_for(r'\| 0\.\d\d x real time')
    sim.type('k')
    sim.wait_for('gravity, mode down was refused')
    sim.type('h')
    sim.wait_for('home, moving')
    sim.wait_for(r'home, arrived \| tool -0\.100 0\.001 0\.797 m \| error \S+ m \| torque 14%')
    start = len(sim.output)
    sim.type('q')
    assert sim.wait(ENDS_WITHIN) == 0
    # The cursor is shown again.
    assert '\x1b[?25h' in sim.output[start:]


@pytest.mark.slow
def test_a_folder_of_our_name_in_the_current_directory_is_not_imported(
    ros_graph, tmp_path, monkeypatch
):
    package = tmp_path / 'icir_control'
    package.mkdir()
    (package / '__init__.py').write_text('raise RuntimeError("not the installed package")\n')
    monkeypatch.chdir(tmp_path)
    command = (sys.executable, '-P', '-c', MODULE, *COMMAND[len(ICIR_CONTROL) :])
    sim = ros_graph.run(command, terminal=True)
    sim.wait_for(r'q +quit')
    sim.type('q')
    assert sim.wait(ENDS_WITHIN) == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ('moment', 'way'),
    [
        ('waiting for the controller', 'ctrl-c'),
        (r'q +quit', 'sigterm'),
        pytest.param('waiting for the controller', 'hang-up', marks=pytest.mark.long),
        pytest.param(r'q +quit', 'ctrl-c', marks=pytest.mark.long),
        pytest.param('waiting for the controller', 'sigterm', marks=pytest.mark.long),
        pytest.param(r'q +quit', 'hang-up', marks=pytest.mark.long),
    ],
)
def test_it_ends_in_time_however_it_is_asked(ros_graph, moment, way):
    sim = start(ros_graph)
    settings = termios.tcgetattr(sim.slave)
    sim.wait_for(moment)
    pids = children_of(sim.pid)
    assert len(pids) == 2
    if way == 'ctrl-c':
        sim.type('\x03')
    elif way == 'sigterm':
        sim.send(signal.SIGTERM)
    else:
        sim.hang_up()
    assert sim.wait(ENDS_WITHIN) == 0
    assert all(map(is_gone, pids.values()))
    if way != 'hang-up':
        assert termios.tcgetattr(sim.slave) == settings
    assert 'Traceback' not in sim.output


@pytest.mark.slow
@pytest.mark.parametrize('victim', [pytest.param('bridge', marks=pytest.mark.long), 'controller'])
def test_a_node_that_dies_is_named_and_ends_it(ros_graph, victim):
    sim = start(ros_graph)
    settings = termios.tcgetattr(sim.slave)
    sim.wait_for(r'q +quit')
    pids = children_of(sim.pid)
    os.kill(pids[victim], signal.SIGKILL)
    assert sim.wait(ENDS_WITHIN) == 2
    assert f'{victim} has ended (signal SIGKILL)' in sim.output
    assert all(map(is_gone, pids.values()))
    assert termios.tcgetattr(sim.slave) == settings


@pytest.mark.slow
def test_a_node_that_hangs_does_not_hold_it_up(ros_graph):
    sim = start(ros_graph)
    sim.wait_for(r'q +quit')
    pids = children_of(sim.pid)
    os.kill(pids['controller'], signal.SIGSTOP)
    sim.type('q')
    assert sim.wait(ENDS_WITHIN) == 0
    assert all(map(is_gone, pids.values()))


@pytest.mark.slow
def test_no_node_outlives_it_when_it_is_killed(ros_graph):
    sim = start(ros_graph)
    sim.wait_for('waiting for the controller')
    pids = children_of(sim.pid)
    sim.send(signal.SIGKILL)
    assert sim.wait() == -signal.SIGKILL
    wait_until(lambda: all(map(is_gone, pids.values())), ENDS_WITHIN, f'{pids} still run')


@pytest.mark.slow
@pytest.mark.parametrize(
    ('options', 'words'),
    [
        (('--robot', 'r2d2'), "unknown robot 'r2d2'; valid: gen3_6dof"),
        (('--model', 'missing.urdf'), 'missing.urdf'),
        (('--params-file', 'missing.yaml'), 'missing.yaml'),
        (('--real-time-factor', '-1'), 'real_time_factor'),
        (('--viewer', 'hologram'), 'hologram'),
    ],
)
def test_what_cannot_run_is_refused_with_the_reason(ros_graph, options, words):
    sim = start(ros_graph, *options, terminal=False)
    assert sim.wait() != 0
    assert words in sim.output
    assert 'Traceback' not in sim.output


@pytest.mark.slow
def test_a_window_without_a_display_is_refused_in_a_sentence(ros_graph):
    command = (*ICIR_CONTROL, 'sim', '--viewer', 'window')
    sim = ros_graph.run(command, environment={'DISPLAY': '', 'WAYLAND_DISPLAY': ''})
    assert sim.wait() == 2
    assert 'the viewer window cannot be opened: there is no display' in sim.output
    assert 'Traceback' not in sim.output


@pytest.mark.slow
def test_without_a_terminal_it_runs_with_options_that_stand_above_the_file(ros_graph, tmp_path):
    params = tmp_path / 'mine.yaml'
    params.write_text(
        '/**:\n  ros__parameters: {end_effector_frame: bracelet_link}\n'
        '/**/mujoco_bridge:\n  ros__parameters: {real_time_factor: 0.5, lockstep: true}\n'
    )
    sim = start(ros_graph, '--params-file', str(params), '--real-time-factor', '3', terminal=False)
    sim.wait_for('no terminal')
    # The bridge's own words: of the options the pace, of the file that it is in lockstep.
    sim.wait_for(r'in lockstep, 3 times real time')
    sim.wait_for('new start at 0.000 s')
    assert sim.stop(signal.SIGTERM, ENDS_WITHIN) == 0
