"""The laws that a mode may name, and how a user's own is found."""

from importlib import import_module

from icir_control.control.law import Law
from icir_control.control.laws.float import Float
from icir_control.control.laws.gravity import Gravity
from icir_control.control.laws.hold import Hold
from icir_control.control.laws.impedance import Impedance
from icir_control.control.laws.joint import Joint
from icir_control.control.laws.task import Task
from icir_control.errors import ConfigurationError

LAWS: dict[str, type[Law]] = {
    'gravity': Gravity,
    'joint': Joint,
    'task': Task,
    'float': Float,
    'impedance': Impedance,
    'hold': Hold,
}
"""The package's own, by the name that a configuration gives them."""


def find_law(name: str) -> type[Law]:
    """Return the law of a name, or a user's class named as `my_package.my_module:MyLaw`.

    Raises:
        ConfigurationError: A name that is neither; the message lists the laws.
    """
    if name in LAWS:
        return LAWS[name]
    valid = f'expected one of {", ".join(LAWS)}, or my_package.my_module:MyLaw'
    module_name, colon, class_name = name.partition(':')
    if not colon:
        raise ConfigurationError(f'unknown law {name!r}; {valid}')
    try:
        law = getattr(import_module(module_name), class_name)
    except (ImportError, AttributeError, ValueError, TypeError) as error:
        raise ConfigurationError(f'law {name!r} cannot be loaded: {error}; {valid}') from error
    if not (isinstance(law, type) and issubclass(law, Law)):
        raise ConfigurationError(
            f'law {name!r} is not a class derived from icir_control.control.Law; {valid}'
        )
    return law
