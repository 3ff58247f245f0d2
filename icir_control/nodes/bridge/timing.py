"""When the next tick may begin: its wall time, a pause, and periodic tasks between two ticks."""

import math
import time
from collections.abc import Callable

Task = Callable[[float], object]

MAX_LAG = 0.1
"""A loop that is further behind than this does not catch up [s of wall time]."""

# The shortest time between two ticks while a loop catches up, in periods: at most twice as fast.
_CATCH_UP = 0.5


class Pacer:
    """Spaces ticks on a grid of wall time.

    Ticks that begin a little late do not move the grid, so that the pace is right on average.
    After a late one the loop catches up at no more than twice its pace. When it is more than
    `MAX_LAG` behind, the grid moves instead.

    Attributes:
        due: Wall time at which the next tick may begin [s, monotonic]; minus infinity for at once.
        late: How many ticks began more than a period after they were due.
        lost: Wall time that was not caught up [s].
    """

    def __init__(self, period: float, factor: float) -> None:
        """Set the pace; `restart` it at the first tick.

        Args:
            period: Simulated time of a tick [s].
            factor: Simulated seconds per second of wall time; 0 is as fast as possible.
        """
        self._period = period
        self._wall_period = 0.0
        self._grid = 0.0
        self.due = 0.0
        self.late = 0
        self.lost = 0.0
        self.set_factor(factor, 0.0)

    def set_factor(self, factor: float, now: float) -> None:
        """Change the pace from the next tick on.

        Args:
            factor: Simulated seconds per second of wall time; 0 is as fast as possible.
            now: Wall time [s, monotonic].
        """
        self._wall_period = self._period / factor if factor else 0.0
        self.restart(now)

    def restart(self, now: float) -> None:
        """Let the next tick begin at once, and count the grid from there.

        Args:
            now: Wall time [s, monotonic].
        """
        self._grid = now
        self.due = now if self._wall_period else -math.inf

    def begin_tick(self, now: float) -> None:
        """Note that a tick begins, and when the next one may.

        Args:
            now: Wall time [s, monotonic].
        """
        period = self._wall_period
        if not period:
            return
        if now - self.due > period:
            self.late += 1
        behind = now - self._grid
        if behind > max(MAX_LAG, period):
            self.lost += behind
            self._grid = now
        self._grid += period
        self.due = max(self._grid, now + _CATCH_UP * period)


class PeriodicTasks:
    """Runs tasks at their own periods of wall time, in the thread of the loop.

    The loop compares one number per tick.

    Attributes:
        due: Wall time of the next task [s, monotonic].
    """

    def __init__(self) -> None:
        """Start without tasks."""
        self._periods: dict[Task, float] = {}
        self._dues: dict[Task, float] = {}
        self.due = math.inf

    def every(self, period: float, task: Task) -> None:
        """Add a task, due at once and then every `period` seconds; called with the wall time."""
        self._periods[task] = period
        self.due = self._dues[task] = -math.inf

    def run(self, now: float) -> None:
        """Run the tasks that are due.

        Args:
            now: Wall time [s, monotonic].
        """
        for task, period in self._periods.items():
            if self._dues[task] <= now:
                task(now)
                on_grid = self._dues[task] + period
                self._dues[task] = on_grid if on_grid > now else now + period
        self.due = min(self._dues.values())


class PauseControl:
    """What stops simulation time: a pause, except for requested steps, or a diverged world.

    Attributes:
        is_paused: Whether a pause was requested.
        divergence: How the physics diverged, a sentence; empty when it has not.
        step_due: Until when the command for a requested step may come [s, monotonic].
    """

    def __init__(self, timeout: float) -> None:
        """Stop nothing.

        Args:
            timeout: How long a requested step waits for its command [s of wall time].
        """
        self.is_paused = False
        self.divergence = ''
        self.step_due = math.inf
        self._timeout = timeout
        self._count = self._taken = 0
        self._done: Callable[[str], None] | None = None

    @property
    def may_step(self) -> bool:
        """Whether nothing stops time."""
        return not (self.divergence or (self.is_paused and self._done is None))

    def request_steps(self, count: int, done: Callable[[str], None]) -> bool:
        """Ask for steps while paused; return whether the request is accepted: one at a time.

        Args:
            count: How many, at least 1.
            done: Called with why not all of them were taken; empty when they were.
        """
        if self._done is not None:
            return False
        self._count, self._taken, self._done = count, 0, done
        self.step_due = time.monotonic() + self._timeout
        return True

    def cancel_steps(self) -> None:
        """Let requested steps fail at the next check: their run has ended."""
        self.step_due = -math.inf

    def finish_step(self, failure: str = '') -> None:
        """Note that a step was taken, or why not; answer the request for steps when it is over."""
        self.step_due = math.inf
        done = self._done
        if done is None:
            return
        self._taken += not failure
        if self._taken < self._count and not failure:
            if self.is_paused:
                self.step_due = time.monotonic() + self._timeout
                return
            failure = 'not paused any more'
        if failure and self._count > 1:
            failure += f'; {self._taken} of {self._count} steps taken'
        self._done = None
        done(failure)
