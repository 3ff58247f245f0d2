"""The controller: modes, their switching, and the tick that turns a state into a torque."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.control import kernels
from icir_control.control.config import ControllerConfig, Mode
from icir_control.control.kernels.record import (
    CUSTOM,
    JOINT_PATH,
    POSE_PATH,
    TASK,
    as_placement,
    install_path,
    install_start,
    new_record,
)
from icir_control.control.law import Plan, Start, Tick
from icir_control.control.laws.gravity import Gravity
from icir_control.dynamics import Model
from icir_control.dynamics.kernels import mass_matrix_of, nle_of
from icir_control.errors import InvalidValueError, RefusedError
from icir_control.spatial import SE3, Motion


@dataclass(frozen=True)
class Event:
    """Something that the user should hear of.

    Attributes:
        level: `info`, `warning` or `error`.
        text: One sentence.
    """

    level: str
    text: str


class Controller:
    """Runs one mode at a time; knows nothing of ROS.

    The order of use: `warm_up` once, `restart` with the first state, then `tick` with every
    state, that one included; `select` and the targets between ticks.

    Attributes:
        config: What it runs; changed by `update`.
        torque: (nv,) of the last tick, within the effort limits [N m or N].
        torque_unsaturated: (nv,) the same before the limits.
    """

    def __init__(self, model: Model, config: ControllerConfig) -> None:
        """Prepare the work space; nothing is compiled yet.

        Args:
            model: Of the arm.
            config: Made for that model.
        """
        self.config = config
        self._arm = config.arm
        self._nv = nv = model.nv
        self._data = model.create_data()
        self._control = new_record(nv)
        self._record = self._control[0]
        self._record.frame = self._arm.frame
        self._record.effort_limit[:] = model.effort_limit
        self.torque: NDArray[np.float64] = self._record.torque
        self.torque_unsaturated: NDArray[np.float64] = self._record.torque_unsaturated
        self._state = np.zeros(1 + 2 * nv)
        # Where a configured mode cannot start, the arm is held up and its motion dies away.
        self._resting = Mode('', '', Gravity(self._arm, {'damping_rate': 2.0}))
        self._mode = self._resting
        self._started = False
        self._period_is_known = False
        self._next_entry = 0
        self._events: list[Event] = []

    # --- What runs ------------------------------------------------------------------------

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

    def warm_up(self) -> None:
        """Compile everything that a tick or a switch may call, so that none of them waits."""
        scratch = Controller(self._arm.model, self.config)
        q = np.clip(
            self._arm.model.neutral(),
            self._arm.model.lower_position_limit,
            self._arm.model.upper_position_limit,
        )
        kernels.tick(scratch._data.buffer, scratch._control, scratch._state)
        kernels.sense(scratch._data.buffer, scratch._control, scratch._state)
        kernels.actuate(scratch._data.buffer, scratch._control)
        for mode in self.config.modes.values():
            scratch.restart(0.0, q, np.zeros(self._nv))
            try:
                scratch.select(mode.name)
            except RefusedError:
                continue
        kernels.start_pose_path(scratch._data.buffer, scratch._control)
        kernels.advance_reference(scratch._data.buffer, scratch._record, 0.0)

    def restart(self, time: float, q: ArrayLike, v: ArrayLike) -> None:
        """Begin anew from a measured state, in the initial mode.

        Schedule entries that are due before this time are skipped.

        Args:
            time: Simulation time [s].
            q: (nv,) measured position [rad or m].
            v: (nv,) measured velocity [rad/s or m/s].
        """
        self._keep(time, q, v)
        self._started = True
        self._period_is_known = False
        self._next_entry = sum(entry.time < time for entry in self.config.schedule)
        start = self._measured_start()
        initial = self.config.modes[self.config.initial_mode]
        try:
            self._enter(initial, start, initial.law.plan(start))
        except RefusedError as error:
            self._events.append(Event('error', f'{initial.name} cannot start: {error}'))
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
        self._measure_period(time)
        self._keep(time, q, v)
        schedule = self.config.schedule
        while self._next_entry < len(schedule) and schedule[self._next_entry].time <= time:
            self._run_entry(schedule[self._next_entry].mode)
            self._next_entry += 1
        if self._record.law == CUSTOM:
            self._python_tick(time)
        else:
            kernels.tick(self._data.buffer, self._control, self._state)
        return self.torque

    def _python_tick(self, time: float) -> None:
        kernels.sense(self._data.buffer, self._control, self._state)
        record, nv = self._record, self._nv
        view = Tick(
            time,
            self._state[1 : 1 + nv],
            self._state[1 + nv :],
            mass_matrix_of(self._data.buffer),
            nle_of(self._data.buffer),
            record.pose,
            record.jacobian,
            record.drift,
            record.q_reference,
            record.v_reference,
            record.a_reference,
            record.pose_reference,
            record.twist_reference,
            record.acceleration_reference,
        )
        record.acceleration[:] = self._mode.law.acceleration(view)
        kernels.actuate(self._data.buffer, self._control)

    def _keep(self, time: float, q: ArrayLike, v: ArrayLike) -> None:
        self._state[0] = time
        self._state[1 : 1 + self._nv] = q
        self._state[1 + self._nv :] = v

    def _measure_period(self, time: float) -> None:
        """Learn the control period: the least step of time; a longer one is a missed tick."""
        step = round((time - self._state[0]) * 1e9) * 1e-9
        if step > 0.0 and not (self._period_is_known and step >= self._record.period):
            self._record.period = step
            self._period_is_known = True

    def _run_entry(self, name: str) -> None:
        try:
            self.select(name)
        except RefusedError as error:
            self._events.append(Event('error', f'scheduled mode {name} refused: {error}'))

    # --- Switching ------------------------------------------------------------------------

    def select(self, name: str) -> None:
        """Switch to a mode, from the present reference or the measured state.

        Args:
            name: Of a configured mode.

        Raises:
            RefusedError: Unknown mode, no state yet, or a motion that cannot be; nothing changes.
        """
        if name not in self.config.modes:
            raise RefusedError(f'unknown mode {name!r}; valid: {", ".join(self.config.modes)}')
        mode = self.config.modes[name]
        start = self._start()
        self._enter(mode, start, mode.law.plan(start))

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
        start = self._start()
        self._enter(self._mode, start, self._mode.law.plan_joints(start, goal))

    def set_target_pose(self, T_base_tool: SE3) -> None:
        """Send the running mode to another pose of the end effector, in the base frame.

        Raises:
            RefusedError: The mode takes no pose, or cannot reach this one; nothing changes.
        """
        start = self._start(keep_pose=True)
        goal = self._arm.T_world_base @ T_base_tool
        self._enter(self._mode, start, self._mode.law.plan_pose(start, goal))

    def update(self, changes: Mapping[str, Any]) -> None:
        """Change parameters between two ticks, all of them or none.

        Args:
            changes: By full name, such as `joint_gains.kp`.

        Raises:
            ConfigurationError: Nothing has changed then; the message is the reason.
        """
        self.config = self.config.updated(changes)
        self._mode = self.config.modes.get(self._mode.name, self._resting)
        self._write_figures()

    def _start(self, *, keep_pose: bool = False) -> Start:
        """Return where the next motion begins: on the reference if the arm is held to it."""
        if not self._started:
            raise RefusedError('no state of the arm has arrived yet')
        record = self._record
        kernels.advance_reference(self._data.buffer, record, self._state[0])
        if self._mode.law.TRACKS:
            start = self._start_at(record.q_reference.copy(), record.v_reference.copy())
        else:
            start = self._measured_start()
        if keep_pose and record.path == POSE_PATH:
            twist = record.twist_reference.copy()
            return Start(
                start.time,
                start.q,
                start.v,
                as_placement(record.pose_reference),
                Motion(twist[:3], twist[3:]),
            )
        return start

    def _measured_start(self) -> Start:
        nv = self._nv
        return self._start_at(self._state[1 : 1 + nv].copy(), self._state[1 + nv :].copy())

    def _start_at(self, q: NDArray[np.float64], v: NDArray[np.float64]) -> Start:
        time = float(self._state[0])
        return Start(time, q, v, self._arm.placement(q), self._arm.twist(q, v))

    def _enter(self, mode: Mode, start: Start, plan: Plan) -> None:
        self._mode = mode
        if plan.note:
            self._events.append(Event('info', f'{mode.name}: {plan.note}'))
        self._write_figures()
        install_path(self._record, plan.path)
        install_start(self._record, start.time, start.q, start.v)
        if self._record.path == POSE_PATH and self._record.law == TASK:
            kernels.start_pose_path(self._data.buffer, self._control)

    def _write_figures(self) -> None:
        self._record.law = self._mode.law.CODE
        self.config.gains.write(self._record)
        self._mode.law.write(self._record)

    # --- Results of the last tick ---------------------------------------------------------

    @property
    def saturated(self) -> NDArray[np.bool_]:
        """(nv,) which joints were asked for more than their effort limit."""
        return self.torque_unsaturated != self.torque

    @property
    def smallest_singular_value(self) -> float:
        """Of the end-effector Jacobian, metres and radians mixed."""
        return float(self._record.smallest_singular_value)

    @property
    def position_reference(self) -> NDArray[np.float64]:
        """(nv,) where the arm should be; where it is, in a mode without a joint reference."""
        if self._has_joint_reference:
            return self._record.q_reference
        return self._state[1 : 1 + self._nv]

    @property
    def velocity_reference(self) -> NDArray[np.float64]:
        """(nv,) how it should move; how it moves, in a mode without a joint reference."""
        if self._has_joint_reference:
            return self._record.v_reference
        return self._state[1 + self._nv :]

    @property
    def current_pose(self) -> SE3:
        """T_base_tool of the end effector at the last tick."""
        return self._arm.T_world_base.inverse() @ as_placement(self._record.pose)

    @property
    def reference_pose(self) -> SE3:
        """T_base_tool that the end effector should have; what it has, where there is none."""
        if self._record.path == POSE_PATH:
            T_world_tool = as_placement(self._record.pose_reference)
        else:
            T_world_tool = self._arm.placement(self.position_reference)
        return self._arm.T_world_base.inverse() @ T_world_tool

    @property
    def _has_joint_reference(self) -> bool:
        return self._mode.law.TRACKS or self._record.path == JOINT_PATH
