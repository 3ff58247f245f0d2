"""The window: where it opens, what it shows, and that it never disturbs the simulation."""

import json
import os
import shutil
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from session import Session as RosSession
from simulation_worlds import HOME, ZERO, gen3, state
from wall_time import Stopwatch

from icir_control.errors import InvalidValueError, SimulationError
from icir_control.simulation import open_viewer

SUPPORT = Path(__file__).parent / 'support'
SCREEN = (1280, 800)
# Without a window manager, nobody gives the window the keyboard.
FOCUS = ('search', '--name', 'MuJoCo', 'windowfocus', '--sync')


@pytest.fixture
def no_display(monkeypatch):
    monkeypatch.delenv('DISPLAY', raising=False)
    monkeypatch.delenv('WAYLAND_DISPLAY', raising=False)


class Screen:
    """A display without a monitor, whose pixels lie in a file."""

    def __init__(self, folder):
        reading, writing = os.pipe()
        width, height = SCREEN
        self.process = subprocess.Popen(
            ['Xvfb', '-displayfd', str(writing), '-screen', '0', f'{width}x{height}x24']
            + ['-fbdir', str(folder), '-nolisten', 'tcp'],
            pass_fds=[writing],
            stderr=subprocess.DEVNULL,
        )
        os.close(writing)
        with os.fdopen(reading) as answer:
            self.display = ':' + answer.readline().strip()
        self.file = folder / 'Xvfb_screen0'

    def picture(self):
        """Return the (height, width, 3) pixels, read from Xvfb's file in the format of xwd."""
        data = self.file.read_bytes()
        header = struct.unpack('>25I', data[:100])
        size, width, height, stride, colors = (header[i] for i in (0, 4, 5, 12, 19))
        start = size + 12 * colors
        rows = np.frombuffer(data, np.uint8, stride * height, start).reshape(height, -1, 4)
        return rows[:, :width, 2::-1].copy()


@pytest.fixture
def hand(screen):
    """A hand on the screen's mouse and keyboard: xdotool's commands, word by word."""
    if shutil.which('xdotool') is None:
        pytest.skip('the program xdotool is missing (Debian: apt-get install xdotool)')

    def act(*words):
        subprocess.run(
            ['xdotool', *map(str, words)],
            env={**os.environ, 'DISPLAY': screen.display},
            check=True,
            timeout=300,
        )

    return act


@pytest.fixture
def screen(tmp_path):
    if shutil.which('Xvfb') is None:
        pytest.skip('the program Xvfb is missing (Debian: apt-get install xvfb)')
    screen = Screen(tmp_path)
    yield screen
    screen.process.terminate()
    screen.process.wait(300)


