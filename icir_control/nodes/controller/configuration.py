"""The controller's parameters: what a user gives, checked as a whole, then declared."""

from icir_control.control import GLOBAL_FIGURES, ControllerConfig, Figure, find_law, replaced
from icir_control.dynamics import Model
from icir_control.nodes.parameters import Parameters
from icir_control.nodes.shipped import shipped_parameters

KEY = Figure('key', 'string', None, '', 'selects the mode on the keyboard', running=False)
LAW = Figure('law', 'string', None, '', 'what the mode does', running=False)

_MODE_NAMES = 'mode_names'
_MODES = 'modes.'


def declare_config(parameters: Parameters, model: Model) -> ControllerConfig:
    """Check all that was given beside the model, and declare every parameter.

    What is not given is as shipped for the robot; so are the modes, unless `mode_names` is given.

    Args:
        parameters: Of the node, with `model` declared.
        model: Of the arm.

    Returns:
        What the controller is to run.

    Raises:
        ConfigurationError: Names the parameter, its value and what would be valid.
        UnknownNameError: A frame that the model lacks.
    """
    shipped = shipped_parameters(model.name, 'controller')
    if parameters.is_given(_MODE_NAMES):
        shipped = {
            name: value
            for name, value in shipped.items()
            if name != _MODE_NAMES and not name.startswith(_MODES)
        }
    parameters.ship(shipped)
    config = ControllerConfig.from_parameters(replaced({}, parameters.undeclared()), model)
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
