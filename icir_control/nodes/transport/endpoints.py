"""JointState as arrays, sent and received; and the newest message of any other topic."""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile
from rclpy.serialization import deserialize_message, serialize_message
from rclpy.subscription import Subscription
from sensor_msgs.msg import JointState

from icir_control.nodes.transport.conversions import NANOSECONDS, stamp_of
from icir_control.nodes.transport.messages import (
    FIELDS,
    SHIFT,
    STAMP,
    STAMP_OFFSET,
    JointStateDecoder,
    JointStateLayout,
    StampedLayout,
)
from icir_control.nodes.transport.qos import PUBLISHED, SUBSCRIBED

rclpy_implementation: Any = None
"""The part of rclpy that is not public; None where there is no such module."""
with suppress(ImportError):
    rclpy_implementation = import_module(
        'rclpy.impl.implementation_singleton'
    ).rclpy_implementation

ENTITIES = ('subscription', 'guard_condition', 'timer', 'client', 'service')
"""What a wait set waits for, in the order of its constructor."""

Listener = Callable[[bytes, int, int], object]
"""Called with each message: serialised, and wall time of sending and of arrival [ns]."""

_WAIT_SET_METHODS = ('clear_entities', 'is_ready', 'get_ready_entities', 'wait')


def has_native_parts() -> bool:
    """Return whether this rclpy has the wait set and the take that the fast path needs.

    A version without one of them runs the same nodes through the public executor.
    """
    wait_set = getattr(rclpy_implementation, 'WaitSet', None)
    subscription = getattr(rclpy_implementation, 'Subscription', None)
    methods = (*_WAIT_SET_METHODS, *(f'add_{kind}' for kind in ENTITIES))
    return (
        all(hasattr(wait_set, method) for method in methods)
        and hasattr(subscription, 'take_message')
        and hasattr(Subscription, 'handle')
    )


