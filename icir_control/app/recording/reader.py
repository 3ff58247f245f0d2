"""What a recording holds, as columns over simulation time."""

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os import SEEK_END
from pathlib import Path
from struct import error as StructError
from typing import Any, NamedTuple

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from mcap.exceptions import McapError
from mcap.reader import FOOTER_SIZE, make_reader
from rcl_interfaces.msg import ParameterEvent
from rclpy.serialization import deserialize_message
from std_msgs.msg import String
from zstandard import ZstdError

from icir_control.app.measurement import Array, TimeSeries
from icir_control.app.recording.mcap_writer import MAGIC
from icir_control.app.recording.topics import (
    APPLIED_WRENCH,
    DESCRIPTION,
    MODE,
    PARAMETERS,
    STATES,
    TOPICS,
)
from icir_control.dynamics import KinematicTree
from icir_control.errors import IcirError
from icir_control.nodes.robot import RobotParameters
from icir_control.nodes.transport.client import python_values
from icir_control.nodes.transport.conversions import (
    NANOSECONDS,
    nanoseconds_of,
    placement_of,
    seconds_of,
    wrench_numbers,
)
from icir_control.nodes.transport.messages import (
    FIELDS,
    STAMP,
    STAMP_OFFSET,
    JointStateDecoder,
    read_joint_state,
)
from icir_control.share import CONTROLLER

_EXPECTED = 'a file of `icir_control record`'


class RecordingError(IcirError):
    """A file that is no recording, or not one of what is asked for."""

    def __init__(self, path: Path, problem: str, expected: str = _EXPECTED) -> None:
        """State which file, what is wrong with it, and what would be valid."""
        super().__init__(f'{path} {problem}; expected {expected}')


class Message(NamedTuple):
    """A message as it was received."""

    time_ns: int
    """Wall time of its arrival [ns]."""
    sent_ns: int
    """Wall time of its publication [ns]."""
    raw: bytes


@dataclass(frozen=True)
class Span:
    """A while in which something holds.

    Attributes:
        name: Of what holds.
        start: Simulation time [s].
        end: Simulation time [s].
    """

    name: str
    start: float
    end: float


