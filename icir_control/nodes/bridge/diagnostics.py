"""The bridge on `/diagnostics`, once a second, and simulation time on `/clock`."""

import time
from collections.abc import Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from icir_control.nodes.bridge.loop import Loop
from icir_control.nodes.bridge.wrench import WrenchInput

PERIOD = 1.0  # s of wall time
CLOCK_PERIOD = 0.01  # s of wall time between two messages, at least
_NANOSECONDS = 1_000_000_000


class BridgeDiagnostics:
    """`/diagnostics`: one status, named after the node."""

    def __init__(
        self,
        node: Node,
        loop: Loop,
        wrenches: WrenchInput,
        model: str,
        constants: Mapping[str, Any],
    ) -> None:
        """Create the publisher.

        Args:
            node: The bridge.
            loop: What is reported.
            wrenches: Receives the external wrenches.
            model: The robot's name.
            constants: Values that do not change, such as how the plant departs from the model.
        """
        self._loop = loop
        self._wrenches = wrenches
        self._malformed = 0
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 1)
        name = f'{node.get_fully_qualified_name()}: simulation'
        self._status = DiagnosticStatus(name=name, hardware_id=model)
        self._message = DiagnosticArray(status=[self._status])
        self._constants = constants
        self._wall = time.monotonic()
        self._time_ns = loop.world.time_ns

    def publish(self, now: float) -> None:
        """Report the time since the last report.

        Args:
            now: Wall time [s, monotonic].
        """
        loop = self._loop
        time_ns = loop.world.time_ns
        elapsed = max(now - self._wall, 1e-9)
        factor = (time_ns - self._time_ns) / _NANOSECONDS / elapsed
        self._wall, self._time_ns = now, time_ns
        stamp = self._message.header.stamp
        stamp.sec, stamp.nanosec = divmod(time_ns, _NANOSECONDS)
        self._status.level, self._status.message = self._summary(factor)
        values = self._values(factor)
        self._status.values = [
            KeyValue(key=key, value=str(value)) for key, value in values.items()
        ]
        loop.statistics.start_report()
        self._publisher.publish(self._message)

    def _summary(self, factor: float) -> tuple[bytes, str]:
        loop = self._loop
        if loop.blocked_by:
            return DiagnosticStatus.ERROR, loop.blocked_by
        if loop.has_timed_out:
            return DiagnosticStatus.WARN, f'no commands: {loop.missing()}'
        malformed, self._malformed = self._malformed, loop.commands.rejected.total()
        if self._malformed > malformed:
            return DiagnosticStatus.WARN, f'commands rejected: {loop.commands.last_rejection}'
        if loop.hold.is_paused:
            return DiagnosticStatus.OK, 'paused'
        if not loop.gate.has_admitted:
            return DiagnosticStatus.OK, 'waiting for the first command'
        return DiagnosticStatus.OK, f'running at {factor:.3g} times real time'

    def _values(self, factor: float) -> dict[str, Any]:
        loop, statistics = self._loop, self._loop.statistics
        rejected = loop.gate.refused + loop.commands.rejected + self._wrenches.refused
        trips = {}
        if statistics.trips:
            mean = statistics.trip_sum / statistics.trips
            trips['round_trip_mean_us'] = f'{1e6 * mean:.1f}'
            trips['round_trip_max_us'] = f'{1e6 * statistics.trip_max:.1f}'
        return {
            'real_time_factor': f'{factor:.4f}',
            'simulation_time': f'{loop.world.time_ns / _NANOSECONDS:.9g}',
            'command_age_max_steps': statistics.age_max,
            **trips,
            'missed': statistics.missed,
            'late_ticks': loop.pacer.late,
            'lost_wall_time': f'{loop.pacer.lost:.3f}',
            'saturated': statistics.saturated,
            'divergences': statistics.divergences,
            'rejected': rejected.total(),
            **{f'rejected.{kind}': count for kind, count in sorted(rejected.items())},
            **self._constants,
        }


class ClockPublisher:
    """`/clock`, for nodes that need the time alone."""

    def __init__(self, node: Node) -> None:
        """Create the publisher.

        Args:
            node: The node that publishes.
        """
        self._publisher = node.create_publisher(Clock, '/clock', 1)
        self._message = Clock()

    def publish(self, time_ns: int) -> None:
        """Publish the time.

        Args:
            time_ns: Simulation time [ns].
        """
        stamp = self._message.clock
        stamp.sec, stamp.nanosec = divmod(time_ns, _NANOSECONDS)
        self._publisher.publish(self._message)