class JointStatePublisher:
    """A publisher of JointState whose names never change.

    The message is kept in serialised form, and its numbers are overwritten in place. Where the
    client library does not read those bytes as the intended message, it serialises every
    publication instead.

    Attributes:
        listener: Gets what is sent; see `Listener`.
    """

    def __init__(
        self, node: Node, topic: str, names: Sequence[str], *, plain: bool = False
    ) -> None:
        """Create the publisher, reliable and with a queue of one.

        Args:
            node: The node that publishes.
            topic: Topic name, relative to the node's namespace.
            names: The joint names, in the order of the arrays.
            plain: Serialise every message through the client library, as a reference for tests.
        """
        self._names = tuple(names)
        self._plain = plain
        self._publisher = node.create_publisher(JointState, topic, PUBLISHED)
        # The handle publishes without the client library's checks.
        handle = getattr(self._publisher, 'handle', None)
        self._publish: Callable[[bytes], object] = getattr(
            handle, 'publish_raw', self._publisher.publish
        )
        self._send = self._publish
        self.listener: Listener | None = None
        self._token: str | None = None
        self._slots: dict[str, np.ndarray] = {}
        self._message: memoryview | None = None

    @property
    def topic_name(self) -> str:
        """The full name of the topic."""
        return self._publisher.topic_name

    @property
    def subscribers(self) -> int:
        """The number of subscriptions."""
        return self._publisher.get_subscription_count()

    def divert(self, to: Callable[[bytes], object] | None) -> None:
        """Hand messages to a function of this process instead of publishing them.

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
        """Prepare the serialised form of the messages to come.

        Args:
            token: The bridge's run, the header's `frame_id`.
            fields: Those of `position`, `velocity`, `effort` that are filled, in this order.

        Returns:
            An array (n,) for each of the fields, to be filled before each `send`.
        """
        layout = JointStateLayout(self._names, token, fields)
        # Shifted, so that its numbers are aligned as arrays need it.
        memory = memoryview(bytearray(SHIFT + len(layout.template)))
        message = memory[SHIFT:]
        message[:] = layout.template
        self._token = token
        self._slots = {
            field: np.frombuffer(message, '<f8', len(self._names), offset)
            for field, offset in layout.offsets.items()
        }
        self._message = message if self._is_valid(message) else None
        return tuple(self._slots.values())

    def send(self, stamp_ns: int) -> None:
        """Publish what the arrays of `open` hold.

        Args:
            stamp_ns: Simulation time [ns], the header's stamp.
        """
        if self._message is None:
            raw = serialize_message(self._plain_message(stamp_ns))
        else:
            _write_stamp(self._message, stamp_ns)
            raw = bytes(self._message)
        if self.listener is None:
            self._send(raw)
            return
        sent_ns = time.time_ns()
        self._send(raw)
        self.listener(raw, sent_ns, sent_ns)

    def _is_valid(self, message: memoryview) -> bool:
        """Return whether the client library reads a sample of the message as intended."""
        if self._plain:
            return False
        stamp_ns = NANOSECONDS + 2
        _write_stamp(message, stamp_ns)
        for i, slot in enumerate(self._slots.values()):
            slot[:] = np.arange(slot.size) + 0.1 * i
        sample = self._plain_message(stamp_ns)
        is_valid = deserialize_message(bytes(message), JointState) == sample
        for slot in self._slots.values():
            slot[:] = 0.0
        return is_valid

    def _plain_message(self, stamp_ns: int) -> JointState:
        """Return the message of the arrays, built by the client library alone."""
        message = JointState()
        message.header.stamp = stamp_of(stamp_ns)
        message.header.frame_id = self._token
        message.name = list(self._names)
        for field, numbers in self._slots.items():
            setattr(message, field, numbers.tolist())
        return message


def _write_stamp(message: memoryview, stamp_ns: int) -> None:
    stamp = divmod(stamp_ns, NANOSECONDS)
    STAMP.pack_into(message, STAMP_OFFSET, *stamp)


class StampedPublisher:
    """A publisher of messages that are a header and numbers, such as a PoseStamped.

    Their serialised form is kept; stamp and numbers are overwritten in place. To build, check and
    serialise a message by the client library takes three times as long.
    """

    def __init__(self, node: Node, kind: Any, topic: str, frame_id: str, count: int) -> None:
        """Create the publisher, reliable and with a queue of one.

        Args:
            node: The node that publishes.
            kind: Of the messages; what follows the header are `count` doubles.
            topic: Topic name.
            frame_id: Of the header.
            count: Number of doubles.
        """
        self._publisher = node.create_publisher(kind, topic, PUBLISHED)
        layout = StampedLayout(frame_id, count)
        self._memory = memoryview(bytearray(SHIFT + len(layout.template)))
        self._message = self._memory[SHIFT:]
        self._message[:] = layout.template
        self._numbers = np.frombuffer(self._message, '<f8', count, layout.offset)

    @property
    def subscribers(self) -> int:
        """The number of subscriptions."""
        return self._publisher.get_subscription_count()

    def publish(self, stamp_ns: int, numbers: ArrayLike) -> None:
        """Publish one message.

        Args:
            stamp_ns: Simulation time, the header's stamp [ns].
            numbers: (count,) in the order of the message.
        """
        self._numbers[:] = numbers
        _write_stamp(self._message, stamp_ns)
        self._publisher.publish(bytes(self._message))


class JointStateSubscription(JointStateDecoder):
    """The newest valid JointState of a topic, as arrays in the order of our joints.

    Attributes:
        is_native: Whether messages are taken from the middleware without an executor.
        topic_name: The full name of the topic.
        listener: Gets what is taken; see `Listener`.
    """

    def __init__(
        self,
        node: Node,
        topic: str,
        names: Sequence[str],
        fields: Sequence[str] = ('position', 'velocity'),
        *,
        plain: bool = False,
        has_others: bool = False,
        qos: QoSProfile = SUBSCRIBED,
    ) -> None:
        """Create the subscription; by default best effort and with a queue of one.

        Args:
            node: The node that subscribes.
            topic: Topic name, relative to the node's namespace.
            names: The joint names, in the order of the arrays.
            fields: Those of `position`, `velocity`, `effort` that a message must fill.
            plain: Use the public executor and the client library's decoding, as a reference for
                tests.
            has_others: Whether messages may hold other joints, too.
            qos: Another profile, such as a deep queue to receive every message.
        """
        super().__init__(names, fields, plain=plain, has_others=has_others)
        self.is_native = has_native_parts() and not plain
        self.listener: Listener | None = None
        self._handed_over: bytes | None = None
        self.subscription, self._take = subscribe_raw(
            node, JointState, topic, qos, self.hand_over, is_native=self.is_native
        )
        self.topic_name: str = self.subscription.topic_name

    def take(self) -> bool:
        """Read a message that has arrived; return whether there was one and it was valid."""
        raw, self._handed_over = self._handed_over, None
        if raw is None:
            raw = self._take_raw()
        return raw is not None and self.decode(raw)

    def has_arrived(self) -> bool:
        """Return whether there is a message; it is taken from the middleware and kept for `take`.

        On the fast path alone: otherwise an executor has to run before a message arrives.
        """
        if self._handed_over is None:
            self._handed_over = self._take_raw()
        return self._handed_over is not None

    def skip_to_newest(self, seconds: float) -> None:
        """Keep the newest of the messages that arrive within a while of wall time [s].

        On the fast path alone, as `has_arrived`.
        """
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            raw = self._take_raw()
            if raw:
                self._handed_over = raw
            else:
                time.sleep(0.001)

    def hand_over(self, raw: bytes) -> None:
        """Keep a message for the next `take`; a newer one replaces it."""
        self._handed_over = raw
        if self.listener is not None:
            now_ns = time.time_ns()
            self.listener(raw, now_ns, now_ns)

    def _take_raw(self) -> bytes | None:
        """Take a message from the middleware; None where there is none."""
        taken = self._take(JointState, True)
        if not taken:
            return None
        raw, times = taken
        if self.listener is not None:
            self.listener(raw, times['source_timestamp'], times['received_timestamp'])
        return raw


def subscribe_raw(
    node: Node,
    kind: Any,
    topic: str,
    qos: QoSProfile,
    hand_over: Callable[[Any], None],
    *,
    is_native: bool,
) -> tuple[Any, Callable[..., Any]]:
    """Subscribe to the bytes of messages.

    Args:
        node: The node to subscribe through.
        kind: Of the messages.
        topic: Topic name.
        qos: Profile.
        hand_over: Gets each message of an executor, which is off the fast path.
        is_native: Whether this is the fast path; see `has_native_parts`.

    Returns:
        The subscription, and `take(kind, True)`: bytes and times of the oldest message that waits
        in the middleware, or None. Off the fast path that is None always.
    """
    group = NotExecuted() if is_native else MutuallyExclusiveCallbackGroup()
    subscription: Any = node.create_subscription(
        kind, topic, hand_over, qos, callback_group=group, raw=True
    )
    return subscription, subscription.handle.take_message if is_native else lambda *_: None


class NotExecuted(MutuallyExclusiveCallbackGroup):
    """Excludes an entity from every executor: its messages are taken directly."""

    def can_execute(self, entity: object) -> bool:
        """Return False: the executor does not wait for the entity."""
        return False


class Newest:
    """Takes the newest message from the middleware when somebody asks; no other is decoded.

    Where the middleware's queue cannot be reached, an executor hands over the messages.

    Attributes:
        is_new: Whether the last call of `message` has found another one.
    """

    def __init__(self, node: Node, kind: Any, topic: str, qos: QoSProfile = SUBSCRIBED) -> None:
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
