"""Child processes: their start, their output, and their end; the recorder is one of them."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum
from io import FileIO
from pathlib import Path
from typing import Self

from icir_control.errors import IcirError
from icir_control.nodes.process.stop_request import end_with_parent

_TERMINATION_TIME = 1.5  # s that a process has to end by itself after SIGTERM
_KILL_TIME = 0.5  # s that the end of a killed process takes
_READ_TIME = 0.5  # s for the rest of an ended process's output
_KEPT_LINES = 15  # of all children's output

# The line starts with the node's name, and the wall clock means little to a simulation.
_LOG_FORMAT = '[{severity}] {message}'

OutputHandler = Callable[[str, str], None]


class ChildEndedError(IcirError):
    """A node ended although nobody had asked it to.

    Attributes:
        name: The node's name.
        status: Its exit status, negative for a signal.
    """

    def __init__(self, name: str, status: int) -> None:
        """State which one, and how."""
        self.name = name
        self.status = status
        how = f'status {status}' if status >= 0 else f'signal {signal.Signals(-status).name}'
        super().__init__(f'the {name} has ended ({how})')


class Children:
    """The child processes of one session, which all end when it does."""

    def __init__(
        self,
        handle_line: OutputHandler | None = None,
        *,
        speaks_at_end: bool = False,
        timeout: float = _TERMINATION_TIME,
    ) -> None:
        """Prepare; a child starts with `start`.

        Args:
            handle_line: Called from threads with a child's name and each line of its output.
            speaks_at_end: Whether it is called after `stop`, too.
            timeout: How long a child may take to end by itself [s].
        """
        self._timeout = timeout
        self._speaks_at_end = speaks_at_end
        self._handle_line = handle_line
        self._last_lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._processes: dict[str, subprocess.Popen[str]] = {}
        self._readers: list[threading.Thread] = []

    def start(
        self,
        name: str,
        module: str,
        arguments: Sequence[str],
        package: str = 'icir_control.nodes',
        pass_fds: Sequence[int] = (),
    ) -> None:
        """Start a node in a process of its own.

        Args:
            name: For the user.
            module: Which of the package's nodes is run.
            arguments: Its command line.
            package: What is run by `python -m`.
            pass_fds: File descriptors that it inherits.
        """
        # Isolated from the current directory (-P), which may hold a folder of our name.
        # A session of its own: Ctrl-C at the terminal reaches the parent, which ends all in order.
        process = self._processes[name] = subprocess.Popen(
            [sys.executable, '-P', '-m', package, module, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors='replace',
            env={
                'RCUTILS_CONSOLE_OUTPUT_FORMAT': _LOG_FORMAT,
                'RCUTILS_COLORIZED_OUTPUT': str(int(sys.stdout.isatty())),
                **os.environ,
                'PYTHONUNBUFFERED': '1',
            },
            start_new_session=True,
            pass_fds=pass_fds,
            preexec_fn=end_with_parent,
        )
        self._readers.append(
            threading.Thread(target=self._read, args=(name, process), daemon=True)
        )
        self._readers[-1].start()

    def all_run(self) -> bool:
        """Return whether none has ended."""
        return all(process.poll() is None for process in self._processes.values())

    def check(self) -> None:
        """Raise when a child has ended by itself.

        Raises:
            ChildEndedError: Names one, a failed one first.
        """
        if self.all_run():
            return
        self._read_rest()
        statuses = [(name, process.poll()) for name, process in self._processes.items()]
        ended = [(name, status) for name, status in statuses if status is not None]
        raise ChildEndedError(*max(ended, key=lambda child: child[1] != 0))

    def request_stop(self) -> None:
        """Ask those that still run to end, by SIGTERM."""
        for process in self._processes.values():
            process.send_signal(signal.SIGCONT)
            process.terminate()

    def stop(self) -> None:
        """End those that still run: by SIGTERM, and where that does not help by SIGKILL."""
        if not self._speaks_at_end:
            self._handle_line = None
        self.request_stop()
        processes = self._processes.values()
        deadline = time.monotonic() + self._timeout
        for process in processes:
            if not _has_ended(process, deadline):
                process.kill()
        deadline = time.monotonic() + _KILL_TIME
        for process in processes:
            _has_ended(process, deadline)
        self._read_rest()

    def report(self, error: IcirError) -> str:
        """Return the last lines of the children's output, and below them an error."""
        return '\n'.join([*self._last_lines, str(error)])

    def _read(self, name: str, process: 'subprocess.Popen[str]') -> None:
        for line in process.stdout or ():
            line = line.rstrip('\n')
            self._last_lines.append(f'{name}: {line}')
            if handle_line := self._handle_line:
                handle_line(name, line)

    def _read_rest(self) -> None:
        """Wait for the rest of the output of those that have ended."""
        for reader, process in zip(self._readers, self._processes.values(), strict=True):
            if process.poll() is not None:
                reader.join(_READ_TIME)

    def __enter__(self) -> Self:
        """Give the children to a `with` block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End them all."""
        self.stop()


def _has_ended(process: 'subprocess.Popen[str]', deadline: float) -> bool:
    """Wait until a process ends, or for a moment on the monotonic clock [s]; tell which it was."""
    try:
        process.wait(max(deadline - time.monotonic(), 0.0))
    except subprocess.TimeoutExpired:
        return False
    return True


RECORDER = 'icir_control.app.main'

_STOP_TIMEOUT = 10.0  # s that a recorder has to finish its file


class RecorderState(Enum):
    """How far a recorder is, as the byte that it writes to the pipe `--status-fd`."""

    WAITING = b'W'
    """It has subscribed."""

    RECORDING = b'R'
    """The first state has come."""

    PARAMETERS = b'P'
    """Of both nodes, as the run begins with them: they may change from now on."""


class RecorderProcess(Children):
    """A recorder of one file."""

    def __init__(self, path: Path, handle_line: OutputHandler, namespace: str = '') -> None:
        """Start it.

        Args:
            path: The file.
            handle_line: Called from a thread with its name and each line of its output.
            namespace: Of the nodes.
        """

        def take_line(name: str, line: str) -> None:
            handle_line(name, line)
            # Each state is reported right before its line. Read with it, nobody acts on a state
            # before the line is shown.
            self._told += self._pipe.read(len(RecorderState)) or b''

        super().__init__(take_line, speaks_at_end=True, timeout=_STOP_TIMEOUT)
        self._told = b''
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        self._pipe = FileIO(reading)
        options = ('--namespace', namespace, '--status-fd', str(writing))
        try:
            self.start('recorder', 'record', [*options, '--', str(path)], RECORDER, (writing,))
        finally:
            os.close(writing)

    def has_reported(self, state: RecorderState) -> bool:
        """Return whether it has come so far."""
        return state.value in self._told

    def stop(self) -> None:
        """End it, with a whole file if that takes no longer than some seconds."""
        super().stop()
        self._pipe.close()
