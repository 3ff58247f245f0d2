"""What lockstep and free-running share: publish a state, take its answer, step the world."""

import time
from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from icir_control.errors import DivergenceError
from icir_control.nodes.bridge.gate import CommandGate
from icir_control.nodes.bridge.hold import Hold
from icir_control.nodes.bridge.housekeeping import Housekeeping
from icir_control.nodes.bridge.log import Log
from icir_control.nodes.bridge.pacer import Pacer
from icir_control.nodes.bridge.pushes import PushSchedule
from icir_control.nodes.bridge.state_output import StateOutput
from icir_control.nodes.bridge.statistics import Statistics
from icir_control.nodes.transport import JointStatePublisher, JointStateSubscription, Waiter
from icir_control.simulation import World


class Loop(ABC):
    """Owns simulation time: nothing else steps the world.

    Attributes:
        world: The simulation.
        gate: Which commands are admitted.
        pacer: When a tick may begin.
        pushes: Wrenches by simulation time.
        housekeeping: What is done now and then by wall time.
        statistics: Counters.
        initial_configuration: (n,) where a reset places the robot [rad or m].
        hold: What keeps time from going on.
        rival: Who else speaks where only one may, in words; empty when nobody does; set by
            `note_rival`.
        is_silent: Whether commands stay out for longer than `command_timeout`.
    """

    def __init__(
        self,
        world: World,
        states: JointStatePublisher,
        commands: JointStateSubscription,
        waiter: Waiter,
        *,
        lockstep: bool,
        real_time_factor: float,
        command_timeout: float,
        initial_configuration: np.ndarray,
        reset_on_divergence: bool,
        missing: Callable[[], str],
        log: Log,
    ) -> None:
        """Put the parts together; `open_run` starts.

        Args:
            world: The simulation.
            states: Where the state goes.
            commands: Where its answer comes from.
            waiter: Waits for the answer, and serves the node meanwhile.
            lockstep: Whether only the answer to the present state is admitted.
            real_time_factor: Simulated seconds per second of wall time, 0 as fast as possible.
            command_timeout: Silence after which the controller is missed [s].
            initial_configuration: (n,) where a reset places the robot [rad or m].
            reset_on_divergence: Whether a diverged world is reset at once, or held.
            missing: Says who should have sent commands.
            log: Where messages for the user go.
        """
        self.world = world
        self.gate = CommandGate(lockstep=lockstep)
        self.pacer = Pacer(world.timestep_ns * 1e-9, real_time_factor)
        self.pushes = PushSchedule(world.push, world.clear_push)
        self.housekeeping = Housekeeping()
        self.statistics = Statistics()
        self.initial_configuration = initial_configuration
        self.hold = Hold()
        self.rival = ''
        self.is_silent = False
        self._states = StateOutput(world, states)
        self._commands = commands
        self._waiter = waiter
        self._timeout = command_timeout
        self._reset_on_divergence = reset_on_divergence
        self._missing = missing
        self._log = log
        count = len(world.joint_names)
        self._torque = np.zeros(count)
        self._load = np.zeros(count)
        self._is_unexamined = False
        self._inverse_limit = 1.0 / np.maximum(world.effort_limit, np.finfo(float).tiny)

    @property
    def obstacle(self) -> str:
        """Why no command counts, in words; empty when it does."""
        return self.hold.divergence or self.rival

    def open_run(self) -> None:
        """Begin a run: publish its first state under a new token; time waits for a command."""
        self._states.open_run()
        self.gate.open_run(self._states.token, self.world.time_ns)
        self.pacer.restart(time.monotonic())
        self.hold.diverge('')
        self.is_silent = False
        self._states.publish()

    def reset(self) -> None:
        """Begin a run from the initial configuration, at rest; simulation time goes on."""
        self.pushes.clear()
        self.world.reset(self.initial_configuration)
        self.hold.forget_step()
        self.open_run()

    def pause(self, is_paused: bool) -> None:
        """Let time stand still, or go on."""
        self.hold.pause(is_paused)
        self.pacer.restart(time.monotonic())

    def note_rival(self, rival: str) -> None:
        """Take who else speaks where only one may: from then on no command counts.

        Args:
            rival: In words; empty when there is nobody any more.
        """
        if rival == self.rival:
            return
        self.rival = rival
        if rival:
            # The answer that waits for its step may be the rival's.
            self.gate.withdraw()
            self._log.error(rival)
        else:
            self.pacer.restart(time.monotonic())
            self._log.info('every topic has its one publisher again')

    def set_real_time_factor(self, factor: float) -> None:
        """Change the pace: simulated seconds per second of wall time, 0 as fast as possible."""
        self.pacer.set_factor(factor, time.monotonic())

    @abstractmethod
    def turn(self) -> None:
        """Wait for what comes next, then take it, step, or repeat the state."""

    def _wait(self, now: float, until: float) -> float:
        """Wait for a command, and take one that has arrived, if it may count.

        Args:
            now: Wall time [s, monotonic].
            until: Latest time to end [s, monotonic].

        Returns:
            Wall time [s, monotonic].
        """
        self._waiter.wait(now, until)
        now = time.monotonic()
        commands, gate = self._commands, self.gate
        if not commands.take():
            return now
        if self.rival:
            gate.refused['rival'] += 1
        elif gate.admits(commands.stamp_ns, commands.token):
            # A copy: what is taken next may not be admitted.
            self._torque[:] = commands.effort
            self._is_unexamined = True
            if gate.is_answered:
                self.statistics.note_trip(now - self._states.published_at)
            if self.is_silent:
                self.is_silent = False
                self._log.info('commands are back')
        return now

    def _step(self, torque: np.ndarray, now: float) -> None:
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
            self._diverge(error)
            return
        self._states.publish()
        # From here on the controller is at work, and nobody waits for us.
        self.gate.advance(world.time_ns)
        self.pacer.begin_tick(now)
        world.prepare()
        if self._is_unexamined:
            self._examine_command()
        self.hold.note_step()

    def _examine_command(self) -> None:
        """Count the newest command if it is beyond a limit of the plant."""
        self._is_unexamined = False
        # One product tells of most commands that they are within all limits.
        load = np.multiply(self._torque, self._inverse_limit, out=self._load)
        if load.dot(load) > 1.0 and np.abs(load).max() > 1.0:
            self.statistics.saturated += 1

    @property
    def _is_wanted(self) -> bool:
        """Whether nothing but the answer to the present state is missing."""
        return not (self.gate.is_answered or self.hold.is_paused or self.obstacle)

    def _stand(self, now: float) -> float:
        """Let time stand still: repeat the state when that is due, else wait for commands.

        Args:
            now: Wall time [s, monotonic].

        Returns:
            The same, later.
        """
        self.hold.look_at_step(now)
        states = self._states
        if now < states.repeat_due:
            return self._wait(now, min(states.repeat_due, self.housekeeping.due))
        if self._is_wanted:
            # Where this process was held up, the answer may have been there for long.
            now = self._wait(now, now)
            if self.gate.is_answered:
                return now
        if states.repeat(now) and self._is_wanted and self.gate.has_admitted:
            self.statistics.missed += 1
        return now

    def _fall_silent(self, consequence: str) -> None:
        """Say once that commands stay out."""
        if self.is_silent:
            return
        self.is_silent = True
        message = f'no command for {self._timeout:g} s: {self._missing()}; {consequence}'
        # A controller may take its time to start; one that falls silent may be in trouble.
        if self.gate.has_admitted:
            self._log.warning(message)
        else:
            self._log.info(message)

    def _diverge(self, error: DivergenceError) -> None:
        self.statistics.divergences += 1
        self._log.error(str(error))
        if self._reset_on_divergence:
            self.reset()
        else:
            self.hold.diverge(str(error))
