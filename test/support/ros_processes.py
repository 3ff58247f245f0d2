"""Real processes on a ROS graph of their own: start, type at, watch, stop, end by process id."""

import fcntl
import os
import pty
import random
import re
import select
import signal
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
import rclpy
from fork_server import Forked
from rclpy.callback_groups import CallbackGroup
from rclpy.client import Client
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from rclpy.serialization import deserialize_message
from rclpy.signals import SignalHandlerOptions
from wall_time import Stopwatch, slowdown

DOMAINS = range(1, 101)
PROFILE = Path(__file__).resolve().parent.parent / 'data' / 'udp_on_this_machine.xml'
RECORD = Path(__file__).resolve().with_name('state_record.py')
# The command line as it was installed, or where that is elsewhere (colcon) as the module.
INSTALLED = Path(sys.executable).with_name('icir_control')
MODULE = 'from icir_control.app.main import main; main()'
ICIR_CONTROL = (str(INSTALLED),) if INSTALLED.exists() else (sys.executable, '-c', MODULE)
PATIENCE = 300.0  # s until a condition counts as never met; a first start compiles


class Domain:
    """A ROS_DOMAIN_ID that nobody else on this machine uses, held until it is closed."""

    def __init__(self) -> None:
        folder = Path(tempfile.gettempdir()) / f'ros_domains_{os.getuid()}'
        folder.mkdir(exist_ok=True)
        for number in random.SystemRandom().sample(DOMAINS, len(DOMAINS)):
            lock = open(folder / str(number), 'w')  # noqa: SIM115 (held as long as the domain)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.close()
                continue
            if _ports_are_free(number):
                self.number, self._lock = number, lock
                return
            lock.close()
        raise RuntimeError('every ROS domain of this machine is in use')

    def close(self) -> None:
        self._lock.close()


def _ports_are_free(domain: int) -> bool:
    """Look whether any DDS participant of this machine listens on the domain's UDP ports."""
    first = 7400 + 250 * domain
    for line in Path('/proc/net/udp').read_text().splitlines()[1:]:
        if first <= int(line.split()[1].rpartition(':')[2], 16) < first + 250:
            return False
    return True


