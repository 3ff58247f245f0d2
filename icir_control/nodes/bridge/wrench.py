"""Takes external wrenches from a topic and turns them into pushes of the plant."""

import time
from collections import Counter
from collections.abc import Callable

import numpy as np
from geometry_msgs.msg import WrenchStamped
from rclpy.node import Node

from icir_control.nodes.bridge.pushes import Push, PushSchedule

# A stamp further ahead [ns] is a wall clock's, which no simulation reaches.
FARTHEST = 60_000_000_000
_NANOSECONDS = 1_000_000_000
_QUEUE = 100
_QUIET = 1.0  # s of wall time between two messages of one kind


class WrenchInput:
    """`~/external_wrench`: a wrench at a link's origin, in the link's axes.

    Attributes:
        refused: How many messages were not taken, by kind.
    """

    def __init__(
        self,
        node: Node,
        schedule: PushSchedule,
        *,
        links: tuple[str, ...],
        hold: float,
        time_ns: Callable[[], int],
    ) -> None:
        """Subscribe.

        Args:
            node: The bridge.
            schedule: Where the pushes go.
            links: The links that can be pushed.
            hold: How long a push acts [s of simulation time].
            time_ns: Gives the simulation time [ns].
        """
        self._schedule = schedule
        self._links = frozenset(links)
        self._time_ns = time_ns
        self._logger = node.get_logger()
        self.refused: Counter[str] = Counter()
        self._quiet_until: dict[str, float] = {}
        self.hold(hold)
        node.create_subscription(WrenchStamped, '~/external_wrench', self._take, _QUEUE)

    def hold(self, hold: float) -> None:
        """Change how long the pushes that come from now on act [s of simulation time]."""
        self._hold_ns = round(hold * _NANOSECONDS)

    def _take(self, message: WrenchStamped) -> None:
        stamp = message.header.stamp
        start_ns = stamp.sec * _NANOSECONDS + stamp.nanosec
        force, torque = message.wrench.force, message.wrench.torque
        wrench = np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
        link = message.header.frame_id
        ahead = start_ns - self._time_ns()
        if link not in self._links:
            valid = ', '.join(sorted(self._links))
            self._refuse('unknown_link', f'no link {link!r}; valid frame_id: {valid}')
        elif not np.isfinite(wrench).all():
            self._refuse('not_finite', f'{wrench.tolist()} on {link!r} is not finite')
        elif ahead > FARTHEST:
            self._refuse(
                'wall_clock',
                f'its stamp is {ahead / _NANOSECONDS:.0f} s ahead of simulation time; at most'
                f' {FARTHEST // _NANOSECONDS} s are taken, and a stamp of zero means now',
            )
        else:
            self._schedule.add(Push(start_ns, self._hold_ns, link, wrench))

    def _refuse(self, kind: str, reason: str) -> None:
        self.refused[kind] += 1
        now = time.monotonic()
        # Each kind by itself: a flood of one must not hide another.
        if now >= self._quiet_until.get(kind, 0.0):
            self._quiet_until[kind] = now + _QUIET
            self._logger.warning(f'external wrench refused: {reason}')
