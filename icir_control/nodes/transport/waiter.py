"""Waits for states or commands, and serves the other callbacks of the node between two ticks."""

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.action import ActionServer
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from icir_control.nodes.transport.conversions import NANOSECONDS
from icir_control.nodes.transport.endpoints import (
    ENTITIES,
    JointStateSubscription,
    rclpy_implementation,
)

# How often services, parameters and timers are checked while messages keep coming [s].
SLOW_PERIOD = 0.01
# Messages have precedence over them for at most so long [s]; they are checked this often then [s].
_SLOW_TIMEOUT = 0.1
_SLOW_RETRY = 2e-3
# How long a node polls for messages before it blocks [s]. A processor that goes idle has to be
# woken, once for each of two threads, by every message: in lockstep at full speed that takes
# longer than physics and control together. On a single processor polling would only keep the
# other process waiting.
POLL_TIME = 100e-6
# After polling without success a node blocks at once in the next 1, 3, 7 ... waits, at most:
_MOST_BLOCKING_WAITS = 1023
# It polls again once a message has come so soon after the one before [s]: another program had
# interrupted, and messages do not come once in a millisecond.
_SHORT_PERIOD = 500e-6
# A processor that was yielded for longer was taken by another program [s].
_LONG_YIELD = 200e-6
# Once may happen. Where it happens again so soon [s], none is yielded for a while, each time for
# twice as long as the time before, between the shortest and the longest [s]. Beside a program
# that works for a moment now and then it is faster to yield; beside two that never rest, not to.
_SOON = 4e-3
_SHORTEST_NO_YIELD, _LONGEST_NO_YIELD = 1e-3, 0.064


