"""Switching: from mode to mode and goal to goal, each refused or planned before it begins."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from icir_control.control.config import ControllerConfig, Mode
from icir_control.control.engine import Engine
from icir_control.control.law import Law, Plan, Start, guarded
from icir_control.control.laws.gravity import Gravity
from icir_control.control.laws.joint import Hold
from icir_control.control.readout import Readout
from icir_control.control.waypoints import Waypoints, plan_waypoints
from icir_control.errors import (
    ConfigurationError,
    IcirError,
    InvalidValueError,
    LawError,
    RefusedError,
)
from icir_control.spatial import SE3, Force
from icir_control.trajectory import JointTrajectory

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


class Switching(Readout):
    """Runs one mode at a time, and changes it between two ticks.

    Attributes:
        config: What it runs; changed by `update`.
    """

    def __init__(self, config: ControllerConfig) -> None:
        """Prepare the work space; nothing is compiled yet."""
        super().__init__(Engine(config))
        self.config = config
        self._nv = config.arm.nv
        # Where a configured mode cannot start, the arm is held up and its motion dies away.
        self._resting = Mode('', '', Gravity(config.arm, damping_rate=2.0))
        self._following = Mode(TRAJECTORY, '', Hold(config.arm))
        self._mode = self._resting
        self._started = self._braking = False
        self._events: list[Event] = []

    @property
    def mode(self) -> str:
        """Name of the running mode; empty before the first state."""
        return self._mode.name

    @property
    def mode_names(self) -> tuple[str, ...]:
        """Names of the configured modes."""
        return tuple(self.config.modes)

    def take_events(self) -> list[Event]:
        """Return what has happened since the last call."""
        events, self._events = self._events, []
        return events

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
        """How much of its own time the motion that runs has left [s]; 0 where none does.

        A motion of the joints that a contact kept off its path also needs the time to return.
        """
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
        if self._engine.is_period_sure:
            config.check_stability(self._engine.period)
        if 'clearance' in changes and self._started:
            config.arm.check_clearance_at(self._engine.q)
        self.config = self._engine.config = config
        self._mode = self.config.modes.get(self._mode.name, self._mode)
        if not self._started:
            return  # no law runs yet; the first one takes them
        try:
            self._engine.take_parameters(self._mode.law)
        except LawError as error:
            self._give_up(error)

    def _require_start(self) -> None:
        if not self._started:
            raise RefusedError('no state of the arm has arrived yet', reason='no_state')
        if self._braking:
            raise RefusedError('the arm is being braked; wait until it rests', reason='braking')
        if self._engine.is_period_sure:
            try:
                self.config.check_stability(self._engine.period)
            except ConfigurationError as error:
                raise RefusedError(str(error), reason='gains') from error

    def _require_goal(self, goal: str) -> None:
        self._require_start()
        if goal not in self._mode.law.accepts:
            able = self.config.modes_for(goal)
            what = f'mode {self.mode}' if self.mode else 'the arm, held without a mode,'
            raise RefusedError(
                f'{what} takes no {_GOALS[goal]}; modes that do: {", ".join(able) or "(none)"}',
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
            paths = [one for one in (made.path, *made.then) if isinstance(one, JointTrajectory)]
            for rows in (*(one.coefficients for one in paths), *(made.joints or ())):
                if len(rows) != self._nv:
                    raise ValueError(f'it is of {len(rows)} joints; expected {self._nv}')
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
