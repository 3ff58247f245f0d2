"""How a process is asked to end: signals, taken at once while it starts, and noted once it runs.

It imports next to nothing: a process listens before it begins what takes long.
"""

import os
import signal
import sys
from collections.abc import Callable
from types import FrameType


class StopRequest:
    """Whether somebody asked this process to end: Ctrl-C, SIGTERM, a closed terminal.

    A context manager, for the main thread. While the process starts, a request interrupts
    whatever it does; once `defer` was called, it is only noted, so that a loop ends at a point of
    its own choice, with its ROS entities still valid.

    Attributes:
        has_interrupted: Whether a request came while the process started.
    """

    _SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self, patience: float | None = None) -> None:
        """Nothing was asked for yet.

        Args:
            patience: How long a start may go on after a request [s], because a compiler lost the
                interruption; then the process ends at once, with status 0. None is for ever.
        """
        self.has_interrupted = False
        self._patience = patience
        self._is_made = False
        self._interrupts = True
        self._handlers: dict[signal.Signals, object] = {}
        self._report: Callable[[sys.UnraisableHookArgs], object] = sys.unraisablehook

    def __bool__(self) -> bool:
        """Return whether the process was asked to end."""
        return self._is_made

    def __enter__(self) -> 'StopRequest':
        """Listen to the signals."""
        for number in self._SIGNALS:
            self._handlers[number] = signal.signal(number, self._take)
        self._report = sys.unraisablehook
        sys.unraisablehook = self._pass_over
        return self

    def __exit__(self, *_: object) -> None:
        """Give the signals back."""
        self.defer()
        sys.unraisablehook = self._report
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def defer(self) -> None:
        """From now on only note a request."""
        self._interrupts = False
        if self.has_interrupted and self._patience is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def _pass_over(self, lost: 'sys.UnraisableHookArgs') -> None:
        """Say nothing of an interruption in a callback, where Python could only report it."""
        if not (self.has_interrupted and issubclass(lost.exc_type, KeyboardInterrupt)):
            self._report(lost)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self._is_made = True
        if self._interrupts:
            self.has_interrupted = True
            if self._patience is not None:
                signal.signal(signal.SIGALRM, lambda number, frame: os._exit(0))
                signal.setitimer(signal.ITIMER_REAL, self._patience)
            raise KeyboardInterrupt
