"""The recorder: a node that writes what the other nodes say to an MCAP file.

States and commands come thousands of times a second. They are never turned into messages: their
bytes wait in the middleware's queue, from which they are taken in batches.
"""

import os
import struct
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from operator import itemgetter
from pathlib import Path
from typing import Any

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterEvent
from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from icir_control.app.processes import BRIDGE, CONTROLLER, RECORDING, WAITING
from icir_control.app.recording.topics import (
    DESCRIPTION,
    LATCHED,
    PARAMETERS,
    REQUESTS,
    STATES,
    TOPICS,
)
from icir_control.app.recording.writer import RecordingFile, encoded
from icir_control.errors import ConfigurationError
from icir_control.nodes.process.run import gc_off, init_ros, schedule_as_batch
from icir_control.nodes.process.stop_request import StopRequest
from icir_control.nodes.transport.endpoints import has_native_parts, subscribe_raw
from icir_control.share import find_model_file

# As many states as the fastest loop makes in some seconds. By best effort: whoever publishes
# waits for nobody, and answers no acknowledgement.
_QUEUE = QoSProfile(depth=100_000, reliability=ReliabilityPolicy.BEST_EFFORT)
# Reliable, as the nodes that act on them subscribe: a publisher that has just been found is heard.
_REQUEST_QUEUE = QoSProfile(depth=1000)
_LATCHED_QUEUE = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_POLL_PERIOD = 5e-3  # s between two looks into the queues
_NODE_PERIOD = 0.05  # s between two looks at the answers of services
_ANSWER_TIMEOUT = 2.0  # s until a request is sent again
_SAVE_PERIOD = 0.5  # s between two writes to the disk
_NICENESS = 10  # a tenth of a processor that nobody leaves free: enough for what is then sent
_NANOSECONDS = 1_000_000_000
_STAMP = struct.Struct('<iI')
_STAMP_OFFSET = 4


