"""Waits for the hot topics, and serves everything slow of the node between two ticks."""

import os
import time
from collections.abc import Callable, Sequence

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from icir_control.nodes.transport.native import rclpy_implementation
from icir_control.nodes.transport.subscription import JointStateSubscription

# How often services, parameters and timers are looked after while messages keep coming [s].
SLOW_PERIOD = 0.01
# How long messages on a hot topic may go before them [s], and how often they are looked at then.
_SLOW_PATIENCE = 0.1
_SLOW_RETRY = 2e-3
# How long a node stays awake and looks for messages before it sleeps [s]. A processor that falls
# asleep has to be woken, once for each of two threads, by every message: in lockstep at full speed
# that takes longer than physics and control together.
LINGER = 100e-6
# After staying awake in vain a node sleeps at once 1, 3, 7 ... at most so many times.
_MOST_RESTS = 1023
_NANOSECONDS = 1e9
_SLOW_KINDS = ('service', 'client', 'timer', 'guard_condition')


class Waiter:
    """Blocks until a hot topic has a message; the node's other callbacks run meanwhile.

    A wait set that holds the hot subscriptions alone wakes up several times faster than an
    executor, which builds one with every entity of the node for each callback. The slow entities
    are waited for too, but only every `SLOW_PERIOD`; when one is ready, an executor serves it, in
    this thread. Without the wait set the executor does all of it.

    Attributes:
        slow_due: When the slow entities are to be looked after next [s of wall time, monotonic].
    """

    def __init__(
        self,
        node: Node,
        subscriptions: Sequence[JointStateSubscription],
        beside: 'Waiter | None' = None,
    ) -> None:
        """Take over the spinning of a node.

        Args:
            node: The node; no other executor may spin it.
            subscriptions: The hot subscriptions of the node.
            beside: The waiter of another node of this process, for both of which this one waits
                from now on.
        """
        self._nodes: tuple[Node, ...] = (node, *(beside._nodes if beside else ()))
        self._subscriptions = (*subscriptions, *(beside._subscriptions if beside else ()))
        self._executor = SingleThreadedExecutor(context=node.context)
        for one in self._nodes:
            self._executor.add_node(one)
        self._is_native = all(subscription.is_native for subscription in self._subscriptions)
        self.slow_due = 0.0
        self._put_off_until = 0.0
        self._rests = self._vain = 0
        if self._is_native:
            self._handles = [s.subscription.handle for s in self._subscriptions]
            hot = rclpy_implementation.WaitSet(
                len(self._handles), 0, 0, 0, 0, 0, node.context.handle
            )
            # Looking them up takes its time, on a path where every microsecond counts.
            self._clear, self._add, self._wait = (
                hot.clear_entities,
                hot.add_subscription,
                hot.wait,
            )

    def wait(self, now: float, until: float) -> None:
        """Wait for a message on a hot topic; whoever takes then finds out whether there is one.

        It may end early without: another callback of the node ran, and what the caller waits for
        may have changed, or the slow entities are due.

        Args:
            now: Wall time [s, monotonic].
            until: Latest time to end [s, monotonic]; not at all when it has passed.
        """
        slow_due = self.slow_due
        if now < slow_due:
            end = until if until < slow_due else slow_due
            if self._rests:
                self._rests -= 1
            elif self._has_lingered(now, end):
                return
            else:
                now = time.monotonic()
            left = end - now
            self._clear()
            for handle in self._handles:
                self._add(handle)
            # A negative time would mean without end.
            self._wait(int(left * _NANOSECONDS) if left > 0.0 else 0)
        elif self._is_native:
            self._wait_all(max(until - now, 0.0))
        else:
            self._executor.spin_once(max(until - now, 0.0))

    def _has_lingered(self, now: float, until: float) -> bool:
        """Stay awake for a moment; return whether a message came meanwhile.

        The threads of the middleware that bring the message need a processor, and so may the
        other node: both get this one. Where somebody else wants it all the time, that takes
        milliseconds; where messages come once in a millisecond, none comes in so short a moment.
        In both cases it is not tried again for a while.
        """
        awake = min(now + LINGER, until)
        while now < awake:
            for subscription in self._subscriptions:
                if subscription.has_arrived():
                    self._vain >>= 1
                    return True
            os.sched_yield()
            now = time.monotonic()
        self._rests = self._vain = min(2 * self._vain + 1, _MOST_RESTS)
        return False

    def serve_until(self, is_done: Callable[[], bool]) -> None:
        """Run callbacks of the node, those that were suspended first, until a condition holds.

        Args:
            is_done: The condition, which a callback brings about.
        """
        while not is_done():
            self._executor.spin_once(0.0)

    def close(self) -> None:
        """Give the node up."""
        self._executor.shutdown()

    def _wait_all(self, timeout_s: float) -> None:
        """Wait for every entity; have the executor serve one that is slow."""
        nodes = self._nodes
        hot = set(map(id, self._handles))
        slow = [s.handle for node in nodes for s in node.subscriptions if id(s.handle) not in hot]
        services = [service.handle for node in nodes for service in node.services]
        clients = [client.handle for node in nodes for client in node.clients]
        timers = [timer.handle for node in nodes for timer in node.timers]
        guards = [guard.handle for node in nodes for guard in node.guards]
        count = len(self._handles)
        wait_set = rclpy_implementation.WaitSet(
            count + len(slow),
            len(guards),
            len(timers),
            len(clients),
            len(services),
            0,
            nodes[0].context.handle,
        )
        wait_set.clear_entities()
        for handles, add in (
            (self._handles + slow, wait_set.add_subscription),
            (services, wait_set.add_service),
            (clients, wait_set.add_client),
            (timers, wait_set.add_timer),
            (guards, wait_set.add_guard_condition),
        ):
            for handle in handles:
                add(handle)
        wait_set.wait(int(timeout_s * _NANOSECONDS))
        is_slow_ready = any(map(wait_set.get_ready_entities, _SLOW_KINDS)) or any(
            wait_set.is_ready('subscription', count + i) for i in range(len(slow))
        )
        is_hot_ready = any(wait_set.is_ready('subscription', i) for i in range(count))
        now = time.monotonic()
        if not is_slow_ready:
            self.slow_due = now + SLOW_PERIOD
            self._put_off_until = self.slow_due + _SLOW_PATIENCE
        elif not is_hot_ready or now > self._put_off_until:
            # One callback; the next call looks again, in case others are ready.
            self._executor.spin_once(0.0)
        else:
            self.slow_due = now + _SLOW_RETRY
