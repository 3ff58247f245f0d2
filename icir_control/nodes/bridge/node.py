"""The node `mujoco_bridge`: the plant behind two topics, and its place on `/diagnostics`."""

import gc
import time
from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.node import Node
from rosgraph_msgs.msg import Clock

from icir_control.dynamics import FrameType
from icir_control.nodes.bridge.config import BridgeConfig, check_model
from icir_control.nodes.bridge.loop import FreeRunningLoop, LockstepLoop, Loop
from icir_control.nodes.bridge.services import SimulationServices
from icir_control.nodes.bridge.servo import AnyCommands, ServoLoop
from icir_control.nodes.bridge.window import Window
from icir_control.nodes.bridge.wrench import WrenchInput
from icir_control.nodes.parameters import Parameters
from icir_control.nodes.process.graph import Publishers
from icir_control.nodes.process.run import gc_off, join_graph, shorten_slices
from icir_control.nodes.process.stop_request import StopRequest
from icir_control.nodes.transport.batches import MessageBatches
from icir_control.nodes.transport.conversions import NANOSECONDS, diagnostics, key_values, stamp_of
from icir_control.nodes.transport.endpoints import JointStatePublisher, JointStateSubscription
from icir_control.nodes.transport.waiter import Waiter
from icir_control.parameter import parameters_of
from icir_control.share import BRIDGE

_DUPLICATES_PERIOD = 0.1  # s of wall time, as all of these
_WRONG_TYPES_PERIOD = 1.0
_CLOCK_PERIOD = 0.01
_BATCH_PERIOD = 5e-3
_WINDOW_PERIOD = 1.0 / 60.0
_DIAGNOSTICS_PERIOD = 1.0
_GC_PERIOD = 1.0


