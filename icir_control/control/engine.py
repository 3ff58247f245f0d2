"""The engine: one law on the memory of a tick, compiled or in Python."""

from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.compiled import JIT_DISABLED, machine_code
from icir_control.control.clearance import Clearance
from icir_control.control.config import ControllerConfig
from icir_control.control.kernels.contact import FREE
from icir_control.control.kernels.estimate import NOISE_TIME
from icir_control.control.kernels.memory import (
    ACTUATE,
    ADVANCE,
    BRAKE,
    CALM,
    JOINT_PATH,
    NO_PATH,
    POSE_PATH,
    PREPARE,
    SENSE,
    STEP,
    TICK,
    TICK_LAYOUT,
    TOO_FAST,
    TOO_LONG,
    as_placement,
    as_pose,
)
from icir_control.control.kernels.structs import Layout
from icir_control.control.law import Law, Plan, Start, Tick, guarded, layout_of, numbers_of
from icir_control.control.repulsion import Repulsion
from icir_control.control.running_parameters import RunningParameters
from icir_control.control.weight import find_weight, forget_weight
from icir_control.control.workspace import Workspace
from icir_control.dynamics.inverse_kinematics import prepare as prepare_inverse_kinematics
from icir_control.errors import LawError
from icir_control.spatial import SE3, Motion, exp6
from icir_control.trajectory import JointTrajectory

SLOW_SHARE = 0.2
"""Of the velocity limits, below which a braked arm can be held."""

REST_SPEED = 0.05
"""[rad/s or m/s] Below which an arm is at rest as long as the noise is not known."""

_SAME_TIME = 1e-10  # s, far below the nanosecond that stamps count


