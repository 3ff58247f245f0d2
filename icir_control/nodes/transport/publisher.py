"""Publishes joint states and joint commands: arrays in, one message out."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from icir_control.nodes.transport.layout import (
    FIELDS,
    STAMP,
    STAMP_OFFSET,
    JointStateLayout,
)

NANOSECONDS = 1_000_000_000
PUBLISHED = QoSProfile(depth=1, reliability=ReliabilityPolicy.RELIABLE)


class JointStatePublisher:
    """A publisher of JointState whose names never change.

    The message is kept in serialised form; a publication copies the numbers into it. Where the
    middleware would not read those bytes as the message they stand for, every publication is
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
        self._send = getattr(handle, 'publish_raw', self._publisher.publish)
        self._token: str | None = None
        self._filled = (False, False, False)
        self._is_patched = False
        self._message = bytearray()
        self._position: np.ndarray | None = None
        self._velocity: np.ndarray | None = None
        self._effort: np.ndarray | None = None

    @property
    def topic_name(self) -> str:
        """The full name of the topic."""
        return self._publisher.topic_name

    @property
    def is_heard(self) -> bool:
        """Whether anybody subscribes."""
        return self._publisher.get_subscription_count() > 0

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
        filled = (position is not None, velocity is not None, effort is not None)
        if filled != self._filled or token != self._token:
            self._prepare(token, filled)
        if not self._is_patched:
            message = joint_state(stamp_ns, token, self._names, position, velocity, effort)
            self._send(serialize_message(message))
            return
        STAMP.pack_into(self._message, STAMP_OFFSET, *divmod(stamp_ns, NANOSECONDS))
        if position is not None:
            self._position[:] = position
        if velocity is not None:
            self._velocity[:] = velocity
        if effort is not None:
            self._effort[:] = effort
        self._send(bytes(self._message))

    def _prepare(self, token: str, filled: tuple[bool, bool, bool]) -> None:
        """Lay the message out anew, and have the client library read a sample of it."""
        self._token, self._filled, self._is_patched = token, filled, False
        if self._plain:
            return
        fields = [field for field, is_filled in zip(FIELDS, filled, strict=True) if is_filled]
        layout = JointStateLayout(self._names, token, fields)
        self._message = layout.template
        slots = {
            field: np.frombuffer(self._message, '<f8', len(self._names), offset)
            for field, offset in layout.offsets.items()
        }
        STAMP.pack_into(self._message, STAMP_OFFSET, 1, 2)
        for i, slot in enumerate(slots.values()):
            slot[:] = np.arange(slot.size) + 0.1 * i
        sample = joint_state(NANOSECONDS + 2, token, self._names, *map(slots.get, FIELDS))
        if deserialize_message(bytes(self._message), JointState) == sample:
            self._position, self._velocity, self._effort = map(slots.get, FIELDS)
            self._is_patched = True


def joint_state(
    stamp_ns: int,
    token: str,
    names: Sequence[str],
    position: ArrayLike | None,
    velocity: ArrayLike | None,
    effort: ArrayLike | None,
) -> JointState:
    """Return the message that stands for the arrays, built by the client library alone."""
    message = JointState()
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp_ns, NANOSECONDS)
    message.header.frame_id = token
    message.name = list(names)
    for field, numbers in zip(FIELDS, (position, velocity, effort), strict=True):
        if numbers is not None:
            setattr(message, field, np.asarray(numbers, dtype=float).tolist())
    return message