class Process:
    """A process whose output is collected while it runs; with a terminal, keys can be typed.

    Its end of a pseudo-terminal is then its controlling terminal, as in a real session: Ctrl-C
    typed there becomes SIGINT, closing it becomes SIGHUP.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: dict[str, str],
        *,
        terminal: bool = False,
        forked: bool = False,
        record: Path | None = None,
    ) -> None:
        """Start a command, or a node (its name and arguments) in the process that forks them."""
        self.command = list(command)
        self._record = record
        self._output = bytearray()
        self._arrived = threading.Condition()
        self._hung_up = threading.Event()
        self._is_closed = False
        self.slave: int | None = None
        if terminal:
            # Our end and theirs; theirs stays open here, so that its settings can be read later.
            self._source, self.slave = pty.openpty()
            sink = self.slave
        else:
            self._source, sink = os.pipe()
        start = self._fork if forked else self._execute
        self._process = start(sink, environment, terminal)
        if not terminal:
            os.close(sink)
        self.pid = self._process.pid
        self._reader = threading.Thread(target=self._collect, daemon=True)
        self._reader.start()

    def _execute(self, sink: int, environment: dict[str, str], terminal: bool) -> subprocess.Popen:
        return subprocess.Popen(
            self.command,
            stdin=sink if terminal else subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            env=environment,
            start_new_session=True,
            preexec_fn=(lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0)) if terminal else None,
        )

    def _fork(self, sink: int, environment: dict[str, str], terminal: bool) -> Forked:
        node, *arguments = self.command
        with open(os.devnull) as nothing:
            return Forked(
                node,
                arguments,
                stdin=sink if terminal else nothing.fileno(),
                stdout=sink,
                environment=environment,
                terminal=terminal,
                record=self._record,
            )

    def _collect(self) -> None:
        """Read until the process has ended and nothing is left to read, or until hung up."""
        while not self._hung_up.is_set():
            ended = self._process.poll() is not None
            if not select.select([self._source], [], [], 0.05)[0]:
                if ended:
                    return
                continue
            try:
                piece = os.read(self._source, 65536)
            except OSError:  # a pseudo-terminal whose other end is closed
                return
            if not piece:
                return
            with self._arrived:
                self._output += piece
                self._arrived.notify_all()

    @property
    def output(self) -> str:
        """Everything that it has written so far, standard error included."""
        with self._arrived:
            return self._output.decode(errors='replace').replace('\r\n', '\n')

    def wait_for(self, pattern: str, timeout: float = PATIENCE, *, start: int = 0) -> re.Match:
        """Wait until its output, from character `start` on, holds the regular expression."""
        watch = Stopwatch()
        while True:
            ended = not self._reader.is_alive()
            found = re.compile(pattern).search(self.output, start)
            if found:
                return found
            if ended or watch.is_over(timeout):
                raise AssertionError(
                    f'{pattern!r} not seen from {self.command}'
                    f' (status {self._process.poll()}):\n{self.output}'
                )
            with self._arrived:
                self._arrived.wait(0.05)

    def type(self, keys: str) -> None:
        """Type at its terminal."""
        os.write(self._source, keys.encode())

    def hang_up(self) -> None:
        """Close its terminal, as a window that is closed does."""
        self._hung_up.set()
        self._reader.join()
        os.close(self._source)

    def send(self, number: signal.Signals) -> None:
        """Send a signal to this process alone."""
        if self._process.poll() is None:
            os.kill(self.pid, number)

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    def wait(self, timeout: float = PATIENCE) -> int:
        """Wait until it has ended and all its output is here; its exit status."""
        watch = Stopwatch()
        while True:
            try:
                status = self._process.wait(0.5)
                break
            except subprocess.TimeoutExpired as error:
                if watch.is_over(timeout):
                    text = f'{self.command} did not end:\n{self.output}'
                    raise AssertionError(text) from error
        assert watch.own <= timeout, f'{self.command} ended after {watch.own:.1f} s'
        self._reader.join()
        return status

    def stop(self, number: signal.Signals = signal.SIGINT, timeout: float = 5.0) -> int:
        """Send a signal and wait for the end; its exit status."""
        self.send(number)
        return self.wait(timeout)

    def close(self) -> None:
        """End it by force if it still runs, and give back what it held; once is enough."""
        if self._is_closed:
            return
        self._is_closed = True
        self.send(signal.SIGCONT)
        self.send(signal.SIGKILL)
        self._process.wait()
        self._reader.join()
        if isinstance(self._process, Forked):
            self._process.close()
        if not self._hung_up.is_set():
            os.close(self._source)
        if self.slave is not None:
            os.close(self.slave)


@contextmanager
def _without_shared_memory() -> Iterator[None]:
    """Let a participant that is created meanwhile speak to this machine, through UDP alone.

    Fast DDS 3.2 may crash (SharedMemChannelResource::release) when it gives up shared memory of
    which a killed process had a part; here processes are killed all the time.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'SYSTEM_DEFAULT')
        patch.setenv('FASTDDS_DEFAULT_PROFILES_FILE', str(PROFILE))
        yield


class NotExecuted(CallbackGroup):
    """Excludes a subscription from every executor: nobody is woken by what arrives."""

    def can_execute(self, entity: object) -> bool:
        return False

    def beginning_execution(self, entity: object) -> bool:
        return False

    def ending_execution(self, entity: object) -> None:
        pass


class Newest:
    """The newest message of a topic, taken when somebody asks: all others cost next to nothing."""

    def __init__(self, node: Node, kind: type, topic: str) -> None:
        """Subscribe by best effort: a watcher that is too slow never holds anybody up."""
        self._kind = kind
        qos = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
        self._subscription = node.create_subscription(
            kind, topic, lambda _: None, qos, callback_group=NotExecuted(), raw=True
        )
        self._raw: bytes | None = None

    def forget(self) -> None:
        """Wait for a message that arrives from now on."""
        self._look()
        self._raw = None

    def has_arrived(self) -> bool:
        self._look()
        return self._raw is not None

    @property
    def message(self) -> Any:
        assert self.has_arrived(), 'nothing has arrived yet'
        return deserialize_message(self._raw, self._kind)

    def _look(self) -> None:
        taken = self._subscription.handle.take_message(self._kind, True)
        if taken is not None:
            self._raw = taken[0]


