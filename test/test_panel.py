"""The page in the browser: a real Chromium, beside real nodes."""

import http.server
import random
import re
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
import yaml
from browser import chromium
from rcl_interfaces.srv import GetParameters
from ros_processes import RosGraph
from session import Session
from state_source import HOME
from std_msgs.msg import String
from std_srvs.srv import Trigger
from test_panel_server import LOCAL, connect

from icir_control.app.recording.reader import Recording
from icir_control.nodes.panel.scripts import SAVING


@pytest.fixture(scope='module')
def browser(tmp_path_factory):
    pytest.importorskip('viser', reason='the extra `panel` is not installed')
    folder = tmp_path_factory.mktemp('downloads')
    with chromium(downloads=folder) as browser:
        browser.downloads = folder
        yield browser


@pytest.fixture(scope='module')
def session(browser, tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
        with RosGraph(tmp_path_factory.mktemp('panel') / 'logs') as graph:
            session = Session(
                graph,
                'modes.home.duration:=1.0',
                bridge_parameters=('real_time_factor:=1.0',),
            )
            session.graph = graph
            session.start_panel = partial(start_panel, graph)
            session.panel, session.address = start_panel(graph, 0)
            yield session


def start_panel(graph, port):
    panel = graph.start('panel', '--ros-args', '-p', f'port:={port}')
    return panel, panel.wait_for(r'the page is at (\S+)').group(1)


@pytest.fixture
def page(session, browser):
    """The page, at its first tab, and the arm at the upright pose."""
    if browser.driver.current_url != session.address:
        browser.open(session.address)
    browser.wait_for('Run')
    browser.press('Run')
    browser.wait_for('home')
    browser.press('reset')
    browser.wait_for('reset: ')
    session.observer.spin_until(lambda: np.abs(session.position).max() < 1e-6)
    return browser


def moved(session, by=0.01):
    """Whether the arm moves away from where it is now."""
    before = session.position
    return lambda: np.abs(session.position - before).max() > by


def parameter(session, node, name):
    answer = session.observer.call(
        GetParameters, f'{node}/get_parameters', GetParameters.Request(names=[name])
    )
    value = answer.values[0]
    return value.double_value or list(value.double_array_value)


@pytest.mark.slow
def test_a_button_runs_a_mode_and_a_refusal_says_why(session, page):
    page.press('down')
    page.wait_for('mode down refused')
    has_moved = moved(session)
    page.press('home')
    session.observer.spin_until(has_moved)
    page.wait_for('mode home arrived')
    (color,) = {page.color_of('home')} - {page.color_of('ready')}
    assert color


_COUNT = """
const original = WebGL2RenderingContext.prototype.clear;
window.pictures = 0;
WebGL2RenderingContext.prototype.clear = function (...masks) {
  window.pictures++;
  return original.apply(this, masks);
};
"""


@pytest.mark.slow
def test_beside_a_simulation_at_full_speed_few_pictures_are_drawn(session, page):
    page.driver.execute_script(_COUNT)

    def pictures(meanwhile=lambda: None):
        """How many are drawn in a second."""
        before, end = page.driver.execute_script('return pictures'), time.monotonic() + 1.0
        while time.monotonic() < end:
            meanwhile()
            # An arm that never rests.
            modes.publish(String(data=('home', 'ready')[int(time.monotonic()) % 2]))
            time.sleep(0.1)
        return page.driver.execute_script('return pictures') - before

    def saves():
        return SAVING in page.driver.execute_script('return document.body.innerHTML')

    session.set_controller('speed_scale', 0.05)
    modes = session.observer.create_publisher(String, 'controller/select_mode', 1)
    session.set_bridge('real_time_factor', 0.0)
    try:
        page.wait(saves, 'a page that saves pictures')
        pictures()  # what was asked for before
        few = [pictures() for _ in range(4)]
        assert 0 < sum(few) <= 6, few
        with page.turning() as turn:  # who turns the view does not wait
            page.wait(lambda: pictures(turn) > 2, 'pictures while the view turns')
    finally:
        session.set_bridge('real_time_factor', 1.0)
        session.set_controller('speed_scale', 1.0)
    page.wait(lambda: not saves(), 'a page that saves no pictures')
    modes.publish(String(data='home'))
    page.wait_for('mode home arrived')


@pytest.mark.slow
def test_arm_and_ghost_can_be_told_apart(session, page, tmp_path):
    page.press('home')
    page.wait_for('mode home arrived')
    page.press('impedance')
    page.wait_for('mode impedance arrived')

    def green(picture):
        red, green, blue = np.moveaxis(picture[:, : picture.shape[1] * 2 // 3], -1, 0)
        return ((green > red + 25) & (green > blue + 25)).sum()

    def pink(picture):
        """Count the pixels of links whose torque is some tenths of the limit."""
        red, green, blue = np.moveaxis(picture[:, : picture.shape[1] * 2 // 3], -1, 0)
        return ((red > 100) & (red > green + 10) & (np.abs(green - blue) < 20)).sum()

    at_rest = page.picture()
    assert pink(at_rest) > 100
    before = green(at_rest)
    session.push((0.0, 0.0, 60.0), 30.0)
    pictures = []

    def is_apart():
        session.observer.spin_for(0.2)
        pictures.append(page.picture())
        return green(pictures[-1]) > before + 100

    page.wait(is_apart, 'a green ghost')
    page.picture(tmp_path / 'ghost.png')
    session.push((0.0, 0.0, 0.0), 0.1)


@pytest.mark.long
def test_a_slider_moves_its_joint(session, page):
    page.press('home')
    page.wait_for('mode home arrived')
    page.press('Interact')
    page.wait_for('joint_1')

    def has_turned():
        # Where the machine is busy the page may be drawn anew in between.
        page.slide('joint_1', 0.6)
        session.observer.spin_for(3.0)
        return session.position[0] > 0.4

    page.wait(has_turned, 'joint 1 beyond 0.4 rad')
    page.press('Run')
    page.wait_for('target joints arrived')
    others = np.radians([45, 90, 0, 45, -90])
    assert 0.4 < session.position[0] < 0.9
    assert np.abs(session.position[1:] - others).max() < 2e-3


@pytest.mark.long
def test_handles_are_dragged_by_the_mouse_and_let_go_at_a_reset(session, page):
    def force():
        return float(page.field('force [N]'))

    def pull(is_pulled):
        page.press('Interact')
        page.choose('drag', 'pull at end_effector_link')
        page.grab(lambda: force() > 1.0 and is_pulled())

    page.press('home')
    session.observer.spin_until(lambda: np.abs(session.position - HOME).max() < 1e-3)
    page.press('jog')
    page.wait_for('mode jog arrived')
    has_moved = moved(session)

    def follows():
        session.observer.spin_for(0.1)
        return has_moved()

    page.grab(follows)  # the tool follows while its goal is still held
    page.let_go()
    page.press('impedance')
    page.wait_for('mode impedance arrived')
    has_moved = moved(session)
    pull(follows)
    page.let_go()
    page.wait(lambda: force() == 0.0, 'no force')
    pull(lambda: True)
    # At the upright pose the handle would be far from its link.
    assert session.observer.call(Trigger, 'mujoco_bridge/reset').success
    page.wait(lambda: force() == 0.0, 'no force while the mouse is still pressed')
    page.let_go()


@pytest.mark.long
def test_a_parameter_is_changed_and_a_refused_value_is_put_back(session, page):
    page.press('Parameters')
    page.open_folder('controller: modes.home')
    page.type_into('duration', '1.5')
    session.observer.spin_until(
        lambda: parameter(session, 'controller', 'modes.home.duration') == 1.5
    )
    page.type_into('duration', '-3')
    page.wait(lambda: page.field('duration') == '1.5', 'the old value')
    page.press('Run')
    page.wait_for('modes.home.duration')
    page.press('Parameters')
    page.press('save as a file')
    (file,) = page.wait(lambda: list(page.downloads.glob('*.yaml')), 'the file')
    saved = yaml.safe_load(file.read_text())['/**/controller']['ros__parameters']
    assert saved['modes']['home']['duration'] == 1.5
    # Both nodes start with it, beside those that run.
    for node, words in (('controller', 'ready; waiting'), ('bridge', 'model and MuJoCo agree')):
        arguments = ('--params-file', str(file), '-r', '__ns:=/other')
        process = session.graph.start(node, '--ros-args', *arguments)
        process.wait_for(words)
        process.stop()


@pytest.mark.long
def test_two_pages_show_the_same(session, page):
    first = page.driver.current_window_handle
    page.driver.switch_to.new_window('tab')
    try:
        page.open(session.address)
        page.press('gravity')
        page.press('home')
        page.wait_for('mode home arrived')
        there = page.color_of('home')
    finally:
        page.driver.close()
        page.driver.switch_to.window(first)
    page.wait(lambda: page.color_of('home') == there, 'home in the other page')
    assert page.color_of('ready') != there


@contextmanager
def foreign_page(text: str) -> Iterator[str]:
    """Serve a page of another origin; its address."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f'http://127.0.0.1:{server.server_port}/'
        server.shutdown()


CONNECT = """<script>const s = new WebSocket('ws://{place}', 'viser-v{version}');
s.onopen = () => document.title = 'open'; s.onerror = () => document.title = 'refused';</script>
<iframe src="http://{place}/"></iframe>"""


@pytest.mark.slow
def test_a_foreign_page_is_refused(session, page):
    import viser

    place = urlsplit(session.address).netloc
    script = CONNECT.format(place=place, version=viser.__version__)
    with foreign_page(script) as address:
        page.open(address)
        page.wait(lambda: page.driver.title in ('open', 'refused'), 'an answer')
        assert page.driver.title == 'refused'


@pytest.mark.long
def test_fifty_pages_and_malformed_messages_move_nothing(session, page):
    port = urlsplit(session.address).port
    rng = random.Random(2)
    before = session.position
    with ExitStack() as pages:
        others = [pages.enter_context(connect(port, f'http://{LOCAL}:{port}')) for _ in range(50)]
        for other in others:
            # Each takes all that it is sent, as a browser does.
            threading.Thread(target=deque, args=(other, 0), daemon=True).start()
            for _ in range(20):
                other.send(rng.randbytes(rng.randrange(200)))
        session.observer.spin_for(3.0)
        assert np.abs(session.position - before).max() < 1e-6
        page.press('home')
        page.wait_for('mode home arrived')
        assert all(node.running for node in (session.panel, session.bridge, session.controller))


@pytest.mark.long
def test_a_page_is_back_when_its_server_is(session, page):
    port = urlsplit(session.address).port
    session.panel.send(signal.SIGKILL)
    page.wait_for('Connecting')
    session.panel, session.address = session.start_panel(port)
    assert urlsplit(session.address).port == port
    page.wait(lambda: 'Connecting' not in page.text, 'the server')
    has_moved = moved(session)
    page.press('home')
    session.observer.spin_until(has_moved)


@pytest.mark.long
def test_a_button_records_what_the_arm_does(session, page, tmp_path):
    page.press('record')
    page.wait_for('stop recording')
    file = Path(page.wait(lambda: re.search(r'recording (/\S+\.mcap)', page.text))[1])
    page.press('home')
    page.wait_for('mode home arrived')
    page.press('stop recording')
    page.wait_for('s of simulation')
    try:
        recording = Recording(file)
        assert np.ptp(recording.states['position'][:, 1]) > 0.5
    finally:
        file.unlink()


@pytest.mark.long
def test_a_node_that_dies_is_shown_dead_and_revived(session, page):
    button = page.button('home')
    session.controller.send(signal.SIGKILL)
    page.wait_for('controller does not respond')
    session.start_controller()
    page.wait(
        lambda: 'does not respond' not in page.text and 'home' in page.text, 'the controller'
    )
    # The same page, in which somebody may be typing: another one would have another button.
    session.observer.spin_for(2.0)
    assert button.is_displayed()
    has_moved = moved(session)
    page.press('home')
    session.observer.spin_until(has_moved)
