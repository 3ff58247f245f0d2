"""An MCAP file that can be read at every moment: also of a writer that was killed.

Of each message type it holds the definition, as the schema encoding `ros2msg` has it
(https://mcap.dev/spec/registry#ros2msg): the `.msg` file, then those of the types in it, each
after a separator and its name.
"""

import errno
import os
import re
import time
from collections.abc import Callable
from functools import cache
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

from mcap_ros2._dynamic import serialize_dynamic

from icir_control.app.recording.mcap_writer import ChannelMessage, McapWriter, end_without_index
from icir_control.errors import ConfigurationError

_SEPARATOR = '\n' + '=' * 80 + '\nMSG: '
_FIELD = re.compile(r'^\s*(?:(\w+)/)?([A-Z]\w*)(?:\[[^\]]*\])?\s+\w+', re.MULTILINE)


class _Output(BytesIO):
    """What is to be written next, and the file that has all before it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        self._end = end_without_index()
        self.size = 0

    def tell(self) -> int:
        return self.size + super().tell()

    def save(self, end: bytes | None = None) -> None:
        """Write to the file, which is then complete with the end of a file without an index."""
        content, end = self.getvalue(), self._end if end is None else end
        try:
            _write(self._file, content + end, self.size)
        except OSError:
            # What was there before was as long as its end at least.
            os.ftruncate(self._file, self.size)
            _write(self._file, self._end, self.size)
            raise
        self.size += len(content)
        self.seek(0)
        self.truncate()

    def close(self) -> None:
        super().close()
        os.close(self._file)


def _write(file: int, content: bytes, offset: int) -> None:
    """Write all of the content, in one piece where the file system takes it so."""
    written = os.pwrite(file, content, offset)
    while written < len(content):
        more = os.pwrite(file, content[written:], offset + written)
        if not more:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written += more


def _name_of(kind: Any) -> str:
    return f'{kind.__module__.split(".")[0]}/msg/{kind.__name__}'


def encoded(message: Any) -> bytes:
    """Return a message in serialised form; the client library may append bytes to some."""
    name = _name_of(type(message))
    return bytes(_encoder(name)(message))


@cache
def _encoder(name: str) -> Callable[[Any], bytes]:
    return serialize_dynamic(name, definition_of(name))[name]


class RecordingFile:
    """Serialised messages, written in chunks; each `save` leaves a file that readers can open.

    Attributes:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        """Create the file.

        Raises:
            ConfigurationError: It exists already, or cannot be created.
        """
        self.path = path
        try:
            self._output = _Output(path)
        except OSError as error:
            raise ConfigurationError(f'{path} cannot be recorded to: {error.strerror}') from error
        self._writer = McapWriter(self._output)
        self._schemas: dict[str, int] = {}
        self._channels: dict[str, int] = {}

    @property
    def size(self) -> int:
        """Of what is saved [bytes]."""
        return self._output.size

    def open_topic(self, topic: str, kind: Any) -> int:
        """Return the channel of a topic.

        Args:
            topic: Its full name.
            kind: Its message class.
        """
        if topic not in self._channels:
            name = _name_of(kind)
            if name not in self._schemas:
                self._schemas[name] = self._writer.add_schema(name, definition_of(name))
            self._channels[topic] = self._writer.add_channel(topic, self._schemas[name])
        return self._channels[topic]

    def write(self, messages: list[ChannelMessage]) -> None:
        """Add messages in the order of their arrival.

        Args:
            messages: Each with the channel of a topic that is open; wall times.
        """
        self._writer.add(messages)

    def write_message(self, topic: str, message: Any, time_ns: int | None = None) -> None:
        """Add a message to a topic that is open.

        Args:
            topic: Its full name.
            message: The message.
            time_ns: When it was sent and received [ns]; now if None.
        """
        now = time.time_ns() if time_ns is None else time_ns
        self.write([(self._channels[topic], encoded(message), now, now)])

    def save(self) -> None:
        """Write to the disk what there is.

        Raises:
            OSError: The disk is full, or gone; the file holds what was saved before.
        """
        self._writer.end_chunk()
        self._output.save()

    def finish(self) -> None:
        """Write the rest and the index.

        Raises:
            OSError: As `save`.
        """
        self.save()
        self._writer.finish()
        self._output.save(b'')

    def close(self) -> None:
        """Close the file, finished or not."""
        self._output.close()


@cache
def definition_of(name: str) -> str:
    """Return the definition of a message type.

    Args:
        name: Of the type: `sensor_msgs/msg/JointState`.

    Raises:
        OSError: The package of the type is installed without its `.msg` files.
    """
    package, kind = name.split('/msg/')
    parts: dict[str, str] = {}
    _collect(package, kind, parts)
    first, *others = parts
    return parts[first] + ''.join(f'{_SEPARATOR}{other}\n{parts[other]}' for other in others)


def _collect(package: str, kind: str, parts: dict[str, str]) -> None:
    """Add the definition of a type, and of the types in it, by `package/kind`."""
    name = f'{package}/{kind}'
    if name in parts:
        return
    # prefix/lib/python3.x/site-packages/package/__init__.py, in a wheel and in a ROS installation
    prefix = Path(import_module(package).__file__ or '').parents[4]
    parts[name] = (prefix / 'share' / package / 'msg' / f'{kind}.msg').read_text()
    for inner_package, inner in _FIELD.findall(parts[name]):
        _collect(inner_package or package, inner, parts)
