"""Writes the records of an MCAP file (https://mcap.dev/spec), thousands of messages a second.

The records are those of the library `mcap`; its own writer takes 8 us of a processor for each
message. Here a message costs a tuple, and the headers of a whole chunk are packed at once.
"""

import zlib
from itertools import chain
from typing import Final, Protocol

import numpy as np
import zstandard
from mcap.data_stream import RecordBuilder
from mcap.opcode import Opcode
from mcap.records import (
    Channel,
    Chunk,
    ChunkIndex,
    DataEnd,
    Footer,
    Header,
    McapRecord,
    Schema,
    Statistics,
    SummaryOffset,
)
from mcap.well_known import MessageEncoding, Profile, SchemaEncoding

MAGIC: Final = b'\x89MCAP0\r\n'

_CHUNK_SIZE = 1 << 18  # bytes before compression
_COMPRESSION = 'zstd'
_COMPRESSION_LEVEL = 1
_LENGTH_END = 9  # bytes of a record's opcode and length, which the length does not count
_MESSAGE = np.dtype(
    [
        ('opcode', 'u1'),
        ('length', '<u8'),
        ('channel', '<u2'),
        ('sequence', '<u4'),
        ('log_time', '<u8'),
        ('publish_time', '<u8'),
    ]
)
"""Of a message record all but the message."""
_INDEX = np.dtype([('opcode', 'u1'), ('length', '<u8'), ('channel', '<u2'), ('size', '<u4')])
_ENTRY = np.dtype([('log_time', '<u8'), ('offset', '<u8')])
"""A message index record: what comes first, and what follows for each message."""


class Output(Protocol):
    """Where the records go: a file, or what will be one."""

    def write(self, content: bytes, /) -> object:
        """Append to what was written."""

    def tell(self) -> int:
        """Return how many bytes were written."""


ChannelMessage = tuple[int, bytes, int, int]
"""The number of a channel, a serialised message, and when it was received and sent [ns]."""


