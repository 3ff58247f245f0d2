"""What holds the controller back at present, in words."""

from collections.abc import Mapping

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus, KeyValue

from icir_control.control import Controller


def status_of(controller: Controller, name: str) -> DiagnosticStatus:
    """Return how the last tick went: a warning where the arm did not get what its law wanted.

    Args:
        controller: After a tick.
        name: Of the node.
    """
    limits = limits_of(controller)
    troubles = [
        words
        for words, is_so in {
            f'saturated: {limits["saturated joints"]}': controller.saturated.any(),
            'torque held back by its rate limit': controller.rate_limited,
            'tool behind its path, the joints are at their limits': controller.path_limited,
        }.items()
        if is_so
    ]
    return DiagnosticStatus(
        level=DiagnosticStatus.WARN if troubles else DiagnosticStatus.OK,
        name=f'{name}: control',
        message='; '.join(troubles) or controller.mode or 'no mode',
        values=key_values({'mode': controller.mode, **limits}),
    )


def limits_of(controller: Controller) -> dict[str, object]:
    """Return what limits the last tick, by what a reader calls it."""
    names = np.array(controller.config.arm.model.joint_names)
    return {
        'saturated joints': ', '.join(names[controller.saturated]) or 'none',
        'rate limited': _yes_or_no(controller.rate_limited),
        'path limited': _yes_or_no(controller.path_limited),
        'observer': _observer(controller),
        'speed scale': f'{controller.config.speed_scale:g}',
        'smallest singular value': f'{controller.smallest_singular_value:.4g}',
    }


def key_values(values: Mapping[str, object]) -> list[KeyValue]:
    """Return values as diagnostics have them."""
    return [KeyValue(key=key, value=str(value)) for key, value in values.items()]


def _observer(controller: Controller) -> str:
    """Return what becomes of the estimated disturbance."""
    if controller.config.observer_gain == 0.0:
        return 'off'
    return 'cancels' if controller.cancels_disturbance else 'observes'


def _yes_or_no(is_so: bool) -> str:
    return 'yes' if is_so else 'no'
