"""The bridge on `/diagnostics`."""

import time
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node
from rclpy.time import Time

from icir_control.nodes.bridge.loop import Loop
from icir_control.nodes.bridge.wrench import WrenchInput
from icir_control.nodes.transport.messages import NANOSECONDS


class BridgeDiagnostics:
    """`/diagnostics`: one status, named after the node."""

    def __init__(self, node: Node, loop: Loop, wrenches: WrenchInput) -> None:
        """Create the publisher.

        Args:
            node: The bridge.
            loop: What is reported.
            wrenches: Receives the external wrenches.
        """
        self._loop = loop
        self._wrenches = wrenches
        self._malformed = 0
        self._publisher = node.create_publisher(DiagnosticArray, '/diagnostics', 1)
        self._name = f'{node.get_fully_qualified_name()}: simulation'
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
        factor = (time_ns - self._time_ns) / NANOSECONDS / elapsed
        self._wall, self._time_ns = now, time_ns
        level, message = self._summary(factor)
        values = [KeyValue(key=key, value=str(v)) for key, v in self._values(factor).items()]
        loop.statistics.start_report()
        status = DiagnosticStatus(
            level=level,
            name=self._name,
            message=message,
            hardware_id=loop.config.model.name,
            values=values,
        )
        array = DiagnosticArray(status=[status])
        array.header.stamp = Time(nanoseconds=time_ns).to_msg()
        self._publisher.publish(array)

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
            'simulation_time': f'{loop.world.time_ns / NANOSECONDS:.9g}',
            'command_age_max_steps': statistics.age_max,
            **trips,
            'missed': statistics.missed,
            'late_ticks': loop.pacer.late,
            'lost_wall_time': f'{loop.pacer.lost:.3f}',
            'saturated': statistics.saturated,
            'divergences': statistics.divergences,
            'rejected': rejected.total(),
            **{f'rejected.{kind}': count for kind, count in sorted(rejected.items())},
            'lockstep': loop.config.lockstep,
            'paused': loop.hold.is_paused,
            **{f'plant.{name}': v for name, v in loop.config.plant.differences.items()},
        }
