"""Many messages in one: the hot topics as a recorder hears them.

A process that subscribes to a hot topic wakes for each message, ten thousand times a second, and
takes a processor from the loop each time. So the bridge publishes what it sends and receives
there a second time, some milliseconds long at once, as soon as somebody subscribes to that: a
`std_msgs/UInt8MultiArray` with a dimension for each topic, labelled with its name. Its bytes are
the number n of messages (`uint32`), then for each of the n

- when it was sent (`int64`, ns of wall time),
- when it was received (`int64`, ns of wall time),
- how many bytes it has (`uint32`),
- of which topic it is (`uint8`, index of the dimension),

each of the four as an array of its own, and last the n messages in serialised form, one after the
other. All is little-endian.
"""

from array import array
from functools import partial
from itertools import pairwise
from sys import byteorder
from typing import Final, NamedTuple

import numpy as np
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message, serialize_message
from std_msgs.msg import MultiArrayDimension, MultiArrayLayout, UInt8MultiArray

from icir_control.errors import InvalidValueError
from icir_control.nodes.transport.endpoints import JointStatePublisher, JointStateSubscription

BATCHES: Final = 'message_batches'
"""The topic, below the name of the node that publishes it."""
QUEUE: Final = QoSProfile(depth=1000)
"""Reliable, as none may be lost: so many batches as come in some seconds."""

_SIZE = np.dtype('<u4')
_COLUMNS = (np.dtype('<i8'), np.dtype('<i8'), np.dtype('<u4'), np.dtype('u1'))
_FULL = 40_000  # bytes: with what else it holds a batch fits into one UDP datagram


class Batch(NamedTuple):
    """Messages in the order of their arrival, a row each."""

    topics: list[str]
    """Their full names."""
    raws: list[bytes]
    """The serialised messages."""
    received_ns: list[int]
    """Wall time of arrival at the node that batches them [ns]; of what it sent, of that."""
    sent_ns: list[int]
    """Wall time of publication [ns]."""


class MessageBatches:
    """Publishes in batches what a node sends and receives, while somebody subscribes."""

    def __init__(
        self, node: Node, states: JointStatePublisher, commands: JointStateSubscription
    ) -> None:
        """Create the publisher; nothing is kept before the first `update`.

        Args:
            node: The node.
            states: One of its two hot topics.
            commands: The other one.
        """
        self._ends: tuple[JointStatePublisher | JointStateSubscription, ...] = states, commands
        self._publisher = node.create_publisher(
            UInt8MultiArray, f'{node.get_name()}/{BATCHES}', QUEUE
        )
        dimensions = [MultiArrayDimension(label=end.topic_name) for end in self._ends]
        empty = UInt8MultiArray(layout=MultiArrayLayout(dim=dimensions))
        # The last four bytes are the number of those that follow: none.
        self._head = serialize_message(empty)[: -_SIZE.itemsize]
        self._begin()

    def update(self) -> None:
        """Publish what has come; to be called every few milliseconds."""
        self._publish()
        is_wanted = self._publisher.get_subscription_count() > 0
        for topic, end in enumerate(self._ends):
            end.listener = partial(self.add, topic) if is_wanted else None

    def add(self, topic: int, raw: bytes, sent_ns: int, received_ns: int) -> None:
        """Add a message.

        Args:
            topic: 0 for a state, 1 for a command.
            raw: The serialised message.
            sent_ns: Wall time of its publication [ns].
            received_ns: Wall time of its arrival [ns].
        """
        self._messages.append(raw)
        self._sent.append(sent_ns)
        self._received.append(received_ns)
        self._sizes.append(len(raw))
        self._topics.append(topic)
        self._bytes += len(raw)
        if self._bytes > _FULL:
            self._publish()

    def _publish(self) -> None:
        count = len(self._messages)
        if not count:
            return
        columns = [self._sent, self._received, self._sizes, self._topics]
        if byteorder == 'big':
            for column in columns:
                column.byteswap()
        content = [*(column.tobytes() for column in columns), *self._messages]
        size = _SIZE.itemsize + sum(map(len, content))
        counts = np.array([size, count], _SIZE).tobytes()
        self._publisher.publish(b''.join([self._head, counts, *content]))
        self._begin()

    def _begin(self) -> None:
        """Begin a batch."""
        self._messages: list[bytes] = []
        self._sent, self._received = array('q'), array('q')
        self._sizes, self._topics = array('I'), array('B')
        self._bytes = 0


def read_batch(raw: bytes) -> Batch:
    """Return the messages of a batch.

    Args:
        raw: The serialised batch.

    Raises:
        InvalidValueError: It is none.
    """
    batch = deserialize_message(raw, UInt8MultiArray)
    names = [dimension.label for dimension in batch.layout.dim]
    content = bytes(batch.data)
    try:
        count, begin = int(np.frombuffer(content, _SIZE, 1)[0]), _SIZE.itemsize
        columns = []
        for kind in _COLUMNS:
            columns.append(np.frombuffer(content, kind, count, begin))
            begin += count * kind.itemsize
        sent_ns, received_ns, sizes, topics = columns
        ends = (begin + np.cumsum(sizes, dtype=np.int64)).tolist()
        if ends[-1:] != [len(content)]:
            raise ValueError(f'{count} messages in {len(content)} bytes')
        raws = [content[i:j] for i, j in pairwise([begin, *ends])]
        return Batch([names[i] for i in topics], raws, received_ns.tolist(), sent_ns.tolist())
    except (ValueError, IndexError) as error:
        raise InvalidValueError('batch', str(error), 'messages of a bridge') from error
