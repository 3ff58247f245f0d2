"""The loops that own simulation time: publish a state, receive its command, step the world."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from rclpy.impl.rcutils_logger import RcutilsLogger

from icir_control.errors import DivergenceError
from icir_control.nodes.bridge.config import BridgeConfig
from icir_control.nodes.bridge.gate import (
    CommandGate,
    Pacer,
    PauseControl,
    PeriodicTasks,
    StateOutput,
)
from icir_control.nodes.bridge.wrench import PushSchedule
from icir_control.nodes.transport.conversions import NANOSECONDS
from icir_control.nodes.transport.endpoints import JointStatePublisher, JointStateSubscription
from icir_control.nodes.transport.waiter import Waiter
from icir_control.simulation import World

BRAKE_RATE = 20.0
"""Without commands, joint speeds decay as exp(-rate t) [1/s]: to a 400th in 0.3 s."""

_REASON_PERIOD = 1.0  # s of wall time between two checks why the first command does not come


@dataclass
class Statistics:
    """Counters since the start, and sums since the last report.

    Attributes:
        missed: States whose answer did not come in time: repeated in lockstep, stepped with an
            older command when free-running.
        saturated: Commands beyond an effort limit.
        divergences: Times that the physics diverged.
        age_max: Oldest command that was applied since the last report [steps].
        trips: Answers since the last report.
        trip_sum: Their delays from state to command, summed [s of wall time].
        trip_max: The longest of them [s of wall time].
    """

    missed: int = 0
    saturated: int = 0
    divergences: int = 0
    age_max: int = 0
    trips: int = 0
    trip_sum: float = 0.0
    trip_max: float = 0.0

    def add_trip(self, delay: float) -> None:
        """Count an answer.

        Args:
            delay: From the state's first publication to its answer [s of wall time].
        """
        self.trips += 1
        self.trip_sum += delay
        if delay > self.trip_max:
            self.trip_max = delay

    def start_report(self) -> None:
        """Begin a new reporting period."""
        self.age_max = self.trips = 0
        self.trip_sum = self.trip_max = 0.0


class Loop(ABC):
    """Publishes states and steps the world with commands; nothing else steps it.

    Attributes:
        world: The simulation.
        gate: Which commands are admitted.
        hold: What stops simulation time.
        commands: Receives the commands.
        missing: Returns which node should have sent commands, and why it does not.
        pacer: When a tick may begin.
        pushes: Wrenches by simulation time.
        tasks: Periodic tasks, by wall time.
        statistics: Counters.
        config: The bridge's parameters; those that may change, change here.
        duplicate: Which topic has more than one publisher, a sentence; empty when none has. Set by
            `set_duplicate`.
        has_timed_out: Whether no command has come for `command_timeout`.
    """

    def __init__(
        self,
        world: World,
        states: JointStatePublisher,
        commands: JointStateSubscription,
        waiter: Waiter,
        config: BridgeConfig,
        missing: Callable[[], str],
        log: RcutilsLogger,
    ) -> None:
        """Put the parts together; `open_run` starts.

        Args:
            world: The simulation.
            states: Publishes the states.
            commands: Receives the commands.
            waiter: Waits for commands, and serves the node meanwhile.
            config: The bridge's parameters.
            missing: Returns which node should have sent commands, and why it does not.
            log: The node's logger.
        """
        self.world = world
        self.gate = CommandGate(
            lockstep=config.lockstep, any_source=config.command_source == 'any'
        )
        self.hold = PauseControl(config.command_timeout)
        self.pacer = Pacer(world.timestep_ns * 1e-9, config.real_time_factor)
        self.pushes = PushSchedule(world.push, world.clear_push)
        self.tasks = PeriodicTasks()
        self.statistics = Statistics()
        self.config = config
        self._timeout = config.command_timeout
        self.duplicate = ''
        self.has_timed_out = False
        self._states = StateOutput(world, states)
        self.commands = commands
        self._waiter = waiter
        self.missing = missing
        self._missing_reason = ''
        self._missing_due = 0.0
        self._log = log
        count = len(world.joint_names)
        self._torque = np.zeros(count)
        self._load = np.zeros(count)
        self._is_unchecked = False
        self._inverse_limit = 1.0 / np.maximum(world.effort_limit, np.finfo(float).tiny)

    @property
    def blocked_by(self) -> str:
        """Why no command is applied, a sentence; empty when commands are."""
        return self.hold.divergence or self.duplicate

    def open_run(self) -> None:
        """Begin a run: publish its first state under a new token; time waits for a command."""
        self._states.open_run()
        self.gate.open_run(self._states.token, self.world.time_ns)
        self.pacer.restart(time.monotonic())
        self.hold.divergence = ''
        self.has_timed_out = False
        self._states.publish()

    def reset(self) -> None:
        """Begin a run from the initial configuration, at rest; simulation time goes on."""
        self.pushes.clear(self.world.time_ns)
        self.world.reset(self.config.initial_configuration)
        self.hold.cancel_steps()
        self.open_run()

    def pause(self, is_paused: bool) -> None:
        """Pause or resume."""
        self.hold.is_paused = is_paused
        self.pacer.restart(time.monotonic())

    def set_duplicate(self, duplicate: str) -> None:
        """Apply no command while a topic has more than one publisher.

        Args:
            duplicate: Which, a sentence; empty when every topic has one.
        """
        if duplicate == self.duplicate:
            return
        self.duplicate = duplicate
        if duplicate:
            # The command that waits for its step may be that of the duplicate.
            self.gate.withdraw()
            self._log.error(duplicate)
        else:
            now = time.monotonic()
            self.pacer.restart(now)
            self._states.restart_wait(now)
            self._log.info('every topic has one publisher again')

    @abstractmethod
    def spin_once(self) -> None:
        """Wait for a command or for the next tick; step, or publish the state again."""

    def _run_tasks(self) -> float:
        """Run the periodic tasks that are due; return the wall time [s, monotonic]."""
        now = time.monotonic()
        if now >= self.tasks.due:
            self.tasks.run(now)
        return now

    def _wait(self, now: float, until: float) -> float:
        """Wait for a command, and keep one that has arrived if it is admitted.

        Args:
            now: Wall time [s, monotonic].
            until: Latest time to return [s, monotonic].

        Returns:
            Wall time [s, monotonic].
        """
        self._waiter.wait(now, until)
        now = time.monotonic()
        commands, gate = self.commands, self.gate
        if not commands.take():
            return now
        if self.duplicate:
            gate.refused['duplicate_publisher'] += 1
        elif gate.admits(commands.stamp_ns, commands.token):
            self._keep_command()
            if gate.is_answered:
                self.statistics.add_trip(now - self._states.published_at)
            if self.has_timed_out:
                self.has_timed_out = False
                self._log.info('commands are back')
        return now

    def _keep_command(self) -> None:
        """Keep the command that was admitted: a copy, since the next one may not be."""
        self._torque[:] = self.commands.effort
        self._is_unchecked = True

    def _step(self, torque: NDArray[np.float64], now: float) -> None:
        """Go on by one control period and publish the state.

        Args:
            torque: (n,) [N m or N].
            now: Wall time [s, monotonic].
        """
        world = self.world
        if world.time_ns >= self.pushes.next_change_ns:
            self.pushes.update(world.time_ns)
        try:
            world.step(torque)
        except DivergenceError as error:
            self.statistics.divergences += 1
            self._log.error(str(error))
            if self.config.on_divergence == 'reset':
                self.reset()
            else:
                self.hold.divergence = str(error)
            return
        self._states.publish()
        # From here on the controller computes, and nothing waits for this process.
        self.gate.advance(world.time_ns)
        self.pacer.begin_tick(now)
        world.prepare()
        if self._is_unchecked:
            self._count_saturation()
        self.hold.finish_step()

    def _count_saturation(self) -> None:
        """Count the newest command if it is beyond an effort limit."""
        self._is_unchecked = False
        # For most commands the sum of squares alone shows that they are within all limits.
        load = np.multiply(self._torque, self._inverse_limit, out=self._load)
        if load.dot(load) > 1.0 and np.abs(load).max() > 1.0:
            self.statistics.saturated += 1

    @property
    def _needs_answer(self) -> bool:
        """Whether only the command for the present state is missing."""
        return not (self.gate.is_answered or self.hold.is_paused or self.blocked_by)

    def _wait_stopped(self, now: float) -> float:
        """Wait for a command while time stands still, or publish the state again when it is due.

        Args:
            now: Wall time [s, monotonic].

        Returns:
            Wall time [s, monotonic].
        """
        if now >= self.hold.step_due:
            self.hold.finish_step(self.blocked_by or f'no command within {self._timeout:g} s')
        states = self._states
        if now < states.repeat_due:
            return self._wait(now, min(states.repeat_due, self.tasks.due))
        if self._needs_answer:
            # If this process was suspended, the answer may have arrived long ago.
            now = self._wait(now, now)
            if self.gate.is_answered:
                return now
        if states.repeat(now) and self._needs_answer and self.gate.has_admitted:
            self.statistics.missed += 1
        return now

    def _report_timeout(self, consequence: str) -> None:
        """Log that commands are missing: once; before the first one, whenever the reason changes.

        Args:
            consequence: What follows.
        """
        has_admitted, now = self.gate.has_admitted, time.monotonic()
        if self.has_timed_out and (has_admitted or now < self._missing_due):
            return
        self._missing_due = now + _REASON_PERIOD
        reason = self.missing()
        if self.has_timed_out and reason == self._missing_reason:
            return
        self.has_timed_out, self._missing_reason = True, reason
        message = f'no command for {self._timeout:g} s: {reason}; {consequence}'
        # A controller takes time to start; one that stops sending may have a problem.
        if has_admitted:
            self._log.warning(message)
        else:
            self._log.info(message)


class LockstepLoop(Loop):
    """Steps with the command that answers the present state, and only then.

    However slow the machine, every state is answered once, and time waits for the answer.
    """

    def spin_once(self) -> None:
        """Wait for a command or for the next tick; step, or publish the state again."""
        now = self._run_tasks()
        gate, hold = self.gate, self.hold
        if not (gate.is_answered and hold.may_step) or self.duplicate:
            now = self._wait_stopped(now)
            if not (gate.is_answered and hold.may_step) or self.duplicate:
                if self._needs_answer and self._states.waited(now) >= self._timeout:
                    self._report_timeout('time stands still')
                return
            # The answer has come: step in the same pass.
        due = self.pacer.due
        if now >= due or hold.is_paused:
            self._step(self._torque, now)
        else:
            self._wait(now, min(due, self.tasks.due))


class FreeRunningLoop(Loop):
    """Steps by the wall clock, with the newest command, or braked when that is too old."""

    # Whether commands were waited for since the last step.
    _has_waited = False

    def spin_once(self) -> None:
        """Wait for a command or for the next tick; step, or publish the state again."""
        now = self._run_tasks()
        if not (self._may_begin and self.hold.may_step):
            if not self.gate.has_admitted and now - self._states.published_at >= self._timeout:
                self._report_timeout('time stands still until the first one')
            self._wait_stopped(now)
        elif self.hold.is_paused:
            # One step was requested.
            if self.gate.is_answered and not self.duplicate:
                self._step(self._torque, now)
            else:
                self._wait_stopped(now)
        elif now < self.pacer.due or not self._has_waited:
            # At least once before every step.
            self._has_waited = True
            self._wait(now, min(self.pacer.due, self.tasks.due))
        else:
            self._has_waited = False
            self._step(self._choose_torque(), now)

    @property
    def _may_begin(self) -> bool:
        """Whether time may go on: not before the first command."""
        return self.gate.has_admitted

    def _choose_torque(self) -> NDArray[np.float64]:
        """Return the newest command, or the torque of the brake when that is too old."""
        age_ns = self.world.time_ns - self.gate.admitted_ns
        if age_ns:
            self.statistics.missed += 1
            steps = age_ns // self.world.timestep_ns
            self.statistics.age_max = max(self.statistics.age_max, steps)
        if age_ns > self._timeout * NANOSECONDS:
            self._report_timeout('the arm is braked')
        elif not self.duplicate:
            return self._torque
        return self.world.brake_torque(BRAKE_RATE)
