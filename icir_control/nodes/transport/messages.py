"""Serialised JointStates: their byte layout, and any publisher's as arrays in our joints' order.

A ROS message travels as CDR (OMG DDS-XTypes, plain encoding version 1): four bytes that name the
encoding, then the fields one after the other, each number aligned to its own size, counted from
the end of those four bytes. While names, token and the set of filled fields stay the same, every
number keeps its place, so that a message is written and read by copying a few blocks of bytes.
"""

import struct
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from icir_control.compiled import bound, kernel
from icir_control.errors import InvalidValueError
from icir_control.nodes.transport.conversions import NANOSECONDS, nanoseconds_of

FIELDS = ('position', 'velocity', 'effort')

STAMP = struct.Struct('<iI')
STAMP_OFFSET = 4
NUMBER_SIZE = 8

_ENCODING_SIZE = 4
# Alignment is counted from the end of the encoding. In a buffer shifted by this much, each number
# of a message lies on a multiple of its own size.
SHIFT = NUMBER_SIZE - _ENCODING_SIZE
_CDR_LITTLE_ENDIAN = b'\x00\x01'

# Longer than any message that names our joints once, with a token of any sensible length.
_SPARE_LENGTH = 4096
# With the joints of a whole robot beside ours.
_OTHERS_LENGTH = 1 << 17
_OTHER_LAYOUT = -1

LARGEST = 1e9
"""Of the magnitudes in a message: beyond, it is no state and no command of any arm."""


_STAMP_WORD = (SHIFT + STAMP_OFFSET) // NUMBER_SIZE


class _Layout:
    """Bytes of a message, put together field by field.

    Attributes:
        template: The message with all that may change zero; a publisher may append bytes, which
            are ignored.
        mask: Ones in every byte that all messages of this layout share. Padding is not among
            them: its bytes are undefined.
    """

    def __init__(self, frame_id: str) -> None:
        """Begin with a header."""
        self.template = bytearray()
        self.mask = bytearray()
        self._append(_CDR_LITTLE_ENDIAN)
        self._append_free(_ENCODING_SIZE - len(_CDR_LITTLE_ENDIAN) + STAMP.size)
        self._append_text(frame_id)

    def _append(self, content: bytes) -> None:
        self.template += content
        self.mask += b'\xff' * len(content)

    def _append_free(self, size: int) -> None:
        self.template += bytes(size)
        self.mask += bytes(size)

    def _append_count(self, count: int) -> None:
        self._align(4)
        self._append(struct.pack('<I', count))

    def _append_text(self, text: str) -> None:
        content = text.encode() + b'\0'
        self._append_count(len(content))
        self._append(content)

    def _append_numbers(self, count: int) -> int:
        """Append doubles; return the position of the first one [bytes]."""
        self._align(NUMBER_SIZE)
        offset = len(self.template)
        self._append_free(count * NUMBER_SIZE)
        return offset

    def _align(self, size: int) -> None:
        self._append_free(-(len(self.template) - _ENCODING_SIZE) % size)


class StampedLayout(_Layout):
    """The bytes of a little-endian message that is a header and doubles.

    Attributes:
        offset: The position of the first double in the message [bytes].
    """

    def __init__(self, frame_id: str, count: int) -> None:
        """Lay out a message.

        Args:
            frame_id: Of the header.
            count: Number of doubles.
        """
        super().__init__(frame_id)
        self.offset = self._append_numbers(count)


class JointStateLayout(_Layout):
    """The bytes of a little-endian JointState with given names, token and filled fields.

    Attributes:
        token: The header's `frame_id`.
        offsets: For each filled field, the position of its first number in the message [bytes].
    """

    def __init__(self, names: Sequence[str], token: str, filled: Sequence[str]) -> None:
        """Lay out a message.

        Args:
            names: The joint names, in the order of the message.
            token: The header's `frame_id`.
            filled: Those of `position`, `velocity`, `effort` that hold one number per name; the
                others are empty.
        """
        super().__init__(token)
        self.token = token
        self.offsets: dict[str, int] = {}
        self._append_count(len(names))
        for name in names:
            self._append_text(name)
        for field in FIELDS:
            count = len(names) if field in filled else 0
            self._append_count(count)
            if count:
                self.offsets[field] = self._append_numbers(count)


# Shorter than the shortest message is none, and the middleware of the wheels (Fast CDR 2.3) reads
# beyond the end of four bytes that promise padding.
_SHORTEST = len(JointStateLayout((), '', ()).template)


def read_joint_state(raw: bytes) -> JointState:
    """Return a serialised JointState of any publisher, read by the client library.

    Args:
        raw: The bytes as they were received.

    Raises:
        InvalidValueError: They are no JointState.
    """
    expected = f'a serialised JointState, {_SHORTEST} bytes or more'
    if len(raw) < _SHORTEST:
        raise InvalidValueError('message', f'{len(raw)} bytes', expected)
    try:
        return deserialize_message(raw, JointState)
    except (RuntimeError, MemoryError) as error:
        raise InvalidValueError('message', f'{len(raw)} bytes', f'{expected}: {error}') from error


