"""The nodes of a simulation, and their command lines."""

from collections.abc import Mapping
from typing import Final

from icir_control.app.robot import RobotFiles

START_TIMEOUT: Final = 900.0
"""[s] of wall time until the first states: bridge and controller may have to compile."""


def ros_arguments(node: str, robot: RobotFiles, parameters: Mapping[str, object]) -> list[str]:
    """Return a node's command line.

    Args:
        node: The node's name.
        robot: Its model and parameter file.
        parameters: By name; they override the file.
    """
    arguments = ['--ros-args', '--params-file', str(robot.params_file)]
    for name, value in {**parameters, **robot.overrides}.items():
        # Without the node's name the file's entry for the node would win.
        arguments += ['-p', f'{node}:{name}:={_yaml(value)}']
    return arguments


def _yaml(value: object) -> str:
    """Return a parameter's value as ROS's command line takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return '[' + ', '.join(_yaml(entry) for entry in value) + ']'
    return f"'{value}'" if isinstance(value, str) else repr(value)