class Session:
    """A process with a world and a window on a screen, told line by line what to do."""

    PREAMBLE = """
import json, signal, sys
import numpy as np
from simulation_worlds import *
from icir_control.errors import SimulationError
from icir_control.simulation import open_viewer
world = gen3()
hold = world.bias(HOME, ZERO)
try:
    viewer = open_viewer(world, sys.argv[1])
except SimulationError as error:
    print(json.dumps(str(error)), flush=True)
    sys.exit(3)
print(json.dumps(viewer.reason), flush=True)
for line in sys.stdin:
    if line.strip() == 'end':
        break
    print(json.dumps(eval(line)), flush=True)
viewer.close()
viewer.close()
print('"closed"', flush=True)
"""

    def __init__(self, display, kind='window'):
        environment = {**os.environ, 'DISPLAY': display, 'LIBGL_ALWAYS_SOFTWARE': '1'}
        environment.pop('WAYLAND_DISPLAY', None)
        self.process = subprocess.Popen(
            [sys.executable, '-c', self.PREAMBLE, kind],
            cwd=SUPPORT,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.reason = self.read()

    def read(self):
        line = self.process.stdout.readline()
        assert line, self.process.stderr.read()
        return json.loads(line)

    def __call__(self, expression):
        self.process.stdin.write(expression + '\n')
        self.process.stdin.flush()
        return self.read()

    def end(self):
        """End by the script's own way; return the exit status."""
        assert self('"end"') == 'end'
        self.process.stdin.write('end\n')
        self.process.stdin.flush()
        assert self.read() == 'closed'
        return self.process.wait(300)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


def eventually(condition, session, seconds=20.0):
    """Return the first true answer of a condition, syncing the window between the questions."""
    watch = Stopwatch()
    while not (answer := condition()):
        assert not watch.is_over(seconds)
        session('viewer.sync()')
        time.sleep(0.02)
    return answer


def arm(picture):
    """Return which pixels have the colour of the arm's shell, which nothing else has."""
    low, high = picture.min(axis=2).astype(int), picture.max(axis=2).astype(int)
    middle = np.zeros(picture.shape[:2], bool)
    # The sky's horizon is as bright: it ends above the arm's lower half.
    middle[picture.shape[0] // 4 :] = True
    middle[380:, :300] = False  # the help for the mouse
    return (low > 150) & (high - low < 12) & middle


def shows_arm(picture):
    """Return whether the arm is there; how large it is, is for the tests of the camera to say."""
    return arm(picture).sum() > 1000


def pixels_between(picture, first, second, margin):
    """Return how many pixels have more of one of red 0, green 1, blue 2 than of another."""
    color = picture.astype(int)
    return int((color[..., first] > color[..., second] + margin).sum())


def green(picture):
    """Return how many pixels the ghost has."""
    return pixels_between(picture, 1, 0, 60)


# --- where a window opens


def test_none_opens_nothing():
    world = gen3()
    viewer = open_viewer(world, 'none')
    assert not viewer.is_open
    assert 'none' in viewer.reason
    viewer.sync()
    world.step(ZERO)
    viewer.close()


def test_auto_without_a_display_says_why_and_goes_on(no_display, caplog):
    caplog.set_level('INFO')
    world = gen3()
    viewer = open_viewer(world, 'auto')
    assert not viewer.is_open
    assert 'DISPLAY' in viewer.reason
    assert 'DISPLAY' in caplog.text
    viewer.sync()
    viewer.close()


def test_a_window_that_was_asked_for_must_open(no_display):
    with pytest.raises(SimulationError, match='no display'):
        open_viewer(gen3(), 'window')


@pytest.mark.parametrize('kind', ['', 'Window', 'browser', None])
def test_an_unknown_kind_is_refused(kind):
    with pytest.raises(InvalidValueError, match='one of none, window, auto'):
        open_viewer(gen3(), kind)


@pytest.mark.slow
def test_a_display_that_does_not_answer_is_a_reason():
    with Session(':4093', 'auto') as session:
        assert 'display' in session.reason
        assert session('viewer.is_open') is False
        assert session.end() == 0
    with Session(':4093', 'window') as session:
        assert 'cannot be opened' in session.reason
        assert session.process.wait(20) == 3


# --- what it shows


@pytest.mark.slow
def test_the_window_shows_the_arm_and_follows_it(screen):
    with Session(screen.display, 'auto') as session:
        assert session.reason == ''
        assert session('viewer.is_open') is True
        eventually(lambda: shows_arm(screen.picture()), session)
        home = arm(screen.picture())
        session('world.reset(ZERO)')
        # Of where the arm was, much is background; its base stands still.
        eventually(lambda: (home & ~arm(screen.picture())).sum() > 0.4 * home.sum(), session)
        eventually(lambda: shows_arm(screen.picture()), session)
        # A sync copies the state, and no more: well below the 16 ms between two.
        session('[viewer.sync() for _ in range(20)] and None')
        spent = session(
            'sorted((lambda t: (viewer.sync(), __import__("time").perf_counter() - t)[1])'
            '(__import__("time").perf_counter()) for _ in range(101))[50]'
        )
        assert spent < 2e-3
        assert session.end() == 0


@pytest.mark.slow
def test_the_window_leaves_the_simulation_alone(screen):
    watched = '[(world.step(hold * 0.97), viewer.sync()) for _ in range(200)] and None'
    with Session(screen.display) as session:
        session('world.push("bracelet_link", [1, 2, 3, 0.1, 0.2, 0.3])')
        session(watched)
        seen = session('[array.tolist() for array in state(world)]')
        # Edits in the window's own copy reach nothing.
        session('viewer._data.qpos.fill(1.0)')
        session('viewer._model.opt.gravity.fill(0.0)')
        session('viewer.sync()')
        assert session('world.model.opt.gravity.tolist()') == [0.0, 0.0, -9.81]
        assert session('[array.tolist() for array in state(world)]') == seen
        # Closed by its user, it is gone, and the simulation goes on.
        session('viewer._handle.close()')
        eventually(lambda: session('viewer.is_open') is False, session)
        session('world.step(hold)')
        assert session('viewer.sync()') is None
        assert session('world.steps') == 201
        assert session.end() == 0
    alone = gen3()
    hold = alone.bias(HOME, ZERO)
    alone.push('bracelet_link', [1, 2, 3, 0.1, 0.2, 0.3])
    for _ in range(200):
        alone.step(hold * 0.97)
    assert [array.tolist() for array in state(alone)] == seen


@pytest.mark.slow
def test_the_window_shows_reference_trail_and_help(screen):
    def yellow():
        return pixels_between(screen.picture(), 0, 2, 80)

    with Session(screen.display) as session:
        eventually(lambda: shows_arm(screen.picture()), session)
        corner = screen.picture()[390:525, 10:290]
        assert (corner.min(axis=2) > 200).sum() > 300  # words
        assert green(screen.picture()) == yellow() == 0
        session('viewer.sync(HOME + 0.3)')
        while green(screen.picture()) < 500:
            time.sleep(0.05)
        eventually(lambda: green(screen.picture()) == 0, session)
        # More lines than the trail has: the first ones are used again.
        session(
            '[(world.reset(HOME - angle * np.eye(6)[1]), viewer.sync())'
            ' for angle in np.linspace(0.0, 1.5, 400)] and None'
        )
        eventually(lambda: yellow() > 50, session)
        assert session.end() == 0


@pytest.mark.slow
def test_a_key_opens_the_window_again_and_it_shows_where_the_arm_should_be(
    screen, hand, ros_graph
):
    ros_graph.environment |= {'DISPLAY': screen.display, 'LIBGL_ALWAYS_SOFTWARE': '1'}
    session = RosSession(ros_graph, bridge_parameters=('real_time_factor:=1.0',))
    keyboard = session.start_keyboard()

    def shown(condition):
        session.observer.spin_until(lambda: condition(screen.picture()), what='a picture')

    for _ in range(2):
        start = len(keyboard.output)
        keyboard.type('m')
        keyboard.wait_for('the window is open', start=start)
        shown(shows_arm)
        hand(*FOCUS, 'key', 'ctrl+q')
        shown(lambda picture: picture.max() == 0)
    keyboard.type('m')
    shown(shows_arm)
    start = len(keyboard.output)
    keyboard.type('m')
    keyboard.wait_for('the window is open already\n', start=start)
    for keys, answer in (('h', 'home\n'), ('i', 'impedance\n')):
        start = len(keyboard.output)
        keyboard.type(keys)
        keyboard.wait_for(answer, start=start)
        session.wait(2.5)
        assert green(screen.picture()) == 0
    session.push((0.0, 0.0, 60.0), 30.0)
    shown(lambda picture: green(picture) > 100)


@pytest.mark.slow
@pytest.mark.parametrize('closing', ['viewer.close()', 'viewer._handle.close()'])
def test_a_closed_window_lets_go_of_the_mouse(screen, closing):
    row = 'world.data.xfrc_applied[world.model.body("bracelet_link").id].tolist()'
    pull = (
        '[setattr(viewer._handle.perturb, "select", world.model.body("bracelet_link").id),'
        'setattr(viewer._handle.perturb, "active", 1),'
        'setattr(viewer._handle.perturb, "localmass", 1.0),'
        'viewer._handle.perturb.refselpos.__setitem__(2, 2.0)] and None'
    )
    with Session(screen.display) as session:
        session(pull)
        session('viewer.sync()')
        session('world.step(hold)')
        assert session(row)[2] > 10.0
        session(closing)
        session('viewer.sync()')
        session('world.step(hold)')
        assert session(row) == [0.0] * 6
        assert session.end() == 0


@pytest.mark.slow
def test_the_mouse_pulls_while_its_button_is_down(screen, hand):
    force = 'float(np.abs(world.data.xfrc_applied).max())'
    stepped = f'(world.step(hold), {force})[1]'
    with Session(screen.display) as session:
        eventually(lambda: shows_arm(screen.picture()), session)
        # The bright pixels at this height of the picture are the upper arm.
        picture = screen.picture()
        rows, columns = np.nonzero(picture.min(axis=2)[300:345] > 150)
        row, column = int(np.median(rows)) + 300, int(np.median(columns))

        def selected():
            """Click twice; on a busy machine the clicks may come too far apart to be one."""
            hand('mousemove', column, row, 'click', '--repeat', 2, '--delay', 60, 1)
            for _ in range(20):
                session('viewer.sync()')
                if session('viewer._handle.perturb.select') > 0:
                    return True
                time.sleep(0.02)
            return False

        # Double click selects, control and the right button drag.
        eventually(selected, session)
        hand(*FOCUS, 'keydown', 'ctrl')

        def grabbed():
            """Press the button; a press that came before the key is taken back."""
            hand('mousedown', 3)
            for _ in range(20):
                session('viewer.sync()')
                if session('viewer._handle.perturb.active'):
                    return True
                time.sleep(0.02)
            hand('mouseup', 3)
            return False

        eventually(grabbed, session)
        hand('mousemove', column + 40, row - 40)
        hand('mousemove', column + 90, row - 60)
        eventually(lambda: session(stepped) > 0.1, session)
        hand('mouseup', 3, 'keyup', 'ctrl')
        eventually(lambda: session(stepped) == 0.0, session)
        assert session.end() == 0


@pytest.mark.slow
def test_keys_in_the_window_change_nothing(screen, hand):
    with Session(screen.display) as session:
        eventually(lambda: shows_arm(screen.picture()), session)
        before = screen.picture()
        hand(*FOCUS, 'key', 'h', 'k', 'v', 'space', 'BackSpace', 'Escape', 'F1')
        # MuJoCo's own answer to F1, a help text, tells that the keys have arrived.
        eventually(lambda: (screen.picture() != before).any(), session)
        session('[(world.step(hold), viewer.sync()) for _ in range(50)] and None')
        assert session('world.steps') == 50
        assert np.abs(np.array(session('state(world)[0].tolist()')) - HOME).max() < 1e-9
        assert session.end() == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ('ending', 'expected'),
    [
        ('signal.raise_signal(signal.SIGINT)', -2),
        pytest.param('sys.exit(0)', 0, marks=pytest.mark.long),
        pytest.param('1 / 0', 1, marks=pytest.mark.long),
    ],
)
def test_a_window_that_nobody_closes_holds_up_no_process(screen, ending, expected):
    with Session(screen.display) as session:
        eventually(lambda: shows_arm(screen.picture()), session)
        watch = Stopwatch()
        session.process.stdin.write(ending + '\n')
        session.process.stdin.flush()
        status = session.process.wait(300)
        assert watch.own < 3.0
        assert status == expected
