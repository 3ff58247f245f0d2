"""The states that the controller receives: do they continue, have they stopped, who sends them?"""

import gc
import time
from collections import deque
from collections.abc import Callable

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from numpy.typing import NDArray
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from icir_control.compiled import bound, kernel
from icir_control.control import Controller
from icir_control.control.period import LONGEST_GAP
from icir_control.nodes.controller.telemetry import limits_of
from icir_control.nodes.process.graph import Publishers
from icir_control.nodes.transport.conversions import diagnostics, key_values
from icir_control.nodes.transport.endpoints import JointStateSubscription

STATE_TIMEOUT = 1.0  # s of wall time without a state until that is reported
PERIOD = 1.0  # s of wall time between two diagnostics

FASTEST_JOINT = 10.0  # rad/s or m/s, where the model sets no limit

_KEPT_TOKENS = 16


class StartDetector:
    """Compares each state of the arm with the one before: does it continue it?"""

    def __init__(self, velocity_limit: NDArray[np.float64]) -> None:
        """Compile; the first state is a new start.

        Args:
            velocity_limit: (nv,) of the joints [rad/s or m/s].
        """
        self._margin = np.minimum(velocity_limit, FASTEST_JOINT)
        self._last = np.zeros((2, len(velocity_limit)))
        self._stamp_ns = 0
        self._token: str | None = None
        self._jumps: Callable[..., bool] = bound(
            keep_state, *self._last, self._last, self._margin, 0.0
        )

    def repeats(self, stamp_ns: int, token: str) -> bool:
        """Return whether a state is the last one, received again."""
        return stamp_ns == self._stamp_ns and token == self._token

    def forget(self) -> None:
        """Treat the next state as the first one."""
        self._token = None

    def reason(
        self,
        stamp_ns: int,
        token: str,
        position: NDArray[np.float64],
        velocity: NDArray[np.float64],
    ) -> str:
        """Return why this state begins anew; empty where it goes on from the last one.

        Args:
            stamp_ns: Simulation time [ns].
            token: Of the bridge's run.
            position: (nv,) [rad or m].
            velocity: (nv,) [rad/s or m/s].
        """
        elapsed = (stamp_ns - self._stamp_ns) * 1e-9
        jumps = self._jumps(position, velocity, self._last, self._margin, elapsed)
        if token != self._token:
            reason = 'the first state' if self._token is None else 'another run'
        elif elapsed < 0.0:
            reason = 'time went back'
        elif elapsed > LONGEST_GAP:
            reason = f'{elapsed:.3g} s without a state'
        else:
            reason = 'the arm jumped' if jumps else ''
        self._stamp_ns = stamp_ns
        self._token = token
        return reason


@kernel
def keep_state(
    position: NDArray[np.float64],
    velocity: NDArray[np.float64],
    last: NDArray[np.float64],
    margin: NDArray[np.float64],
    elapsed: float,
) -> bool:
    """Keep a state as the last one; return whether a joint moved further than it could.

    Between two states a joint moves by about its speed times the time between them: twice the
    greater of the two speeds, and its greatest speed on top, leave room for any push.

    Args:
        position: (nv,) [rad or m].
        velocity: (nv,) [rad/s or m/s].
        last: (2, nv) position and velocity of the last state, overwritten.
        margin: (nv,) [rad/s or m/s].
        elapsed: Time since the last state [s].
    """
    jumps = False
    for i in range(position.shape[0]):
        speed = 2.0 * max(abs(velocity[i]), abs(last[1, i])) + margin[i]
        if abs(position[i] - last[0, i]) > speed * elapsed:
            jumps = True
        last[0, i] = position[i]
        last[1, i] = velocity[i]
    return jumps


