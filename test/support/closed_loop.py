"""The package's closed loop as tests like to write it: parameters are keywords."""

from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

from icir_control.app import closed_loop
from icir_control.app.closed_loop import HOME, READY, UPRIGHT
from icir_control.control import replaced
from icir_control.dynamics import Model, load_urdf

__all__ = [
    'HOME',
    'READY',
    'UPRIGHT',
    'ClosedLoop',
    'changed',
    'model_of',
    'parameters_of',
    'urdf_of',
]


def urdf_of(robot: str = 'gen3_6dof') -> Path:
    return closed_loop.shipped(robot)[0]


@cache
def model_of(robot: str = 'gen3_6dof') -> Model:
    return load_urdf(urdf_of(robot))


def parameters_of(robot: str = 'gen3_6dof') -> dict[str, Any]:
    """The shipped configuration, without what only the node reads."""
    return deepcopy(closed_loop.shipped(robot)[1])


def changed(parameters: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Parameters with some replaced: `modes__home__duration=1.0` or a dotted name in a mapping."""
    return replaced(parameters, _dotted(changes))


class ClosedLoop(closed_loop.ClosedLoop):
    """One whose parameters are keywords: `modes__home__duration=1.0`."""

    def __init__(self, *, robot='gen3_6dof', start=UPRIGHT, plant=None, timestep=1e-3, **changes):
        super().__init__(
            robot, start=start, plant=plant, timestep=timestep, changes=_dotted(changes)
        )


def _dotted(changes: dict[str, Any]) -> dict[str, Any]:
    return {name.replace('__', '.'): value for name, value in changes.items()}
