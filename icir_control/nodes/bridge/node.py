"""The node `mujoco_bridge`: the plant behind two topics."""

import gc
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from icir_control.dynamics import FrameType, load_urdf
from icir_control.nodes.bridge import clock, diagnostics
from icir_control.nodes.bridge.clock import ClockPublisher
from icir_control.nodes.bridge.config import config_from, read_config
from icir_control.nodes.bridge.diagnostics import BridgeDiagnostics
from icir_control.nodes.bridge.free_running import FreeRunningLoop
from icir_control.nodes.bridge.lockstep import LockstepLoop
from icir_control.nodes.bridge.rivals import RivalWatch
from icir_control.nodes.bridge.self_check import check_model
from icir_control.nodes.bridge.services import SimulationServices
from icir_control.nodes.bridge.stepper import Stepper
from icir_control.nodes.bridge.wrench import WrenchInput
from icir_control.nodes.model_file import find_model_file
from icir_control.nodes.parameters import MODEL, Parameters
from icir_control.nodes.process import collector_off, join_graph
from icir_control.nodes.stop_request import StopRequest
from icir_control.nodes.transport import JointStatePublisher, JointStateSubscription, Waiter
from icir_control.simulation import World, open_viewer

_RIVAL_PERIOD = 0.1  # s of wall time
_STRANGER_PERIOD = 1.0  # s of wall time
_VIEWER_PERIOD = 1.0 / 60.0  # s of wall time
_GARBAGE_PERIOD = 1.0  # s of wall time


