"""External wrenches: a topic whose messages push links, each for a span of simulation time."""

import time
from bisect import insort
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node
from std_msgs.msg import Header

from icir_control.nodes.transport.conversions import (
    NANOSECONDS,
    nanoseconds_of,
    stamp_of,
    wrench_numbers,
    wrench_of,
)

# A stamp further ahead [ns] is that of a wall clock.
MAX_AHEAD = 60_000_000_000
_NEVER = 2**63 - 1
_QUEUE = 100
_NOTHING = np.zeros(6)
_LOG_PERIOD = 1.0  # s of wall time, at least, between two messages of one kind


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

    On each link the push that started last acts: it ends the one before.

    Attributes:
        next_change_ns: Simulation time at which `update` has something to do [ns].
        changed: Called with the simulation time [ns], the link, and the wrench that acts on it
            from then on, which is zero at the end of a push.
    """

    def __init__(
        self, start: Callable[[str, np.ndarray], None], end: Callable[[str], None]
    ) -> None:
        """Keep the functions that act on the plant.

        Args:
            start: Called with link and wrench when a push starts.
            end: Called with the link when no push acts on it any more.
        """
        self._start = start
        self._end = end
        self._waiting: list[Push] = []
        self._ends: dict[str, int] = {}
        self.next_change_ns = _NEVER
        self.changed: Callable[[int, str, np.ndarray], object] = lambda *_: None

    def add(self, push: Push) -> None:
        """Add a push; one whose start is in the past starts at the next update."""
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
            self.changed(now_ns, link, _NOTHING)
        while self._waiting and self._waiting[0].start_ns <= now_ns:
            push = self._waiting.pop(0)
            # Counted from its first step, so that it lasts as long wherever it falls between two.
            self._ends[push.link] = now_ns + push.hold_ns
            self._start(push.link, push.wrench)
            self.changed(now_ns, push.link, push.wrench)
        self._plan()

    def clear(self, now_ns: int) -> None:
        """End and forget all pushes.

        Args:
            now_ns: Simulation time [ns].
        """
        for link in self._ends:
            self._end(link)
            self.changed(now_ns, link, _NOTHING)
        self._ends.clear()
        self._waiting.clear()
        self._plan()

    def _plan(self) -> None:
        starts = [push.start_ns for push in self._waiting[:1]]
        self.next_change_ns = min([*starts, *self._ends.values()], default=_NEVER)


class WrenchInput:
    """`~/external_wrench`, at a link's origin in its axes, and `~/applied_wrench`, what acts.

    Attributes:
        refused: Number of refused messages by kind, such as `wrench.not_finite`.
    """

    def __init__(
        self,
        node: Node,
        schedule: PushSchedule,
        *,
        links: tuple[str, ...],
        hold: Callable[[], float],
        time_ns: Callable[[], int],
    ) -> None:
        """Subscribe.

        Args:
            node: The bridge.
            schedule: Receives the pushes; what it does with them is published.
            links: The links that can be pushed: those that move.
            hold: Gives how long a push that comes now acts [s of simulation time].
            time_ns: Gives the simulation time [ns].
        """
        self._schedule = schedule
        self._links = links
        self._time_ns = time_ns
        self._logger = node.get_logger()
        self.refused: Counter[str] = Counter()
        self._log_due: dict[str, float] = {}
        self._hold = hold
        node.create_subscription(WrenchStamped, '~/external_wrench', self._take, _QUEUE)
        self._publisher = node.create_publisher(WrenchStamped, '~/applied_wrench', _QUEUE)
        schedule.changed = self._publish

    def _take(self, message: WrenchStamped) -> None:
        start_ns = nanoseconds_of(message.header.stamp)
        wrench = wrench_numbers(message.wrench)
        link = message.header.frame_id
        ahead = start_ns - self._time_ns()
        if link not in self._links:
            valid = ', '.join(sorted(self._links))
            self._refuse(
                'unknown_link', f'{link!r} is not a link that moves; valid frame_id: {valid}'
            )
        elif not np.isfinite(wrench).all():
            self._refuse('not_finite', f'{wrench.tolist()} on {link!r} is not finite')
        elif ahead > MAX_AHEAD:
            self._refuse(
                'wall_clock',
                f'its stamp is {ahead / NANOSECONDS:.0f} s ahead of simulation time; at most'
                f' {MAX_AHEAD // NANOSECONDS} s are accepted, and a stamp of zero means now',
            )
        else:
            hold_ns = round(self._hold() * NANOSECONDS)
            self._schedule.add(Push(start_ns, hold_ns, link, wrench))

    def _publish(self, now_ns: int, link: str, wrench: np.ndarray) -> None:
        header = Header(stamp=stamp_of(now_ns), frame_id=link)
        self._publisher.publish(WrenchStamped(header=header, wrench=wrench_of(wrench)))

    def _refuse(self, kind: str, reason: str) -> None:
        self.refused[f'wrench.{kind}'] += 1
        now = time.monotonic()
        # Each kind by itself, so that many of one do not hide another.
        if now >= self._log_due.get(kind, 0.0):
            self._log_due[kind] = now + _LOG_PERIOD
            self._logger.warning(f'external wrench refused: {reason}')
