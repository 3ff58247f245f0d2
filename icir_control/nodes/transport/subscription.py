"""Subscribes to joint states and joint commands: the newest valid message as arrays."""

from collections.abc import Sequence

from rclpy.callback_groups import CallbackGroup, MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from icir_control.nodes.transport.decoder import JointStateDecoder
from icir_control.nodes.transport.native import has_native_parts

# Best effort takes from a reliable publisher without acknowledging, at 2/3 of the latency.
SUBSCRIBED = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class JointStateSubscription(JointStateDecoder):
    """The newest valid JointState of a topic, as arrays in the order of our joints.

    Attributes:
        is_native: Whether messages are taken from the middleware by hand.
        topic_name: The full name of the topic.
    """

    def __init__(
        self,
        node: Node,
        topic: str,
        names: Sequence[str],
        fields: Sequence[str] = ('position', 'velocity'),
        *,
        plain: bool = False,
        qos: QoSProfile = SUBSCRIBED,
    ) -> None:
        """Create the subscription; by default best effort and with a queue of one.

        Args:
            node: The node that subscribes.
            topic: Topic name, relative to the node's namespace.
            names: The joint names, in the order of the arrays.
            fields: Those of `position`, `velocity`, `effort` that a message must fill.
            plain: Go through the public executor and the client library's own decoding: the
                reference that tests compare the fast path with.
            qos: For one who wants every message instead of the newest.
        """
        super().__init__(names, fields, plain=plain)
        self.is_native = has_native_parts() and not plain
        self._delivered: tuple[bytes] | None = None
        self._handed_over: bytes | None = None
        group = _NotExecuted() if self.is_native else MutuallyExclusiveCallbackGroup()
        self.subscription: Subscription = node.create_subscription(
            JointState,
            topic,
            self._deliver,
            qos,
            callback_group=group,
            raw=True,
        )
        self.topic_name: str = self.subscription.topic_name
        self._take = self.subscription.handle.take_message if self.is_native else self._collect

    def take(self) -> bool:
        """Take over a message that has arrived; return whether there was one and it was valid."""
        if self._handed_over is not None:
            raw, self._handed_over = self._handed_over, None
            return self.decode(raw)
        taken = self._take(JointState, True)
        return taken is not None and self.decode(taken[0])

    def has_arrived(self) -> bool:
        """Return whether there is a message to take; what the middleware has is held here then.

        On the fast path alone: the public executor has to run before anything arrives.
        """
        if self._handed_over is None:
            taken = self._take(JointState, True)
            if taken is not None:
                self._handed_over = taken[0]
        return self._handed_over is not None

    def hand_over(self, raw: bytes) -> None:
        """Leave a message here that is taken before any other; a newer one replaces it."""
        self._handed_over = raw

    def _deliver(self, raw: bytes) -> None:
        self._delivered = (raw,)

    def _collect(self, *_: object) -> tuple[bytes] | None:
        """Return what the executor delivered, as the middleware returns it."""
        delivered, self._delivered = self._delivered, None
        return delivered


class _NotExecuted(CallbackGroup):
    """Keeps an entity out of every executor: its messages are taken by hand."""

    def can_execute(self, entity: object) -> bool:
        """Refuse: the executor leaves the entity out of what it waits for."""
        return False

    def beginning_execution(self, entity: object) -> bool:
        """Refuse."""
        return False

    def ending_execution(self, entity: object) -> None:
        """Do nothing: nothing began."""
