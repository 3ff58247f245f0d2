"""Subscribes to joint states and joint commands: the newest valid message as arrays."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from rclpy.callback_groups import CallbackGroup, MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from icir_control.nodes.transport.decoder import JointStateDecoder
from icir_control.nodes.transport.native import has_native_parts

# Best effort takes from a reliable publisher without acknowledging, at 2/3 of the latency.
SUBSCRIBED = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class JointStateSubscription:
    """The newest valid JointState of a topic, as arrays in the order of our joints."""

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
        self.is_native = has_native_parts() and not plain
        self._decoder = JointStateDecoder(names, fields, plain=plain)
        self._delivered: bytes | None = None
        group = _NotExecuted() if self.is_native else MutuallyExclusiveCallbackGroup()
        self.subscription: Subscription = node.create_subscription(
            JointState,
            topic,
            self._deliver,
            qos,
            callback_group=group,
            raw=True,
        )
        self._take_message = self.subscription.handle.take_message if self.is_native else None

    @property
    def topic_name(self) -> str:
        """The full name of the topic."""
        return self.subscription.topic_name

    @property
    def stamp_ns(self) -> int:
        """The header's stamp of the message taken last [ns]."""
        return self._decoder.stamp_ns

    @property
    def token(self) -> str:
        """The header's `frame_id` of the message taken last."""
        return self._decoder.token

    @property
    def position(self) -> np.ndarray:
        """(n,) [rad or m], the same array at every message."""
        return self._decoder.position

    @property
    def velocity(self) -> np.ndarray:
        """(n,) [rad/s or m/s], the same array at every message."""
        return self._decoder.velocity

    @property
    def effort(self) -> np.ndarray:
        """(n,) [N m or N], the same array at every message."""
        return self._decoder.effort

    @property
    def rejected(self) -> Counter[str]:
        """How many messages were not taken over, by kind."""
        return self._decoder.rejected

    @property
    def last_rejection(self) -> str:
        """Why the last of them was not."""
        return self._decoder.last_rejection

    def take(self) -> bool:
        """Take over a message that has arrived; return whether there was one and it was valid."""
        if self._take_message is not None:
            taken = self._take_message(JointState, True)
            return taken is not None and self._decoder.decode(taken[0])
        raw, self._delivered = self._delivered, None
        return raw is not None and self._decoder.decode(raw)

    def _deliver(self, raw: bytes) -> None:
        self._delivered = raw


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
