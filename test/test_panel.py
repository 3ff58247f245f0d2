"""The page in the browser: a real Chromium, beside real nodes."""

from functools import partial

import numpy as np
import pytest
from browser import chromium
from rcl_interfaces.srv import GetParameters
from ros_processes import RosGraph
from session import Session


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
            session = Session(graph, bridge_parameters=('real_time_factor:=1.0',))
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


def test_a_button_runs_a_mode_and_a_refusal_says_why(session, page):
    page.press('down')
    page.wait_for('mode down refused')
    has_moved = moved(session)
    page.press('home')
    session.observer.spin_until(has_moved)
    page.wait_for('mode home arrived')
    (color,) = {page.color_of('home')} - {page.color_of('ready')}
    assert color


def test_arm_and_ghost_can_be_told_apart(session, page, tmp_path):
    page.press('home')
    page.wait_for('mode home arrived')
    page.press('impedance')
    page.wait_for('mode impedance arrived')

    def green(picture):
        red, green, blue = np.moveaxis(picture[:, : picture.shape[1] * 2 // 3], -1, 0)
        return ((green > red + 25) & (green > blue + 25)).sum()

    before = green(page.picture())
    session.push((0.0, 0.0, 60.0), 30.0)
    pictures = []

    def is_apart():
        session.observer.spin_for(0.2)
        pictures.append(page.picture())
        return green(pictures[-1]) > before + 100

    page.wait(is_apart, 'a green ghost')
    page.picture(tmp_path / 'ghost.png')
    session.set_bridge('external_wrench_hold', 0.1)


def test_a_slider_moves_its_joint(session, page):
    page.press('home')
    page.wait_for('mode home arrived')
    page.press('Touch')
    page.wait_for('joint_1')

    def has_turned():
        # Where the machine is busy the page may be drawn anew while one types.
        page.type_into('joint_1', '0.5')
        session.observer.spin_for(3.0)
        return abs(session.position[0] - 0.5) < 1e-3

    page.wait(has_turned, 'joint 1 at 0.5 rad')
    assert np.abs(session.position[1:] - np.radians([45, 90, 0, 45, -90])).max() < 2e-3
