"""Publishes simulation time for everybody who wants no more than the time."""

from rclpy.node import Node
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock

PERIOD = 0.01  # s of wall time between two messages, at least
_NANOSECONDS = 1_000_000_000


class ClockPublisher:
    """`/clock`, an absolute name of ROS."""

    def __init__(self, node: Node) -> None:
        """Create the publisher.

        Args:
            node: The node that publishes.
        """
        self._publisher = node.create_publisher(Clock, '/clock', QoSProfile(depth=1))
        self._message = Clock()

    def publish(self, time_ns: int) -> None:
        """Publish the time.

        Args:
            time_ns: Simulation time [ns].
        """
        stamp = self._message.clock
        stamp.sec, stamp.nanosec = divmod(time_ns, _NANOSECONDS)
        self._publisher.publish(self._message)
