"""Tracking against the path itself, as a formula of time, and against the tutorial's joint law."""

import numpy as np
import pytest
from closed_loop import HOME, ClosedLoop

from icir_control.control.laws import Joint
from icir_control.spatial import log3


class TutorialJoint(Joint):
    """Velocity by difference, no acceleration, as on the slide."""

    def acceleration(self, tick):
        error = tick.position_reference - tick.q
        return 40000.0 * error + 400.0 * (tick.velocity_reference - tick.v)


def cubic(recording, duration: float) -> np.ndarray:
    """The share of the way at each tick, (ticks, 1)."""
    time = recording.time
    s = np.clip((time - time[0]) / duration, 0.0, 1.0)[:, None]
    return s * s * (3.0 - 2.0 * s)


def test_home_keeps_to_the_cubic():
    recording = ClosedLoop().go('home', 2.5)
    np.testing.assert_allclose(recording['position'], cubic(recording, 2.0) * HOME, atol=1e-12)


@pytest.mark.parametrize(
    ('way', 'duration', 'bound'), [([0.0, 0.0, -0.05], 2.0, 1e-10), ([0.2, 0.0, 0.0], 0.7, 1e-9)]
)
def test_tool_keeps_to_the_straight_line(way, duration, bound):
    loop = ClosedLoop(start=HOME, modes__down__translation=way, modes__down__duration=duration)
    arm, before = loop.controller.config.arm, loop.placement
    recording = loop.go('down', duration + 0.5)
    tools = [arm.placement(q) for q in recording['position']]
    moved = np.array([tool.translation for tool in tools]) - before.translation
    turned = [np.linalg.norm(log3(before.rotation.T @ tool.rotation)) for tool in tools]
    off = np.linalg.norm(moved - cubic(recording, duration) * way, axis=1)
    assert off.max() < bound
    assert max(turned) < bound


def test_what_the_tutorials_joint_law_leaves():
    """The greatest acceleration over kp: 6 (pi / 2) / 2^2 / 40000 is 58.9 urad."""
    loop = ClosedLoop(modes__home__law=f'{__name__}:TutorialJoint')
    recording = loop.go('home', 2.5)
    error = np.abs(recording['position'] - cubic(recording, 2.0) * HOME).max()
    assert error == pytest.approx(58.9e-6, rel=0.02)
