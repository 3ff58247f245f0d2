"""Each process is killed in turn while the arm is recorded and pulled at by the mouse.

The processes are real, and so is the browser. What is killed is started again, as by a supervisor.
"""

import os
import re
import signal
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from browser import chromium
from session import Session
from state_record import PERIOD, kept_states
from state_source import HOME
from test_panel import start_panel
from test_pushes import WATCHED
from test_recording import content, start_recorder

from icir_control.app.recording.reader import Recording
from icir_control.dynamics import compute_all_terms, frame_jacobian, load_urdf
from icir_control.share import share_directory

VICTIMS = ('recorder', 'panel', 'bridge', 'controller', 'browser')
ROUNDS = 4
PULL = 'pull at end_effector_link'
LARGEST_STEP = 0.1  # rad/s in a control period that the controller may cause: 100 rad/s^2
LARGEST_PULL = 100.0  # N, of the page's spring, which may begin and end at once
BACK = 2e-3  # m from where the spring of the mode holds the tool


class Bench:
    """A session, its recorder, its page and the browser, of which each can be killed."""

    def __init__(self, graph, folder: Path, stack: ExitStack) -> None:
        self.graph, self.folder = graph, folder
        self.session = Session(
            graph,
            'modes.home.duration:=1.0',
            bridge_parameters=('real_time_factor:=1.0',),
            recorded=True,
        )
        self.lives = [self.session.record]
        self.panel, self.address = start_panel(graph, 0)
        self._stack = stack
        self.open_browser()

    def open_browser(self) -> None:
        self._stack.close()
        self.page = self._stack.enter_context(chromium())
        self.page.open(self.address)

    def record(self, turn: int) -> None:
        self.file = self.folder / f'{turn}.mcap'
        self.recorder = start_recorder(self.graph, self.file)
        self.recorder.wait_for('recording to')

    def pull(self) -> None:
        """Bring the arm home, and pull at its tool by the mouse."""
        page, observer = self.page, self.session.observer
        page.wait_for('Run')
        page.press('Run')
        page.press('home')
        observer.spin_until(lambda: np.abs(self.session.position - HOME).max() < 1e-3, what='home')
        page.press('impedance')
        page.wait_for('mode impedance arrived')
        page.press('Interact')
        page.choose('drag', PULL)
        self.rest = self.session.tool.translation
        page.grab(lambda: float(page.field('force [N]')) > 1.0)

    def is_back(self) -> bool:
        """Whether nothing pulls at the tool any more."""
        return np.linalg.norm(self.session.tool.translation - self.rest) < BACK

    def wait_for_saves(self, count: int) -> None:
        """Wait until the recorder has saved; the first one may have begun before."""
        for _ in range(count):
            size = self.file.stat().st_size
            self.session.observer.spin_until(
                lambda size=size: self.file.stat().st_size > size, what='a save of the recorder'
            )

    def kill(self, victim: str) -> None:
        if victim == 'browser':
            os.kill(self.page.driver.capabilities['goog:processID'], signal.SIGKILL)
            return
        process = {'recorder': self.recorder, 'panel': self.panel}.get(victim)
        process = process or getattr(self.session, victim)
        process.send(signal.SIGKILL)
        process.wait()

    def restart(self, victim: str) -> None:
        """Start again what was killed, and wait until the page knows it."""
        page, observer = self.page, self.session.observer
        if victim == 'browser':
            observer.spin_until(self.is_back, what='the end of a pull whose page is gone')
            self.open_browser()
            return
        if victim == 'panel':
            observer.spin_until(self.is_back, what='the end of a pull whose server is gone')
            page.wait_for('Connecting')
            self.panel, self.address = start_panel(self.graph, urlsplit(self.address).port)
            page.wait(lambda: 'Connecting' not in page.text, 'the server')
        elif victim in ('bridge', 'controller'):
            page.press('Run')
            page.wait_for('does not respond')
            page.press('Interact')
            page.wait(lambda: float(page.field('force [N]')) == 0.0, 'the end of the pull')
            page.press('Run')
            if victim == 'bridge':
                self.lives.append(self.folder / f'bridge_{len(self.lives)}')
                self.session.record = self.lives[-1]
                self.session.start_bridge()
            else:
                self.session.start_controller()
            page.wait(lambda: 'does not respond' not in page.text, f'the {victim}')
        page.let_go()


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_killed_in_turn_the_arm_stays_safe_files_are_whole_and_the_page_is_back(
    ros_graph, tmp_path
):
    pytest.importorskip('viser', reason='the extra `panel` is not installed')
    with ExitStack() as stack:
        bench = Bench(ros_graph, tmp_path, stack)
        for turn, victim in enumerate(VICTIMS * ROUNDS):
            bench.record(turn)
            bench.pull()
            # What came before a save is on the disk after it: every second, on a quiet machine.
            before = bench.session.time
            bench.wait_for_saves(3)
            bench.kill(victim)
            if victim != 'recorder':
                bench.restart(victim)
                bench.session.wait(0.1)  # a bridge begins anew
                before = bench.session.time
                bench.session.wait(0.1)
                assert bench.recorder.stop(signal.SIGTERM, 20.0) == 0
                assert re.search(r'\d+ states', bench.recorder.output)
            expect_whole(bench.file, before)
            if victim == 'recorder':
                bench.page.let_go()
    for life in bench.lives:
        expect_safe(life)


def expect_whole(file: Path, until: float) -> None:
    """Check that both readers get every state up to a simulation time [s]."""
    states = Recording(file).states
    assert states.time[-1] >= until
    np.testing.assert_allclose(np.diff(states.time), 1e-9 * PERIOD, rtol=1e-6)
    stamp = content(file)['/joint_states'][-1].header.stamp
    assert stamp.sec + 1e-9 * stamp.nanosec >= until


def expect_safe(life: Path) -> None:
    """Check each state of a plant: within limits, and moving without a jump."""
    model = load_urdf(share_directory() / 'urdf' / 'gen3_6dof.urdf')
    states = kept_states(life, model.nv)
    assert (np.diff(states.stamp) == PERIOD).all()
    assert (np.abs(states.effort) <= model.effort_limit + 1e-9).all()
    # A hand may be faster than the arm by itself; the watchdog brakes both.
    assert (np.abs(states.velocity) <= WATCHED * model.velocity_limit).all()
    steps = np.diff(states.position, axis=0)
    np.testing.assert_allclose(steps, 1e-9 * PERIOD * states.velocity[1:], rtol=0.0, atol=1e-12)
    data = model.create_data()
    change = np.abs(np.diff(states.velocity, axis=0))
    for k in np.flatnonzero((change >= LARGEST_STEP).any(axis=1)):
        compute_all_terms(model, data, states.position[k], states.velocity[k])
        J = frame_jacobian(model, data, 'end_effector_link')[:3]
        pulled = LARGEST_PULL * np.linalg.norm(np.linalg.solve(data.M, J.T), axis=1)
        assert (change[k] < LARGEST_STEP + 1e-9 * PERIOD * pulled).all()
