"""The parameters that ship with the package, for a node that is given a model and no file."""

from typing import Any

import yaml

from icir_control.nodes.parameters import flatten
from icir_control.share import ANY_ARM, share_directory


def shipped_parameters(robot: str, node: str) -> dict[str, Any]:
    """Return what ships for a node, by full name of the parameter.

    Args:
        robot: Name of the robot, as its URDF says; of one that does not ship, those of any arm.
        node: Name of the node.
    """
    files = {path.stem: path for path in (share_directory() / 'config').glob('*.yaml')}
    content = yaml.safe_load(files.get(robot, files[ANY_ARM]).read_text())
    values = flatten(content[f'/**/{node}']['ros__parameters'])
    values.pop('model', None)
    return values
