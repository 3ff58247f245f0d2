"""How the controller meets the robot: our bridge in lockstep, or any arm that takes effort."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from rclpy.exceptions import InvalidTopicNameException
from rclpy.node import Node
from rclpy.validate_topic_name import validate_topic_name
from std_msgs.msg import Float64MultiArray

from icir_control.errors import ConfigurationError
from icir_control.nodes.parameters import Parameters
from icir_control.nodes.robot import LoadedRobot
from icir_control.nodes.transport.qos import PUBLISHED
from icir_control.parameter import FloatArray, parameter, parameters_of, read_own

EFFORT_COMMANDS = 'effort_controller/commands'

RAMP_TIME = 0.5
"""[s] In which the torque goes from that which the robot has at the start to ours."""

JITTER = 0.75
"""Of a period, by which a state may be early or late and still be the next one."""


@dataclass(frozen=True)
class Interface:
    """Parameters of the topics between controller and robot."""

    command_interface: str = parameter(
        'joint_state',
        '',
        'joint_state, which the bridge takes: names, torques and the header of the state; '
        'effort_array, torques alone for a forward_command_controller, with a safe start',
        choices=('joint_state', 'effort_array'),
        running=False,
    )
    state_topic: str = parameter('joint_states', '', 'topic of the states', running=False)
    command_joints: tuple[str, ...] = parameter(
        (),
        '',
        'order of the joints in an effort_array; empty for that of the model',
        running=False,
    )
    update_rate: float = parameter(
        1000.0,
        '1/s',
        'rate of the states that an effort_array answers; their stamps may jitter',
        lower=10.0,
        upper=1e4,
        running=False,
    )

    @property
    def is_array(self) -> bool:
        """Whether any arm that takes effort is commanded, and not our bridge."""
        return self.command_interface == 'effort_array'


@dataclass(frozen=True)
class Derived:
    """Parameters that follow from the others: the controller declares them for its operators."""

    joint_modes: tuple[str, ...] = parameter(
        (), '', 'modes that take target joint positions', running=False
    )
    pose_modes: tuple[str, ...] = parameter((), '', 'modes that take target poses', running=False)
    translating_joints: tuple[str, ...] = parameter(
        (), '', 'joints whose positions are lengths, not angles', running=False
    )


INTERFACE, DERIVED = parameters_of(Interface), parameters_of(Derived)


def declare_interface(parameters: Parameters, robot: LoadedRobot) -> Interface:
    """Check the parameters of the interface, declare them, and return them.

    Raises:
        ConfigurationError: Names the parameter, its value and what would be valid.
    """
    model, given = robot.model, robot.parameters
    interface = read_own(Interface, given, model.nv)
    try:
        validate_topic_name(interface.state_topic)
    except (InvalidTopicNameException, ValueError) as error:
        why = str(error).splitlines()[0]
        raise ConfigurationError(
            f'state_topic = {interface.state_topic!r} is not valid; expected a topic name: {why}'
        ) from error
    joints = interface.command_joints
    if joints and sorted(joints) != sorted(model.joint_names):
        raise ConfigurationError(
            f'command_joints = {list(joints)} is not valid; expected each of'
            f' {", ".join(model.joint_names)} once, or none'
        )
    parameters.declare(INTERFACE, partial(getattr, interface), model.nv)
    return interface


class EffortArrayPublisher:
    """Publishes torques as forward_command_controller takes them, ramped in at a start."""

    def __init__(self, node: Node, names: Sequence[str], joints: Sequence[str]) -> None:
        """Create the publisher.

        Args:
            node: The node that publishes.
            names: The joint names, in the order of the torques.
            joints: The same in the order of the message; empty for that of the torques.
        """
        self._order = [list(names).index(name) for name in joints or names]
        self._publisher = node.create_publisher(Float64MultiArray, EFFORT_COMMANDS, PUBLISHED)
        self._effort = np.zeros(len(names))

    def open(self, token: str, field: str) -> tuple[FloatArray]:
        """Return the array (nv,) that holds the torques of each message to come."""
        del token, field
        return (self._effort,)

    def send(self, stamp_ns: int) -> None:
        """Publish the torques; the message has no stamp."""
        del stamp_ns
        data = array('d', self._effort[self._order].tolist())
        self._publisher.publish(Float64MultiArray(data=data))


class RobotClock:
    """The controller's time: periods counted from the first state on, by stamps that jitter.

    Attributes:
        start_ns: Stamp of the first state [ns].
    """

    def __init__(self, update_rate: float) -> None:
        """Start anew with the first state."""
        self._period = 1.0 / update_rate
        self._ticks = 0
        self.start_ns = 0

    def restart(self, stamp_ns: int) -> float:
        """Return the time of the first state of a start [s]."""
        self.start_ns, self._ticks = stamp_ns, 0
        return 0.0

    def advance(self, stamp_ns: int) -> float | None:
        """Return the time of a state [s]; None of one that comes too early to be another one."""
        late = (stamp_ns - self.start_ns) * 1e-9 / self._period - self._ticks - 1.0
        if late < -JITTER:
            return None
        self._ticks += 1 + (round(late) if late > JITTER else 0)
        return self._ticks * self._period


class SafeStart:
    """Takes the arm over: the torque goes from the robot's own to ours in `RAMP_TIME`."""

    def __init__(self, joints: int) -> None:
        """Take nothing over yet."""
        self._first = np.zeros(joints)

    def begin(self, effort: FloatArray) -> None:
        """Note the effort (nv,) that the robot measures at a start [N m or N]."""
        self._first[:] = effort

    def ramp(self, time: float, torque: FloatArray) -> FloatArray:
        """Return the torque (nv,) to command at a time since the start [s]."""
        if time >= RAMP_TIME:
            return torque
        return self._first + (time / RAMP_TIME) * (torque - self._first)
