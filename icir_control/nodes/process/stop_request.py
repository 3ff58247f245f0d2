"""Requests to end a process: signals that interrupt its start, and that are noted once it runs.

It imports next to nothing, so that signals are handled before anything slow begins.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

_PR_SET_PDEATHSIG = 1
# Opened here: in a child that was forked from a process with threads, which may have held the
# loader's lock, it would wait for ever.
_LIBC = ctypes.CDLL(None)


def end_with_parent() -> None:
    """Ask the kernel to end this process when its parent is gone, even if that was killed."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class StopRequest:
    """Whether this process was asked to end: Ctrl-C, SIGTERM, a closed terminal.

    A context manager, for the main thread. While the process starts, a request raises
    KeyboardInterrupt; after `defer` it is only noted, so that a loop ends at a point of its own
    choice, with its ROS entities still valid.

    Attributes:
        has_interrupted: Whether a request came while the process started.
    """

    _SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self, timeout: float | None = None) -> None:
        """Start without a request.

        Args:
            timeout: How long a start may go on after a request [s], in case a compiler discards
                the exception; then the process ends at once, with status 0. None: for ever, and
                the process goes on after this.
        """
        self.has_interrupted = False
        self._timeout = timeout
        self._is_requested = False
        self._interrupts = True
        self._handlers: dict[signal.Signals, Any] = {}
        self._report: Callable[[sys.UnraisableHookArgs], object] = sys.unraisablehook

    def __bool__(self) -> bool:
        """Return whether the process was asked to end."""
        return self._is_requested

    def __enter__(self) -> 'StopRequest':
        """Take the signals over."""
        for number in self._SIGNALS:
            self._handlers[number] = signal.signal(number, self._handle)
        self._report = sys.unraisablehook
        sys.unraisablehook = self._report_others
        return self

    def __exit__(self, *_: object) -> None:
        """Give the signals back; a process that ends now ignores them."""
        self.defer()
        sys.unraisablehook = self._report
        if self.has_interrupted:
            # CPython notes a KeyboardInterrupt that leaves exec() of a string (dataclasses and
            # namedtuple use it), caught or not, and then ends the process by SIGINT, unless
            # another exec() comes after it: run_eval_code_obj and Py_RunMain.
            exec('')
        ends = self._timeout is not None
        for number, handler in self._handlers.items():
            if ends:
                # Ctrl-C and the signal of a launch come close together: the second is no new
                # request. The system ignores it first: a signal that Python has noted when it
                # begins to ignore it would be reported as lost.
                _LIBC.signal(number, ctypes.c_void_p(signal.SIG_IGN))
            signal.signal(number, signal.SIG_IGN if ends else handler)

    def defer(self) -> None:
        """From now on only note a request."""
        self._interrupts = False
        if self.has_interrupted and self._timeout is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def _report_others(self, lost: 'sys.UnraisableHookArgs') -> None:
        """Do not report an interruption in a callback, where Python cannot raise it."""
        if not (self.has_interrupted and issubclass(lost.exc_type, KeyboardInterrupt)):
            self._report(lost)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self._is_requested = True
        if self._interrupts:
            self.has_interrupted = True
            if self._timeout is not None:
                signal.signal(signal.SIGALRM, lambda number, frame: os._exit(0))
                signal.setitimer(signal.ITIMER_REAL, self._timeout)
            raise KeyboardInterrupt
