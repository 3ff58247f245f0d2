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
        self._key: tuple[str, bool, bool, bool] | None = None
        self._message = bytearray()
        self._slots: list[np.ndarray | None] | None = None

    @property
    def topic_name(self) -> str:
        """The full name of the topic."""
        return self._publisher.topic_name

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
        key = (token, position is None, velocity is None, effort is None)
        values = (position, velocity, effort)
        if key != self._key:
            self._prepare(key, token, values)
        if self._slots is None:
            message = joint_state(stamp_ns, token, self._names, *values)
            self._send(serialize_message(message))
            return
        STAMP.pack_into(self._message, STAMP_OFFSET, *divmod(stamp_ns, NANOSECONDS))
        for slot, numbers in zip(self._slots, values, strict=True):
            if slot is not None:
                slot[:] = numbers
        self._send(bytes(self._message))

    def _prepare(
        self,
        key: tuple[str, bool, bool, bool],
        token: str,
        values: tuple[ArrayLike | None, ArrayLike | None, ArrayLike | None],
    ) -> None:
        """Lay the message out anew, and have the client library read a sample of it."""
        self._key = key
        self._slots = None
        if self._plain:
            return
        filled = [
            field for field, numbers in zip(FIELDS, values, strict=True) if numbers is not None
        ]
        layout = JointStateLayout(self._names, token, filled)
        sample = layout.template.copy()
        slots = _number_slots(sample, layout)
        STAMP.pack_into(sample, STAMP_OFFSET, 1, 2)
        numbers = [None if slot is None else np.arange(1.0, slot.size + 1) for slot in slots]
        for slot, row in zip(slots, numbers, strict=True):
            if slot is not None:
                slot[:] = row
        meant = joint_state(NANOSECONDS + 2, token, self._names, *numbers)
        if deserialize_message(bytes(sample), JointState) == meant:
            self._message = sample
            self._slots = slots


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


def _number_slots(message: bytearray, layout: JointStateLayout) -> list[np.ndarray | None]:
    """Return, for each field, the numbers of the message as a writable array, or None."""
    count = len(layout.names)
    return [
        np.frombuffer(message, '<f8', count, layout.offsets[field])
        if field in layout.offsets
        else None
        for field in FIELDS
    ]