class Recording:
    """A recording, read as a whole; where simulation time begins anew, from its last start on.

    Attributes:
        path: The file.
        messages: By topic, relative to the namespace of the nodes, in the order of arrival.
        joint_names: Of the states.
        states: A row for each stamp: `position`, `velocity`, `effort` (n, nv) [rad or m, per s,
            N m or N]. A reset begins at the stamp at which the run before it ended; the row is of
            the run that begins.
        arrivals: (n,) wall time at which each of them arrived [ns].
    """

    def __init__(self, path: str | Path) -> None:
        """Read a file.

        Raises:
            RecordingError: It cannot be read, is no MCAP file, is cut off, or has no states.
        """
        self.path = path = Path(path)
        self.messages = _messages_in(path)
        if STATES not in self.messages:
            raise RecordingError(path, f'has no {STATES}')
        self.joint_names = tuple(read_joint_state(self.messages[STATES][0].raw).name)
        self._runs: dict[int, str] = {}
        self.states, self.arrivals = self._joint_rows(STATES)

    @property
    def end(self) -> float:
        """Simulation time of the last state [s]."""
        return float(self.states.time[-1])

    @property
    def resets(self) -> list[float]:
        """Simulation times from which on states have the token of another run [s]."""
        return [stamp_ns * 1e-9 for stamp_ns in self._runs][1:]

    def joints(self, topic: str) -> TimeSeries:
        """Return a topic of JointStates with the columns of `states`; without rows if empty.

        A row has the token of the run that has its stamp.
        """
        return self._joint_rows(topic)[0]

    def poses(self, topic: str) -> TimeSeries:
        """Return a topic of poses: `translation` (n, 3) [m] and `rotation` (n, 3, 3).

        One of the moment of a reset is left out: it has no token that tells of which run it is.
        """
        rows, resets = {}, [*self._runs][1:]
        for message in self._decoded(topic, PoseStamped):
            if nanoseconds_of(message.header.stamp) in resets:
                continue
            T, time = placement_of(message.pose), seconds_of(message.header.stamp)
            rows[time] = {'time': time, 'translation': T.translation, 'rotation': T.rotation}
        series = TimeSeries.from_rows([rows[time] for time in sorted(rows)])
        return (
            series
            if len(series)
            else TimeSeries(
                np.zeros(0), {'translation': np.zeros((0, 3)), 'rotation': np.zeros((0, 3, 3))}
            )
        )

    @cached_property
    def modes(self) -> list[Span]:
        """Which mode ran when; none where no message told."""
        messages = self.messages.get(MODE, ())
        names = [deserialize_message(message.raw, String).data for message in messages]
        starts = [self.time_of(message) for message in messages]
        ends = [*starts[1:], self.end]
        spans = [Span(*one) for one in zip(names, starts, ends, strict=False)]
        return [span for span in spans if span.end > span.start]

    @cached_property
    def given(self) -> dict[str, dict[str, Any]]:
        """Parameters of each node when they were first asked for, by name."""
        found: dict[str, dict[str, Any]] = {}
        for event in self._decoded(PARAMETERS, ParameterEvent):
            of_node = found.setdefault(event.node.rpartition('/')[2], {})
            of_node.update(python_values(event.new_parameters))
        return found

    @cached_property
    def parameters(self) -> dict[str, dict[str, Any]]:
        """Parameters of each node at the end of the recording, by name."""
        found = {node: dict(values) for node, values in self.given.items()}
        for event in self._decoded(PARAMETERS, ParameterEvent):
            of_node = found.setdefault(event.node.rpartition('/')[2], {})
            of_node.update(python_values(event.changed_parameters))
        return found

    @property
    def description(self) -> str:
        """The URDF.

        Raises:
            RecordingError: The recording has none.
        """
        if DESCRIPTION not in self.messages:
            raise RecordingError(self.path, f'has no {DESCRIPTION}')
        return str(deserialize_message(self.messages[DESCRIPTION][-1].raw, String).data)

    @cached_property
    def robot(self) -> RobotParameters:
        """What the controller's parameters said of the arm; the defaults where none are there."""
        return RobotParameters.of(self.parameters.get(CONTROLLER, {}))

    def options(self) -> dict[str, Any]:
        """Return the keywords of `load_urdf` and of `World` that give the arm of the run.

        The joints of the states move, and what mimics them; all others are held.

        Raises:
            RecordingError: There is no URDF, or it lacks a joint of the states.
        """
        tree, names = KinematicTree(self.description), self.joint_names
        if missing := [name for name in names if name not in tree.moving]:
            raise RecordingError(
                self.path, f'is of another robot than its URDF, which lacks {", ".join(missing)}'
            )
        locked = self.robot.locked
        # An arm that begins where it ends has no joints: here is where each one is held.
        everything = tree.chain(names[0], names[0], locked).held
        held = {
            name: position
            for name, position in everything.items()
            if name not in names and (name in locked or tree.moving[name].find('mimic') is None)
        }
        return self.robot.options(held)

    @cached_property
    def wrenches(self) -> list[tuple[int, str, Array]]:
        """From which simulation time [ns] which wrench (6,) acts on a link, in its axes.

        It is zero where none acts from then on.
        """
        return [
            (nanoseconds_of(one.header.stamp), one.header.frame_id, wrench_numbers(one.wrench))
            for one in self._decoded(APPLIED_WRENCH, WrenchStamped)
        ]

    def time_of(self, message: Message) -> float:
        """Return the simulation time at which a message arrived [s], about."""
        return float(np.interp(message.time_ns, self.arrivals, self.states.time))

    def _decoded(self, topic: str, kind: Any) -> list[Any]:
        return [deserialize_message(message.raw, kind) for message in self.messages.get(topic, ())]

    def _joint_rows(self, topic: str) -> tuple[TimeSeries, Array]:
        """Return the rows of JointStates by stamp, and when each arrived [ns].

        The tokens of the states tell the runs; of another topic, a row that has the stamp of one
        run and the token of another is left out.
        """
        decoder, is_states = JointStateDecoder(self.joint_names, FIELDS), topic == STATES
        rows: dict[int, tuple[Array, int]] = {}
        last_ns = -1
        for message in self.messages.get(topic, ()):
            if not decoder.decode(message.raw):
                continue
            stamp_ns, token = decoder.stamp_ns, decoder.token
            if stamp_ns < last_ns:  # time begins anew
                rows.clear()
                if is_states:
                    self._runs.clear()
            last_ns = stamp_ns
            starts = [*self._runs]
            run = starts[max(0, bisect_right(starts, stamp_ns) - 1)] if starts else -1
            is_of_run = token == self._runs.get(run)
            if is_states and not is_of_run:
                self._runs[stamp_ns] = token
            elif not is_of_run or stamp_ns in rows:  # or time stands still
                continue
            values = np.array([decoder.position, decoder.velocity, decoder.effort])
            rows[stamp_ns] = values, message.time_ns
        shape = -1, len(FIELDS), len(self.joint_names)
        values = np.reshape([row for row, _ in rows.values()], shape)
        columns = dict(zip(FIELDS, values.swapaxes(0, 1).copy(), strict=True))
        arrivals = np.array([arrival for _, arrival in rows.values()])
        return TimeSeries(np.array([*rows]) * 1e-9, columns), arrivals


def _messages_in(path: Path) -> Mapping[str, Sequence[Message]]:
    """Return the messages of a file by topic, relative to where the states are; see `Recording`.

    Raises:
        RecordingError: It cannot be read, is no MCAP file, or is cut off.
    """
    messages: dict[str, list[Message]] = {}
    try:
        with path.open('rb') as file:
            if not (head := file.read(len(MAGIC))):
                raise RecordingError(path, 'is empty')
            if head != MAGIC:
                raise RecordingError(path, 'is no MCAP file')
            is_whole = file.seek(0, SEEK_END) >= len(MAGIC) + FOOTER_SIZE + len(MAGIC)
            file.seek(-len(MAGIC), SEEK_END)
            if not is_whole or file.read() != MAGIC:
                raise RecordingError(path, 'is cut off')
            file.seek(0)
            for _, channel, message in make_reader(file, validate_crcs=True).iter_messages():
                of_topic = messages.setdefault(channel.topic, [])
                of_topic.append(Message(message.log_time, message.publish_time, message.data))
    except OSError as error:
        raise RecordingError(path, f'cannot be read: {error.strerror}') from error
    except (McapError, ZstdError, ValueError, StructError, StopIteration, RuntimeError) as error:
        raise RecordingError(path, f'is damaged: {error}') from error
    prefix = next((topic for topic in messages if topic.endswith(f'/{STATES}')), '/')
    prefix = prefix.removesuffix(STATES)
    # Some names are absolute.
    return {t if t in TOPICS else t.removeprefix(prefix): found for t, found in messages.items()}


def stamp_ns_of(message: Message) -> int:
    """Return the stamp of a message that begins with a header [ns]."""
    seconds, nanoseconds = STAMP.unpack_from(message.raw, STAMP_OFFSET)
    return int(seconds * NANOSECONDS + nanoseconds)