class RejectedMessageError(Exception):
    """An invalid message; never raised out of the decoder.

    Attributes:
        kind: Under which it is counted.
    """

    def __init__(self, kind: str, reason: str) -> None:
        """Keep the kind and the reason, a sentence."""
        super().__init__(reason)
        self.kind = kind


class JointStateDecoder:
    """The newest valid message as arrays; invalid ones are counted and change nothing else.

    The first message of a publisher is read by the client library, and its byte layout is kept.
    From later messages of exactly this layout the numbers are copied by a kernel. Every other
    message is read by the client library.

    Attributes:
        stamp_ns: The header's stamp [ns].
        token: The header's `frame_id`.
        position: (n,) [rad or m], in the order of the names, as are the next two.
        velocity: (n,) [rad/s or m/s].
        effort: (n,) [N m or N].
        rejected: Number of invalid messages by kind.
        last_rejection: Why the last of them was invalid.
    """

    def __init__(
        self,
        names: Sequence[str],
        fields: Sequence[str],
        *,
        plain: bool = False,
        has_others: bool = False,
    ) -> None:
        """Prepare to decode.

        Args:
            names: The joint names, in the order of the arrays.
            fields: Those of `position`, `velocity`, `effort` that a message must fill; the arrays
                of the others stay zero.
            plain: Read every message through the client library, as a reference for tests.
            has_others: Whether messages may hold other joints, too.

        Raises:
            InvalidValueError: `fields` names something else.
        """
        if not set(fields) <= set(FIELDS):
            raise InvalidValueError('fields', fields, f'some of {", ".join(FIELDS)}')
        self._names = tuple(names)
        self._fields = self._required = tuple(fields)
        self._plain = plain
        count = len(self._names)
        self.stamp_ns = 0
        self.token = ''
        self.rejected: Counter[str] = Counter()
        self.last_rejection = ''
        per_joint = (1 + len(FIELDS)) * NUMBER_SIZE
        self._others = has_others
        spare = _OTHERS_LENGTH if has_others else _SPARE_LENGTH
        self._longest = spare + sum(len(name.encode()) + per_joint for name in names)
        self._accepted = np.zeros((len(self._fields), count))
        self._incoming = np.zeros_like(self._accepted)
        arrays = dict(zip(self._fields, self._accepted, strict=True))
        self.position, self.velocity, self.effort = (
            arrays.get(field, np.zeros(count)) for field in FIELDS
        )
        self._known: KnownLayout | None = None
        self._copy = _compiled_copy()

    def decode(self, raw: bytes) -> bool:
        """Read a serialised message; return False, and count it, when it is invalid."""
        known = self._known
        if known is not None and len(raw) == known.length:
            known.buffer[:] = raw
            stamp_ns = self._copy(*known.arrays)
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
        """Read a message of any layout through the client library, and keep its layout."""
        if len(raw) > self._longest:
            raise RejectedMessageError(
                'too_long', f'{len(raw)} bytes; one with our joints has at most {self._longest}'
            )
        try:
            message = read_joint_state(raw)
        except InvalidValueError as error:
            raise RejectedMessageError('undecodable', str(error)) from error
        order = self._order_of(message)
        self._incoming[:] = self._values_of(message, order)
        stamp = message.header.stamp
        if stamp.sec < 0 or stamp.nanosec >= NANOSECONDS:
            raise RejectedMessageError('bad_stamp', f'stamp {stamp.sec} s {stamp.nanosec} ns')
        stamp_ns = nanoseconds_of(stamp)
        if not self._plain:
            self._keep_layout(message, order, raw, stamp_ns)
        self._accepted[:] = self._incoming
        self.stamp_ns = stamp_ns
        self.token = message.header.frame_id

    def _values_of(self, message: JointState, order: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the fields of a message in the order of our joints, after a check.

        Args:
            message: One whose names were checked.
            order: (n,) the index of each of our joints in it.
        """
        values = np.array([np.asarray(getattr(message, field))[order] for field in self._fields])
        for row, joint in np.argwhere(~(np.abs(values) <= LARGEST)):
            value = values[row, joint]
            kind = 'too_large' if np.isfinite(value) else 'not_finite'
            raise RejectedMessageError(
                kind, f'{self._fields[row]} of {self._names[joint]} is {value}'
            )
        return values

    def _order_of(self, message: JointState) -> NDArray[np.intp]:
        """Return the index of each of our joints in the message, after a check of its names."""
        names = list(message.name)
        known = ', '.join(self._names)
        for name in names:
            if name not in self._names and not self._others:
                raise RejectedMessageError('unknown_name', f'joint {name!r}; known: {known}')
        if len(set(names)) != len(names):
            raise RejectedMessageError('repeated_name', f'a joint named twice in {names}')
        for name in self._names:
            if name not in names:
                raise RejectedMessageError('missing_name', f'joint {name!r} is not in {names}')
        for field in FIELDS:
            length = len(getattr(message, field))
            if length != len(names) and (length or field in self._required):
                raise RejectedMessageError(
                    'wrong_length', f'{length} numbers in {field} for {len(names)} joints'
                )
        return np.array([names.index(name) for name in self._names], dtype=np.intp)

    def _keep_layout(
        self, message: JointState, order: NDArray[np.intp], raw: bytes, stamp_ns: int
    ) -> None:
        """Keep the layout of a message if the kernel reads exactly the same numbers."""
        filled = [field for field in FIELDS if len(getattr(message, field))]
        layout = JointStateLayout(message.name, message.header.frame_id, filled)
        if len(raw) < len(layout.template):
            return
        offsets = [layout.offsets[field] for field in self._fields]
        known = KnownLayout(layout, len(raw), offsets, order, self._accepted)
        known.buffer[:] = raw
        is_same_stamp = self._copy(*known.arrays) == stamp_ns
        if is_same_stamp and self._accepted.tobytes() == self._incoming.tobytes():
            self._known = known


class KnownLayout:
    """A buffer for messages of one layout, and where the wanted numbers lie in it.

    Attributes:
        token: The `frame_id` of all messages of the layout.
        length: Of every message of the publisher, appended bytes included [bytes].
        buffer: A message is written here to be read.
        arrays: The arguments of `copy_numbers`.
    """

    __slots__ = ('arrays', 'buffer', 'length', 'token')

    def __init__(
        self,
        layout: JointStateLayout,
        length: int,
        offsets: Sequence[int],
        order: NDArray[np.intp],
        accepted: NDArray[np.float64],
    ) -> None:
        """Prepare for messages like one that was read already.

        Args:
            layout: Of that message.
            length: Of that message, appended bytes included [bytes].
            offsets: Position of the first number of each wanted field [bytes].
            order: (n,) index of each of our joints in the message.
            accepted: (fields, n) to be overwritten by each message.
        """
        self.token = layout.token
        self.length = length
        words = -(-(SHIFT + length) // NUMBER_SIZE)
        content, mask, expected = np.zeros((3, words), np.int64)
        self.buffer = content.data.cast('B')[SHIFT : SHIFT + length]
        end = SHIFT + len(layout.template)
        mask.view(np.uint8)[SHIFT:end] = np.frombuffer(layout.mask, np.uint8)
        expected.view(np.uint8)[SHIFT:end] = np.frombuffer(layout.template, np.uint8)
        expected &= mask
        starts = (np.array(offsets) + SHIFT) // NUMBER_SIZE
        self.arrays = (
            content,
            content.view(np.float64),
            mask,
            expected,
            np.add.outer(starts, order).ravel(),
            accepted.reshape(-1),
        )


@cache
def _compiled_copy() -> Callable[..., int]:
    """Return `copy_numbers`, compiled."""
    words, numbers = np.zeros(2, np.int64), np.zeros(2)
    return bound(copy_numbers, words, numbers, words, words, words, numbers)


@kernel
def copy_numbers(
    words: NDArray[np.int64],
    numbers: NDArray[np.float64],
    mask: NDArray[np.int64],
    expected: NDArray[np.int64],
    places: NDArray[np.int64],
    accepted: NDArray[np.float64],
) -> int:
    """Check a message against a layout and copy its numbers.

    Args:
        words: (k,) the message.
        numbers: (k,) the same memory.
        mask: (k,) the bits that must be as expected.
        expected: (k,)
        places: (m,) which of the numbers are wanted.
        accepted: (m,) to be overwritten.

    Returns:
        The stamp [ns]; `_OTHER_LAYOUT`, and nothing is overwritten, if the message has another
        layout, a number that is not finite or beyond `LARGEST`, or an impossible stamp.
    """
    for i in range(words.shape[0]):
        if words[i] & mask[i] != expected[i]:
            return _OTHER_LAYOUT
    for i in range(places.shape[0]):
        if not abs(numbers[places[i]]) <= LARGEST:
            return _OTHER_LAYOUT
    stamp = int(words[_STAMP_WORD])
    seconds, nanoseconds = stamp & 0xFFFFFFFF, (stamp >> 32) & 0xFFFFFFFF
    if seconds > 0x7FFFFFFF or nanoseconds >= NANOSECONDS:
        return _OTHER_LAYOUT
    for i in range(places.shape[0]):
        accepted[i] = numbers[places[i]]
    return seconds * NANOSECONDS + nanoseconds