class Recorder:
    """Subscribes to every topic of `TOPICS` and `LATCHED`, and asks both nodes for parameters.

    Attributes:
        problem: Why nothing more is recorded, a sentence; empty while all is well.
    """

    def __init__(self, node: Node, path: Path) -> None:
        """Create the file and subscribe.

        Args:
            node: The node to subscribe through; spun here.
            path: The file.

        Raises:
            ConfigurationError: The file exists, or cannot be created.
        """
        self.problem = ''
        self._file = RecordingFile(path)
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
        self._inputs = [
            *(
                _Input(
                    node,
                    self._file,
                    topic,
                    kind,
                    _REQUEST_QUEUE if topic in REQUESTS else _QUEUE,
                )
                for topic, kind in TOPICS.items()
            ),
            *(
                _Input(node, self._file, topic, kind, _LATCHED_QUEUE)
                for topic, kind in LATCHED.items()
            ),
        ]
        self._states, self._commands = self._inputs[:2]
        self._description = next(one for one in self._inputs if one.is_of(DESCRIPTION))
        self._period_ns = 0
        self._node_due = self._save_due = 0.0
        self._asked = [_Parameters(node, name) for name in (CONTROLLER, BRIDGE)]

    @property
    def time(self) -> float:
        """Simulation time of the newest state [s]."""
        return max(self._states.last_ns, 0) * 1e-9

    @property
    def has_state(self) -> bool:
        """Whether a state has come."""
        return self._states.count > 0

    @property
    def has_parameters(self) -> bool:
        """Whether both nodes have told their parameters."""
        return not self._asked

    def run(self, is_wanted: Callable[[], bool], begun: Callable[[], object]) -> None:
        """Record until it is no longer wanted, or the disk is full; then finish the file.

        Args:
            is_wanted: Called again and again; False ends it.
            begun: Called when the first state has come.
        """
        try:
            has_begun = False
            while is_wanted():
                self.poll()
                if self.has_state and not has_begun:
                    has_begun = True
                    begun()
            self.finish()
        except OSError as error:
            self.problem = f'recording has stopped: {error.strerror}'
        finally:
            self.close()

    def poll(self) -> None:
        """Write what has come, after a short pause.

        Raises:
            OSError: The disk is full, or gone.
        """
        time.sleep(_POLL_PERIOD)
        self._drain()
        now = time.monotonic()
        if now >= self._node_due:
            self._node_due = now + _NODE_PERIOD
            self._serve_node()
        if now >= self._save_due:
            self._save_due = now + _SAVE_PERIOD
            self._file.save()

    def finish(self) -> None:
        """Write the rest, and the file's index.

        Raises:
            OSError: The disk is full, or gone.
        """
        self._drain()
        self._file.finish()

    def close(self) -> None:
        """Close the file, finished or not."""
        self._file.close()

    def _drain(self) -> None:
        """Write what waits in the queues, in the order of its arrival."""
        waiting = [(one, *message) for one in self._inputs for message in one.taken()]
        waiting.sort(key=itemgetter(2))
        for one, raw, received_ns, sent_ns in waiting:
            one.add(raw, received_ns, sent_ns)

    def summary(self) -> str:
        """Return what the file holds, a sentence."""
        states = self._states
        seconds = max(states.last_ns - states.first_ns, 0) * 1e-9
        size = self._file.size * 1e-6
        missing = [one.missing(self._period_ns) for one in (states, self._commands)]
        share = f' ({size / seconds:.2f} MB per simulated second)' if seconds > 0.0 else ''
        return (
            f'{self._file.path}: {seconds:.3f} s of simulation, {states.distinct} states'
            f' ({missing[0]} missing), {self._commands.distinct} commands ({missing[1]} missing),'
            f' {size:.1f} MB{share}'
        )

    def _serve_node(self) -> None:
        self._executor.spin_once(0.0)
        for asked in [*self._asked]:
            event = asked.take()
            if event is None:
                continue
            self._asked.remove(asked)
            self._file.write_message(PARAMETERS, event)
            values = {parameter.name: parameter.value for parameter in event.new_parameters}
            if 'timestep' in values:
                self._period_ns = round(values['timestep'].double_value * _NANOSECONDS)
            if not self._description.count and 'model' in values:
                with suppress(ConfigurationError):  # of another machine
                    given = values.get('package_dirs')
                    packages = given.string_array_value if given else ()
                    path = find_model_file(values['model'].string_value, packages)
                    self._description.count = 1
                    description = String(data=path.read_text())
                    self._file.write_message(self._description.topic, description)


class _Input:
    """One topic, from the middleware's queue into the file.

    Attributes:
        topic: Its full name.
        count: Number of messages.
        distinct: Number of those with a stamp of their own: while time stands still a state is
            repeated. Stamps are read of JointStates alone.
        first_ns: Stamp of the first one [ns].
        last_ns: Stamp of the last one [ns].
    """

    def __init__(
        self, node: Node, file: RecordingFile, topic: str, kind: Any, qos: QoSProfile
    ) -> None:
        self._relative, self._kind, self._file = topic, kind, file
        is_native = has_native_parts()
        subscription, self._take = subscribe_raw(
            node, kind, topic, qos, self._take_raw, is_native=is_native
        )
        self.topic: str = subscription.topic_name
        self.count = self.distinct = self.first_ns = 0
        self.last_ns = -1
        self._has_stamp = kind is JointState
        file.open_topic(self.topic, kind)

    def is_of(self, topic: str) -> bool:
        """Return whether the topic is that of a name relative to the namespace."""
        return self._relative == topic

    def taken(self) -> Iterator[tuple[bytes, int, int]]:
        """Take what waits in the queue: bytes, and wall time of arrival and of sending [ns]."""
        while taken := self._take(self._kind, True):
            raw, info = taken
            yield raw, info['received_timestamp'], info['source_timestamp']

    def _take_raw(self, raw: bytes) -> None:
        """Take a message from an executor, where the queue cannot be reached."""
        now = time.time_ns()
        self.add(raw, now, now)

    def missing(self, period_ns: int) -> int:
        """Return how many stamps between the first and the last one have not come.

        Args:
            period_ns: Between two stamps [ns]; 0 where it is not known.
        """
        if not (self.distinct and period_ns):
            return 0
        return (self.last_ns - self.first_ns) // period_ns + 1 - self.distinct

    def add(self, raw: bytes, received_ns: int, sent_ns: int) -> None:
        """Write a message; see `RecordingFile.write`."""
        if self._kind is ParameterEvent:
            # The client library may append bytes to it, which not every reader passes over.
            raw = encoded(deserialize_message(raw, ParameterEvent))
        self._file.write(self.topic, raw, received_ns, sent_ns)
        self.count += 1
        if not self._has_stamp:
            return
        seconds, nanoseconds = _STAMP.unpack_from(raw, _STAMP_OFFSET)
        stamp_ns = seconds * _NANOSECONDS + nanoseconds
        if stamp_ns > self.last_ns:
            self.first_ns = self.first_ns if self.distinct else stamp_ns
            self.distinct += 1
            self.last_ns = stamp_ns


