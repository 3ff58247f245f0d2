"""The topics of a recording, relative to the namespace of the nodes."""

from typing import Any, Final

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rcl_interfaces.msg import ParameterEvent
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

from icir_control.share import BRIDGE, CONTROLLER

STATES: Final = 'joint_states'
COMMANDS: Final = 'joint_commands'
DESCRIPTION: Final = 'robot_description'
PARAMETERS: Final = '/parameter_events'
CURRENT_POSE: Final = f'{CONTROLLER}/current_pose'
REFERENCE_POSE: Final = f'{CONTROLLER}/reference_pose'
JOINT_REFERENCE: Final = f'{CONTROLLER}/joint_reference'
MOTION_STATUS: Final = f'{CONTROLLER}/motion_status'
MODE: Final = f'{CONTROLLER}/mode'
WRENCH: Final = f'{BRIDGE}/external_wrench'
APPLIED_WRENCH: Final = f'{BRIDGE}/applied_wrench'

TOPICS: Final[dict[str, Any]] = {
    STATES: JointState,
    COMMANDS: JointState,
    f'{CONTROLLER}/select_mode': String,
    f'{CONTROLLER}/target_pose': PoseStamped,
    f'{CONTROLLER}/target_joints': JointState,
    f'{CONTROLLER}/joint_trajectory': JointTrajectory,
    f'{CONTROLLER}/measured_wrench': WrenchStamped,
    CURRENT_POSE: PoseStamped,
    REFERENCE_POSE: PoseStamped,
    JOINT_REFERENCE: JointState,
    WRENCH: WrenchStamped,
    APPLIED_WRENCH: WrenchStamped,
    '/clock': Clock,
    '/diagnostics': DiagnosticArray,
    PARAMETERS: ParameterEvent,
}
LATCHED: Final[dict[str, Any]] = {
    DESCRIPTION: String,
    MODE: String,
    MOTION_STATUS: DiagnosticStatus,
}
REQUESTS: Final = frozenset(
    {
        *(f'{CONTROLLER}/{name}' for name in ('select_mode', 'target_pose', 'target_joints')),
        f'{CONTROLLER}/joint_trajectory',
        APPLIED_WRENCH,
        PARAMETERS,
    }
)
"""Of these, what a run depends on: few messages, of which none may be lost."""
