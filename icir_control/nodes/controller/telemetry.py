"""What the controller tells of itself, for eyes and plots: seldom, and never before a command."""

import time

from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from icir_control.control import Controller
from icir_control.nodes.controller.insight import Insight
from icir_control.nodes.transport import JointStatePublisher
from icir_control.spatial import SE3

PERIOD_NS = 10_000_000  # of simulation time
WALL_PERIOD = 0.01  # s
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)

_NANOSECONDS = 1_000_000_000


class Telemetry:
    """Publishes the running mode when it changes, the poses and references at a bounded pace.

    Nothing is computed for a topic that nobody subscribes to.
    """

    def __init__(self, node: Node, controller: Controller) -> None:
        """Create the publishers.

        Args:
            node: The node that publishes.
            controller: What is told of.
        """
        self._controller = controller
        arm = controller.config.arm
        self._base_frame = arm.base_frame
        self._mode_publisher = node.create_publisher(String, '~/mode', LATCHED)
        self._current = node.create_publisher(PoseStamped, '~/current_pose', 1)
        self._reference = node.create_publisher(PoseStamped, '~/reference_pose', 1)
        self._joints = JointStatePublisher(node, '~/joint_reference', arm.model.joint_names)
        self._insight = Insight(node, controller)
        self._mode = ''
        self._due_ns = 0
        self._due_wall = 0.0

    def restart(self) -> None:
        """Begin anew, because time may have gone back."""
        self._due_ns = 0

    def publish_mode(self) -> None:
        """Publish the running mode if it has changed."""
        mode = self._controller.mode
        if mode != self._mode:
            self._mode = mode
            self._mode_publisher.publish(String(data=mode))

    def publish(self, stamp_ns: int, token: str) -> None:
        """Publish what is due after a tick.

        Args:
            stamp_ns: Simulation time of the tick [ns].
            token: Of the bridge's run.
        """
        self.publish_mode()
        if stamp_ns < self._due_ns:
            return
        now = time.monotonic()
        if now < self._due_wall:
            return
        self._due_ns = stamp_ns - stamp_ns % PERIOD_NS + PERIOD_NS
        # A tick that is a little late does not move the later ones.
        self._due_wall = max(self._due_wall, now - WALL_PERIOD) + WALL_PERIOD
        controller = self._controller
        if self._current.get_subscription_count() > 0:
            self._current.publish(self._stamped(controller.current_pose, stamp_ns))
        if self._reference.get_subscription_count() > 0:
            self._reference.publish(self._stamped(controller.reference_pose, stamp_ns))
        if self._joints.is_heard:
            self._joints.publish(
                stamp_ns,
                token,
                controller.position_reference,
                controller.velocity_reference,
                controller.torque_unsaturated,
            )
        self._insight.publish(stamp_ns, token)

    def _stamped(self, placement: SE3, stamp_ns: int) -> PoseStamped:
        message = PoseStamped()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, _NANOSECONDS)
        message.header.frame_id = self._base_frame
        position, orientation = message.pose.position, message.pose.orientation
        position.x, position.y, position.z = placement.translation.tolist()
        orientation.x, orientation.y, orientation.z, orientation.w = placement.quaternion.tolist()
        return message
