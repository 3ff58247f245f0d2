"""The engine: the memory of a tick, and the compiled calls that work on it."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.control import kernels
from icir_control.control.config import ControllerConfig
from icir_control.control.decomposition import torque_terms
from icir_control.control.kernels.record import (
    CUSTOM,
    JOINT_PATH,
    POSE_PATH,
    TASK,
    as_placement,
    install_path,
    install_start,
    new_record,
    settle_gains,
)
from icir_control.control.law import Law, Plan, Start, Tick
from icir_control.spatial import SE3, Motion


class Engine:
    """Runs the law that is installed; knows nothing of modes.

    Attributes:
        config: Figures beside those of the law.
        record: Fields of the record, views into its memory.
        time: Of the last measured state [s].
    """

    def __init__(self, config: ControllerConfig) -> None:
        """Prepare the memory; nothing is compiled yet."""
        self.config = config
        self.arm = config.arm
        self.time = 0.0
        self._nv = nv = self.arm.nv
        self._dynamics = self.arm.model.create_data().buffer
        self._control = new_record(nv)
        self.record = self._control[0]
        self.record.frame = self.arm.frame
        self.record.effort_limit[:] = self.arm.model.effort_limit
        self.record.lower_position_limit[:] = self.arm.model.lower_position_limit
        self.record.upper_position_limit[:] = self.arm.model.upper_position_limit
        self.record.velocity_limit[:] = self.arm.model.velocity_limit
        self.record.acceleration_limit[:] = self.arm.acceleration_limit
        self._state = np.zeros(1 + 2 * nv)
        self.q: NDArray[np.float64] = self._state[1 : 1 + nv]
        self.v: NDArray[np.float64] = self._state[1 + nv :]
        self._period_is_known = False
        self._answered = False
        self._law: Law | None = None

    def warm_up(self) -> None:
        """Compile every kernel that a tick or a switch may call, on memory of its own."""
        scratch = Engine(self.config)
        dynamics, control, state = scratch._dynamics, scratch._control, scratch._state
        kernels.prepare(dynamics, control, state)
        kernels.tick(dynamics, control, state)
        kernels.sense(dynamics, control, state)
        kernels.actuate(dynamics, control, state)
        scratch.record.path = POSE_PATH
        kernels.start_path(dynamics, control)
        kernels.step(dynamics, control, state)
        kernels.advance_reference(dynamics, scratch.record, 0.0)
        scratch.forget()

    # --- Before and during a tick ---------------------------------------------------------

    def measure(self, time: float, q: ArrayLike, v: ArrayLike) -> None:
        """Take a measured state, and learn the control period from the steps of time.

        The least step is the period; a longer one is a missed tick.
        """
        step = round((time - self.time) * 1e9) * 1e-9
        if step > 0.0 and not (self._period_is_known and step >= self.record.period):
            self.record.period = step
            self._period_is_known = True
        elif step > 1.5 * self.record.period:
            self.record.observing = 0
        self._answered = False
        self._state[0] = self.time = time
        self.q[:] = q
        self.v[:] = v

    def forget(self) -> None:
        """Let neither an old disturbance nor an old torque nor an old period reach a new start."""
        record = self.record
        record.observing = record.has_torque = 0
        record.disturbance[:] = record.compensation[:] = 0.0
        self._period_is_known = False
        kernels.terms(self._dynamics, self.q, self.v)
        # The bridge bears the arm until the first command arrives at the motors.
        record.pending[:] = kernels.nle_of(self._dynamics)

    def look_beyond(self) -> None:
        """Observe the last period and predict over the delay, where either is switched on."""
        if self.config.observer_gain > 0.0 or self.config.delay_steps > 0:
            kernels.prepare(self._dynamics, self._control, self._state)

    def tick(self) -> None:
        """Compute the torque of the installed law for the state that was measured."""
        if self.record.law == CUSTOM:
            self._python_tick()
        else:
            kernels.tick(self._dynamics, self._control, self._state)
        self._answered = True

    def _python_tick(self) -> None:
        kernels.sense(self._dynamics, self._control, self._state)
        record = self.record
        view = Tick(
            time=float(self._state[0]),
            q=self.q,
            v=self.v,
            M=kernels.mass_matrix_of(self._dynamics),
            nle=kernels.nle_of(self._dynamics),
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
        record.acceleration[:] = self._law.acceleration(view)
        kernels.actuate(self._dynamics, self._control, self._state)

    # --- What it runs ---------------------------------------------------------------------

    def install(self, law: Law, start: Start, plan: Plan) -> None:
        """Run a law from a start along its plan."""
        self.write_figures(law)
        settle_gains(self.record)
        install_path(self.record, plan.path)
        install_start(self.record, start.time, start.q, start.v)
        if self._has_joint_reference:
            kernels.start_path(self._dynamics, self._control)

    def write_figures(self, law: Law) -> None:
        """Take over the figures of the configuration and of the law that runs."""
        record, config = self.record, self.config
        self._law = law
        record.law = law.CODE
        record.feeds_back = law.TRACKS
        record.delay = config.delay_steps
        record.observer_gain = config.observer_gain
        record.torque_rate_limit[:] = config.torque_rate_limit
        record.speed_scale = config.speed_scale
        record.position_margin = config.position_margin
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
        ahead = self._control.copy()
        record, state = ahead[0], self._state.copy()
        if self._answered:
            kernels.step(self._dynamics, ahead, state)
        time = float(state[0])
        kernels.advance_reference(self._dynamics, record, time)
        if self._law is not None and self._law.TRACKS and not measured:
            q, v = record.q_reference, record.v_reference
        else:
            q, v = state[1 : 1 + self._nv], state[1 + self._nv :]
        if keep_pose and record.path == POSE_PATH:
            pose, nu = as_placement(record.pose_reference), record.twist_reference
            return Start(time, q, v, pose, Motion(nu[:3], nu[3:]), record.period)
        placement, twist = self.arm.placement(q), self.arm.twist(q, v)
        return Start(time, q, v, placement, twist, record.period)

    # --- Results of the last tick ---------------------------------------------------------

    @property
    def position_reference(self) -> NDArray[np.float64]:
        """(nv,) where the arm should be; where it is, in a law without a joint reference."""
        return self.record.q_reference if self._has_joint_reference else self.q

    @property
    def velocity_reference(self) -> NDArray[np.float64]:
        """(nv,) how it should move; how it moves, in a law without a joint reference."""
        return self.record.v_reference if self._has_joint_reference else self.v

    @property
    def current_pose(self) -> SE3:
        """T_base_tool of the end effector."""
        return self.arm.T_world_base.inverse() @ as_placement(self.record.pose)

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
        M, nle = kernels.mass_matrix_of(self._dynamics), kernels.nle_of(self._dynamics)
        return torque_terms(self.record, M, nle, kernels.gravity_of(self._dynamics))

    @property
    def _has_joint_reference(self) -> bool:
        return self.record.path == JOINT_PATH or self.record.law == TASK
