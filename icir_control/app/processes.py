"""The nodes as child processes: their command lines, their output, and their end."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Self

from icir_control.app.robot import Robot
from icir_control.errors import IcirError

BRIDGE, CONTROLLER = 'mujoco_bridge', 'controller'

_PR_SET_PDEATHSIG = 1
_TERMINATION_TIME = 1.5  # s that a process has to end by itself after SIGTERM
_KILL_TIME = 0.5  # s that the end of a killed process takes

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


def ros_arguments(node: str, robot: Robot, parameters: Mapping[str, object]) -> list[str]:
    """Return a node's command line.

    Args:
        node: The node's name.
        robot: Its model and parameter file.
        parameters: By name; they override the file.
    """
    arguments = ['--ros-args', '--params-file', str(robot.params_file)]
    for name, value in {**parameters, **robot.overrides}.items():
        # Without the node's name the file's entry for the node would win.
        arguments += ['-p', f'{node}:{name}:={_yaml(value)}']
    return arguments


class Child:
    """A node in a process of its own.

    Attributes:
        name: For the user.
    """

    def __init__(
        self, name: str, module: str, arguments: Sequence[str], handle_line: OutputHandler
    ) -> None:
        """Start the node.

        Args:
            name: For the user.
            module: Module of `icir_control.nodes` whose `main` is run.
            arguments: Its command line.
            handle_line: Called from a thread with the name and each line of output.
        """
        self.name = name
        # The collector is off until the node has imported all; see `nodes.process.importing`.
        code = (
            'import gc; gc.disable()\n'
            f'import sys; from icir_control.nodes.{module} import main; sys.exit(main())'
        )
        # A session of its own: Ctrl-C at the terminal reaches the parent, which ends all in order.
        self._process = subprocess.Popen(
            [sys.executable, '-c', code, *arguments],
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
            preexec_fn=_end_with_parent,
        )
        self._handle_line = handle_line
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def status(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    def send(self, number: signal.Signals) -> None:
        """Send it a signal, if it still runs."""
        if self._process.poll() is None:
            self._process.send_signal(number)

    def wait(self, timeout: float) -> bool:
        """Wait for its end and the rest of its output; return whether it has ended."""
        try:
            self._process.wait(max(timeout, 0.0))
        except subprocess.TimeoutExpired:
            return False
        self._reader.join(_KILL_TIME)
        return True

    def drop_output(self) -> None:
        """Ignore what it writes from now on."""
        self._handle_line = lambda name, line: None

    def _read(self) -> None:
        for line in self._process.stdout or ():
            self._handle_line(self.name, line.rstrip('\n'))


class Children:
    """The child processes of one session, which all end when it does."""

    def __init__(self, handle_line: OutputHandler) -> None:
        """Prepare; a child starts with `start`.

        Args:
            handle_line: Called from threads with a child's name and each line of its output.
        """
        self._handle_line = handle_line
        self._children: list[Child] = []

    def start(self, name: str, module: str, arguments: Sequence[str]) -> None:
        """Start a node; see `Child`."""
        self._children.append(Child(name, module, arguments, self._handle_line))

    def all_run(self) -> bool:
        """Return whether none has ended."""
        return all(child.status is None for child in self._children)

    def check(self) -> None:
        """Raise when a child has ended by itself.

        Raises:
            ChildEndedError: Names one, a failed one first; all its output has been handled.
        """
        ended = [child for child in self._children if child.wait(0.0)]
        statuses = [
            (child.name, status) for child in ended if (status := child.status) is not None
        ]
        if statuses:
            raise ChildEndedError(*max(statuses, key=lambda entry: entry[1] != 0))

    def stop(self) -> None:
        """End those that still run: by SIGTERM, and where that does not help by SIGKILL."""
        for child in self._children:
            child.drop_output()
            child.send(signal.SIGCONT)
            child.send(signal.SIGTERM)
        deadline = time.monotonic() + _TERMINATION_TIME
        for child in self._children:
            if not child.wait(deadline - time.monotonic()):
                child.send(signal.SIGKILL)
        for child in self._children:
            child.wait(_KILL_TIME)

    def __enter__(self) -> Self:
        """Give the children to a `with` block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End them all."""
        self.stop()


def _end_with_parent() -> None:
    """Ask the kernel to end this process when its parent is gone, even if that was killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _yaml(value: object) -> str:
    """Return a parameter's value as ROS's command line takes it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return '[' + ', '.join(_yaml(entry) for entry in value) + ']'
    return f"'{value}'" if isinstance(value, str) else repr(value)
