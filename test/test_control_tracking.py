"""Tracking on the plant: what each kind of feed-forward leaves, against measured anchors."""

from pathlib import Path

import numpy as np
import pytest
from closed_loop import HOME, READY, ClosedLoop

from icir_control.app.promises.accuracy import FAST
from icir_control.control import Controller

DOCS = Path(__file__).resolve().parent.parent / 'docs'


@pytest.fixture
def comparison_laws(monkeypatch):
    """The module of the laws that the documentation compares; it names them to a configuration."""
    monkeypatch.syspath_prepend(DOCS)
    return 'comparison_laws'


def test_home_is_tracked_to_round_off():
    loop = ClosedLoop()
    assert loop.go('home', 2.5).joint_error() < 1e-12
    np.testing.assert_allclose(loop.q, HOME, atol=1e-12)


def test_ready_from_home_is_tracked_to_round_off():
    loop = ClosedLoop(start=HOME)
    assert loop.go('ready', 2.5).joint_error() < 1e-12
    np.testing.assert_allclose(loop.q, READY, atol=1e-12)


@pytest.mark.parametrize(
    ('law', 'low', 'high'),
    [
        ('JointWithoutFeedForward', 1e-3, 2e-2),
        ('JointWithVelocity', 30e-6, 70e-6),
        ('JointWithAcceleration', 5e-6, 20e-6),
    ],
)
def test_what_feed_forward_leaves_in_joint_space(comparison_laws, law, low, high):
    """Anchors: 47 urad with velocity, 12 with acceleration; without either the arm lags."""
    loop = ClosedLoop(modes__home__law=f'{comparison_laws}:{law}')
    assert low < loop.go('home', 2.5).joint_error() < high


def test_down_is_tracked_to_round_off():
    position, angle = ClosedLoop(start=HOME).tool_error('down', 2.5)
    assert position < 1e-10
    assert angle < 1e-9


@pytest.mark.parametrize(
    ('law', 'low', 'high'),
    [
        ('TutorialTask', 0.9e-3, 1.2e-3),
        pytest.param('TaskWithVelocity', 8e-6, 20e-6, marks=pytest.mark.slow),
        pytest.param('TaskWithAcceleration', 0.3e-6, 3e-6, marks=pytest.mark.slow),
    ],
)
def test_what_feed_forward_leaves_in_task_space(comparison_laws, law, low, high):
    """Anchors: the tutorial's law 1060 um, with velocity 13.5, with acceleration 1.0."""
    loop = ClosedLoop(start=HOME, modes__down__law=f'{comparison_laws}:{law}')
    position, _ = loop.tool_error('down', 2.5)
    assert low < position < high


def test_fast_tool_motion_is_tracked_to_round_off():
    loop = ClosedLoop(start=HOME, **FAST)
    position, _ = loop.tool_error('down', 1.5)
    assert position < 1e-9
    assert not loop.controller.take_events(), 'the motion was lengthened'


def test_down_moves_straight_down():
    loop = ClosedLoop(start=HOME)
    before = loop.placement
    loop.go('down', 2.5)
    after = loop.placement
    np.testing.assert_allclose(
        after.translation - before.translation, [0.0, 0.0, -0.05], atol=1e-9
    )
    np.testing.assert_allclose(after.rotation, before.rotation, atol=1e-9)


def test_two_millisecond_steps_are_matched_too():
    loop = ClosedLoop(timestep=2e-3)
    loop.run(1)
    assert loop.go('home', 2.5).joint_error() < 1e-12


def test_same_input_same_output_to_the_last_bit():
    def positions():
        loop = ClosedLoop()
        return np.vstack([loop.go('home', 2.2)['position'], loop.go('down', 1.0)['position']])

    assert np.array_equal(positions(), positions())


def test_warm_up_compiles_all_and_changes_nothing():
    loop = ClosedLoop(start=HOME)
    controller = Controller(loop.model, loop.controller.config)
    controller.warm_up()
    controller.restart(0.0, HOME, np.zeros(6))
    torque = controller.tick(0.0, HOME, np.zeros(6)).copy()
    other = Controller(loop.model, loop.controller.config)
    other.restart(0.0, HOME, np.zeros(6))
    assert np.array_equal(torque, other.tick(0.0, HOME, np.zeros(6)))
