"""Publishes joint states and joint commands: arrays in, one message out."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from icir_control.nodes.transport.layout import (
    FIELDS,
    NANOSECONDS,
    SHIFT,
    STAMP,
    STAMP_OFFSET,
    JointStateLayout,
)

PUBLISHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)


class JointStatePublisher:
    """A publisher of JointState whose names never change.

    The message is kept in serialised form; whoever publishes writes the numbers into it. Where
    the middleware would not read those bytes as the message they stand for, every publication is
    serialised by the client library instead.
    """

    def __init__(
        self, node: Node, topic: str, names: Sequence[str], *, plain: bool = False
    ) -> None:
        """Create the publisher, reliable and with a queue of one.

        Args:
            node: The node that publishes.
            topic: Topic name, relative to the node's namespace.
            names: The joint names, in the order of the arrays.
            plain: Serialise every message through the client library: the reference that tests
                compare the fast path with.
        """
        self._names = tuple(names)
        self._plain = plain
        self._publisher = node.create_publisher(JointState, topic, PUBLISHED)
        # The handle spares the client library's checks; the public method does the same.
        handle = getattr(self._publisher, 'handle', None)
        self._publish = getattr(handle, 'publish_raw', self._publisher.publish)
        self._send: Callable[[bytes], object] = self._publish
        self._token: str | None = None
        self._slots: dict[str, np.ndarray] = {}
        self._message: memoryview | None = None

    @property
    def topic_name(self) -> str:
        """The full name of the topic."""
        return self._publisher.topic_name

    @property
    def subscribers(self) -> int:
        """How many subscribe."""
        return self._publisher.get_subscription_count()

    @property
    def is_heard(self) -> bool:
        """Whether anybody subscribes."""
        return self.subscribers > 0

    def divert(self, to: Callable[[bytes], object] | None) -> None:
        """Give messages to somebody in this process instead of publishing them.

        Args:
            to: Takes each message in serialised form; None has them published again.
        """
        self._send = to or self._publish

    def publish(
        self,
        stamp_ns: int,
        token: str,
        position: ArrayLike | None = None,
        velocity: ArrayLike | None = None,
        effort: ArrayLike | None = None,
    ) -> None:
        """Publish one message.

        Args:
            stamp_ns: Simulation time [ns], the header's stamp.
            token: The bridge's run, the header's `frame_id`.
            position: (n,) [rad or m], left empty when None.
            velocity: (n,) [rad/s or m/s], left empty when None.
            effort: (n,) [N m or N], left empty when None.
        """
        values = zip(FIELDS, (position, velocity, effort), strict=True)
        filled = {field: value for field, value in values if value is not None}
        if token != self._token or filled.keys() != self._slots.keys():
            self.open(token, *filled)
        for field, value in filled.items():
            self._slots[field][:] = value
        self.send(stamp_ns)

    def open(self, token: str, *fields: str) -> tuple[np.ndarray, ...]:
        """Lay out the messages to come.

        Args:
            token: The bridge's run, the header's `frame_id`.
            fields: Those of `position`, `velocity`, `effort` that are filled, in this order.

        Returns:
            An array (n,) for each of the fields, to be filled before each `send`.
        """
        layout = JointStateLayout(self._names, token, fields)
        # Shifted as its numbers are aligned, the message holds them where arrays may lie.
        memory = memoryview(bytearray(SHIFT + layout.size))
        message = memory[SHIFT:]
        message[:] = layout.template
        self._token = token
        self._slots = {
            field: np.frombuffer(message, '<f8', len(self._names), offset)
            for field, offset in layout.offsets.items()
        }
        self._message = message if self._is_understood(message) else None
        return tuple(self._slots.values())

    def send(self, stamp_ns: int) -> None:
        """Publish what the arrays of `open` hold.

        Args:
            stamp_ns: Simulation time [ns], the header's stamp.
        """
        if self._message is None:
            self._send(serialize_message(self._plain_message(stamp_ns)))
            return
        STAMP.pack_into(self._message, STAMP_OFFSET, *divmod(stamp_ns, NANOSECONDS))
        self._send(bytes(self._message))

    def _is_understood(self, message: memoryview) -> bool:
        """Return whether the client library reads a sample of the message as what it means."""
        if self._plain:
            return False
        STAMP.pack_into(message, STAMP_OFFSET, 1, 2)
        for i, slot in enumerate(self._slots.values()):
            slot[:] = np.arange(slot.size) + 0.1 * i
        sample = self._plain_message(NANOSECONDS + 2)
        is_understood = deserialize_message(bytes(message), JointState) == sample
        for slot in self._slots.values():
            slot[:] = 0.0
        return is_understood

    def _plain_message(self, stamp_ns: int) -> JointState:
        """Return the message that stands for the arrays, built by the client library alone."""
        message = JointState()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, NANOSECONDS)
        message.header.frame_id = self._token
        message.name = list(self._names)
        for field, numbers in self._slots.items():
            setattr(message, field, numbers.tolist())
        return message
