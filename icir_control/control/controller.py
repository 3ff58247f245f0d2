"""The controller: modes, their switching, and the tick that turns a state into a torque."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.compiled import reporting
from icir_control.control.config import ControllerConfig, Mode
from icir_control.control.engine import Engine
from icir_control.control.law import Law, Plan, Start, guarded
from icir_control.control.laws.gravity import Gravity
from icir_control.control.laws.joint import Hold
from icir_control.control.readout import Readout
from icir_control.control.waypoints import Waypoints, plan_waypoints
from icir_control.dynamics import Model
from icir_control.errors import (
    ClearanceError,
    ConfigurationError,
    IcirError,
    InvalidValueError,
    LawError,
    RefusedError,
)
from icir_control.spatial import SE3, Force

WRENCH_HOLD = 0.1
"""[s] of simulation time, after which a measured wrench counts no more."""


TRAJECTORY = 'joint trajectory'
"""The mode that follows waypoints; no configured mode can have a name with a space."""

_GOALS = {'joints': 'joint target', 'pose': 'target pose'}


@dataclass(frozen=True)
class Event:
    """Something that the user should hear of.

    Attributes:
        level: `info`, `warning` or `error`.
        text: One sentence.
        mode: The mode that it is about.
        error: What went wrong; None where nothing did.
    """

    level: str
    text: str
    mode: str = ''
    error: IcirError | None = None


class Controller(Readout):
    """Runs one mode at a time; knows nothing of ROS.

    The order of use: `warm_up` once, `restart` with the first state, then `tick` with every
    state, that one included; `select` and the targets between ticks. What came of the last tick
    is read as from any `Readout`.

    Attributes:
        config: What it runs; changed by `update`.
    """

    def __init__(self, model: Model, config: ControllerConfig) -> None:
        """Prepare the work space; nothing is compiled yet.

        Args:
            model: Of the arm.
            config: Made for that model.
        """
        super().__init__(Engine(config))
        self.config = config
        self._nv = model.nv
        # Where a configured mode cannot start, the arm is held up and its motion dies away.
        self._resting = Mode('', '', Gravity(config.arm, damping_rate=2.0))
        # Where the watchdog has stopped the arm, it is held there.
        self._stopped = Mode('', '', Hold(config.arm))
        self._following = Mode(TRAJECTORY, '', Hold(config.arm))
        self._braking = False
        self._mode = self._resting
        self._started = False
        self._await_entry(0)
        self._events: list[Event] = []

    @property
    def mode(self) -> str:
        """Name of the running mode; empty before the first state."""
        return self._mode.name

    @property
    def mode_names(self) -> tuple[str, ...]:
        """Names of the configured modes."""
        return tuple(self.config.modes)

    @property
    def keys(self) -> dict[str, str]:
        """Mode by key."""
        return {mode.key: name for name, mode in self.config.modes.items()}

    def take_events(self) -> list[Event]:
        """Return what has happened since the last call."""
        events, self._events = self._events, []
        return events

    # --- The tick -------------------------------------------------------------------------

    def warm_up(
        self,
        progress: Callable[[int, int, str], None] | None = None,
        start_helper: Callable[[], None] | None = None,
    ) -> bool:
        """Compile everything that a tick or a switch may call, so that none of them waits.

        Args:
            progress: Told how much is done, of how much, and what comes next, before each part
                that has to be compiled; never where all lies on disk.
            start_helper: Called as soon as anything is missing: it may have the laws compiled by
                another process, in the order of the modes. Here they are taken from the last on.

        Returns:
            Whether anything had to be compiled.
        """
        model = self.config.arm.model
        q = np.clip(model.neutral(), model.lower_position_limit, model.upper_position_limit)
        modes = [self._resting, *reversed([*self.config.modes.values()])]
        missing: set[str] = set()
        for done, mode in enumerate(modes):
            part = f'mode {mode.name}' if mode.name else 'the control tick'

            def announce(_: str, done: int = done, part: str = part) -> None:
                if part not in missing:
                    if start_helper is not None and not missing:
                        start_helper()
                    missing.add(part)
                    if progress is not None:
                        progress(done, len(modes), part)

            with reporting(announce):
                scratch = Controller(model, self.config)
                scratch.restart(0.0, q, np.zeros(self._nv))
                scratch.tick(0.0, q, np.zeros(self._nv))
                # What somebody may ask for while the arm moves is compiled now, too.
                _ = scratch.tool_error.vector, scratch.reference_pose.quaternion
                scratch._engine.prepare(mode.law)
                start = scratch._engine.start()
                with suppress(RefusedError):
                    scratch._plan(mode, start)
        return bool(missing)

    def compile_laws(self) -> None:
        """Compile the laws of all modes, and what lets the joints follow a pose path."""
        for mode in self.config.modes.values():
            self._engine.prepare(mode.law)

    def restart(
        self, time: float, q: ArrayLike, v: ArrayLike, euler_steps: int | None = None
    ) -> None:
        """Begin anew from a measured state, in the initial mode.

        Schedule entries that are due before this time are skipped.

        Args:
            time: Simulation time [s].
            q: (nv,) measured position [rad or m].
            v: (nv,) measured velocity [rad/s or m/s].
            euler_steps: Steps of semi-implicit Euler that the plant takes in a control period; 0
                for a continuous plant, None where nobody says: then it is learnt.

        Raises:
            InvalidValueError: A number of steps below 0; nothing changes.
        """
        if euler_steps is not None and euler_steps < 0:
            raise InvalidValueError('euler_steps', euler_steps, 'a number of steps, or None')
        engine = self._engine
        engine.begin(time, q, v, euler_steps)
        self._started, self._braking = True, False
        self._await_entry(sum(entry.time < time for entry in self.config.schedule))
        start = engine.start(measured=True)
        initial = self.config.modes[self.config.initial_mode]
        self._report_clearance()
        try:
            self._enter(initial, start, self._plan(initial, start))
        except RefusedError as error:
            text = f'{initial.name} cannot start: {error}'
            self._events.append(Event('error', text, initial.name, error))
            self._enter(self._resting, start, Plan())

    def tick(self, time: float, q: ArrayLike, v: ArrayLike) -> NDArray[np.float64]:
        """Return the torque for a measured state.

        Args:
            time: Simulation time [s], later than that of the last tick.
            q: (nv,) [rad or m].
            v: (nv,) [rad/s or m/s].

        Returns:
            (nv,) within the effort limits [N m or N]; the array is used again.
        """
        engine = self._engine
        engine.measure(time, q, v)
        if engine.has_new_period:
            self._check_gains()
        if time >= self._entry_due:
            engine.look_beyond()
            self._run_schedule(time)
        try:
            engine.tick()
        except LawError as error:
            self._give_up(error)
            engine.tick()
        if engine.alarmed:
            self._brake()
        elif engine.contact_changed:
            self._report_contact()
        return self.torque

    def _check_gains(self) -> None:
        """Leave a mode whose gains are unstable at the control period that is now known."""
        self._engine.has_new_period = False
        try:
            self.config.check_stability(self._engine.period)
        except ConfigurationError as error:
            words = f'mode {self.mode} has ended, the arm is only held up: {error}'
            self._events.append(Event('error', words, self.mode, error))
            self._rest()

    def _report_clearance(self) -> None:
        """Say where links are too near each other from the start on."""
        try:
            self.config.arm.check_clearance_at(self._engine.q)
        except ClearanceError as error:
            words = f'{error}: the arm starts within its clearance, and may only leave it'
            self._events.append(Event('error', words, '', error))

    def _report_contact(self) -> None:
        """Say that the arm touches something, or no more."""
        engine = self._engine
        engine.contact_changed = False
        touch = engine.contact
        words = f'contact: {touch}; the path waits' if touch else 'no contact; the path goes on'
        level = 'warning' if touch else 'info'
        self._events.append(Event(level, f'{self.mode}: {words}', self.mode))

    def _brake(self) -> None:
        """Say once why the arm is braked; hold it as soon as it is slow."""
        engine = self._engine
        if not self._braking:
            ended = f'mode {self.mode} has ended, ' if self.mode else ''
            words = f'{ended}the arm is braked and held: {engine.alarm}'
            self._events.append(Event('error', words, self.mode))
            self._mode, self._braking = self._stopped, True
            engine.memory.tracks = 0
        elif engine.nearly_at_rest:
            self._braking = False
            engine.clear_alarm()
            start = engine.start(measured=True)
            self._enter(self._stopped, start, self._plan(self._stopped, start))

    def _run_schedule(self, time: float) -> None:
        """Switch as the schedule says, up to a time [s]."""
        while self._entry_due <= time:
            name = self.config.schedule[self._next_entry].mode
            self._await_entry(self._next_entry + 1)
            try:
                self.select(name)
            except RefusedError as error:
                text = f'scheduled mode {name} refused: {error}'
                self._events.append(Event('error', text, name, error))

    def _await_entry(self, index: int) -> None:
        """Let an entry of the schedule, if there is one, be the next."""
        schedule = self.config.schedule
        self._next_entry = index
        self._entry_due = schedule[index].time if index < len(schedule) else np.inf

    # --- Switching ------------------------------------------------------------------------

    def select(self, name: str) -> None:
        """Switch to a mode, from the present reference or the measured state.

        Args:
            name: Of a configured mode.

        Raises:
            RefusedError: Unknown mode, no state yet, or a motion that cannot be; nothing changes.
        """
        if name not in self.config.modes:
            valid = ', '.join(self.config.modes)
            raise RefusedError(f'unknown mode {name!r}; valid: {valid}', reason='unknown_mode')
        self._require_start()
        self._start(self.config.modes[name])

    def run_law(self, name: str, law: Law) -> None:
        """Leave the running mode for a law that is not configured.

        Args:
            name: What `mode` says meanwhile; no configured mode has it.
            law: Made for the arm of `config`.

        Raises:
            RefusedError: The law cannot run from here; nothing changes.
        """
        if name in self.config.modes:
            raise RefusedError(f'{name!r} is a configured mode; name the law otherwise')
        self._require_start()
        self._start(Mode(name, '', law))

    def set_target_joints(self, q: ArrayLike) -> None:
        """Send the running mode to another posture.

        Args:
            q: (nv,) [rad or m].

        Raises:
            InvalidValueError: Not nv finite numbers.
            RefusedError: The mode takes no posture, or not this one; nothing changes.
        """
        goal = np.asarray(q, dtype=float)
        if goal.shape != (self._nv,) or not np.isfinite(goal).all():
            raise InvalidValueError('target joints', q, f'{self._nv} finite numbers')
        self._require_goal('joints')
        start = self._engine.start()
        plan = self._planned(self._mode, lambda law: law.plan_joints(start, goal))
        self._enter(self._mode, start, plan)

    def set_target_pose(self, T_base_tool: SE3) -> None:
        """Send the running mode to another pose of the end effector, in the base frame.

        Raises:
            RefusedError: The mode takes no pose, or cannot reach this one; nothing changes.
        """
        self._require_goal('pose')
        start = self._engine.start(keep_pose=True)
        goal = self.config.arm.T_world_base @ T_base_tool
        plan = self._planned(self._mode, lambda law: law.plan_pose(start, goal))
        self._enter(self._mode, start, plan)

    def follow(self, waypoints: Waypoints | None) -> None:
        """Leave the running mode, and go through waypoints from the present reference.

        Args:
            waypoints: The motion; None to come to rest instead.

        Raises:
            RefusedError: The arm cannot go there; nothing changes.
        """
        self._require_start()
        start = self._engine.start()
        if waypoints is None:
            plan = self._plan(self._following, start)
        else:
            plan = plan_waypoints(self.config.arm, start, waypoints)
        self._enter(self._following, start, plan)

    @property
    def motion_left(self) -> float:
        """How much of its own time is left of the motion that runs [s]; 0 where none does."""
        return self._engine.motion_left

    def set_measured_wrench(self, wrench: Force) -> None:
        """Tell what acts on the tool; it holds for `WRENCH_HOLD` of simulation time.

        Args:
            wrench: At the origin of the end-effector frame, in its axes [N, N m].
        """
        self._engine.take_wrench(wrench.vector, self._engine.time + WRENCH_HOLD)

    def update(self, changes: Mapping[str, Any]) -> None:
        """Change parameters between two ticks, all of them or none.

        Args:
            changes: By full name, such as `joint_gains.kp`.

        Raises:
            ConfigurationError: Nothing has changed then; the message is the reason.
            ClearanceError: Links are nearer than a new clearance; nothing has changed then.
        """
        config = self.config.updated(changes)
        if self._engine.period > 0.0:
            config.check_stability(self._engine.period)
        if 'clearance' in changes and self._started:
            config.arm.check_clearance_at(self._engine.q)
        self.config = self._engine.config = config
        self._mode = self.config.modes.get(self._mode.name, self._mode)
        try:
            self._engine.take_parameters(self._mode.law)
        except LawError as error:
            self._give_up(error)

    def _require_start(self) -> None:
        if not self._started:
            raise RefusedError('no state of the arm has arrived yet', reason='no_state')
        if self._braking:
            raise RefusedError('the arm is being braked; wait until it rests', reason='braking')
        if self._engine.period > 0.0:
            try:
                self.config.check_stability(self._engine.period)
            except ConfigurationError as error:
                raise RefusedError(str(error), reason='gains') from error

    def _require_goal(self, goal: str) -> None:
        self._require_start()
        if goal not in self._mode.law.accepts:
            able = [name for name, mode in self.config.modes.items() if goal in mode.law.accepts]
            raise RefusedError(
                f'mode {self.mode} takes no {_GOALS[goal]}; modes that do: '
                f'{", ".join(able) or "(none)"}',
                reason='no_target',
            )

    def _start(self, mode: Mode) -> None:
        start = self._engine.start()
        self._enter(mode, start, self._plan(mode, start))

    def _plan(self, mode: Mode, start: Start) -> Plan:
        return self._planned(mode, lambda law: law.plan(start))

    def _planned(self, mode: Mode, plan: Callable[[Law], Plan]) -> Plan:
        """Return the plan that a mode's law makes.

        Raises:
            RefusedError: It makes none.
        """
        kind = type(mode.law)
        with guarded(kind, 'plan'):
            made = plan(mode.law)
            if not isinstance(made, Plan):
                raise TypeError(f'{made!r} is no Plan')
        return made

    def _enter(self, mode: Mode, start: Start, plan: Plan) -> None:
        try:
            with guarded(type(mode.law), 'acceleration'):
                self._engine.install(mode.law, start, plan)
        except LawError:
            self._rest()
            raise
        self._mode = mode
        if plan.note:
            self._events.append(Event('info', f'{mode.name}: {plan.note}', mode.name))

    def _give_up(self, error: LawError) -> None:
        """Leave a mode whose law has failed."""
        words = f'mode {self._mode.name} has ended, the arm is only held up: {error}'
        self._events.append(Event('error', words, self._mode.name, error))
        self._rest()

    def _rest(self) -> None:
        """Hold the arm up and let its motion die away, from the measured state."""
        self._mode = self._resting
        self._engine.install(self._resting.law, self._engine.start(measured=True), Plan())
