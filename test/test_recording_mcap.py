"""The file format: what the writer of the library `mcap` writes, and its readers find."""

import io
import itertools

import numpy as np
import pytest

SCHEMA = 'sensor_msgs/msg/JointState', 'float64[] position'
MESSAGES = 3000


def sample():
    """Rows of channel, bytes, and wall time of arrival and of sending [ns]."""
    rng = np.random.default_rng(7)
    times = np.sort(rng.integers(10**18, 2 * 10**18, MESSAGES)).tolist()
    sizes = rng.integers(0, 700, MESSAGES).tolist()
    channels = rng.integers(1, 4, MESSAGES).tolist()
    rows = zip(channels, map(rng.bytes, sizes), times, (t - 5 for t in times), strict=True)
    return list(rows)


def written(rows, pieces=7):
    """A file of them, in as many calls."""
    pytest.importorskip('mcap')
    from icir_control.app.recording.mcap_writer import McapWriter

    output = io.BytesIO()
    writer = McapWriter(output)
    schema = writer.add_schema(*SCHEMA)
    assert [writer.add_channel(topic, schema) for topic in 'abc'] == [1, 2, 3]
    for part in np.array_split(np.arange(len(rows)), pieces):
        writer.add([rows[i] for i in part])
    writer.finish()
    return output


def written_by_the_library(rows):
    from mcap.writer import Writer

    output = io.BytesIO()
    writer = Writer(output)
    writer.start(profile='ros2')
    schema = writer.register_schema(SCHEMA[0], 'ros2msg', SCHEMA[1].encode())
    for topic in 'abc':
        writer.register_channel(topic, 'cdr', schema)
    counts = {channel: itertools.count(1) for channel in (1, 2, 3)}
    for channel, raw, received_ns, sent_ns in rows:
        writer.add_message(channel, received_ns, raw, sent_ns, next(counts[channel]))
    writer.finish()
    return output


def content(output, **choice):
    from mcap.reader import make_reader

    output.seek(0)
    reader = make_reader(output, validate_crcs=True)
    return reader.get_summary(), list(reader.iter_messages(**choice))


def test_readers_find_what_the_library_would_have_written():
    rows = sample()
    ours, theirs = written(rows), written_by_the_library(rows)
    for choice in ({}, {'topics': ['b']}, {'start_time': rows[900][2], 'end_time': rows[1500][2]}):
        (summary, found), (reference, expected) = (
            content(ours, **choice),
            content(theirs, **choice),
        )
        assert found == expected
        assert len(found) > 100
    assert (summary.schemas, summary.channels) == (reference.schemas, reference.channels)
    summary.statistics.chunk_count = reference.statistics.chunk_count
    assert summary.statistics == reference.statistics
    assert len(summary.chunk_indexes) > 1


def test_a_file_is_read_from_front_to_back_too():
    pytest.importorskip('mcap')
    from mcap.records import Message
    from mcap.stream_reader import StreamReader

    rows, output = sample(), written(rows=sample())
    output.seek(0)
    records = StreamReader(output, validate_crcs=True).records
    found = [r for r in records if isinstance(r, Message)]
    assert [(m.channel_id, m.data, m.log_time, m.publish_time) for m in found] == rows


def test_log_times_never_go_back():
    rows = [(1, b'', time, 0) for time in (5, 3, 7, 6, 9)]
    _, found = content(written(rows, pieces=2))
    assert [message.log_time for _, _, message in found] == [5, 5, 7, 7, 9]


def test_a_file_without_messages_has_its_topics():
    summary, found = content(written([]))
    assert found == []
    assert [channel.topic for channel in summary.channels.values()] == ['a', 'b', 'c']