class MujocoBridge:
    """Publishes the arm's state and steps MuJoCo with the commands that answer it.

    It has a node and is none, so that no name of its own hides one of the client library's.

    Attributes:
        states: Publishes the state.
        commands: The newest command.
    """

    def __init__(self, waiter: Callable[..., Waiter] = Waiter) -> None:
        """Read the parameters, build the world, and compare it with the dynamics model.

        Args:
            waiter: Makes what waits for commands, from a node and its hot subscriptions.

        Raises:
            IcirError: A parameter, the model or the comparison is not as it should be.
        """
        self._node = join_graph('mujoco_bridge')
        self._parameters = Parameters(self._node)
        path = find_model_file(self._parameters.declare(MODEL))
        self._model = load_urdf(path)
        self._config = read_config(self._parameters, self._model)
        config = self._config
        self._world = World(
            path,
            joint_names=self._model.joint_names,
            end_effector_frame=config.end_effector_frame,
            timestep=config.timestep,
            initial_configuration=config.initial_configuration,
            plant=config.plant,
            lossless=True,  # the dynamics knows no losses; those on purpose are the plant's
        )
        self._left_out = check_model(self._model, self._world)
        self._build_loop(waiter)
        self._build_slow_parts()
        self._viewer = open_viewer(self._world, config.viewer)
        self._add_chores()
        self._parameters.watch(self._take_over)

    def _build_loop(self, waiter: Callable[..., Waiter]) -> None:
        config, names = self._config, self._model.joint_names
        self.states = JointStatePublisher(self._node, 'joint_states', names)
        self.commands = JointStateSubscription(self._node, 'joint_commands', names, ('effort',))
        self._rivals = RivalWatch(
            self._node, commands=self.commands.topic_name, states=self.states.topic_name
        )
        self._waiter = waiter(self._node, [self.commands])
        loop = LockstepLoop if config.lockstep else FreeRunningLoop
        self._loop = loop(
            self._world,
            self.states,
            self.commands,
            self._waiter,
            lockstep=config.lockstep,
            real_time_factor=config.real_time_factor,
            command_timeout=config.command_timeout,
            initial_configuration=config.initial_configuration,
            reset_on_divergence=config.on_divergence == 'reset',
            missing=self._describe_missing,
            log=self._node.get_logger(),
        )

    def _build_slow_parts(self) -> None:
        config = self._config
        stepper = Stepper(self._loop, self._waiter, config.command_timeout)
        SimulationServices(self._node, self._loop, stepper)
        if find_spec('simulation_interfaces') is not None:
            from icir_control.nodes.bridge.standard_services import StandardServices

            StandardServices(self._node, self._loop, stepper)
        self._wrenches = WrenchInput(
            self._node,
            self._loop.pushes,
            links=tuple(
                frame.name for frame in self._model.frames if frame.type is FrameType.BODY
            ),
            hold=config.external_wrench_hold,
            time_ns=lambda: self._world.time_ns,
        )
        self._clock = ClockPublisher(self._node) if config.publish_clock else None
        deviations = {f'plant.{name}': value for name, value in config.deviations.items()}
        self._diagnostics = BridgeDiagnostics(
            self._node,
            self._loop,
            model=self._model.name,
            constants={'lockstep': config.lockstep, **deviations},
            commands=self.commands,
            wrenches=self._wrenches,
            missing=self._describe_missing,
        )

    def _add_chores(self) -> None:
        chores = self._loop.housekeeping
        chores.every(_RIVAL_PERIOD, lambda now: self._loop.note_rival(self._rivals.find()))
        chores.every(_STRANGER_PERIOD, lambda now: self._count_strangers())
        chores.every(diagnostics.PERIOD, self._diagnostics.publish)
        # The collector is off while the loop runs, so that it never holds up a tick.
        chores.every(_GARBAGE_PERIOD, lambda now: gc.collect())
        if self._clock is not None:
            chores.every(clock.PERIOD, lambda now: self._clock.publish(self._world.time_ns))
        if self._viewer.is_open:
            chores.every(_VIEWER_PERIOD, lambda now: self._viewer.sync())

    @property
    def steps(self) -> int:
        """How many control periods the world has gone on."""
        return self._world.steps

    def run(self, stop: StopRequest) -> None:
        """Run until asked to stop.

        Args:
            stop: Becomes true when somebody asks.
        """
        self._announce()
        stop.defer()
        with collector_off():
            self._loop.open_run()
            while not stop:
                self._loop.turn()

    def close(self) -> None:
        """Give everything up."""
        self._viewer.close()
        self._waiter.close()
        self._node.destroy_node()

    def _announce(self) -> None:
        config, log = self._config, self._node.get_logger()
        mode = 'in lockstep' if config.lockstep else 'free-running'
        pace = f'{config.real_time_factor:g} times real time'
        if config.real_time_factor == 0.0:
            pace = 'as fast as possible'
        log.info(
            f'{self._model.name}: nq {self._model.nq}, timestep {config.timestep:g} s, {mode},'
            f' {pace}; dynamics model and MuJoCo agree'
        )
        for name, value in config.deviations.items():
            log.warning(f'the plant departs from the model: plant.{name} = {value:g}')
        for note in (*self._left_out, *self._world.notes):
            log.warning(note)
        if config.viewer == 'auto' and self._viewer.reason:
            log.info(f'no window: {self._viewer.reason}')
        log.info('time stands still until the first command')

    def _take_over(self, changes: dict[str, Any]) -> None:
        """Take changed parameters over, all or none.

        Raises:
            ConfigurationError: They are not valid together.
        """
        config = config_from({**self._parameters.values, **changes}, self._model)
        if config.real_time_factor != self._config.real_time_factor:
            self._loop.set_real_time_factor(config.real_time_factor)
        self._wrenches.hold(config.external_wrench_hold)
        self._loop.initial_configuration = config.initial_configuration
        self._config = config

    def _count_strangers(self) -> None:
        """Count who publishes something else in the place of commands, and name it once."""
        for stranger in self._rivals.new_strangers():
            self.commands.rejected['wrong_type'] += 1
            self._node.get_logger().warning(stranger)

    def _describe_missing(self) -> str:
        topic = self.commands.topic_name
        commanders = self._rivals.commanders()
        if not commanders:
            return f'nobody publishes {topic}'
        rejected = self.commands.last_rejection
        reason = f'; rejected: {rejected}' if rejected else ''
        return f'{", ".join(commanders)} does not answer on {topic}{reason}'