class Engine:
    """Runs the law that is installed; knows nothing of modes.

    Attributes:
        config: Parameters beside those of the law.
        arm: The arm.
        memory: Record of what the controller keeps from tick to tick.
        tick_record: Record of what a law sees.
        arrays: Both records, an array of one each.
        time: Of the last measured state [s].
        q: (nv,) position at the last measured state, or predicted over the delay [rad or m].
        v: (nv,) its velocity [rad/s or m/s].
        alarmed: Whether the watchdog has raised an alarm: the arm is braked instead of controlled
            until `clear_alarm`.
        has_new_period: Whether the control period has become known, or another one.
        contact_changed: Whether a contact has begun or ended; who has read it sets it back.
    """

    def __init__(self, config: ControllerConfig) -> None:
        """Prepare the memory."""
        self.config = config
        self.arm = config.arm
        self.time = 0.0
        self._workspace = workspace = Workspace(self.arm.model, self.arm.frame)
        self.memory = workspace.memory
        self.tick_record = workspace.tick
        self.arrays = workspace.arrays
        self.q, self.v = workspace.q, workspace.v
        self._tick = Tick(workspace.tick)
        self._period = np.nan
        self._answered = False
        self._law: Law = Law(self.arm)
        self._law_array: Any = None
        self._in_python: Callable[[], Any] | None = None
        self._parameters = RunningParameters(workspace)
        self._ramps = self._parameters.ramps
        self._wrench_until = np.inf
        self._looks_beyond = self._predicts = False
        self._segments: deque[JointTrajectory] = deque()
        self._clearance: Clearance | None = None
        self._repulsion: Repulsion | None = None
        self._yields = self._repels = False
        self.alarmed = self.has_new_period = self.contact_changed = False

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
        self.time = time
        self._workspace.take_state(time, q, v)

    def _note_step(self, step: float) -> None:
        """Take note of a step of time [s] that is not the period, or of the first one."""
        if step > 0.0 and not step >= self._period:  # also while the period is not a number
            self._period = step
            self.has_new_period = True
            self._workspace.change_period(step)
            if self._repulsion is not None:
                self._repulsion.period = step
        elif step > 1.5 * self._period:
            self.memory.observing = 0

    def take_wrench(self, wrench: NDArray[np.float64], until: float) -> None:
        """Take a measured wrench (6,) on the tool, in its axes, until a time [s]."""
        self.tick_record.measured_wrench[:] = wrench
        self._wrench_until = until

    def begin(
        self, time: float, q: ArrayLike, v: ArrayLike, euler_steps: int | None = None
    ) -> None:
        """Take the first state of a new start, which nothing measured or learnt before reaches.

        The next step of time tells the period; until then the last one stands. The time since
        the last start is none.

        Args:
            time: [s].
            q: (nv,) [rad or m].
            v: (nv,) [rad/s or m/s].
            euler_steps: As in `Controller.restart`.
        """
        memory = self.memory
        memory.acceleration_limit[:] = self.arm.acceleration_limit
        self.time, self._period = time, np.nan
        self.measure(time, q, v)
        self.take_wrench(np.zeros(6), np.inf)
        self.clear_alarm()
        memory.observing = memory.has_torque = 0
        memory.disturbance[:] = memory.compensation[:] = memory.disturbance_at_rest[:] = 0.0
        forget_weight(memory)
        memory.disturbance_mean[:] = memory.disturbance_side[:] = 0.0
        memory.friction[:] = memory.friction_direction[:] = memory.friction_time[:] = 0.0
        memory.residual[:] = memory.residual_mean[:] = 0.0
        memory.residual_spread[:] = memory.residual_error[:] = 0.0
        memory.observer_trust[:] = 1.0
        memory.extra_inertia[:] = memory.inertia_information[:] = 0.0
        memory.inertia_residual[:] = memory.unexplained[:] = 0.0
        memory.acceleration_before[:] = 0.0
        memory.position_count[:] = 1.0  # as coarse as can be, until it is seen to change
        integration = self.config.values.integration
        memory.euler_share = 0.0 if integration == 'sampled' else 1.0
        memory.euler_variance, memory.euler_noise = 1.0, 0.0
        told = 'euler' if euler_steps == 1 else 'sampled'
        if euler_steps is not None and integration in ('auto', told):
            memory.euler_share = 1.0 / euler_steps if euler_steps else 0.0
            memory.euler_variance = 0.0
        memory.drag = 0.0
        memory.ticks = memory.prepared = 0
        memory.velocity_noise[:] = memory.bias_change[:] = 0.0
        memory.filtered_velocity[:] = self.v
        memory.filtered_position[:] = self.q
        memory.path = NO_PATH
        self._segments.clear()
        self._workspace.run(SENSE)
        # The bridge bears the arm until the first command arrives at the motors.
        memory.delayed_torque[:] = self._workspace.data.nle

    def look_beyond(self) -> None:
        """Observe the last period, and predict over the delay; else the tick does it itself."""
        if self._looks_beyond and not self.memory.prepared:
            self._workspace.run(PREPARE)

    def tick(self) -> None:
        """Compute the torque of the installed law for the state that was measured.

        Raises:
            LawError: The law failed; there is no torque yet.
        """
        if self._ramps:
            self._parameters.advance()
        if self._segments:
            self._go_on()
        failed = 0
        if self._repulsion is not None and self._yields:
            if self._predicts:
                self.look_beyond()
            acts = self._repulsion.may_be_near() and self._repulsion.write()
            if acts != self._repels:
                self.memory.repels = self._repels = not self._repels
        if self.alarmed:
            failed = self._workspace.run(BRAKE)
        elif self._in_python is None:
            try:
                failed = self._workspace.run(TICK)
            except Exception:  # of the compiled law; always guarded, a tick would cost 1 us more
                with guarded(type(self._law), 'acceleration'):
                    raise
            if failed == 1:
                with guarded(type(self._law), 'acceleration'):
                    self._refuse(np.asarray(type(self._law).acceleration(self._law, self._tick)))
        else:
            self.look_beyond()
            self._workspace.run(SENSE)
            with guarded(type(self._law), 'acceleration'):
                answer = np.asarray(self._in_python(), dtype=float)
            ddq = self.memory.acceleration
            if answer.shape != ddq.shape or not np.isfinite(answer).all():
                self._refuse(answer)
            ddq[:] = answer
            failed = self._workspace.run(ACTUATE)
        if failed:
            self.alarmed, self.contact_changed = failed == 2, failed == 3
        self._answered = True

    @property
    def period(self) -> float:
        """Between two ticks [s]; not a number until the second state of a start."""
        return self._period

    @property
    def alarm(self) -> str:
        """What raised the alarm, in words."""
        memory, model = self.memory, self.arm.model
        if memory.alarm == TOO_LONG:
            return f'the torque was beyond its limits for more than {memory.saturation_time:g} s'
        if memory.alarm == TOO_FAST:
            excess = np.abs(self.v) / model.velocity_limit
            bound = f'{memory.largest_speed:g} times its velocity limit'
        else:
            excess = np.abs(self.tick_record.position_reference - self.q)
            bound = f'{memory.largest_error:g} rad or m away from its reference'
        return f'joint {model.joint_names[int(np.argmax(excess))]} was beyond {bound}'

    @property
    def contact(self) -> str:
        """What the arm touches, in words; empty where it moves freely."""
        memory = self.memory
        if memory.contact == FREE:
            return ''
        torque = memory.residual - memory.residual_mean
        i = int(np.argmax(np.abs(torque)))
        return f'{self.arm.model.joint_names[i]} feels {torque[i]:.3g} N m or N too much'

    @property
    def nearly_at_rest(self) -> bool:
        """Whether every joint is slow enough to be held."""
        return bool((np.abs(self.v) < SLOW_SHARE * self.arm.model.velocity_limit).all())

    def clear_alarm(self) -> None:
        """Let the law that is installed next run."""
        self.alarmed = False
        self.memory.alarm = CALM
        self.memory.filtered_velocity[:], self.memory.filtered_position[:] = self.v, self.q
        self.memory.time_beyond = self.memory.time_saturated = 0.0

    def _go_on(self) -> None:
        """Take the next polynomial of the path once the reference's next position is on it.

        Where both meet it is: beyond its end a polynomial rests.
        """
        memory, tick = self.memory, self.tick_record
        periods = round((tick.time - memory.reference_time) / tick.period)
        ahead = memory.path_time + periods * tick.period * memory.path_rate
        while self._segments and ahead > memory.duration - _SAME_TIME:
            # Times count from the start of the polynomial that is on.
            ahead -= memory.duration
            memory.path_time -= memory.duration
            self._workspace.install_path(self._segments.popleft())

    @property
    def motion_left(self) -> float:
        """How much of the path's own time is left to the reference [s]."""
        memory = self.memory
        if memory.path == NO_PATH:
            return 0.0
        left = float(memory.duration - memory.path_time_now)
        return max(left + sum(segment.duration for segment in self._segments), 0.0)

    def _refuse(self, answer: NDArray[np.float64]) -> None:
        kind = type(self._law)
        raise LawError(
            f'{kind.__module__}:{kind.__qualname__}',
            f'acceleration: it returned {answer.tolist()}; expected {self.arm.nv} finite numbers',
        )

    # --- What it runs ---------------------------------------------------------------------

    def install(self, law: Law, start: Start, plan: Plan) -> None:
        """Run a law from a start along its plan."""
        self.prepare(law)
        self.take_parameters(law)
        self._parameters.finish()
        memory = self.memory
        if self._repulsion is not None:
            self._repulsion.begin()
        # Without a path there is nothing to be held to.
        tracks = law.TRACKS and plan.path is not None
        if tracks and not memory.tracks:
            # A hand that was felt while the arm yielded may be gone: only the weight is known.
            memory.disturbance[:] = memory.disturbance_mean[:] = memory.compensation
            memory.friction_direction[:] = 0.0
            memory.disturbance_at_rest += memory.weight
            memory.rest_position[:] = self.q
            forget_weight(memory)
        elif memory.tracks and not tracks:
            find_weight(self._workspace)
        memory.tracks, self._yields = tracks, not tracks
        memory.repels = self._repels = False
        self._workspace.install_path(plan.path)
        self._workspace.forget_contact()
        self._segments = deque(plan.then)
        memory.joints_follow = memory.tracks and memory.path == POSE_PATH
        named = type(law).acceleration.__code__.co_names
        memory.needs_twist = self._in_python is not None or 'twist_reference' in named
        if memory.joints_follow:
            self._workspace.prepare_to_follow()
        q, v = start.q, start.v
        self.tick_record.on_joint_path = law.FOLLOWS == 'pose' and memory.path == JOINT_PATH
        if isinstance(plan.path, JointTrajectory) and law.FOLLOWS == 'pose':
            self._workspace.prepare_to_place()
            # The arm that leans on a pose need not be where its path begins.
            q, v = plan.path.coefficients[:, :2].T
        self._workspace.install_start(start.time, q, v)
        self.tick_record.pose_reference[:] = as_pose(start.pose)

    def prepare(self, law: Law) -> None:
        """Make the struct of a law's numbers, and find or make its machine code."""
        acceleration = type(law).acceleration
        is_compiled = getattr(acceleration, 'is_compiled', False)
        values = numbers_of(law) if is_compiled else {}
        layout = layout_of(law, values)
        self._law, self._law_array = law, layout.new(self.arm.nv)
        self._in_python = None
        if not is_compiled:
            self._in_python = lambda: self._law.acceleration(self._tick)
        elif JIT_DISABLED:
            struct = self._law_array[0]
            self._in_python = lambda: acceleration(struct, self._tick)
        else:
            self.memory.law_function = _machine_code(acceleration, layout)
            self.memory.law = self._law_array.ctypes.data
        if 'pose' in law.accepts:
            prepare_inverse_kinematics()
            self._workspace.prepare_to_place()
        if law.TRACKS and law.FOLLOWS == 'pose':
            self._workspace.prepare_to_follow()

    def take_parameters(self, law: Law) -> None:
        """Take over the parameters of the configuration and of the law that runs.

        Gains, and the law's other numbers, go to new values little by little.
        """
        memory, clearance = self.memory, self.config.arm.clearance
        self._law = law
        if clearance is not self._clearance:
            self._clearance, self._repulsion = clearance, None
            if clearance is not None and clearance.least:
                tick = self.tick_record
                state = tick.q, tick.v, tick.M, memory.repulsion
                self._repulsion = Repulsion(clearance, float(tick.period), *state)
        self._parameters.take(self.config, law, self._law_array)
        # An observer that is switched off has yet to let go of what it has learnt.
        learnt = memory.compensation.any() or memory.disturbance.any()
        self._predicts = bool(memory.delay > 0)
        self._looks_beyond = bool(learnt or memory.observer_gain > 0.0 or self._predicts)
        self._workspace.install_following(law.following)

    def start(self, *, measured: bool = False, keep_pose: bool = False) -> Start:
        """Return where a next motion begins: on the reference, if the arm is held to it.

        Once the present state has been answered, the next torque acts a period later: there, and
        not here, the motion begins.

        Args:
            measured: Begin at the measured state all the same.
            keep_pose: Begin at the pose of the reference also where the arm only leans on it.
        """
        ahead = self._workspace.copy()
        memory, tick = ahead.memory, ahead.tick
        memory.needs_twist = keep_pose
        if self._answered:
            ahead.run(STEP)
        ahead.run(ADVANCE)
        period = float(tick.period)
        # The motion begins at the clock's time, before the first torque of its own arrives.
        late = period * memory.delay
        time = float(tick.time) - late
        if memory.tracks and not measured:
            q, v, a = tick.position_reference, tick.velocity_reference, tick.acceleration_reference
        else:
            a = 0.0
            q, v = ahead.q + self._position() - self.q, ahead.v + self._velocity() - self.v
        q = q - late * v
        if keep_pose and (memory.path == POSE_PATH or tick.on_joint_path):
            nu = tick.twist_reference
            twist = Motion(nu[:3], nu[3:])
            pose = as_placement(tick.pose_reference) @ exp6(-late * twist)
            return Start(time, q, v, pose, twist, period, a)
        return Start(time, q, v, *self.arm.motion(q, v), period, a)

    def _velocity(self) -> NDArray[np.float64]:
        """Return the (nv,) measured velocity without its noise; none where it is all noise."""
        return np.zeros(self.arm.nv) if self._rests else self.memory.filtered_velocity.copy()

    def _position(self) -> NDArray[np.float64]:
        """Return the (nv,) measured position; without its noise where the arm rests."""
        return self.memory.filtered_position if self._rests else self.q

    @property
    def _rests(self) -> bool:
        """Whether the measured velocity is all noise, of which a few samples tell nothing."""
        noise = 3.0 * np.sqrt(np.maximum(self.memory.velocity_noise, 0.0))
        if self.memory.ticks * self.tick_record.period < NOISE_TIME:
            noise = np.maximum(noise, REST_SPEED)
        return bool((np.abs(self.memory.filtered_velocity) <= noise).all())

    # --- Results of the last tick ---------------------------------------------------------

    @property
    def has_joint_reference(self) -> bool:
        """Whether the running law has a reference for the joints."""
        return bool(self.memory.path == JOINT_PATH or self.memory.joints_follow)

    @property
    def position_reference(self) -> NDArray[np.float64]:
        """(nv,) where the arm should be; where it is, in a law without a joint reference."""
        return self.tick_record.position_reference if self.has_joint_reference else self.q

    @property
    def velocity_reference(self) -> NDArray[np.float64]:
        """(nv,) how it should move; how it moves, in a law without a joint reference."""
        return self.tick_record.velocity_reference if self.has_joint_reference else self.v

    @property
    def current_pose(self) -> SE3:
        """T_base_tool of the end effector."""
        return self.arm.T_base_world @ self._workspace.placement

    @property
    def reference_pose(self) -> SE3:
        """T_base_tool that the end effector should have; what it has, where there is none."""
        if self.memory.path == POSE_PATH:
            T_world_tool = as_placement(self.tick_record.pose_reference)
        elif self.has_joint_reference:
            T_world_tool = self.arm.placement(self.position_reference)
        else:
            return self.current_pose
        return self.arm.T_base_world @ T_world_tool

    @property
    def gravity_torque(self) -> NDArray[np.float64]:
        """(nv,) at the last state [N m or N]."""
        return self._workspace.data.g


def _machine_code(acceleration: Callable[..., Any], layout: Layout) -> int:
    from icir_control.control.kernels.struct_types import StructType

    return machine_code(acceleration, StructType(layout), StructType(TICK_LAYOUT))
