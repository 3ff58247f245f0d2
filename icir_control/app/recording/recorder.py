"""The recorder: a node that writes what the other nodes say to an MCAP file.

States and commands come thousands of times a second. They are never turned into messages. Our
bridge sends them in batches (`nodes/transport/batches.py`); those of another one wait in the
middleware's queue, from which they are taken a few milliseconds at a time.
"""

import os
import sys
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime
from functools import partial
from operator import itemgetter
from pathlib import Path

from rcl_interfaces.msg import ParameterEvent
from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from std_msgs.msg import String, UInt8MultiArray

from icir_control.app.recording.inputs import Input, Topic
from icir_control.app.recording.mcap_writer import ChannelMessage
from icir_control.app.recording.topics import (
    COMMANDS,
    DESCRIPTION,
    LATCHED,
    PARAMETERS,
    REQUESTS,
    STATES,
    TOPICS,
)
from icir_control.app.recording.writer import RecordingFile
from icir_control.errors import ConfigurationError, InvalidValueError
from icir_control.nodes.process.children import RecorderState
from icir_control.nodes.process.discovery import stay_on_this_machine
from icir_control.nodes.process.run import gc_off, ros_node, schedule_as_batch
from icir_control.nodes.process.stop_request import StopRequest
from icir_control.nodes.transport.batches import BATCHES, QUEUE, read_batch
from icir_control.nodes.transport.client import NodeClient, spin_ready, until_answered
from icir_control.nodes.transport.messages import NANOSECONDS
from icir_control.share import BRIDGE, CONTROLLER, find_model_file

# As many states as the fastest loop makes in some seconds. By best effort: whoever publishes
# waits for nobody, and answers no acknowledgement.
_QUEUE = QoSProfile(depth=100_000, reliability=ReliabilityPolicy.BEST_EFFORT)
# Reliable, as the nodes that act on them subscribe: a publisher that has just been found is heard.
_REQUEST_QUEUE = QoSProfile(depth=1000)
_LATCHED_QUEUE = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_POLL_PERIOD = 0.1  # s between two looks into the queues: each takes the loop's processor
_NODE_PERIOD = 0.05  # s between two looks at the answers of services
_CALLBACKS = 8  # in each of them
_SAVE_PERIOD = 0.5  # s between two writes to the disk
_ASKING_TIME = 10.0  # s of a run; which a node takes at most to report its parameters
_NICENESS = 10  # a tenth of a processor that nobody leaves free: enough for what is then sent
_NO_BATCHES = 0.5  # s in which a bridge that is there must have been seen to send batches
_LATEST_BATCH_NS = 200_000_000  # after the messages in it
_RECEIVED = itemgetter(2)

