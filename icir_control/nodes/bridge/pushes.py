"""Wrenches on links, each from one instant of simulation time to another."""

from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

_NEVER = 2**63 - 1


@dataclass(frozen=True, order=True)
class Push:
    """A wrench on a link for a while; ordered by its start.

    Attributes:
        start_ns: Simulation time from which it acts [ns].
        hold_ns: How long it acts [ns].
        link: Name of the link.
        wrench: (6,) at the link's origin in the link's axes, linear part first [N, N m].
    """

    start_ns: int
    hold_ns: int = field(compare=False)
    link: str = field(compare=False)
    wrench: np.ndarray = field(compare=False)


class PushSchedule:
    """Starts and ends pushes by simulation time, so that every run sees the same.

    On one link the push that starts last counts: it ends the one before.

    Attributes:
        next_change_ns: Simulation time at which `update` has something to do [ns].
    """

    def __init__(
        self, start: Callable[[str, np.ndarray], None], end: Callable[[str], None]
    ) -> None:
        """Keep the two ways to act on the plant.

        Args:
            start: Called with link and wrench when a push starts to act.
            end: Called with the link when it does not act any more.
        """
        self._start = start
        self._end = end
        self._waiting: list[Push] = []
        self._ends: dict[str, int] = {}
        self.next_change_ns = _NEVER

    @property
    def links(self) -> tuple[str, ...]:
        """The links that are pushed now."""
        return tuple(self._ends)

    def add(self, push: Push) -> None:
        """Take a push; one that should have started already starts at the next update."""
        insort(self._waiting, push)
        self._plan()

    def update(self, now_ns: int) -> None:
        """Start and end what is due.

        Args:
            now_ns: Simulation time at the beginning of a step [ns].
        """
        for link in [link for link, end_ns in self._ends.items() if end_ns <= now_ns]:
            del self._ends[link]
            self._end(link)
        while self._waiting and self._waiting[0].start_ns <= now_ns:
            push = self._waiting.pop(0)
            # From the step that feels it first, so that it lasts as long wherever it falls.
            self._ends[push.link] = now_ns + push.hold_ns
            self._start(push.link, push.wrench)
        self._plan()

    def clear(self) -> None:
        """End and forget all pushes."""
        for link in self._ends:
            self._end(link)
        self._ends.clear()
        self._waiting.clear()
        self._plan()

    def _plan(self) -> None:
        starts = [push.start_ns for push in self._waiting[:1]]
        self.next_change_ns = min([*starts, *self._ends.values()], default=_NEVER)
