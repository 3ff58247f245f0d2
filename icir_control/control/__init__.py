"""Control: laws, the modes that run them, and the controller that switches between modes."""

from icir_control.control.arm import Arm
from icir_control.control.config import ControllerConfig, Mode, replaced
from icir_control.control.controller import Controller
from icir_control.control.event import Event
from icir_control.control.figure import Figure
from icir_control.control.global_figures import GLOBAL_FIGURES
from icir_control.control.law import Law, Plan, Start, Tick
from icir_control.control.laws import LAWS, find_law

__all__ = [
    'GLOBAL_FIGURES',
    'LAWS',
    'Arm',
    'Controller',
    'ControllerConfig',
    'Event',
    'Figure',
    'Law',
    'Mode',
    'Plan',
    'Start',
    'Tick',
    'find_law',
    'replaced',
]
