"""Wall time: when the next tick may begin, and which periodic tasks are due between two ticks."""

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
        self.due = now if self._wall_period else -float('inf')

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
        self.due = float('inf')

    def every(self, period: float, task: Task) -> None:
        """Add a task, due at once and then every `period` seconds; called with the wall time."""
        self._periods[task] = period
        self.due = self._dues[task] = -float('inf')

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
