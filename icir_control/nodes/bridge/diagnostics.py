"""What the bridge says of itself once a second: pace, delays, and what went wrong."""

import time
from collections import Counter
from collections.abc import Callable, Mapping

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.node import Node
from rclpy.qos import QoSProfile

from icir_control.nodes.bridge.loop import Loop
from icir_control.nodes.bridge.wrench import WrenchInput
from icir_control.nodes.transport import JointStateSubscription

PERIOD = 1.0  # s of wall time
_NANOSECONDS = 1_000_000_000
_MICROSECONDS = 1e6


class BridgeDiagnostics:
    """`/diagnostics`: one status, named after the node."""

    def __init__(
        self,
        node: Node,
        loop: Loop,
        *,
        model: str,
        constants: Mapping[str, object],
        commands: JointStateSubscription,
        wrenches: WrenchInput,
        missing: Callable[[], str],
    ) -> None:
        """Create the publisher.

        Args:
            node: The bridge.
            loop: What is reported.
            model: The robot's name.
            constants: Values that do not change, such as how the plant departs from the model.
            commands: Where the commands come from.
            wrenches: Where the external wrenches come from.
            missing: Says who should have sent commands.
        """
        self._loop = loop
        self._commands = commands
        self._wrenches = wrenches
        self._malformed = 0
        self._missing = missing
        self._publisher = node.create_publisher(
            DiagnosticArray, '/diagnostics', QoSProfile(depth=1)
        )
        self._status = DiagnosticStatus(
            name=f'{node.get_fully_qualified_name()}: simulation', hardware_id=model
        )
        self._message = DiagnosticArray(status=[self._status])
        self._constants = {name: str(value) for name, value in constants.items()}
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
        values = {
            'real_time_factor': f'{factor:.4f}',
            'simulation_time': f'{time_ns / _NANOSECONDS:.9g}',
            **self._delays(),
            **self._counts(),
            **self._constants,
        }
        self._status.values = [KeyValue(key=key, value=value) for key, value in values.items()]
        loop.statistics.start_report()
        self._publisher.publish(self._message)

    def _summary(self, factor: float) -> tuple[bytes, str]:
        loop = self._loop
        if loop.obstacle:
            return DiagnosticStatus.ERROR, loop.obstacle
        if loop.is_silent:
            return DiagnosticStatus.WARN, f'no commands: {self._missing()}'
        malformed, self._malformed = self._malformed, self._commands.rejected.total()
        if self._malformed > malformed:
            return DiagnosticStatus.WARN, f'commands rejected: {self._commands.last_rejection}'
        if loop.hold.is_paused:
            return DiagnosticStatus.OK, 'paused'
        if not loop.gate.has_admitted:
            return DiagnosticStatus.OK, 'waiting for the first command'
        return DiagnosticStatus.OK, f'running at {factor:.3g} times real time'

    def _delays(self) -> dict[str, str]:
        statistics = self._loop.statistics
        values = {'command_age_max_steps': str(statistics.age_max)}
        if statistics.trips:
            mean = statistics.trip_sum / statistics.trips
            values['round_trip_mean_us'] = f'{mean * _MICROSECONDS:.1f}'
            values['round_trip_max_us'] = f'{statistics.trip_max * _MICROSECONDS:.1f}'
        return values

    def _counts(self) -> dict[str, str]:
        loop = self._loop
        wrenches = self._wrenches.refused.items()
        rejected = loop.gate.refused + self._commands.rejected
        rejected += Counter({f'wrench.{kind}': count for kind, count in wrenches})
        return {
            'missed': str(loop.statistics.missed),
            'late_ticks': str(loop.pacer.late),
            'lost_wall_time': f'{loop.pacer.lost:.3f}',
            'saturated': str(loop.statistics.saturated),
            'divergences': str(loop.statistics.divergences),
            'rejected': str(rejected.total()),
            **{f'rejected.{kind}': str(count) for kind, count in sorted(rejected.items())},
        }
