"""Bridge and controller as one session: how they are called, and what they say."""

import signal
from collections.abc import Mapping
from typing import TYPE_CHECKING

from icir_control.app.children import Children
from icir_control.app.robot import Robot
from icir_control.errors import IcirError

if TYPE_CHECKING:
    from rich.console import Console

BRIDGE, CONTROLLER = 'mujoco_bridge', 'controller'
_SEVERITIES = {'[WARN]': 'yellow', '[ERROR]': 'red', '[FATAL]': 'red'}


class ChildEndedError(IcirError):
    """A node ended although nobody had asked it to."""

    def __init__(self, name: str, status: int) -> None:
        """Say which, and how."""
        how = f'status {status}' if status >= 0 else f'signal {signal.Signals(-status).name}'
        super().__init__(f'the {name} has ended ({how})')


def ros_arguments(node: str, robot: Robot, parameters: Mapping[str, object]) -> list[str]:
    """Return a node's command line.

    Args:
        node: The node's name.
        robot: Its model and parameter file.
        parameters: What stands above the file, by name.
    """
    arguments = ['--ros-args', '--params-file', str(robot.params_file)]
    for name, value in {**parameters, **robot.overrides}.items():
        # With the node's name: a bare one would stand below the file's own entry for the node.
        arguments += ['-p', f'{node}:{name}:={_yaml(value)}']
    return arguments


def check_children(children: Children) -> None:
    """Raise when a child has ended by itself.

    Raises:
        ChildEndedError: Names it.
    """
    if (child := children.ended()) is not None:
        raise ChildEndedError(child.name, child.status)


def print_line(console: 'Console', name: str, line: str) -> None:
    """Print one line of a node, with its name before it."""
    from rich.text import Text  # so late, because both nodes can start meanwhile

    style = _SEVERITIES.get(line.partition(' ')[0], '')
    text = Text.assemble((f'{name:<13} ', 'dim'), (line.removeprefix('[INFO] '), style))
    console.print(text, highlight=False, soft_wrap=True)


def _yaml(value: object) -> str:
    """Return a parameter's value as ROS's command line takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return '[' + ', '.join(_yaml(entry) for entry in value) + ']'
    return f"'{value}'" if isinstance(value, str) else repr(value)
