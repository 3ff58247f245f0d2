"""The byte layout of a serialised JointState, which the fast path reads and writes directly.

A ROS message travels as CDR (OMG DDS-XTypes, plain encoding version 1): four bytes that name the
encoding, then the fields one after the other, each number aligned to its own size, counted from
the end of those four bytes. While names, token and the set of filled fields stay the same, every
number keeps its place, so that a message is written and read by copying a few blocks of bytes.
"""

import struct
from collections.abc import Sequence

from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState

from icir_control.errors import InvalidValueError

FIELDS = ('position', 'velocity', 'effort')

NANOSECONDS = 1_000_000_000
STAMP = struct.Struct('<iI')
STAMP_OFFSET = 4
NUMBER_SIZE = 8

_ENCODING_SIZE = 4
# Alignment is counted from the end of the encoding. In a buffer shifted by this much, each number
# of a message lies on a multiple of its own size.
SHIFT = NUMBER_SIZE - _ENCODING_SIZE
_CDR_LITTLE_ENDIAN = b'\x00\x01'


class JointStateLayout:
    """The bytes of a little-endian JointState with given names, token and filled fields.

    Attributes:
        names: The joint names, in the order of the message.
        token: The header's `frame_id`.
        offsets: For each filled field, the position of its first number in the message [bytes].
        size: Length of the message [bytes]; a publisher may append bytes, which are ignored.
        template: The message with stamp and numbers zero.
        mask: Ones in every byte that all messages of this layout share.
    """

    def __init__(self, names: Sequence[str], token: str, filled: Sequence[str]) -> None:
        """Lay out a message.

        Args:
            names: The joint names, in the order of the message.
            token: The header's `frame_id`.
            filled: Those of `position`, `velocity`, `effort` that hold one number per name; the
                others are empty.
        """
        self.names = tuple(names)
        self.token = token
        self.offsets: dict[str, int] = {}
        self.template = bytearray()
        self.mask = bytearray()
        self._append(_CDR_LITTLE_ENDIAN)
        self._append_free(_ENCODING_SIZE - len(_CDR_LITTLE_ENDIAN) + STAMP.size)
        self._append_text(token)
        self._append_count(len(names))
        for name in names:
            self._append_text(name)
        for field in FIELDS:
            self._append_numbers(field, len(names) if field in filled else 0)
        self.size = len(self.template)
        self._mask = int.from_bytes(self.mask, 'little')
        self._expected = int.from_bytes(self.template, 'little') & self._mask

    def matches(self, raw: bytes) -> bool:
        """Return whether a message has this layout, token and names included.

        Padding is not compared: its bytes are undefined.
        """
        return (
            len(raw) >= self.size
            and int.from_bytes(raw[: self.size], 'little') & self._mask == self._expected
        )

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

    def _append_numbers(self, field: str, count: int) -> None:
        self._append_count(count)
        if count:
            self._align(NUMBER_SIZE)
            self.offsets[field] = len(self.template)
            self._append_free(count * NUMBER_SIZE)

    def _align(self, size: int) -> None:
        self._append_free(-(len(self.template) - _ENCODING_SIZE) % size)


# Shorter than the shortest message is none, and the middleware of the wheels (Fast CDR 2.3) reads
# beyond the end of four bytes that promise padding.
_SHORTEST = JointStateLayout((), '', ()).size


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