Step = tuple[Callable[[], bool], Callable[[], object]]
"""A condition, and what is done once, as soon as it holds."""


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
        self._node = node
        self._file = RecordingFile(path)
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
        kinds = {**TOPICS, **LATCHED}
        topics = {name: Topic(node, self._file, name, kinds[name]) for name in kinds}
        self._states, self._commands = topics[STATES], topics[COMMANDS]
        self._description = topics[DESCRIPTION]
        self._batches: Input | None = Input(node, f'{BRIDGE}/{BATCHES}', UInt8MultiArray, QUEUE)
        self._no_batches_since: float | None = None
        self._channels = {one.name: one.channel for one in (self._states, self._commands)}
        self._topics = {one.channel: one for one in topics.values()}
        queues = dict.fromkeys(REQUESTS, _REQUEST_QUEUE) | dict.fromkeys(LATCHED, _LATCHED_QUEUE)
        for relative, topic in topics.items():
            if topic.name not in self._channels:
                topic.subscribe(queues.get(relative, _QUEUE))
        self._waiting: list[ChannelMessage] = []
        self._period_ns = 0
        self._node_due = self._save_due = 0.0
        self._asked_until = float('inf')
        self._unread = {CONTROLLER, BRIDGE}
        for name in (CONTROLLER, BRIDGE):
            client = NodeClient(node, name)
            # Before the controller starts: with these made while it joined, one recording of four
            # missed all that it published.
            client.find(ListParameters, 'list_parameters')
            client.find(GetParameters, 'get_parameters')
            client.start(self._read_parameters, client)

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
        """Whether both nodes have reported their parameters."""
        return not self._unread

    @property
    def may_be_late(self) -> bool:
        """Whether all that is left to do can wait for some seconds.

        Parameters cannot, while they may change. A robot has no bridge of ours to tell any.
        """
        return self.has_parameters or time.monotonic() > self._asked_until

    def run(self, is_wanted: Callable[[], bool], *steps: Step) -> None:
        """Record until it is no longer wanted, or the disk is full; then finish the file.

        Args:
            is_wanted: Called again and again; False ends it.
            steps: What is done meanwhile, each when its condition first holds.
        """
        try:
            due = list(steps)
            while is_wanted():
                self.poll()
                for step in [one for one in due if one[0]()]:
                    due.remove(step)
                    step[1]()
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
            spin_ready(self._executor, _CALLBACKS)
            self._look_for_batches(now)
        if now >= self._save_due:
            self._save_due = now + _SAVE_PERIOD
            self._file.save()
        if self.time > 0.0:  # our bridge waits at 0 for a controller that still starts
            self._asked_until = min(self._asked_until, now + _ASKING_TIME)

    def finish(self) -> None:
        """Write the rest, and the file's index.

        Raises:
            OSError: The disk is full, or gone.
        """
        self._drain(is_last=True)
        self._file.finish()

    def close(self) -> None:
        """Close the file, finished or not."""
        self._file.close()

    def _drain(self, *, is_last: bool = False) -> None:
        """Write what has come, in the order of its arrival.

        What came after the newest batch waits for the next one, which holds older messages.
        """
        waiting, until = self._waiting, float('inf')
        for topic in self._topics.values():
            waiting += topic.taken()
        if self._batches is not None:
            newest_ns = time.time_ns() - _LATEST_BATCH_NS
            for raw, *_ in self._batches.taken():
                with suppress(InvalidValueError, KeyError):  # of somebody else
                    topics, raws, received_ns, sent_ns = read_batch(raw)
                    channels = [self._channels[topic] for topic in topics]
                    waiting += zip(channels, raws, received_ns, sent_ns, strict=True)
                    newest_ns = max(newest_ns, received_ns[-1])
            until = until if is_last else newest_ns
        waiting.sort(key=_RECEIVED)
        count = bisect_right(waiting, until, key=_RECEIVED)
        ready, self._waiting = waiting[:count], waiting[count:]
        self._file.write(ready)
        written: dict[int, list[bytes]] = defaultdict(list)
        for channel, raw, *_ in ready:
            written[channel].append(raw)
        for channel, of_channel in written.items():
            self._topics[channel].count_in(of_channel)

    def _look_for_batches(self, now: float) -> None:
        """Subscribe to the hot topics themselves where a bridge does not send batches.

        Args:
            now: Wall time [s, monotonic].
        """
        if self._batches is None:
            return
        has_batches = self._node.count_publishers(self._batches.name) > 0
        if has_batches or not self._node.count_publishers(self._states.name):
            self._no_batches_since = None
        elif self._no_batches_since is None:
            self._no_batches_since = now
        elif now - self._no_batches_since > _NO_BATCHES:
            self._batches.close()
            self._batches = None
            for topic in (self._states, self._commands):
                topic.subscribe(_QUEUE)

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

    async def _read_parameters(self, client: NodeClient) -> None:
        """Write all parameters of a node to the file, as one event, once it is there."""
        names = await until_answered(client.parameter_names)
        found = await until_answered(client.parameter_messages, names)
        event = ParameterEvent(node=f'{self._node.get_namespace().rstrip("/")}/{client.name}')
        event.stamp = self._node.get_clock().now().to_msg()
        event.new_parameters = found
        self._file.write_message(PARAMETERS, event)
        self._unread.remove(client.name)
        values = {parameter.name: parameter.value for parameter in found}
        if 'timestep' in values:
            self._period_ns = round(values['timestep'].double_value * NANOSECONDS)
        if not self._description.count and 'model' in values:
            with suppress(ConfigurationError):  # of another machine
                given = values.get('package_dirs')
                packages = given.string_array_value if given else ()
                path = find_model_file(values['model'].string_value, packages)
                self._description.count = 1
                description = String(data=path.read_text())
                self._file.write_message(self._description.name, description)


def print_line(line: str) -> None:
    """Say something to the user."""
    print(line, file=sys.stderr, flush=True)


def record(path: Path | None, namespace: str = '', pipe: int | None = None) -> bool:
    """Record until a signal asks for the end.

    Args:
        path: The file; None has it named by date and time.
        namespace: Of the nodes.
        pipe: File descriptor to which a byte is written for each `RecorderState`.

    Returns:
        Whether all was written.

    Raises:
        ConfigurationError: The file exists, or cannot be created; or there can be no such
            namespace.
    """
    path = path or Path(f'{datetime.now():%Y-%m-%d_%H-%M-%S}.mcap')

    def tell(state: RecorderState, line: str) -> None:
        if pipe is not None:
            os.write(pipe, state.value)
        print_line(line)

    stay_on_this_machine()
    schedule_as_batch()
    with StopRequest() as stop, ros_node('recorder', namespace) as node:
        recorder = Recorder(node, path)
        stop.defer()
        tell(RecorderState.WAITING, f'waiting for {STATES} ...')
        begun = partial(tell, RecorderState.RECORDING, f'recording to {path}')
        line = f'parameters of {BRIDGE} and {CONTROLLER} are recorded'
        reported = partial(tell, RecorderState.PARAMETERS, line)
        with gc_off():
            recorder.run(
                lambda: not stop,
                (lambda: recorder.has_state, begun),
                (lambda: recorder.has_parameters, reported),
                # Of this thread: what those of the middleware lose, nobody has. Not before:
                # beside a loop at full speed it would read the parameters seconds late.
                (lambda: recorder.may_be_late, lambda: os.nice(_NICENESS)),
            )
    if recorder.problem:
        print_line(recorder.problem)
    print_line(recorder.summary())
    return not recorder.problem
