"""The engine: the memory of a tick, and the compiled calls that work on it."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.control.config import ControllerConfig
from icir_control.control.decomposition import torque_terms
from icir_control.control.guard import guarded
from icir_control.control.kernels.record import (
    ACTUATE,
    ADVANCE,
    CUSTOM,
    FEED_FORWARD,
    JOINT_PATH,
    NO_PATH,
    POSE_PATH,
    PREPARE,
    SENSE,
    START_PATH,
    STEP,
    TASK,
    TICK,
    as_placement,
    change_period,
    install_path,
    install_start,
    settle_gains,
)
from icir_control.control.law import Law, Plan, Start, Tick
from icir_control.errors import LawError
from icir_control.spatial import SE3, Motion

_SAME_TIME = 1e-10  # s, far below the nanosecond that stamps count


class Engine:
    """Runs the law that is installed; knows nothing of modes.

    Attributes:
        config: Figures beside those of the law.
        record: Fields of the record, views into its memory.
        time: Of the last measured state [s].
        looks_beyond: Whether `look_beyond` has work to do.
    """

    def __init__(self, config: ControllerConfig) -> None:
        """Prepare the memory; nothing is compiled yet."""
        self.config = config
        self.arm = config.arm
        self.time = 0.0
        self._workspace = workspace = self.arm.new_workspace()
        self.record = workspace.record
        self.q: NDArray[np.float64] = workspace.q
        self.v: NDArray[np.float64] = workspace.v
        self._state = workspace.state
        self._period = np.nan
        self._answered = False
        self._law: Law | None = None
        self._in_python = False
        self.looks_beyond = False
        self._wrench_until = np.inf

    # --- Before and during a tick ---------------------------------------------------------

    def measure(self, time: float, q: ArrayLike, v: ArrayLike) -> None:
        """Take a measured state, and learn the control period from the steps of time.

        The least step is the period; a longer one is a missed tick.
        """
        if not -_SAME_TIME < time - self.time - self._period < _SAME_TIME:
            self._note_step(round((time - self.time) * 1e9) * 1e-9)
        if time > self._wrench_until:
            self.take_wrench(np.zeros(6), np.inf)
        self._answered = False
        self._state[0] = self.time = time
        self._workspace.take_state(q, v)

    def _note_step(self, step: float) -> None:
        """Take note of a step of time [s] that is not the period, or of the first one."""
        if step > 0.0 and not step >= self._period:  # also while the period is not a number
            self._period = step
            change_period(self.record, step)
        elif step > 1.5 * self._period:
            self.record.observing = 0

    def take_wrench(self, wrench: NDArray[np.float64], until: float) -> None:
        """Take a measured wrench (6,) on the tool, in its axes, until a time [s]."""
        self.record.measured_wrench[:] = wrench
        self._wrench_until = until

    def begin(self, time: float, q: ArrayLike, v: ArrayLike) -> None:
        """Take the first state of a new start, which nothing measured or learnt before reaches.

        The next step of time tells the period; until then the last one stands. The time since
        the last start is none.
        """
        record = self.record
        self.time, self._period = time, np.nan
        self.measure(time, q, v)
        self.take_wrench(np.zeros(6), np.inf)
        record.observing = record.has_torque = 0
        record.disturbance[:] = record.compensation[:] = record.learnt_at_rest[:] = 0.0
        record.path = NO_PATH
        self._workspace.run(SENSE)
        # The bridge bears the arm until the first command arrives at the motors.
        record.pending[:] = self._workspace.data.nle

    def look_beyond(self) -> None:
        """Observe the last period, and predict over the delay."""
        self._workspace.run(PREPARE)

    def tick(self) -> None:
        """Compute the torque of the installed law for the state that was measured.

        Raises:
            LawError: A law in Python failed; there is no torque yet.
        """
        if self._in_python:
            self._python_tick()
        else:
            self._workspace.run(TICK)
        self._answered = True

    def _python_tick(self) -> None:
        workspace, record = self._workspace, self.record
        workspace.run(SENSE)
        view = Tick(
            time=float(workspace.state[0]),
            q=self.q,
            v=self.v,
            M=workspace.data.M,
            nle=workspace.data.nle,
            pose=record.pose,
            jacobian=record.jacobian,
            drift=record.drift,
            position_reference=record.q_reference,
            velocity_reference=record.v_reference,
            acceleration_reference=record.a_reference,
            pose_reference=record.pose_reference,
            twist_reference=record.twist_reference,
            frame_acceleration_reference=record.acceleration_reference,
        )
        kind = type(self._law)
        with guarded(kind, 'acceleration'):
            answer = np.asarray(self._law.acceleration(view), dtype=float)
        if answer.shape != record.acceleration.shape or not np.isfinite(answer).all():
            raise LawError(
                f'{kind.__module__}:{kind.__qualname__}',
                f'acceleration: it returned {answer.tolist()}; expected'
                f' {len(record.acceleration)} finite numbers',
            )
        record.acceleration[:] = answer
        workspace.run(ACTUATE)

    # --- What it runs ---------------------------------------------------------------------

    def install(self, law: Law, start: Start, plan: Plan) -> None:
        """Run a law from a start along its plan."""
        self.write_figures(law)
        settle_gains(self.record)
        install_path(self.record, plan.path)
        install_start(self.record, start.time, start.q, start.v)
        if self.has_joint_reference:
            self._workspace.run(START_PATH)

    def write_figures(self, law: Law) -> None:
        """Take over the figures of the configuration and of the law that runs."""
        record, config = self.record, self.config
        self._law = law
        self._in_python = law.CODE == CUSTOM
        record.law = law.CODE
        record.feeds_back = law.TRACKS
        record.delay = config.delay_steps
        record.observer_gain = config.observer_gain
        # An observer that is switched off has yet to let go of what it has learnt.
        learnt = record.compensation.any() or record.disturbance.any()
        self.looks_beyond = bool(learnt or config.observer_gain > 0.0 or config.delay_steps > 0)
        record.torque_rate_limit[:] = config.torque_rate_limit
        record.speed_scale = config.speed_scale
        record.position_margin = config.position_margin
        record.feed_forward = FEED_FORWARD.index('matched')
        config.gains.write(record)
        law.write(record)

    def start(self, *, measured: bool = False, keep_pose: bool = False) -> Start:
        """Return where a next motion begins: on the reference, if the arm is held to it.

        Once the present state has been answered, the next torque acts a period later: there, and
        not here, the motion begins.

        Args:
            measured: Begin at the measured state all the same.
            keep_pose: Begin at the pose of the reference also where the arm only leans on it.
        """
        ahead = self._workspace.copy()
        record = ahead.record
        if self._answered:
            ahead.run(STEP)
        ahead.run(ADVANCE)
        if self._law is not None and self._law.TRACKS and not measured:
            q, v = record.q_reference, record.v_reference
        else:
            q, v = ahead.q, ahead.v
        time = float(ahead.state[0])
        if keep_pose and record.path == POSE_PATH:
            pose, nu = as_placement(record.pose_reference), record.twist_reference
            return Start(time, q, v, pose, Motion(nu[:3], nu[3:]), record.period)
        return Start(time, q, v, *self.arm.motion(q, v), record.period)

    # --- Results of the last tick ---------------------------------------------------------

    @property
    def position_reference(self) -> NDArray[np.float64]:
        """(nv,) where the arm should be; where it is, in a law without a joint reference."""
        return self.record.q_reference if self.has_joint_reference else self.q

    @property
    def velocity_reference(self) -> NDArray[np.float64]:
        """(nv,) how it should move; how it moves, in a law without a joint reference."""
        return self.record.v_reference if self.has_joint_reference else self.v

    @property
    def current_pose(self) -> SE3:
        """T_base_tool of the end effector."""
        return self.arm.T_world_base.inverse() @ self._workspace.placement

    @property
    def reference_pose(self) -> SE3:
        """T_base_tool that the end effector should have; what it has, where there is none."""
        if self.record.path == POSE_PATH:
            T_world_tool = as_placement(self.record.pose_reference)
        else:
            T_world_tool = self.arm.placement(self.position_reference)
        return self.arm.T_world_base.inverse() @ T_world_tool

    @property
    def torque_terms(self) -> dict[str, NDArray[np.float64]]:
        """The parts of the torque by name, each (nv,)."""
        data = self._workspace.data
        return torque_terms(self.record, data.M, data.nle, data.g)

    @property
    def has_joint_reference(self) -> bool:
        """Whether the running law has a reference for the joints."""
        return self.record.path == JOINT_PATH or self.record.law == TASK
