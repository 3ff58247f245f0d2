"""A terminal that gives single keys, restored however the program ends."""

import contextlib
import os
import re
import select
import signal
import termios
import tty
from collections.abc import Callable
from types import FrameType
from typing import Any, TextIO

from icir_control.errors import IcirError

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_KEYS = re.compile(r'\x1b\[[0-9;]*[@-~]?|\x1bO.?|\x1b|.', re.DOTALL)
"""A key: what an arrow or a function key sends, or one character."""


class NoTerminalError(IcirError):
    """What should be a terminal is a pipe, a file or nothing."""

    def __init__(self) -> None:
        """State what is missing, and how to start the keyboard."""
        super().__init__(
            'the keyboard needs a terminal, and its standard input is none;'
            ' run it in a terminal of its own: ros2 run icir_control keyboard'
        )


class Terminal:
    """Gives the keys typed at a terminal one by one, without Enter and without echo.

    A context manager, for the main thread. Inside it the signals that end a program only set
    `is_over`, so that the program ends regularly and the terminal is restored. It is restored as
    well while the program is suspended (Ctrl-Z).

    Attributes:
        is_over: Whether a signal or the end of input asks to leave.
    """

    def __init__(self, device: TextIO, resumed: Callable[[], None] = lambda: None) -> None:
        """Check the device; its settings are changed when the context is entered.

        Args:
            device: The terminal, such as `sys.stdin`.
            resumed: Called when the program goes on after it was suspended.

        Raises:
            NoTerminalError: The device is not a terminal.
        """
        try:
            self._file = device.fileno()
        except (OSError, ValueError, AttributeError) as error:
            raise NoTerminalError from error
        if not os.isatty(self._file):
            raise NoTerminalError
        self.is_over = False
        self._is_resumed = False
        self._resumed = resumed
        self._handlers: dict[signal.Signals, Any] = {}
        self._settings: list[Any] = []

    def __enter__(self) -> 'Terminal':
        """Take over the signals, then the terminal."""
        self._settings = termios.tcgetattr(self._file)
        for number in _ENDING:
            self._handlers[number] = signal.signal(number, lambda number, frame: self.end())
        self._handlers[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, self._suspend)
        self._handlers[signal.SIGCONT] = signal.signal(signal.SIGCONT, self._resume)
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the terminal, then the signals."""
        self._restore()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def end(self) -> None:
        """Ask to leave."""
        self.is_over = True

    def read(self, timeout_s: float) -> list[str]:
        """Return the keys that were typed, after waiting for one; often none.

        A key that sends several characters, such as an arrow, counts as one. The end of input, a
        closed terminal, sets `is_over`.

        Args:
            timeout_s: How long to wait for a key [s].
        """
        if self._is_resumed:
            self._is_resumed = False
            with contextlib.suppress(termios.error):
                self._take()
            self._resumed()
        try:
            if not select.select([self._file], [], [], timeout_s)[0]:
                return []
            typed = os.read(self._file, 1024)
        except OSError:  # hung up
            typed = b''
        if not typed:
            self.is_over = True
        text = typed.decode(errors='replace')
        return _KEYS.findall(text)

    def _take(self) -> None:
        if self._is_ours():
            tty.setcbreak(self._file, termios.TCSANOW)

    def _restore(self) -> None:
        with contextlib.suppress(termios.error):  # a closed terminal cannot be restored
            if self._is_ours():
                termios.tcsetattr(self._file, termios.TCSADRAIN, self._settings)

    def _is_ours(self) -> bool:
        """Return whether the terminal may be touched.

        A program in the background would be stopped for it; when it comes to the foreground,
        it receives SIGCONT.
        """
        try:
            return os.tcgetpgrp(self._file) == os.getpgrp()
        except OSError:  # not the terminal that started us: it has no background
            return True

    def _suspend(self, number: int, frame: FrameType | None) -> None:
        self._restore()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)  # stops here, until SIGCONT

    def _resume(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTSTP, self._suspend)
        self._is_resumed = True