class McapWriter:
    """Writes chunks of messages, and an index at the end.

    Log times never go back: where they would, they stay as they were, since some readers want a
    file without an index to be in order.
    """

    def __init__(self, output: Output) -> None:
        """Write the header.

        Args:
            output: Where the records go.
        """
        self._output = output
        self._messages: list[ChannelMessage] = []
        self._bytes = 0
        self._added: list[Schema | Channel] = []
        self._schemas: list[Schema] = []
        self._channels: list[Channel] = []
        self._chunks: list[ChunkIndex] = []
        self._counts: dict[int, int] = {}
        self._last_ns = 0
        output.write(MAGIC + _packed(Header(profile=Profile.ROS2, library='icir_control')))

    def add_schema(self, name: str, definition: str) -> int:
        """Return the number of a new message type.

        Args:
            name: Of the type: `sensor_msgs/msg/JointState`.
            definition: The text of its `.msg` file, and of those of the types in it.
        """
        content = definition.encode()
        number = len(self._schemas) + 1
        schema = Schema(id=number, data=content, encoding=SchemaEncoding.ROS2, name=name)
        self._schemas.append(schema)
        self._added.append(schema)
        return number

    def add_channel(self, topic: str, schema: int) -> int:
        """Return the number of a new topic.

        Args:
            topic: Its full name.
            schema: The number of its message type.
        """
        number = len(self._channels) + 1
        channel = Channel(number, topic, MessageEncoding.CDR, {}, schema)
        self._channels.append(channel)
        self._added.append(channel)
        return number

    def add(self, messages: list[ChannelMessage]) -> None:
        """Add messages; they are written once there are enough for a chunk."""
        self._messages += messages
        self._bytes += sum(len(raw) for _, raw, *_ in messages)
        if self._bytes > _CHUNK_SIZE:
            self.end_chunk()

    def end_chunk(self) -> None:
        """Write what was added."""
        if not self._messages:
            return
        channels, raws, log_times, publish_times = zip(*self._messages, strict=True)
        heads = np.zeros(len(raws), _MESSAGE)
        sizes = np.fromiter(map(len, raws), np.int64, len(raws))
        heads['opcode'] = Opcode.MESSAGE
        heads['length'] = _MESSAGE.itemsize - _LENGTH_END + sizes
        heads['channel'] = channels
        heads['log_time'] = np.maximum.accumulate([self._last_ns, *log_times])[1:]
        heads['publish_time'] = publish_times
        rows_of = {n: np.flatnonzero(heads['channel'] == n) for n in sorted(set(channels))}
        for channel, rows in rows_of.items():
            before = self._counts.get(channel, 0)
            heads['sequence'][rows] = np.arange(before + 1, before + 1 + len(rows))
            self._counts[channel] = before + len(rows)
        self._last_ns = int(heads['log_time'][-1])
        definitions = b''.join(map(_packed, self._added))
        packed, step = heads.tobytes(), _MESSAGE.itemsize
        each = (packed[begin : begin + step] for begin in range(0, len(packed), step))
        content = definitions + b''.join(chain.from_iterable(zip(each, raws, strict=True)))
        offsets = np.cumsum(step + sizes) - (step + sizes) + len(definitions)
        self._write_chunk(content, heads['log_time'], offsets, rows_of)
        self._messages, self._added, self._bytes = [], [], 0

    def _write_chunk(
        self,
        content: bytes,
        log_times: np.ndarray,
        offsets: np.ndarray,
        rows_of: dict[int, np.ndarray],
    ) -> None:
        """Write a chunk and the index of its messages.

        Args:
            content: The records in it.
            log_times: (n,) of its messages [ns].
            offsets: (n,) of their records in the content.
            rows_of: Which of the messages each channel has.
        """
        first, last = int(log_times[0]), int(log_times[-1])
        data = zstandard.compress(content, _COMPRESSION_LEVEL)
        chunk = Chunk(
            compression=_COMPRESSION,
            data=data,
            message_start_time=first,
            message_end_time=last,
            uncompressed_crc=zlib.crc32(content),
            uncompressed_size=len(content),
        )
        start = self._output.tell()
        records = [_packed(chunk)]
        end = start + len(records[0])
        index_start, index_offsets = end, {}
        for channel, rows in rows_of.items():
            entries = np.empty(len(rows), _ENTRY)
            entries['log_time'], entries['offset'] = log_times[rows], offsets[rows]
            size = _INDEX.itemsize - _LENGTH_END + entries.nbytes
            head = np.array((Opcode.MESSAGE_INDEX, size, channel, entries.nbytes), _INDEX)
            index_offsets[channel] = end
            records.append(head.tobytes() + entries.tobytes())
            end += len(records[-1])
        self._output.write(b''.join(records))
        self._chunks.append(
            ChunkIndex(
                chunk_length=index_start - start,
                chunk_start_offset=start,
                compression=_COMPRESSION,
                compressed_size=len(data),
                message_end_time=last,
                message_index_length=end - index_start,
                message_index_offsets=index_offsets,
                message_start_time=first,
                uncompressed_size=len(content),
            )
        )

    def finish(self) -> None:
        """Write the rest, and the index of the file."""
        self.end_chunk()
        self._output.write(_packed(DataEnd(data_section_crc=0)))
        start = self._output.tell()
        groups: dict[Opcode, list[McapRecord]] = {
            Opcode.SCHEMA: [*self._schemas],
            Opcode.CHANNEL: [*self._channels],
            Opcode.STATISTICS: [self._statistics()],
            Opcode.CHUNK_INDEX: [*self._chunks],
        }
        summary, offsets = b'', []
        for opcode, records in groups.items():
            group = b''.join(map(_packed, records))
            offsets.append(SummaryOffset(opcode, start + len(summary), len(group)))
            summary += group
        offset_start = start + len(summary)
        summary += b''.join(map(_packed, offsets))
        # The sum covers the footer, too, up to itself.
        footer = _packed(Footer(start, offset_start, 0))
        total = zlib.crc32(summary + footer[:-4])
        self._output.write(summary + _packed(Footer(start, offset_start, total)) + MAGIC)

    def _statistics(self) -> Statistics:
        return Statistics(
            attachment_count=0,
            channel_count=len(self._channels),
            channel_message_counts=self._counts,
            chunk_count=len(self._chunks),
            message_count=sum(self._counts.values()),
            message_end_time=self._last_ns,
            message_start_time=self._chunks[0].message_start_time if self._chunks else 0,
            metadata_count=0,
            schema_count=len(self._schemas),
        )


def end_without_index() -> bytes:
    """Return the records that end a file whose index is not written (yet)."""
    return _packed(DataEnd(data_section_crc=0)) + _packed(Footer(0, 0, 0)) + MAGIC


def _packed(record: McapRecord) -> bytes:
    builder = RecordBuilder()
    record.write(builder)
    return builder.end()