class Observer(Node):
    """A node of the test's own process, spun only while the test waits for something.

    Attributes:
        pause: Between two looks at a condition, where nothing arrives [s].
    """

    pause = 0.05

    def __init__(self, domain: int, name: str = 'observer', namespace: str = '') -> None:
        self._own_context = Context()
        with _without_shared_memory():
            rclpy.init(
                args=[],
                context=self._own_context,
                domain_id=domain,
                signal_handler_options=SignalHandlerOptions.NO,
            )
            super().__init__(name, context=self._own_context, namespace=namespace)
        self._own_executor = SingleThreadedExecutor(context=self._own_context)
        self._own_executor.add_node(self)
        self._own_clients: dict[str, Client] = {}

    def spin_until(
        self, condition: Callable[[], object], timeout: float = PATIENCE, *, what: str = ''
    ) -> None:
        """Serve callbacks until the condition holds; fail when it never does."""
        watch = Stopwatch()
        while not condition():
            assert not watch.is_over(timeout), f'not within {timeout} s: {what or condition}'
            self._own_executor.spin_once(timeout_sec=self.pause)

    def spin_for(self, seconds: float) -> None:
        """Serve callbacks for a while of wall time, for what must not happen."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self._own_executor.spin_once(timeout_sec=left)

    def settle(self) -> None:
        """Serve callbacks until what was on its way has arrived everywhere."""
        self.spin_for(0.2 * slowdown())

    def call(
        self, kind: type, name: str, request: object = None, timeout: float = PATIENCE
    ) -> object:
        """Call a service once it is there; its answer.

        The client stays: to make and destroy many is slow, and can leave the middleware of the
        server in a deadlock for good (eProsima/Fast-DDS issue 6502, open).
        """
        if name not in self._own_clients:
            self._own_clients[name] = self.create_client(kind, name)
        client = self._own_clients[name]
        self.spin_until(client.service_is_ready, timeout, what=f'service {name}')
        future = client.call_async(request if request is not None else kind.Request())
        self.spin_until(future.done, timeout, what=f'answer of {name}')
        return future.result()

    def close(self) -> None:
        self._own_executor.shutdown()
        self.destroy_node()
        rclpy.shutdown(context=self._own_context)


def _is_observer(closable: object) -> bool:
    return isinstance(closable, Observer)


class RosGraph:
    """One domain of its own: our nodes as processes in it, and observers beside them."""

    def __init__(self, logs: Path) -> None:
        self._domain = Domain()
        self._closables: list[Process | Observer] = []
        self.domain = self._domain.number
        self.logs = logs
        self.environment = os.environ | {
            'ROS_DOMAIN_ID': str(self.domain),
            'ROS_AUTOMATIC_DISCOVERY_RANGE': 'LOCALHOST',
            'ROS_LOG_DIR': str(logs),
            'RCUTILS_COLORIZED_OUTPUT': '0',
            'PYTHONUNBUFFERED': '1',
        }

    def start(
        self,
        node: str,
        *arguments: str,
        terminal: bool = False,
        environment: dict[str, str] | None = None,
        fresh: bool = False,
        record: Path | None = None,
    ) -> Process:
        """Start `icir_control.nodes <node>`.

        Args:
            node: Its module.
            arguments: Of its command line.
            terminal: Whether it has one.
            environment: Variables beside those of the graph.
            fresh: Whether it imports everything itself, as with a user; others are forked from a
                process that has.
            record: Where a bridge keeps its states.
        """
        environment = environment or {}
        # What the compiler is to do is read when it is imported.
        if fresh or any(name.startswith('NUMBA') for name in environment):
            if record:
                command = [sys.executable, str(RECORD), str(record), node]
            else:
                command = [sys.executable, '-m', 'icir_control.nodes', node]
            return self.run([*command, *arguments], terminal=terminal, environment=environment)
        process = Process(
            [node, *arguments],
            self.environment | environment,
            terminal=terminal,
            forked=True,
            record=record,
        )
        self._closables.append(process)
        return process

    def run(
        self,
        command: Sequence[str],
        *,
        terminal: bool = False,
        environment: dict[str, str] | None = None,
    ) -> Process:
        """Start any command in this graph; unless told otherwise in a terminal without colours."""
        environment = {'TERM': 'dumb'} | (environment or {})
        process = Process(command, self.environment | environment, terminal=terminal)
        self._closables.append(process)
        return process

    def observer(self, name: str = 'observer', namespace: str = '') -> Observer:
        """Return a node of this process in the graph."""
        observer = Observer(self.domain, name, namespace)
        self._closables.append(observer)
        return observer

    def __enter__(self) -> 'RosGraph':
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # Processes first: nothing pours in while the observers are taken down.
        for closable in sorted(self._closables, key=_is_observer):
            closable.close()
        self._domain.close()
