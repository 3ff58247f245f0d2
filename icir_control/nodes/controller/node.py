"""The controller's node: each state is answered before anything else is done."""

import time
from functools import partial
from importlib.util import find_spec
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from icir_control.compiled import is_cache_empty
from icir_control.control import Controller, ControllerConfig
from icir_control.control.precompile import Helper
from icir_control.dynamics import Model
from icir_control.nodes.controller.interface import (
    DERIVED,
    INTERFACE,
    Derived,
    EffortArrayPublisher,
    RobotClock,
    SafeStart,
    declare_interface,
)
from icir_control.nodes.controller.motion_status import MotionStatus
from icir_control.nodes.controller.requests import Requests
from icir_control.nodes.controller.state_monitor import StartDetector, StateMonitor
from icir_control.nodes.controller.telemetry import Telemetry
from icir_control.nodes.parameters import Parameters
from icir_control.nodes.process.run import gc_off, join_graph, shorten_slices
from icir_control.nodes.process.stop_request import StopRequest
from icir_control.nodes.robot import LoadedRobot, with_targets
from icir_control.nodes.run_token import euler_steps_of
from icir_control.nodes.transport.endpoints import JointStatePublisher, JointStateSubscription
from icir_control.nodes.transport.messages import FIELDS
from icir_control.nodes.transport.waiter import Waiter
from icir_control.share import CONTROLLER

COMMANDS = 'joint_commands'

_FIRST_START = 'the first start on this machine only'
_WAIT = 0.1  # s, longest time until a request to stop is noticed
_HANG = 0.3  # s of wall time between two looks for a state, which only a stopped process needs
_CATCH_UP = 0.05  # s of wall time in which the middleware hands over what it has buffered


