"""The keyboard at a real pseudo-terminal, with the real controller behind it."""

import io
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
import termios
import time

import pytest
from ros_processes import Process
from state_source import HOME, StateSource
from std_msgs.msg import String

from icir_control.nodes.keyboard.keyboard import NoTerminalError, Terminal
from icir_control.nodes.keyboard.keys import modes_of

TABLE = r'(?s)key +mode +law +parameters.*h +home +joint +.*duration 2.*\? +this help.*q +quit'
WAITING = 'waiting for the controller'
READY = 'ready; waiting for'
COMMAND = (sys.executable, '-m', 'icir_control.nodes', 'keyboard')


def settings(process: Process) -> list:
    """What the terminal is set to, without the part that the hardware would have."""
    return termios.tcgetattr(process.slave)[:4]


def is_echoing(process: Process) -> bool:
    return bool(settings(process)[3] & termios.ECHO)


@pytest.fixture
def keyboard(ros_graph) -> Process:
    """A keyboard that has taken its terminal and waits for a controller."""
    process = ros_graph.start('keyboard', terminal=True)
    process.wait_for(WAITING)
    assert not is_echoing(process)
    return process


def test_a_session_of_keys(ros_graph, keyboard):
    controller = ros_graph.start('controller')
    keyboard.wait_for(TABLE)
    # A parameter without a value, such as a posture, is not shown.
    assert re.search(r'(?m)^k +down +task +translation 0 0 -0.05 *$', keyboard.output)
    keyboard.type('h')
    keyboard.wait_for('home refused: no state of the arm has arrived yet')
    source = StateSource(ros_graph.observer(), 'run')
    source.hold(HOME)
    for key, mode in {'h': 'home', 'v': 'float', 'i': 'impedance', 'g': 'gravity'}.items():
        start = len(keyboard.output)
        keyboard.type(key)
        keyboard.wait_for(rf'(?m)^{mode}$', start=start)
    source.hold([0.0] * 6)
    keyboard.type('k')
    keyboard.wait_for('down refused: .*singular')
    keyboard.type('n')
    keyboard.wait_for("'n' is not assigned; valid keys: g h a k v i j s x X y Y .* q\n")
    keyboard.type('\x1b[A')  # an arrow is one key, and none of its characters is taken for another
    keyboard.wait_for(r"'\\x1b\[A' is not assigned")
    keyboard.type('m')
    keyboard.wait_for('there is no simulation whose window could be opened')
    start = len(keyboard.output)
    keyboard.type('?')
    keyboard.wait_for(TABLE, start=start)

    start = len(keyboard.output)
    assert controller.stop(signal.SIGTERM) == 0
    keyboard.wait_for('the controller has ended; waiting for it', start=start)
    keyboard.type('h')
    keyboard.wait_for('there is no controller yet', start=start)
    ros_graph.start(
        'controller',
        '--ros-args',
        '-p',
        'mode_names:=[gravity]',
        '-p',
        'modes.gravity.law:=gravity',
        '-p',
        'modes.gravity.key:="0"',
    )
    keyboard.wait_for(r'0 +gravity +gravity +damping_rate 2', start=start)
    keyboard.wait_for('q +quit', start=start)
    keyboard.type('x')
    keyboard.wait_for('takes jog steps', start=start)
    keyboard.type('q')
    assert keyboard.wait(3.0) == 0
    assert is_echoing(keyboard)


@pytest.mark.slow
def test_keys_of_one_burst_act_in_the_order_typed(ros_graph, keyboard):
    ros_graph.start('controller')
    keyboard.wait_for(TABLE)
    source = StateSource(ros_graph.observer(), 'run')
    source.hold(HOME)
    modes = []
    observer = ros_graph.observer('modes')
    observer.create_subscription(
        String, 'controller/mode', lambda message: modes.append(message.data), 100
    )
    observer.spin_until(lambda: observer.count_publishers('controller/mode'))
    keyboard.type('h')
    keyboard.wait_for('(?m)^home$')
    for _ in range(5):
        start = len(keyboard.output)
        keyboard.type('sgvihsj')
        keyboard.wait_for(
            '(?m)^hold$\\s^gravity$\\s^float$\\s^impedance$\\s^home$\\s^hold$\\s^jog$', start=start
        )
    observer.spin_until(lambda: modes[-1:] == ['jog'])
    # What is typed before the end is done before the end.
    keyboard.type('gq')
    keyboard.wait_for('(?m)^gravity$', start=start)
    assert keyboard.wait(5.0) == 0


@pytest.mark.slow
def test_a_controller_that_is_killed_and_comes_back_is_asked_anew(ros_graph, keyboard):
    controller = ros_graph.start('controller')
    keyboard.wait_for(TABLE)
    controller.close()  # no goodbye: the graph still shows it
    start = len(keyboard.output)
    keyboard.type('h')
    keyboard.wait_for('home: the controller does not answer', start=start)
    ros_graph.start('controller').wait_for(READY)
    keyboard.wait_for(TABLE, start=start)
    keyboard.type('h')
    keyboard.wait_for('home refused', start=start)


@pytest.mark.slow
def test_a_mode_takes_the_key_of_a_jog_step(ros_graph, keyboard):
    ros_graph.start(
        'controller',
        '--ros-args',
        *('-p', 'mode_names:=[gravity, aside]'),
        *('-p', 'modes.gravity.law:=gravity', '-p', 'modes.gravity.key:=g'),
        *('-p', 'modes.aside.law:=task', '-p', 'modes.aside.key:=x'),
    )
    table = keyboard.wait_for('(?s)key +mode.*q +quit').group()
    assert 'x selects the mode aside, instead of: move the tool along +x, -x' in table
    assert re.search('(?m)^X +move the tool along', table)
    source = StateSource(ros_graph.observer(), 'run')
    source.hold(HOME)
    keyboard.type('g')
    keyboard.wait_for('(?m)^gravity$')
    start = len(keyboard.output)
    keyboard.type('y')
    keyboard.wait_for(r'gravity takes no jog steps; first press one of: x \(aside\)', start=start)
    keyboard.type('x')
    keyboard.wait_for('(?m)^aside$', start=start)


