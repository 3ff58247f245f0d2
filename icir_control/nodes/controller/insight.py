"""What a torque is made of and how well the arm follows: for plots, where somebody looks."""

from collections.abc import Callable

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import TwistStamped, Vector3, WrenchStamped
from rclpy.node import Node
from rclpy.publisher import Publisher
from std_msgs.msg import Float64, Header

from icir_control.control import Controller
from icir_control.control.decomposition import TERMS
from icir_control.nodes.controller.status import status_of
from icir_control.nodes.transport import JointStatePublisher


class Insight:
    """Publishes torque by parts, errors, the disturbance and the limits.

    Nothing is computed for a topic that nobody subscribes to.
    """

    def __init__(self, node: Node, controller: Controller) -> None:
        """Create the publishers.

        Args:
            node: The node that publishes.
            controller: What is told of.
        """
        self._controller = controller
        self._name = node.get_fully_qualified_name()
        self._arm = controller.config.arm
        joint_names = self._arm.model.joint_names
        self._terms = {
            name: JointStatePublisher(node, f'~/torque_terms/{name}', joint_names)
            for name in TERMS
        }
        self._tracking_error = JointStatePublisher(node, '~/tracking_error', joint_names)
        self._disturbance = JointStatePublisher(node, '~/disturbance', joint_names)
        makers: list[tuple[type, str, Callable[[Header], object]]] = [
            (TwistStamped, '~/tool_error', self._tool_error),
            (WrenchStamped, '~/disturbance_wrench', self._disturbance_wrench),
            (Float64, '~/smallest_singular_value', self._singular_value),
            (DiagnosticStatus, '~/status', lambda _: status_of(controller, self._name)),
        ]
        self._others: list[tuple[Publisher, Callable[[Header], object]]] = [
            (node.create_publisher(kind, topic, 1), make) for kind, topic, make in makers
        ]

    def publish(self, stamp_ns: int, token: str) -> None:
        """Publish what is subscribed to.

        Args:
            stamp_ns: Simulation time of the tick [ns].
            token: Of the bridge's run.
        """
        controller = self._controller
        heard = {name: topic for name, topic in self._terms.items() if topic.is_heard}
        if heard:
            terms = controller.torque_terms
            for name, topic in heard.items():
                topic.publish(stamp_ns, token, effort=terms[name])
        if self._tracking_error.is_heard and controller.has_joint_reference:
            self._tracking_error.publish(stamp_ns, token, *controller.tracking_error)
        if self._disturbance.is_heard:
            self._disturbance.publish(stamp_ns, token, effort=controller.disturbance)
        header = Header()
        header.stamp.sec, header.stamp.nanosec = divmod(stamp_ns, 1_000_000_000)
        for publisher, make in self._others:
            if publisher.get_subscription_count() > 0:
                publisher.publish(make(header))

    def _tool_error(self, header: Header) -> TwistStamped:
        header.frame_id = self._arm.base_frame
        error = self._controller.tool_error
        message = TwistStamped(header=header)
        message.twist.linear = _vector(error.linear)
        message.twist.angular = _vector(error.angular)
        return message

    def _disturbance_wrench(self, header: Header) -> WrenchStamped:
        header.frame_id = self._arm.end_effector_frame
        wrench = self._controller.disturbance_wrench
        message = WrenchStamped(header=header)
        message.wrench.force = _vector(wrench[:3])
        message.wrench.torque = _vector(wrench[3:])
        return message

    def _singular_value(self, _: Header) -> Float64:
        return Float64(data=self._controller.smallest_singular_value)


def _vector(numbers: np.ndarray) -> Vector3:
    x, y, z = numbers.tolist()
    return Vector3(x=x, y=y, z=z)