def answer_of(client: Any, request: Any) -> Generator[None, None, Any]:
    """Ask a service; give None until the answer is there, and return it.

    A request that is sent before both ends have found each other is lost: it is sent again.

    Args:
        client: Of the service; its node is spun by somebody else.
        request: What to ask; it may come twice.
    """
    while not client.service_is_ready():
        yield None
    while True:
        answer, end = client.call_async(request), time.monotonic() + _ANSWER_TIMEOUT
        while time.monotonic() < end:
            if answer.done():
                return answer.result()
            yield None
        client.remove_pending_request(answer)


class _Parameters:
    """Asks a node for its parameters, once."""

    def __init__(self, node: Node, name: str) -> None:
        self._node, self._name = node, name
        self._list: Any = node.create_client(ListParameters, f'{name}/list_parameters')
        self._get: Any = node.create_client(GetParameters, f'{name}/get_parameters')
        self._answers = self._ask()

    def take(self) -> ParameterEvent | None:
        """Return all parameters as one event, when they have come; None before."""
        return next(self._answers)

    def _ask(self) -> Iterator[ParameterEvent | None]:
        """Give None until the answer is there, then the answer."""
        listed = yield from answer_of(self._list, ListParameters.Request())
        names = listed.result.names
        got = yield from answer_of(self._get, GetParameters.Request(names=names))
        event = ParameterEvent(node=f'{self._node.get_namespace().rstrip("/")}/{self._name}')
        event.stamp = self._node.get_clock().now().to_msg()
        for name, value in zip(names, got.values, strict=True):
            event.new_parameters.append(ParameterMessage(name=name, value=value))
        yield event


def record(path: Path, print_line: Callable[[str], object]) -> bool:
    """Record until a signal asks for the end.

    Args:
        path: The file.
        print_line: Takes what the user should know.

    Returns:
        Whether all was written.

    Raises:
        ConfigurationError: The file exists, or cannot be created.
    """
    import rclpy

    schedule_as_batch()
    with StopRequest() as stop:
        init_ros()
        try:
            node = rclpy.create_node('recorder')
            recorder = Recorder(node, path)
            stop.defer()
            print_line(f'{WAITING} {STATES} ...')
            os.nice(_NICENESS)  # of this thread: what those of the middleware lose, nobody has
            with gc_off():
                recorder.run(lambda: not stop, lambda: print_line(f'{RECORDING} {path}'))
            node.destroy_node()
        finally:
            rclpy.try_shutdown()
    if recorder.problem:
        print_line(recorder.problem)
    print_line(recorder.summary())
    return not recorder.problem
