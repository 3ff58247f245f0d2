"""What others ask of the controller: a mode, a posture, a pose."""

from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger

from icir_control.control import Controller
from icir_control.errors import IcirError, InvalidValueError
from icir_control.nodes.transport import read_joint_state
from icir_control.spatial import SE3, Force


class Requests:
    """Serves the services and topics that select modes and set targets, between two ticks.

    A service answers why it refused; what comes by topic and is refused goes to the log.
    """

    def __init__(self, node: Node, controller: Controller, done: Callable[[], None]) -> None:
        """Offer the services and listen to the topics.

        Args:
            node: The node that serves.
            controller: What is asked.
            done: Called after a request was served.
        """
        self._node = node
        self._controller = controller
        self._arm = controller.config.arm
        self._joint_names = list(self._arm.model.joint_names)
        self._done = done
        for name in controller.mode_names:
            node.create_service(Trigger, f'~/modes/{name}', self._service_of(name))
        node.create_subscription(String, '~/select_mode', self._take_mode, 1)
        node.create_subscription(PoseStamped, '~/target_pose', self._take_pose, 1)
        node.create_subscription(JointState, '~/target_joints', self._take_joints, 1, raw=True)
        node.create_subscription(WrenchStamped, '~/measured_wrench', self._take_wrench, 1)

    def _service_of(
        self, name: str
    ) -> Callable[[Trigger.Request, Trigger.Response], Trigger.Response]:
        def serve(_: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
            reason = self._try(f'mode {name}', lambda: self._controller.select(name))
            response.success = not reason
            response.message = reason or name
            return response

        return serve

    def _take_mode(self, message: String) -> None:
        self._try(f'mode {message.data}', lambda: self._controller.select(message.data))

    def _take_pose(self, message: PoseStamped) -> None:
        self._try('target pose', lambda: self._controller.set_target_pose(self._pose_of(message)))

    def _take_joints(self, raw: bytes) -> None:
        def act() -> None:
            self._controller.set_target_joints(self._joints_of(read_joint_state(raw)))

        self._try('target joints', act)

    def _take_wrench(self, message: WrenchStamped) -> None:
        """Hand a sensor's wrench on; a stream of them is too quick to say each in the log."""
        frame = self._arm.end_effector_frame
        given, force, torque = message.header.frame_id, message.wrench.force, message.wrench.torque
        values = np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
        if given in ('', frame) and np.isfinite(values).all():
            self._controller.set_measured_wrench(Force.from_vector(values))
            return
        self._node.get_logger().warning(
            f'measured wrench {values.tolist()} in {given!r} refused; expected six finite '
            f'numbers in {frame!r}',
            throttle_duration_sec=5.0,
        )

    def _try(self, what: str, act: Callable[[], None]) -> str:
        """Do what was asked; return why it was refused, empty if it was not."""
        try:
            act()
        except IcirError as error:
            self._node.get_logger().warning(f'{what} refused: {error}')
            return str(error)
        self._node.get_logger().info(what)
        self._done()
        return ''

    def _pose_of(self, message: PoseStamped) -> SE3:
        """Return T_base_tool of a message.

        Raises:
            InvalidValueError: Another frame, a quaternion that is none, or a NaN.
        """
        frame, base = message.header.frame_id, self._arm.base_frame
        if frame not in ('', base):
            raise InvalidValueError('header.frame_id', frame, f'{base!r} or an empty one')
        position, orientation = message.pose.position, message.pose.orientation
        return SE3.from_quaternion(
            (orientation.x, orientation.y, orientation.z, orientation.w),
            (position.x, position.y, position.z),
        )

    def _joints_of(self, message: JointState) -> np.ndarray:
        """Return the positions (nv,) of a message, in the order of v.

        Raises:
            InvalidValueError: Not each joint of the arm once, or not one position for each.
        """
        if sorted(message.name) != sorted(self._joint_names):
            raise InvalidValueError(
                'name', list(message.name), f'each of {", ".join(self._joint_names)} once'
            )
        if len(message.position) != len(message.name):
            raise InvalidValueError(
                'position', list(message.position), f'{len(message.name)} numbers, one per name'
            )
        by_name = dict(zip(message.name, message.position, strict=True))
        return np.array([by_name[name] for name in self._joint_names])
