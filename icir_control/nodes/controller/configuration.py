"""The controller's parameters: what a user gives, checked as a whole, then declared."""

from typing import Any

import yaml
from rclpy.node import Node

from icir_control.control import GLOBAL_FIGURES, ControllerConfig, Figure, find_law
from icir_control.dynamics import Model
from icir_control.nodes.parameters import Parameters, flatten, nest
from icir_control.share import share_directory

KEY = Figure('key', 'string', None, '', 'selects the mode on the keyboard', running=False)
LAW = Figure('law', 'string', None, '', 'what the mode does', running=False)

_SHIPPED_FILE = 'config/gen3_6dof.yaml'
_MODE_NAMES = 'mode_names'
_MODES = 'modes.'


def new_parameters(node: Node) -> Parameters:
    """Return the node's parameters; modes are as shipped unless `mode_names` is given."""
    parameters = Parameters(node)
    if not parameters.is_given(_MODE_NAMES):
        parameters.ship(_shipped_modes())
    return parameters


def declare_config(parameters: Parameters, model: Model) -> ControllerConfig:
    """Check all that was given beside the model, and declare every parameter.

    Args:
        parameters: Of the node, with `model` declared.
        model: Of the arm.

    Returns:
        What the controller is to run.

    Raises:
        ConfigurationError: Names the parameter, its value and what would be valid.
        UnknownNameError: A frame that the model lacks.
    """
    config = ControllerConfig.from_parameters(nest(parameters.undeclared()), model)
    for figure in GLOBAL_FIGURES:
        parameters.declare(figure, nv=model.nv)
    for name, mode in config.modes.items():
        prefix = f'{_MODES}{name}.'
        law = parameters.declare(LAW, prefix=prefix)
        parameters.declare(KEY, prefix=prefix)
        for figure in find_law(law).FIGURES:
            parameters.declare(figure, prefix=prefix, nv=mode.law.arm.nv)
    parameters.refuse_unknown()
    return config


def _shipped_modes() -> dict[str, Any]:
    """Return the modes of the shipped configuration, by full name of the parameter."""
    text = (share_directory() / _SHIPPED_FILE).read_text()
    shipped = flatten(yaml.safe_load(text)['/**/controller']['ros__parameters'])
    return {
        name: value
        for name, value in shipped.items()
        if name == _MODE_NAMES or name.startswith(_MODES)
    }
