"""The newest message of a topic, for those who look less often than messages come."""

from typing import Any

from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message

from icir_control.nodes.transport.endpoints import has_native_parts, subscribe_raw

NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class Newest:
    """Takes the newest message from the middleware when somebody asks; no other is decoded.

    Where the middleware's queue cannot be reached, an executor hands over the messages.

    Attributes:
        is_new: Whether the last call of `message` has found another one.
    """

    def __init__(self, node: Node, kind: Any, topic: str, qos: QoSProfile = NEWEST) -> None:
        """Subscribe.

        Args:
            node: The node to subscribe through.
            kind: Of the messages.
            topic: Topic name.
            qos: Another profile, such as that of a latched topic.
        """
        is_native = has_native_parts()
        _, self._take = subscribe_raw(node, kind, topic, qos, self._hand_over, is_native=is_native)
        self._kind = kind
        self._raw: bytes | None = None
        self._message: Any = None
        self.is_new = False

    def message(self) -> Any:
        """Return the newest message; None before the first one."""
        if taken := self._take(self._kind, True):
            self._raw = taken[0]
        self.is_new = self._raw is not None
        if self._raw is not None:
            self._message = deserialize_message(self._raw, self._kind)
            self._raw = None
        return self._message

    def _hand_over(self, raw: bytes) -> None:
        self._raw = raw
