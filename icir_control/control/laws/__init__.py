"""The laws that a mode may name."""

from icir_control.control.law import Law
from icir_control.control.laws.float import Float
from icir_control.control.laws.gravity import Gravity
from icir_control.control.laws.impedance import Impedance
from icir_control.control.laws.joint import Hold, Joint, Sequence
from icir_control.control.laws.task import Task

LAWS: dict[str, type[Law]] = {
    'gravity': Gravity,
    'joint': Joint,
    'task': Task,
    'float': Float,
    'impedance': Impedance,
    'hold': Hold,
    'sequence': Sequence,
}
"""The package's own, by the name that a configuration gives them."""

__all__ = ['LAWS', 'Float', 'Gravity', 'Hold', 'Impedance', 'Joint', 'Sequence', 'Task']
