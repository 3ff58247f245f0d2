"""What a running loop does now and then by wall time, between two ticks."""

from collections.abc import Callable

Chore = Callable[[float], None]


class Housekeeping:
    """Runs chores at their own periods of wall time.

    The loop compares one number per tick; nothing runs in another thread.

    Attributes:
        due: Wall time of the next chore [s, monotonic].
    """

    def __init__(self) -> None:
        """Start with nothing to do."""
        self._chores: list[tuple[float, Chore]] = []
        self._dues: list[float] = []
        self.due = float('inf')

    def every(self, period: float, chore: Chore) -> None:
        """Add a chore, due at once and then every `period` seconds; it is given the wall time."""
        self._chores.append((period, chore))
        self._dues.append(-float('inf'))
        self.due = -float('inf')

    def run(self, now: float) -> None:
        """Run what is due.

        Args:
            now: Wall time [s, monotonic].
        """
        for i, (period, chore) in enumerate(self._chores):
            if self._dues[i] <= now:
                chore(now)
                on_grid = self._dues[i] + period
                self._dues[i] = on_grid if on_grid > now else now + period
        self.due = min(self._dues, default=float('inf'))