class Waiter:
    """Waits until a subscription has a message; the node's other callbacks run meanwhile.

    A wait set that holds these subscriptions alone wakes up several times faster than an executor,
    which builds one with every entity of the node for each callback. The other entities are
    checked every `SLOW_PERIOD`; when one is ready, an executor serves it, in this thread. Without
    the wait set the executor does all of it.

    Attributes:
        slow_due: When the other entities are to be checked next [s of wall time, monotonic].
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
            subscriptions: The subscriptions to wait for.
            beside: The waiter of another node of this process; this one serves both from now on.
        """
        self._nodes: list[Node] = [node]
        self._subscriptions = list(subscriptions)
        if beside is not None:
            self._nodes += beside._nodes
            self._subscriptions += beside._subscriptions
        self._executor = SingleThreadedExecutor(context=node.context)
        for one in self._nodes:
            self._executor.add_node(one)
        self._is_native = all(subscription.is_native for subscription in self._subscriptions)
        self.slow_due = 0.0
        self._postponed_until = 0.0
        self._blocking_waits = self._failures = 0
        self._poll_time = POLL_TIME if _processors() > 1 else 0.0
        self._may_yield_from = self._no_yield = self._arrival = 0.0
        if self._is_native:
            self._handles: list[Any] = [s.subscription.handle for s in self._subscriptions]
            fast = self._wait_set(len(self._handles))
            # Bound once, because every microsecond counts.
            self._clear, self._add = fast.clear_entities, fast.add_subscription
            self._wait = fast.wait

    def wait(self, now: float, until: float) -> None:
        """Wait for a message; the caller takes it, if there is one.

        It may return early without one: another callback of the node ran, which may have changed
        what the caller waits for, or the other entities are due.

        Args:
            now: Wall time [s, monotonic].
            until: Latest time to return [s, monotonic]; a time in the past does not wait.
        """
        slow_due = self.slow_due
        if now < slow_due:
            end = until if until < slow_due else slow_due
            if self._blocking_waits:
                self._blocking_waits -= 1
            elif self._poll(now, end):
                return
            else:
                now = time.monotonic()
            left = end - now
            self._clear()
            for handle in self._handles:
                self._add(handle)
            # A negative time would mean without end.
            self._wait(int(left * NANOSECONDS) if left > 0.0 else 0)
            woken = time.monotonic()
            if woken < end:
                if woken - self._arrival < _SHORT_PERIOD:
                    self._blocking_waits = self._failures = 0
                self._arrival = woken
        elif self._is_native:
            self._wait_for_all(max(until - now, 0.0))
        else:
            self._executor.spin_once(max(until - now, 0.0))

    def _poll(self, now: float, until: float) -> bool:
        """Poll for a message for a moment; return whether one has come.

        Between two looks other threads get the processor: those of the middleware that bring the
        message, and the other node. Another program, of whatever priority, may keep it for
        milliseconds: where one does again and again, the processor is not yielded for a while, and
        the threads of the middleware interrupt the polling one. Where messages come every
        millisecond, none comes in so short a time: polling is left out for a number of waits that
        doubles with each failure, or until two messages come one soon after the other.
        """
        end = min(now + self._poll_time, until)
        while now < end:
            for subscription in self._subscriptions:
                if subscription.has_arrived():
                    self._failures >>= 1
                    self._arrival = now
                    return True
            looked_at = now
            if now >= self._may_yield_from:
                os.sched_yield()
            now = time.monotonic()
            if now - looked_at > _LONG_YIELD:
                is_again = looked_at - self._may_yield_from < _SOON
                longer = min(max(2.0 * self._no_yield, _SHORTEST_NO_YIELD), _LONGEST_NO_YIELD)
                self._no_yield = longer if is_again else 0.0
                self._may_yield_from = now + self._no_yield
        self._failures = min(2 * self._failures + 1, _MOST_BLOCKING_WAITS)
        self._blocking_waits = self._failures
        return False

    def serve_until(self, is_done: Callable[[], bool]) -> None:
        """Run callbacks of the node, suspended ones first, until one makes a condition true.

        Args:
            is_done: The condition.
        """
        while not is_done():
            self._executor.spin_once(0.0)

    def close(self) -> None:
        """Stop serving the node."""
        self._executor.shutdown()

    def _wait_set(self, *counts: int) -> Any:
        """Return a wait set with room for so many of each of `ENTITIES`."""
        context = self._nodes[0].context.handle
        rest = len(ENTITIES) - len(counts)
        return rclpy_implementation.WaitSet(*counts, *[0] * rest, 0, context)

    def _wait_for_all(self, timeout_s: float) -> None:
        """Wait for every entity; have the executor serve one that is not a message of ours."""
        nodes = self._nodes
        fast = set(map(id, self._handles))
        others = [s for node in nodes for s in node.subscriptions if id(s.handle) not in fast]
        handles = [
            self._handles + [subscription.handle for subscription in others],
            [guard.handle for node in nodes for guard in node.guards],
            [timer.handle for node in nodes for timer in node.timers],
            [client.handle for node in nodes for client in node.clients],
            [service.handle for node in nodes for service in node.services],
        ]
        actions = [w for node in nodes for w in node.waitables if isinstance(w, ActionServer)]
        counts = [len(of_kind) for of_kind in handles]
        for action in actions:
            numbers = action.get_num_entities()
            counts[2] += numbers.num_timers
            counts[4] += numbers.num_services
        wait_set = self._wait_set(*counts)
        wait_set.clear_entities()
        for kind, of_kind in zip(ENTITIES, handles, strict=True):
            add = getattr(wait_set, f'add_{kind}')
            for handle in of_kind:
                add(handle)
        for action in actions:
            action.add_to_wait_set(wait_set)
        wait_set.wait(int(timeout_s * NANOSECONDS))
        count = len(self._handles)
        is_slow_ready = any(map(wait_set.get_ready_entities, ENTITIES[1:])) or any(
            wait_set.is_ready('subscription', count + i) for i in range(len(others))
        )
        has_message = any(wait_set.is_ready('subscription', i) for i in range(count))
        now = time.monotonic()
        if not is_slow_ready:
            self.slow_due = now + SLOW_PERIOD
            self._postponed_until = self.slow_due + _SLOW_TIMEOUT
        elif not has_message or now > self._postponed_until:
            # One callback; the next call checks for others.
            self._executor.spin_once(0.0)
        else:
            self.slow_due = now + _SLOW_RETRY


def _processors() -> int:
    """Return on how many processors this process may run."""
    if hasattr(os, 'sched_getaffinity'):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
