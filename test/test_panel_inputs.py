"""The page's inputs, with a real server: what somebody types or drags is what is sent."""

import asyncio

import numpy as np
import pytest
from browser import chromium
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.parameter import Parameter

from icir_control.dynamics import load_urdf
from icir_control.share import share_directory

TYPED = ('0.55', '-0.55', '1.2', '-1', '.5', '-0,25', '1e-1')


@pytest.fixture
def server():
    pytest.importorskip('viser', reason='the extra `panel` is not installed')
    from icir_control.nodes.panel.server import open_server

    server, server.address = open_server('127.0.0.1', 0)
    yield server
    server.stop()


class Publisher:
    """Keeps what is published; also the node that it belongs to."""

    def __init__(self):
        self.sent = []

    def create_publisher(self, *_):
        return self

    def publish(self, message):
        self.sent.append(message)


def joints_of(server):
    from icir_control.nodes.panel.interact import _Joints

    model = load_urdf(share_directory() / 'urdf' / 'gen3_6dof.urdf')
    node = Publisher()
    return _Joints(server.gui, node, model, ['home', 'ready']), node, np.zeros(model.nv)


def test_a_target_is_sent_though_the_arm_is_followed_before_viser_tells_it(server):
    joints, node, rest = joints_of(server)
    joints.update(rest, rest)
    # As viser does it, in a thread of its own, before it calls anybody.
    joints._sliders[1]._impl.value = 0.7
    joints.update(rest, rest)
    assert [list(message.position) for message in node.sent] == [[0.0, 0.7, 0.0, 0.0, 0.0, 0.0]]
    assert joints._sliders[1].value == 0.7


def test_sliders_follow_an_arm_that_rests(server):
    joints, node, rest = joints_of(server)
    position = np.linspace(-0.5, 0.5, rest.size)
    joints.update(position, rest + 0.1)
    assert not any(slider.value for slider in joints._sliders)
    joints.update(position, rest)
    assert [slider.value for slider in joints._sliders] == pytest.approx(position, abs=1e-3)
    joints.update(position, rest)
    assert not node.sent


class Remote:
    """A node with one parameter, which takes what is positive."""

    def __init__(self, value, kind):
        self.values = {'value': value}
        self.descriptors = {'value': ParameterDescriptor(type=kind.value)}

    async def set(self, _, value):
        return '' if np.all(np.array(value) > 0.0) else 'expected more than 0'

    def start(self, ask):
        asyncio.run(ask())


@pytest.mark.slow
@pytest.mark.parametrize(
    ('value', 'kind', 'good', 'bad'),
    [
        (1.0, Parameter.Type.DOUBLE, {'2.5': 2.5}, ('1,5', '2 3', '', 'abc')),
        (1, Parameter.Type.INTEGER, {'4': 4}, ('1,5', '2 3', '1.5')),
        ([1.0, 2.0], Parameter.Type.DOUBLE_ARRAY, {'1.5, 2': [1.5, 2.0]}, ('1, a',)),
    ],
)
def test_a_text_is_one_number_or_refused_until_a_good_one(server, value, kind, good, bad):
    from icir_control.nodes.panel.parameters import ParameterInput

    remote, said = Remote(value, kind), []
    one = ParameterInput(server.gui, remote, 'value', lambda action: action(), said.append)

    def type_in(text):
        one._input.value = text
        one._due = 0.0
        one.update()
        return said[-1]

    for text, number in good.items():
        for wrong in bad:
            assert 'decimals follow a point' in type_in(wrong)
            assert remote.values['value'] == value
        assert 'expected more than 0' in type_in('-1')
        assert type_in(text) == f'value: {text}'
        assert remote.values['value'] == number


def test_a_typed_number_counts_once_and_as_it_was_typed(server):
    values = []
    slider = server.gui.add_slider('joint', -2.0, 2.0, 1e-3, 0.785)
    slider.on_update(lambda event: values.append(event.target.value))
    last = server.gui.add_markdown('')
    with chromium() as browser:
        browser.open(server.address)
        browser.wait_for('joint')
        for text in TYPED:
            browser.type_into('joint', text)
            number = float(text.replace(',', '.'))
            browser.wait(lambda number=number: slider.value == number, text)
            browser.wait(lambda number=number: float(browser.field('joint')) == number, text)
            # Nobody types into a field that is still being drawn: two keys would fall apart.
            last.content = f'taken: {text}'
            browser.wait_for(f'taken: {text}')
            browser.wait_until_drawn()
        assert values == [float(text.replace(',', '.')) for text in TYPED]
        for text in ('', '-', 'abc'):
            browser.type_into('joint', text)
            browser.wait(lambda: browser.field('joint') == '0.1', 'the value before')
        browser.type_into('joint', '-0.75', end=False)
        slider.value = 0.3  # as the arm moves meanwhile
        browser.wait(lambda: browser.thumb('joint') == 0.3, 'the value of the server')
        browser.end_typing()
        browser.wait(lambda: slider.value == -0.75, 'the number that was typed meanwhile')
