"""Turns serialised JointStates of any publisher into arrays in the order of our joints."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from icir_control.errors import InvalidValueError
from icir_control.nodes.transport.layout import (
    FIELDS,
    NUMBER_SIZE,
    STAMP,
    STAMP_OFFSET,
    JointStateLayout,
)

NANOSECONDS = 1_000_000_000
# Longer than any message that names our joints once, with a token of any sensible length.
_SPARE_LENGTH = 4096


class RejectedMessageError(Exception):
    """A message that is not taken over; never leaves this package."""

    def __init__(self, kind: str, reason: str) -> None:
        """Keep the kind under which it is counted and the reason in words."""
        super().__init__(reason)
        self.kind = kind


class JointStateDecoder:
    """The newest valid message as arrays; invalid ones are counted and change nothing else.

    The first message of a publisher is read by the client library. Its byte layout is learnt
    from it, and as long as later messages have the same layout to the last meaningful byte, their
    numbers are copied from where they must be. Every other message is read by the client library.

    Attributes:
        stamp_ns: The header's stamp [ns].
        token: The header's `frame_id`.
        position: (n,) [rad or m], in the order of the names, as are the next two.
        velocity: (n,) [rad/s or m/s].
        effort: (n,) [N m or N].
        rejected: How many messages were not taken over, by kind.
        last_rejection: Why the last of them was not.
    """

    def __init__(
        self, names: Sequence[str], fields: Sequence[str], *, plain: bool = False
    ) -> None:
        """Prepare to decode.

        Args:
            names: The joint names, in the order of the arrays.
            fields: Those of `position`, `velocity`, `effort` that a message must fill; the arrays
                of the others stay zero.
            plain: Read every message through the client library: the reference that tests
                compare the fast path with.

        Raises:
            InvalidValueError: `fields` names something else.
        """
        if not set(fields) <= set(FIELDS):
            raise InvalidValueError('fields', fields, f'some of {", ".join(FIELDS)}')
        self._names = tuple(names)
        self._index = {name: i for i, name in enumerate(self._names)}
        self._fields = tuple(fields)
        self._plain = plain
        count = len(self._names)
        self.stamp_ns = 0
        self.token = ''
        self.rejected: Counter[str] = Counter()
        self.last_rejection = ''
        self._longest = (
            sum(len(name.encode()) + NUMBER_SIZE for name in self._names)
            + len(FIELDS) * count * NUMBER_SIZE
            + _SPARE_LENGTH
        )
        # One block, so that one copy takes a message over and one sum finds a NaN in it.
        self._accepted = np.zeros((len(self._fields), count), '<f8')
        self._incoming = np.zeros_like(self._accepted)
        self._incoming_flat = self._incoming.reshape(-1)
        self._accepted_bytes = memoryview(self._accepted).cast('B')
        self._incoming_bytes = memoryview(self._incoming).cast('B')
        arrays = dict(zip(self._fields, self._accepted, strict=True))
        self.position, self.velocity, self.effort = (
            arrays.get(field, np.zeros(count)) for field in FIELDS
        )
        self._layout: JointStateLayout | None = None
        self._order: np.ndarray | None = None
        self._moves: tuple[tuple[slice, slice], ...] = ()

    def decode(self, raw: bytes) -> bool:
        """Take a serialised message over; return False when it is invalid, and count it."""
        try:
            if self._layout is not None and self._layout.matches(raw):
                stamp_ns, token = self._read_known(raw)
            else:
                stamp_ns, token = self._read_unknown(raw)
            # Several times faster than asking each number; a sum that overflows is looked into.
            if not math.isfinite(sum(self._incoming_flat.tolist())) and not self._is_finite():
                raise RejectedMessageError('not_finite', self._describe_not_finite())
        except RejectedMessageError as rejection:
            self.rejected[rejection.kind] += 1
            self.last_rejection = str(rejection)
            return False
        self._accepted_bytes[:] = self._incoming_bytes
        self.stamp_ns = stamp_ns
        self.token = token
        return True

    def _read_known(self, raw: bytes) -> tuple[int, str]:
        """Copy the numbers of a message of the known layout."""
        for target, source in self._moves:
            self._incoming_bytes[target] = raw[source]
        if self._order is not None:
            self._incoming[:] = self._incoming[:, self._order]
        return _nanoseconds(*STAMP.unpack_from(raw, STAMP_OFFSET)), self._layout.token

    def _read_unknown(self, raw: bytes) -> tuple[int, str]:
        """Read a message of any layout through the client library, and learn its layout."""
        if len(raw) > self._longest:
            raise RejectedMessageError(
                'too_long', f'{len(raw)} bytes; one with our joints has at most {self._longest}'
            )
        try:
            message = deserialize_message(raw, JointState)
        except (RuntimeError, MemoryError) as error:
            raise RejectedMessageError('undecodable', f'not a JointState: {error}') from error
        order = self._order_of(message)
        for row, field in zip(self._incoming, self._fields, strict=True):
            row[:] = np.asarray(getattr(message, field))[order]
        stamp = message.header.stamp
        stamp_ns = _nanoseconds(stamp.sec, stamp.nanosec)
        if not self._plain:
            self._learn(message, order, raw)
        return stamp_ns, message.header.frame_id

    def _order_of(self, message: JointState) -> np.ndarray:
        """Return where each of our joints stands in the message, which is checked for that."""
        names = list(message.name)
        known = ', '.join(self._names)
        for name in names:
            if name not in self._index:
                raise RejectedMessageError('unknown_name', f'joint {name!r}; known: {known}')
        if len(set(names)) != len(names):
            raise RejectedMessageError('repeated_name', f'a joint named twice in {names}')
        for name in self._names:
            if name not in names:
                raise RejectedMessageError('missing_name', f'joint {name!r} is not in {names}')
        for field in FIELDS:
            length = len(getattr(message, field))
            if length != len(names) and (length or field in self._fields):
                raise RejectedMessageError(
                    'wrong_length', f'{length} numbers in {field} for {len(names)} joints'
                )
        return np.array([names.index(name) for name in self._names], dtype=np.intp)

    def _learn(self, message: JointState, order: np.ndarray, raw: bytes) -> None:
        """Keep the message's layout if reading by it gives the very same message."""
        filled = [field for field in FIELDS if len(getattr(message, field))]
        layout = JointStateLayout(message.name, message.header.frame_id, filled)
        if not layout.matches(raw):
            return
        stamp = message.header.stamp
        if STAMP.unpack_from(raw, STAMP_OFFSET) != (stamp.sec, stamp.nanosec):
            return
        for field in filled:
            numbers = np.frombuffer(raw, '<f8', len(order), layout.offsets[field])
            if numbers.tobytes() != np.asarray(getattr(message, field), '<f8').tobytes():
                return
        size = len(order) * NUMBER_SIZE
        starts = [layout.offsets[field] for field in self._fields]
        self._moves = tuple(
            (slice(row * size, (row + 1) * size), slice(start, start + size))
            for row, start in enumerate(starts)
        )
        self._layout = layout
        self._order = None if (order == np.arange(len(order))).all() else order

    def _is_finite(self) -> bool:
        return bool(np.isfinite(self._incoming_flat).all())

    def _describe_not_finite(self) -> str:
        row, joint = np.argwhere(~np.isfinite(self._incoming))[0]
        return f'{self._fields[row]} of {self._names[joint]} is {self._incoming[row, joint]}'


def _nanoseconds(seconds: int, nanoseconds: int) -> int:
    """Return a stamp as one integer [ns]."""
    if seconds < 0 or nanoseconds >= NANOSECONDS:
        raise RejectedMessageError('bad_stamp', f'stamp {seconds} s {nanoseconds} ns')
    return seconds * NANOSECONDS + nanoseconds