class ControllerNode:
    """Answers every state of the arm with a torque that repeats its header.

    Everything is compiled when the constructor returns. A state that is repeated, because its
    answer was lost or because time stands still, is answered with the stored command.

    It owns a node instead of being one, so that its names do not hide those of the client library.

    Attributes:
        states: Receives the states.
        commands: Publishes the commands.
        waiter: Waits for states, and serves the node meanwhile.
    """

    def __init__(self) -> None:
        """Join the graph, read the configuration, build the model, and compile.

        Commands are announced first and states are subscribed to last. In between, the bridge
        sees in the graph that this node is starting.

        Raises:
            IcirError: The parameters or the model are not valid; the message says what is.
        """
        self._node = node = join_graph(CONTROLLER)
        self._log = node.get_logger()
        parameters = Parameters(node)
        robot = parameters.read_robot(CONTROLLER)
        model = robot.model
        names = model.joint_names
        interface = declare_interface(parameters, robot)
        self._clock = RobotClock(interface.update_rate) if interface.is_array else None
        self._safe_start = SafeStart(model.nv)
        self.commands: JointStatePublisher | EffortArrayPublisher
        if interface.is_array:
            self.commands = EffortArrayPublisher(node, names, interface.command_joints)
        else:
            self.commands = JointStatePublisher(node, COMMANDS, names)
        with Helper() as helper:
            if is_cache_empty():
                self._log.info(f'compiling ({_FIRST_START}), for half a minute or more')
                helper.start()
            config = declare_config(parameters, robot)
            if unused := config.unused_modes:
                self._log.info(f'configured, but not in mode_names: {", ".join(unused)}')
            self._controller = Controller(model, config)
            self._log_model(model)
            self._warm_up(helper)
        parameters.watch(self._controller.update)
        self._starts = StartDetector(model.velocity_limit)
        self._telemetry = Telemetry(node, self._controller)
        self._status = MotionStatus(node, self._controller, self._finish_request)
        requests = Requests(node, self._controller, self._status, self._clock)
        self._target_marker = None
        if config.modes_for('pose') and find_spec('interactive_markers') is not None:
            from icir_control.nodes.controller.target_marker import TargetMarker

            self._target_marker = TargetMarker(node, self._controller, requests.take_pose)
            self._telemetry.follow_tool = self._target_marker.follow_tool
        self.states = JointStateSubscription(
            node,
            interface.state_topic,
            names,
            FIELDS if interface.is_array else FIELDS[:2],
            has_others=interface.is_array,
        )
        self._effort: NDArray[np.float64]
        (self._effort,) = self.commands.open('', 'effort')
        self._monitor = StateMonitor(node, self.states, self._controller)
        self.waiter = Waiter(node, [self.states])

    def run(self, stop: StopRequest) -> None:
        """Answer states until asked to stop; see `NodeProcess`."""
        stop.defer()
        self.log_ready()
        shorten_slices()
        with gc_off():  # the monitor collects once a second
            awake = time.monotonic()
            while not stop:
                now = time.monotonic()
                self.waiter.wait(now, now + _WAIT)
                before, awake = awake, time.monotonic()
                if awake > before + _HANG:
                    # Buffered states, one after the other, would look like time that went by.
                    self.states.skip_to_newest(_CATCH_UP)
                self.spin_once()

    def log_ready(self) -> None:
        """Log that every state from now on is answered."""
        self._log.info(f'ready; waiting for {self.states.topic_name}')

    def spin_once(self) -> bool:
        """Answer a state if one has come; return whether one had."""
        has_state = self.states.take()
        if has_state:
            self._answer()
        else:
            self._monitor.check_timeout()
        self._log_events()
        return has_state

    def close(self) -> None:
        """Leave the graph."""
        self.waiter.close()
        if self._target_marker is not None:
            self._target_marker.close()
        self._node.destroy_node()

    def _answer(self) -> None:
        """Publish the command for the present state, before anything else is done with it."""
        states, controller = self.states, self._controller
        stamp_ns, token = states.stamp_ns, states.token
        if self._starts.repeats(stamp_ns, token):
            if self._clock is None:
                self.commands.send(stamp_ns)
            self._monitor.count_answer()
            return
        position, velocity = states.position, states.velocity
        reason = self._starts.reason(stamp_ns, token, position, velocity)
        if reason and not self._monitor.accepts_start(token):
            self._starts.forget()
            return
        now = self._time_of(stamp_ns, bool(reason))
        if now is None:
            return
        if reason:
            controller.restart(now, position, velocity, euler_steps_of(token))
            (self._effort,) = self.commands.open(token, 'effort')
            self._safe_start.begin(states.effort)
        torque = controller.tick(now, position, velocity)
        self._effort[:] = torque if self._clock is None else self._safe_start.ramp(now, torque)
        self.commands.send(stamp_ns)
        self._monitor.count_answer()
        self._status.watch(stamp_ns, bool(reason))
        if reason:
            self._telemetry.restart()
            self._log.info(
                f'new start at {stamp_ns * 1e-9:.3f} s ({reason}), in mode {controller.mode}'
            )
        self._telemetry.publish(stamp_ns, token)

    def _time_of(self, stamp_ns: int, starts: bool) -> float | None:
        """Return the controller's time of a state [s]; None of one that is not to be answered."""
        if self._clock is None:
            return stamp_ns * 1e-9
        return self._clock.restart(stamp_ns) if starts else self._clock.advance(stamp_ns)

    def _log_model(self, model: Model) -> None:
        """Log sizes and frames of the model, as the tutorial does."""
        log = self._log
        log.info(f'{model.name}: nq = {model.nq}, nv = {model.nv}, na = {model.na}')
        rows = [('id', 'frame', 'parent joint', 'type')]
        for i, frame in enumerate(model.frames):
            rows.append((str(i), frame.name, model.joints[frame.parent].name, frame.type.name))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ('  '.join(map(str.ljust, row, widths)).rstrip() for row in rows)
        log.info('frames:\n' + '\n'.join(lines))

    def _warm_up(self, helper: Helper) -> None:
        """Compile, and log each unit before it is compiled; nothing when the cache has all.

        Args:
            helper: Started where anything is missing.
        """
        begin = time.monotonic()

        def progress(done: int, total: int, name: str) -> None:
            self._log.info(f'compiling ({_FIRST_START}), {done + 1} of {total}: {name}')

        if self._controller.warm_up(progress, helper.start):
            self._log.info(f'compiled in {time.monotonic() - begin:.1f} s')

    def _finish_request(self) -> None:
        """Report what a request has changed; the next tick may be far away."""
        self._log_events()
        self._telemetry.publish_mode()

    def _log_events(self) -> None:
        for event in self._controller.take_events():
            # One line for each: rclpy ties a severity to the line that it comes from.
            if event.level == 'error':
                self._log.error(event.text)
            elif event.level == 'warning':
                self._log.warning(event.text)
            else:
                self._log.info(event.text)


def declare_config(parameters: Parameters, robot: LoadedRobot) -> ControllerConfig:
    """Check all that was given beside the robot, and declare every parameter.

    Args:
        parameters: Of the node, with those of the robot declared.
        robot: The arm, and what is given of it.

    Returns:
        What the controller is to run.

    Raises:
        ConfigurationError: Names the parameter, its value and what would be valid.
        UnknownNameError: A frame that the model lacks.
    """
    model = robot.model
    # `ros2 param dump` of a controller that runs gives what follows from the others, too.
    others = {**INTERFACE, **DERIVED}
    own = {name: value for name, value in robot.parameters.items() if name not in others}
    config = with_targets(ControllerConfig.from_parameters(own, model, robot.shapes), robot)
    parameters.declare(config.parameters, config.value, model.nv)
    derived = Derived(
        joint_modes=config.modes_for('joints'),
        pose_modes=config.modes_for('pose'),
        translating_joints=tuple(compress(model.joint_names, config.arm.translates)),
    )
    parameters.declare(DERIVED, partial(getattr, derived), model.nv)
    return config