class MujocoBridge:
    """Publishes the arm's state and steps MuJoCo with the commands that answer it.

    It owns a node instead of being one, so that its names do not hide those of the client library.

    Attributes:
        states: Publishes the state.
        commands: Receives the commands.
        world: The plant.
        node: The node.
    """

    def __init__(self, waiter: Callable[['MujocoBridge'], Waiter] | None = None) -> None:
        """Read the parameters, build the world, and compare it with the dynamics model.

        Args:
            waiter: Makes the waiter of the bridge, where it is a special one.

        Raises:
            IcirError: A parameter or the model is not valid, or the comparison fails.
        """
        self.node = join_graph(BRIDGE)
        self._parameters = Parameters(self.node)
        self._robot = robot = self._parameters.read_robot(BRIDGE)
        self._model = model = robot.model
        self._config = config = BridgeConfig.from_parameters(robot.parameters, model)
        self._parameters.declare(parameters_of(BridgeConfig), config.value, model.nv)
        self.world = config.world(robot.path, robot.options)
        check_model(self._model, self.world)
        # It may fail: before there is anything to close.
        self._window = Window(self.node, self.world, config)
        self._build_loop(waiter)
        self._build_interface()
        self._add_tasks()
        self._parameters.watch(self._update)

    def _build_loop(self, waiter: Callable[['MujocoBridge'], Waiter] | None) -> None:
        config, names = self._config, self._model.joint_names
        self.states = JointStatePublisher(self.node, 'joint_states', names)
        takes_any = config.command_source == 'any'
        if takes_any:
            self.commands: JointStateSubscription = AnyCommands(self.node, 'joint_commands', names)
        else:
            self.commands = JointStateSubscription(self.node, 'joint_commands', names, ('effort',))
        self._batches = MessageBatches(self.node, self.states, self.commands)
        self._publishers = Publishers(self.node)
        self._waiter = waiter(self) if waiter else Waiter(self.node, [self.commands])
        free_running = ServoLoop if takes_any else FreeRunningLoop
        loop = LockstepLoop if config.lockstep else free_running
        self._loop = loop(
            self.world,
            self.states,
            self.commands,
            self._waiter,
            config,
            self._describe_missing,
            self.node.get_logger(),
        )

    def _build_interface(self) -> None:
        SimulationServices(self.node, self._loop, self._waiter)
        links = [frame for frame in self._model.frames if frame.type is FrameType.BODY]
        wrenches = WrenchInput(
            self.node,
            self._loop.pushes,
            links=tuple(link.name for link in links if link.parent != 0),
            hold=lambda: self._loop.config.external_wrench_hold,
            time_ns=lambda: self.world.time_ns,
        )
        self._diagnostics = BridgeDiagnostics(self.node, self._loop, wrenches)

    def _add_tasks(self) -> None:
        every = self._loop.tasks.every
        every(_DUPLICATES_PERIOD, lambda _: self._check_duplicates())
        every(_WRONG_TYPES_PERIOD, lambda _: self._publishers.count_wrong_types(self.commands))
        every(_BATCH_PERIOD, lambda _: self._batches.update())
        every(_DIAGNOSTICS_PERIOD, self._diagnostics.publish)
        # The collector is off while the loop runs, so that it never delays a tick.
        every(_GC_PERIOD, lambda _: gc.collect())
        if self._config.publish_clock:
            self._clock = self.node.create_publisher(Clock, '/clock', 1)
            every(_CLOCK_PERIOD, lambda _: self._publish_clock())
        every(_WINDOW_PERIOD, lambda _: self._window.update())

    def run(self, stop: StopRequest) -> None:
        """Run until asked to stop; see `NodeProcess`."""
        self._log_configuration()
        stop.defer()
        shorten_slices()
        with gc_off():
            self._loop.open_run()
            while not stop:
                self._loop.spin_once()

    def close(self) -> None:
        """Leave the graph, close the window."""
        self._batches.update()
        self._window.viewer.close()
        self._waiter.close()
        self.node.destroy_node()

    def _log_configuration(self) -> None:
        config, log = self._config, self.node.get_logger()
        mode = 'in lockstep' if config.lockstep else 'free-running'
        pace = f'{config.real_time_factor:g} times real time'
        if config.real_time_factor == 0.0:
            pace = 'as fast as possible'
        log.info(
            f'{self._model.name}: nq {self._model.nq}, timestep {config.timestep:g} s, {mode},'
            f' {pace}; dynamics model and MuJoCo agree'
        )
        for name, value in config.plant.differences.items():
            log.warning(f'the plant differs from the model: plant.{name} = {value}')
        for note in filter(None, (self._robot.note, *self.world.notes)):
            log.warning(note)
        for shape in self.world.left_out:
            log.debug(f'left out: {shape}')
        if config.viewer == 'auto' and self._window.viewer.reason:
            log.info(f'no window: {self._window.viewer.reason}')
        if config.command_source == 'answer':
            log.info('time stands still until the first command')
        else:
            log.info(
                'commands from any source are accepted; until the first one the arm is held'
                ' against gravity'
            )

    def _update(self, changes: dict[str, Any]) -> None:
        """Apply changed parameters, all or none.

        Raises:
            ConfigurationError: They are not valid together.
        """
        loop, config = self._loop, self._loop.config.updated(changes)
        if config.real_time_factor != loop.config.real_time_factor:
            loop.pacer.set_factor(config.real_time_factor, time.monotonic())
        loop.config = config

    def _publish_clock(self) -> None:
        self._clock.publish(Clock(clock=stamp_of(self.world.time_ns)))

    def _check_duplicates(self) -> None:
        topics = self.commands.topic_name, self.states.topic_name
        self._loop.set_duplicate(self._publishers.duplicates(*topics))

    def _describe_missing(self) -> str:
        """Return which node should have sent commands, and why it does not, as far as known."""
        topic, states = self.commands.topic_name, self.states.topic_name
        names = self._publishers.on(topic)
        if not names:
            return f'no node publishes {topic}'
        starting = self._publishers.starting(names, states)
        if starting:
            return (
                f'{", ".join(starting)} is starting, and does not subscribe to {states} yet (the'
                ' first start on a machine compiles for up to a minute)'
            )
        rejected = self.commands.last_rejection
        reason = f'; rejected: {rejected}' if rejected else ''
        return f'{", ".join(names)} does not answer on {topic}{reason}'


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
        values = key_values(self._values(factor))
        loop.statistics.start_report()
        status = DiagnosticStatus(
            level=level,
            name=self._name,
            message=message,
            hardware_id=loop.config.model.name,
            values=values,
        )
        self._publisher.publish(diagnostics(status, time_ns))

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
