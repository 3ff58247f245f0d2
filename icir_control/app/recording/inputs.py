"""What a recorder subscribes to: messages as bytes, as they wait in the middleware's queues."""

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from rcl_interfaces.msg import ParameterEvent
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from icir_control.app.recording.mcap_writer import ChannelMessage
from icir_control.app.recording.writer import RecordingFile, encoded
from icir_control.nodes.transport.endpoints import has_native_parts, subscribe_raw
from icir_control.nodes.transport.messages import NANOSECONDS, STAMP, STAMP_OFFSET

_STAMPS = np.dtype([('seconds', '<i4'), ('nanoseconds', '<u4')])


class Input:
    """A subscription whose messages wait in the middleware's queue, as bytes.

    Attributes:
        name: The full name of the topic.
    """

    def __init__(self, node: Node, topic: str, kind: Any, qos: QoSProfile) -> None:
        """Subscribe.

        Args:
            node: The node to subscribe through.
            topic: Its name.
            kind: The class of its messages.
            qos: Of the subscription.
        """
        self._node, self._kind = node, kind
        self._handed_over: list[tuple[bytes, int, int]] = []
        self._subscription, self._take = subscribe_raw(
            node, kind, topic, qos, self._hand_over, is_native=has_native_parts()
        )
        self.name: str = self._subscription.topic_name

    def taken(self) -> Iterator[tuple[bytes, int, int]]:
        """Take what waits: bytes, and wall time of arrival and of sending [ns]."""
        while taken := self._take(self._kind, True):
            raw, info = taken
            yield raw, info['received_timestamp'], info['source_timestamp']
        handed_over, self._handed_over = self._handed_over, []
        yield from handed_over

    def close(self) -> None:
        """End the subscription."""
        self._node.destroy_subscription(self._subscription)

    def _hand_over(self, raw: bytes) -> None:
        """Take a message from an executor, where the queue cannot be reached."""
        now = time.time_ns()
        self._handed_over.append((raw, now, now))


class Topic:
    """One topic of the file.

    Attributes:
        name: Its full name.
        channel: Its number in the file.
        count: Number of messages.
        distinct: Number of those with a stamp of their own: while time stands still a state is
            repeated. Stamps are read of JointStates alone.
        first_ns: Stamp of the first one [ns].
        last_ns: Stamp of the last one [ns].
    """

    def __init__(self, node: Node, file: RecordingFile, topic: str, kind: Any) -> None:
        """Open a channel of the file.

        Args:
            node: The node to subscribe through.
            file: What is written.
            topic: Its name.
            kind: The class of its messages.
        """
        self._node, self._kind = node, kind
        self._input: Input | None = None
        self.name = node.resolve_topic_name(topic)
        self.channel = file.open_topic(self.name, kind)
        self.count = self.distinct = self.first_ns = 0
        self.last_ns = -1

    def subscribe(self, qos: QoSProfile) -> None:
        """Subscribe to the topic."""
        self._input = Input(self._node, self.name, self._kind, qos)

    def taken(self) -> Iterator[ChannelMessage]:
        """Take what has come by the topic's own subscription."""
        for raw, received_ns, sent_ns in self._input.taken() if self._input else ():
            if self._kind is ParameterEvent:
                # The client library may append bytes to it, which not every reader passes over.
                raw = encoded(deserialize_message(raw, ParameterEvent))
            yield self.channel, raw, received_ns, sent_ns

    def count_in(self, raws: list[bytes]) -> None:
        """Count messages that are written.

        Args:
            raws: In serialised form.
        """
        self.count += len(raws)
        if self._kind is not JointState:
            return
        begin, end = STAMP_OFFSET, STAMP_OFFSET + STAMP.size
        stamps = np.frombuffer(
            b''.join([raw[begin:end] for raw in raws if len(raw) >= end]), _STAMPS
        )
        stamps_ns = stamps['seconds'] * np.int64(NANOSECONDS) + stamps['nanoseconds']
        before = np.maximum.accumulate(np.append(self.last_ns, stamps_ns))
        new = stamps_ns[stamps_ns > before[:-1]]
        if len(new):
            self.first_ns = self.first_ns if self.distinct else int(new[0])
            self.last_ns = int(new[-1])
            self.distinct += len(new)

    def missing(self, period_ns: int) -> int:
        """Return how many stamps between the first and the last one have not come.

        Args:
            period_ns: Between two stamps [ns]; 0 where it is not known.
        """
        if not (self.distinct and period_ns):
            return 0
        return (self.last_ns - self.first_ns) // period_ns + 1 - self.distinct