@pytest.mark.slow
def test_it_finds_the_controller_of_its_namespace(ros_graph):
    keyboard = ros_graph.start('keyboard', '--ros-args', '-r', '__ns:=/left', terminal=True)
    ros_graph.start('controller', '--ros-args', '-r', '__ns:=/left')
    keyboard.wait_for(TABLE)
    keyboard.type('\x04')
    assert keyboard.wait(3.0) == 0


@pytest.mark.parametrize(
    'end',
    [
        pytest.param(lambda keyboard: keyboard.type('q'), id='q'),
        pytest.param(lambda keyboard: keyboard.type('\x03'), id='Ctrl-C'),
        pytest.param(lambda keyboard: keyboard.type('\x04'), id='Ctrl-D'),
        pytest.param(lambda keyboard: keyboard.type('\x1c'), id='Ctrl-backslash'),
        pytest.param(lambda keyboard: keyboard.send(signal.SIGINT), id='SIGINT'),
        pytest.param(lambda keyboard: keyboard.send(signal.SIGTERM), id='SIGTERM'),
        pytest.param(lambda keyboard: keyboard.send(signal.SIGHUP), id='SIGHUP'),
    ],
)
def test_every_end_puts_the_terminal_back(ros_graph, end):
    fresh = ros_graph.run(['true'], terminal=True)
    keyboard = ros_graph.start('keyboard', terminal=True)
    keyboard.wait_for(WAITING)
    assert settings(keyboard) != settings(fresh)
    end(keyboard)
    assert keyboard.wait(3.0) == 0
    assert settings(keyboard) == settings(fresh)
    assert 'Traceback' not in keyboard.output


def test_a_closed_terminal_ends_it(keyboard):
    keyboard.hang_up()
    assert keyboard.wait(3.0) == 0


@pytest.mark.slow
def test_suspended_it_lends_the_terminal_and_takes_it_back(ros_graph):
    shell = ros_graph.run(['bash', '--norc', '-i'], terminal=True)
    shell.type(f'PS1="prompt> "\n{shlex.join(COMMAND)}\n')
    shell.wait_for(WAITING)
    assert not is_echoing(shell)
    shell.type('\x1a')
    shell.wait_for('Stopped')
    start = len(shell.output)
    shell.type('stty -a | tr ";" "\\n"\n')
    shell.wait_for(r'[^-]icanon.*[^-]echo ', start=start)
    start = len(shell.output)
    shell.type('fg\n')
    shell.wait_for(WAITING, start=start)
    assert not is_echoing(shell)
    start = len(shell.output)
    shell.type('q')
    shell.wait_for('prompt> ', start=start)
    shell.type('echo "status $?"\n')
    shell.wait_for('status 0')


@pytest.mark.slow
def test_without_a_terminal_it_says_so(ros_graph):
    process = ros_graph.start('keyboard', fresh=True)
    assert process.wait(10.0) == 2
    assert process.output.count('\n') == 1
    assert 'needs a terminal' in process.output


def test_what_is_no_terminal_is_refused():
    with pytest.raises(NoTerminalError):
        Terminal(io.StringIO())
    with open(os.devnull) as null, pytest.raises(NoTerminalError):
        Terminal(null)


def test_an_exception_puts_the_terminal_back():
    code = (
        'import sys\nfrom icir_control.nodes.keyboard.keyboard import Terminal\n'
        'with Terminal(sys.stdin): raise RuntimeError("of the test")\n'
    )
    master, slave = pty.openpty()
    before = termios.tcgetattr(slave)
    done = subprocess.run(
        [sys.executable, '-c', code],
        stdin=slave,
        stderr=subprocess.PIPE,
        start_new_session=True,
        check=False,
    )
    assert b'of the test' in done.stderr
    assert termios.tcgetattr(slave) == before
    os.close(master)
    os.close(slave)


def test_keys_are_read_one_by_one_and_time_out():
    master, slave = pty.openpty()
    with os.fdopen(slave) as device:
        terminal = Terminal(device)
        os.write(master, 'hé'.encode())
        os.write(master, b'\n')
        assert terminal.read(1.0) == ['h', 'é', '\n']
        os.write(master, b'T\x1b[Ah\x1bOPk\n')  # an arrow and a function key between others
        assert terminal.read(1.0) == ['T', '\x1b[A', 'h', '\x1bOP', 'k', '\n']
        begin = time.monotonic()
        assert terminal.read(0.05) == []
        assert time.monotonic() - begin >= 0.05
        assert not terminal.is_over
        os.close(master)
        assert terminal.read(1.0) == []
        assert terminal.is_over


def test_modes_keep_their_order_and_their_parameters():
    values = {
        'modes.home.law': 'joint',
        'modes.home.key': 'h',
        'modes.home.duration': 2.0,
        'modes.homely.law': 'gravity',
        'modes.homely.key': 'y',
    }
    modes = modes_of(['homely', 'home'], ['home'], values)
    assert list(modes) == ['y', 'h']
    assert modes['h'].name == 'home'
    assert modes['h'].parameters == {'duration': 2.0}
    assert modes['y'].parameters == {}
    assert [mode.takes_pose for mode in modes.values()] == [False, True]
