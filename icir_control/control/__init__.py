"""Control: laws, the modes that run them, and the controller that switches between modes."""

from icir_control.control.arm import Arm
from icir_control.control.config import ControllerConfig, Mode, find_law
from icir_control.control.controller import Controller
from icir_control.control.law import Law, Plan, Start, Tick, compiled
from icir_control.control.laws import LAWS
from icir_control.control.readout import TERMS, pose_error
from icir_control.control.switching import Event
from icir_control.control.waypoints import Waypoints
from icir_control.parameter import parameter, replaced

__all__ = [
    'LAWS',
    'TERMS',
    'Arm',
    'Controller',
    'ControllerConfig',
    'Event',
    'Law',
    'Mode',
    'Plan',
    'Start',
    'Tick',
    'Waypoints',
    'compiled',
    'find_law',
    'parameter',
    'pose_error',
    'replaced',
]
