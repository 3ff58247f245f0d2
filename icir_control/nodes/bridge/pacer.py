"""When the next tick may begin: simulated time beside wall time."""

# A loop that fell behind by more than this [s of wall time] lets go of what it lost.
FORGIVEN = 0.1
# The shortest distance of two ticks while a loop catches up, in periods: at most twice as fast.
_HURRY = 0.5


class Pacer:
    """Spaces ticks on a grid of wall time.

    Ticks that begin a little late do not move the grid, so that the pace holds on average. After
    a late one the loop catches up at no more than twice its pace, and what is more than
    `FORGIVEN` behind is given up: the grid moves.

    Attributes:
        due: Wall time at which the next tick may begin [s, monotonic]; minus infinity for at once.
        late: How many ticks began more than a period after they were due.
        lost: Wall time given up [s].
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
        if behind > max(FORGIVEN, period):
            self.lost += behind
            self._grid = now
        self._grid += period
        self.due = max(self._grid, now + _HURRY * period)
