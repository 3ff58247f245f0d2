"""The nodes as child processes: started, listened to, and ended with their parent."""

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from typing import Self

_PR_SET_PDEATHSIG = 1
_GENTLE = 1.5  # s that a process has to end by itself when asked to
_FORCED = 0.5  # s that its end takes when it is forced

# Severity and words alone: who speaks stands before each line, simulation time is what counts.
LOG_FORMAT = '[{severity}] {message}'

Listener = Callable[[str, str], None]


class Child:
    """One node in a process of its own.

    Attributes:
        name: What it is called when it speaks or ends.
    """

    def __init__(self, name: str, module: str, arguments: Sequence[str], listen: Listener) -> None:
        """Start the node.

        Args:
            name: For the user.
            module: Module of `icir_control.nodes` whose `main` is run.
            arguments: Its command line.
            listen: Called with the name and each line that it writes, from a thread.
        """
        self.name = name
        # The collector is off until the node has imported all; see `run_node`.
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
                'RCUTILS_CONSOLE_OUTPUT_FORMAT': LOG_FORMAT,
                **os.environ,
                'PYTHONUNBUFFERED': '1',
            },
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
        self._listen = listen
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
        """Wait for its end and its last words; return whether it has ended."""
        try:
            self._process.wait(max(timeout, 0.0))
        except subprocess.TimeoutExpired:
            return False
        self._reader.join(_FORCED)
        return True

    def fall_silent(self) -> None:
        """From now on, drop what it writes: it is told to end, and how is nobody's concern."""
        self._listen = lambda name, line: None

    def _read(self) -> None:
        for line in self._process.stdout:
            self._listen(self.name, line.rstrip('\n'))


class Children:
    """The child processes of one session, which all end when it does."""

    def __init__(self, listen: Listener) -> None:
        """Prepare; a child starts with `start`.

        Args:
            listen: Called with a child's name and each line that it writes, from threads.
        """
        self._listen = listen
        self._children: list[Child] = []

    def start(self, name: str, module: str, arguments: Sequence[str]) -> Child:
        """Start a node; see `Child`."""
        child = Child(name, module, arguments, self._listen)
        self._children.append(child)
        return child

    def all_run(self) -> bool:
        """Return whether none has ended."""
        return all(child.status is None for child in self._children)

    def ended(self) -> Child | None:
        """Return one that has ended by itself, the failed one first, with all that it said."""
        over = [child for child in self._children if child.status is not None]
        for child in over:
            child.wait(_FORCED)
        return max(over, key=lambda child: child.status != 0, default=None)

    def stop(self) -> None:
        """End those that still run: asked first, forced after `_GENTLE` seconds."""
        for child in self._children:
            child.fall_silent()
            child.send(signal.SIGCONT)
            child.send(signal.SIGTERM)
        deadline = time.monotonic() + _GENTLE
        for child in self._children:
            if not child.wait(deadline - time.monotonic()):
                child.send(signal.SIGKILL)
        for child in self._children:
            child.wait(_FORCED)

    def __enter__(self) -> Self:
        """Give the children to a `with` block."""
        return self

    def __exit__(self, *_: object) -> None:
        """End them all."""
        self.stop()


def _end_with_parent() -> None:
    """Ask the kernel to end this process when its parent is gone, even if that was killed."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
