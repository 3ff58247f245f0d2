"""Tracking with an exact model, and with torque that comes some ticks late."""

from collections.abc import Iterator
from typing import Final

from icir_control.app.acceptance.closed_loop import HOME, ClosedLoop
from icir_control.app.figure import Figure
from icir_control.simulation import Plant

FAST: Final = {'modes.down.translation': [0.2, 0.0, 0.0], 'modes.down.duration': 0.7}
"""A motion of the tool near the joints' speed limits."""


def exact_model() -> Iterator[Figure]:
    """Give the peak errors of three motions on a plant that is as the model says."""
    yield Figure('home_rad', ClosedLoop().go('home', 2.5).joint_error(), 1e-12)
    yield Figure('down_m', ClosedLoop(start=HOME).tool_error('down', 2.5)[0], 1e-10)
    fast = ClosedLoop(start=HOME, changes=FAST)
    yield Figure('fast_down_m', fast.tool_error('down', 1.5)[0], 1e-9)


def delayed() -> Iterator[Figure]:
    """Give the peak errors of two motions for each delay, with the predictor."""
    for steps in (1, 2, 3):
        options = {
            'plant': Plant(delay_steps=steps),
            'changes': {'predictor.delay_steps': steps},
        }
        joints = ClosedLoop(**options).go('home', 3.0).joint_error(late=steps)
        yield Figure(f'home_{steps}_late_rad', joints, 5e-6)
        loop = ClosedLoop(start=HOME, **options)
        loop.go('home', 0.5)
        yield Figure(f'down_{steps}_late_m', loop.tool_error('down', 2.5, late=steps)[0], 5e-6)
