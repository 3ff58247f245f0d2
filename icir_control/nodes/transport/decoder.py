"""Turns serialised JointStates of any publisher into arrays in the order of our joints."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from sensor_msgs.msg import JointState

from icir_control.errors import InvalidValueError
from icir_control.nodes.transport.joint_state import read_joint_state
from icir_control.nodes.transport.known import KnownLayout, reader
from icir_control.nodes.transport.layout import (
    FIELDS,
    NANOSECONDS,
    NUMBER_SIZE,
    JointStateLayout,
)

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
        self._accepted = np.zeros((len(self._fields), count))
        self._incoming = np.zeros_like(self._accepted)
        arrays = dict(zip(self._fields, self._accepted, strict=True))
        self.position, self.velocity, self.effort = (
            arrays.get(field, np.zeros(count)) for field in FIELDS
        )
        self._known: KnownLayout | None = None
        self._read_known = None if plain else reader()

    def decode(self, raw: bytes) -> bool:
        """Take a serialised message over; return False when it is invalid, and count it."""
        known = self._known
        if known is not None and len(raw) == known.length:
            known.place[:] = raw
            stamp_ns = self._read_known(*known.arrays)
            if stamp_ns >= 0:
                self.stamp_ns = stamp_ns
                self.token = known.token
                return True
        try:
            self._read(raw)
        except RejectedMessageError as rejection:
            self.rejected[rejection.kind] += 1
            self.last_rejection = str(rejection)
            return False
        return True

    def _read(self, raw: bytes) -> None:
        """Read a message of any layout through the client library, and learn its layout."""
        if len(raw) > self._longest:
            raise RejectedMessageError(
                'too_long', f'{len(raw)} bytes; one with our joints has at most {self._longest}'
            )
        try:
            message = read_joint_state(raw)
        except InvalidValueError as error:
            raise RejectedMessageError('undecodable', str(error)) from error
        order = self._order_of(message)
        for row, field in zip(self._incoming, self._fields, strict=True):
            row[:] = np.asarray(getattr(message, field))[order]
        stamp = message.header.stamp
        stamp_ns = _nanoseconds(stamp.sec, stamp.nanosec)
        if not np.isfinite(self._incoming).all():
            raise RejectedMessageError('not_finite', self._describe_not_finite())
        if not self._plain:
            self._learn(message, order, raw, stamp_ns)
        self._accepted[:] = self._incoming
        self.stamp_ns = stamp_ns
        self.token = message.header.frame_id

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

    def _learn(self, message: JointState, order: np.ndarray, raw: bytes, stamp_ns: int) -> None:
        """Keep the message's layout if reading by it gives the very same numbers."""
        filled = [field for field in FIELDS if len(getattr(message, field))]
        layout = JointStateLayout(message.name, message.header.frame_id, filled)
        if not layout.matches(raw):
            return
        offsets = [layout.offsets[field] for field in self._fields]
        known = KnownLayout(layout, raw, offsets, order, self._accepted)
        known.place[:] = raw
        is_same_stamp = self._read_known(*known.arrays) == stamp_ns
        if is_same_stamp and self._accepted.tobytes() == self._incoming.tobytes():
            self._known = known

    def _describe_not_finite(self) -> str:
        row, joint = np.argwhere(~np.isfinite(self._incoming))[0]
        return f'{self._fields[row]} of {self._names[joint]} is {self._incoming[row, joint]}'


def _nanoseconds(seconds: int, nanoseconds: int) -> int:
    """Return a stamp as one integer [ns]."""
    if seconds < 0 or nanoseconds >= NANOSECONDS:
        raise RejectedMessageError('bad_stamp', f'stamp {seconds} s {nanoseconds} ns')
    return seconds * NANOSECONDS + nanoseconds