class StateMonitor:
    """Reports when states stop, when they are back, and when two nodes publish them.

    The token of a run never comes back after another one. If it does, there are two publishers,
    and no state is answered until one of them has stopped for `STATE_TIMEOUT`.
    """

    def __init__(self, node: Node, states: JointStateSubscription, controller: Controller) -> None:
        """Start the diagnostics.

        Args:
            node: The node that logs and publishes diagnostics.
            states: The subscription that is monitored.
            controller: Its mode and limits are part of the diagnostics.
        """
        self._node = node
        self._states = states
        self._controller = controller
        self._publishers = Publishers(node)
        self._topic = states.topic_name
        self._received_at = time.monotonic()
        self._has_timed_out = False
        self._ticks = 0
        self._tokens: deque[str] = deque(maxlen=_KEPT_TOKENS)
        self._duplicate_until = 0.0
        self._has_duplicate = False
        self._reported_rejections = 0
        self._diagnostics = node.create_publisher(DiagnosticArray, '/diagnostics', 1)
        node.create_timer(PERIOD, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def count_answer(self) -> None:
        """Count an answered state."""
        self._received_at = time.monotonic()
        self._ticks += 1
        if self._has_timed_out:
            self._has_timed_out = False
            self._node.get_logger().info(f'states on {self._topic} are back')

    def accepts_start(self, token: str) -> bool:
        """Return whether a state that does not continue the last one is a new start.

        Args:
            token: Of its run.
        """
        now = self._received_at = time.monotonic()
        if token in self._tokens and token != self._tokens[-1]:
            self._duplicate_until = now + STATE_TIMEOUT
        has_duplicate = now < self._duplicate_until
        if has_duplicate and not self._has_duplicate:
            names = ', '.join(self._publishers.on(self._topic))
            self._node.get_logger().error(
                f'more than one node sends states on {self._topic}: {names};'
                ' none is answered until only one is left'
            )
        self._has_duplicate = has_duplicate
        if token in self._tokens:
            self._tokens.remove(token)
        self._tokens.append(token)
        return not has_duplicate

    def check_timeout(self) -> None:
        """Log once that states have stopped; called while there is none."""
        if not self._has_timed_out and time.monotonic() - self._received_at > STATE_TIMEOUT:
            self._has_timed_out = True
            self._node.get_logger().warning(self._describe_timeout())

    def _describe_timeout(self) -> str:
        publishers = self._publishers.on(self._topic)
        if not publishers:
            return f'no states: no node publishes {self._topic}; is the bridge running?'
        rejected = self._states.rejected.total()
        reason = f'; the last one rejected: {self._states.last_rejection}' if rejected else ''
        return f'no states on {self._topic} from {", ".join(publishers)}{reason}'

    def _report(self) -> None:
        """Publish the diagnostics, and collect garbage between two ticks."""
        self._publishers.count_wrong_types(self._states)
        publishers = self._publishers.on(self._topic)
        rejected = self._states.rejected
        idle = (
            'no mode: braked and held, or held against gravity'
            if self._ticks
            else 'waiting for a state'
        )
        level, message = DiagnosticStatus.OK, self._controller.mode or idle
        if self._has_timed_out:
            level, message = DiagnosticStatus.WARN, self._describe_timeout()
        elif rejected.total() > self._reported_rejections:
            level = DiagnosticStatus.WARN
            message = f'states rejected; the last one: {self._states.last_rejection}'
        if len(publishers) > 1:
            level = DiagnosticStatus.ERROR
            message = f'several nodes publish {self._topic}: {", ".join(publishers)}'
        self._reported_rejections = rejected.total()
        values = {
            'mode': self._controller.mode,
            'states answered': self._ticks,
            'states rejected': ', '.join(f'{n} {kind}' for kind, n in rejected.items()) or 0,
            'publishers of states': ', '.join(publishers),
            **limits_of(self._controller),
        }
        name = f'{self._node.get_fully_qualified_name()}: states'
        status = DiagnosticStatus(
            level=level, name=name, message=message, values=key_values(values)
        )
        self._diagnostics.publish(diagnostics(status, self._states.stamp_ns))
        gc.collect()
