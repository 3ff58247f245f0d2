"""Where the states of the arm come from: nobody, somebody, or two at once."""

import gc
import time
from collections import deque

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from icir_control.control import Controller
from icir_control.nodes.controller.status import key_values, limits_of
from icir_control.nodes.publishers import Publishers
from icir_control.nodes.transport import JointStateSubscription

SILENCE = 1.0  # s of wall time without a state until that is said
PERIOD = 1.0  # s of wall time between two diagnostics

_KEPT_TOKENS = 16


class StateWatch:
    """Says once when states stop, when they return, and when two nodes publish them.

    A run's token never comes back after another one: if it does, two publishers are at work, and
    their states are answered by nobody until one of them is silent for `SILENCE`.
    """

    def __init__(
        self,
        node: Node,
        states: JointStateSubscription,
        controller: Controller,
        publishers: Publishers,
    ) -> None:
        """Begin to watch.

        Args:
            node: The node whose log and diagnostics tell what is seen.
            states: The subscription that is watched.
            controller: Whose mode the diagnostics tell.
            publishers: Tells who publishes states.
        """
        self._node = node
        self._states = states
        self._controller = controller
        self._publishers = publishers
        self.topic: str = states.topic_name
        self._heard = time.monotonic()
        self._is_silent = False
        self._ticks = 0
        self._tokens: deque[str] = deque(maxlen=_KEPT_TOKENS)
        self._contested_until = 0.0
        self._is_contested = False
        self._told_rejected = 0
        self._diagnostics = node.create_publisher(DiagnosticArray, '/diagnostics', 1)
        node.create_timer(PERIOD, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME))

    def hear(self) -> None:
        """Take note of an answered state."""
        self._heard = time.monotonic()
        self._ticks += 1
        if self._is_silent:
            self._is_silent = False
            self._node.get_logger().info(f'states on {self.topic} are back')

    def accept(self, token: str) -> bool:
        """Return whether a new start with this token is to be taken for one."""
        now = self._heard = time.monotonic()
        if token in self._tokens and token != self._tokens[-1]:
            self._contested_until = now + SILENCE
        if now < self._contested_until:
            if not self._is_contested:
                self._is_contested = True
                names = ', '.join(self._publishers.on(self.topic))
                self._node.get_logger().error(
                    f'more than one node sends states on {self.topic}: {names};'
                    ' none is answered until one is left'
                )
            self._keep(token)
            return False
        self._is_contested = False
        self._keep(token)
        return True

    def look(self) -> None:
        """Say it when no state has come for long; called while there is none."""
        if not self._is_silent and time.monotonic() - self._heard > SILENCE:
            self._is_silent = True
            self._node.get_logger().warning(self._why_silent())

    def _keep(self, token: str) -> None:
        if token in self._tokens:
            self._tokens.remove(token)
        self._tokens.append(token)

    def _why_silent(self) -> str:
        publishers = self._publishers.on(self.topic)
        if not publishers:
            return f'no states: nobody publishes {self.topic}; is the bridge running?'
        rejected = sum(self._states.rejected.values())
        reason = f'; the last one rejected: {self._states.last_rejection}' if rejected else ''
        return f'no states on {self.topic} from {", ".join(publishers)}{reason}'

    def _report(self) -> None:
        """Publish the diagnostics, and collect garbage where no command waits for it."""
        for stranger in self._publishers.new_strangers(self.topic):
            self._states.rejected['wrong_type'] += 1
            self._node.get_logger().warning(stranger)
        publishers = self._publishers.on(self.topic)
        rejected = dict(self._states.rejected)
        level, message = DiagnosticStatus.OK, self._controller.mode or 'waiting for a state'
        if self._is_silent:
            level, message = DiagnosticStatus.WARN, self._why_silent()
        elif sum(rejected.values()) > self._told_rejected:
            level = DiagnosticStatus.WARN
            message = f'states rejected; the last one: {self._states.last_rejection}'
        if len(publishers) > 1:
            level = DiagnosticStatus.ERROR
            message = f'several nodes publish {self.topic}: {", ".join(publishers)}'
        self._told_rejected = sum(rejected.values())
        values = {
            'mode': self._controller.mode,
            'states answered': self._ticks,
            'states rejected': ', '.join(f'{n} {kind}' for kind, n in rejected.items()) or 0,
            'publishers of states': ', '.join(publishers),
            **limits_of(self._controller),
        }
        status = DiagnosticStatus(
            level=level,
            name=f'{self._node.get_fully_qualified_name()}: states',
            message=message,
            values=key_values(values),
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = self._node.get_clock().now().to_msg()
        self._diagnostics.publish(array)
        gc.collect()
