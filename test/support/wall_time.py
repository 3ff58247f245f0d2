"""Wall time as it would be if this machine had its processors for the test alone."""

import os
import time
from pathlib import Path

LOAD = Path('/proc/loadavg')


def slowdown() -> float:
    """How many processes that could run share a processor; 1 on a quiet machine."""
    minute, _, _, running, _ = LOAD.read_text().split()
    runnable = max(float(minute), float(running.partition('/')[0]))
    return max(runnable / len(os.sched_getaffinity(0)), 1.0)


class Stopwatch:
    """Time since it was made.

    A bound of seconds holds as it is on a quiet machine. Where other programs want the processors,
    too, each process gets its share, and the bound is as much longer.
    """

    def __init__(self) -> None:
        self._begin, self._slowdown = time.monotonic(), slowdown()

    @property
    def wall(self) -> float:
        """Wall time [s]."""
        return time.monotonic() - self._begin

    @property
    def slowdown(self) -> float:
        """The greatest that was seen."""
        self._slowdown = max(self._slowdown, slowdown())
        return self._slowdown

    @property
    def own(self) -> float:
        """Wall time that a quiet machine would have taken [s]."""
        return self.wall / self.slowdown

    def is_over(self, seconds: float) -> bool:
        """Whether a quiet machine would have taken longer than this."""
        return self.wall > seconds and self.own > seconds
