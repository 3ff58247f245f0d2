"""The robot of a node: its URDF, and which of its joints make up the arm that is controlled."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icir_control.dynamics import KinematicTree, Model, load_urdf
from icir_control.errors import ConfigurationError
from icir_control.nodes.parameters import (
    DEFAULT_EFFORT,
    LOCKED,
    MODEL,
    WHOLE_TREE,
    Parameters,
    shipped_parameters,
)
from icir_control.parameter import replaced
from icir_control.share import find_model_file


@dataclass(frozen=True)
class Robot:
    """What both nodes make of the parameters that tell which arm runs.

    Attributes:
        path: Of the URDF.
        model: Of the arm; joints beyond it are held.
        options: Keywords of `load_urdf` and of `World`: what is held, and the default effort.
        parameters: The node's other parameters, nested and unchecked.
    """

    path: Path
    model: Model
    options: dict[str, Any]
    parameters: dict[str, Any]

    @property
    def note(self) -> str:
        """Which joints are held, for the user to read; empty for none."""
        held = self.options['locked']
        if not held:
            return ''
        shown = [f'{name}={value:g}' for name, value in list(held.items())[:_SHOWN]]
        more = f' and {len(held) - _SHOWN} more' if len(held) > _SHOWN else ''
        return f'held, because they are locked or not part of the arm: {", ".join(shown)}{more}'


_SHOWN = 12


def read_robot(parameters: Parameters, node: str) -> Robot:
    """Read the robot that a node's parameters name, and declare these parameters.

    What else is not given is as shipped for the robot; so are the modes, unless `mode_names` is
    given.

    Args:
        parameters: Of the node.
        node: Its name.

    Raises:
        IcirError: A parameter or the model is not valid.
    """
    own = parameters.declare_robot()
    path = find_model_file(own[MODEL.name])
    tree = KinematicTree(path)
    shipped = shipped_parameters(tree.name, node)
    if parameters.is_given('mode_names'):
        shipped = {name: v for name, v in shipped.items() if not name.startswith('mode')}
    values = parameters.values(shipped)
    frames = [values.get(name) for name in ('base_frame', 'end_effector_frame')]
    base, end = (name if isinstance(name, str) else '' for name in frames)
    locked = positions_of(own[LOCKED.name])
    chain = tree.chain(base, end, locked, whole_tree=own[WHOLE_TREE.name])
    effort = own[DEFAULT_EFFORT.name] or None
    if chain.without_effort and effort is None:
        raise ConfigurationError(
            f'{path}: <limit> gives {", ".join(chain.without_effort)} an effort of 0, with which '
            'no joint could move; write the limits into the URDF, or set one for all of them by '
            f'{DEFAULT_EFFORT.name} (--default-effort) [N m, N]'
        )
    options: dict[str, Any] = {'locked': chain.held, 'default_effort': effort}
    values = replaced(values, {'end_effector_frame': chain.end_effector_frame})
    return Robot(path, load_urdf(path, **options), options, values)


def positions_of(entries: Sequence[str]) -> dict[str, float]:
    """Return positions [rad or m] by joint, of entries such as `finger_joint1=0.02`."""
    positions = {}
    for entry in entries:
        name, _, text = entry.partition('=')
        try:
            positions[name.strip()] = float(text)
        except ValueError:
            raise ConfigurationError(
                f'{LOCKED.name} has {entry!r}; expected a joint and where it is held, rad or m, '
                'such as "finger_joint1=0.02"'
            ) from None
    return positions
