"""The engine: measures, predicts, and computes the torque of the law that is installed."""

from collections import deque

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.control.clearance import Clearance, Repulsion
from icir_control.control.config import ControllerConfig
from icir_control.control.kernels.estimate import forget_motion
from icir_control.control.kernels.limits import begin_to_yield
from icir_control.control.kernels.memory import (
    ACTUATE,
    ADVANCE,
    ALARMED,
    BRAKE,
    CALM,
    DONE,
    FAR,
    JOINT_PATH,
    NEAR,
    NO_ANSWER,
    NO_PATH,
    POSE_PATH,
    PREPARE,
    SENSE,
    STEP,
    TICK,
    WATCHES,
    as_placement,
    as_pose,
)
from icir_control.control.kernels.plant import FIRST_REST_SPEED, NOISE_TIME
from icir_control.control.kernels.weight import forget_lost_weight, forget_weight
from icir_control.control.law import Law, Plan, Start, guarded
from icir_control.control.period import GAP, LEAST_PERIOD, LONGEST_GAP, Period, checked_time
from icir_control.control.running_law import RunningLaw
from icir_control.control.workspace import Workspace
from icir_control.dynamics.inverse_kinematics import prepare as prepare_inverse_kinematics
from icir_control.spatial import Motion, exp6
from icir_control.trajectory import JointTrajectory

WAITING_GAP = 0.02
"""[s] Without a state, from which on an arm may have stood still: a reference that went on would
throw it."""

SOFTER, MUCH_SOFTER = 0.85, 0.25
"""Share of its bandwidth that feedback keeps where it shakes the arm, or cannot hold it."""

SOFTER_BESIDE = 0.95
"""The same of the other joints where one shakes: M^-1 couples them."""

SOFTEST = 1.0 / 16.0
"""The least: 12 rad/s as shipped, with 30 times the inertia in the model that the arm has."""

_SAME_TIME = 1e-10  # s, far below the nanosecond that stamps count


class Engine:
    """Runs the law that is installed; knows nothing of modes.

    Attributes:
        config: Parameters beside those of the law.
        arm: The arm.
        workspace: Memory of the compiled function, and its call.
        memory: Record of what the controller keeps from tick to tick.
        tick_record: Record of what a law sees.
        time: Of the last measured state [s].
        q: (nv,) position at the last measured state, or predicted over the delay [rad or m].
        v: (nv,) its velocity [rad/s or m/s].
        alarmed: Whether the watchdog has raised an alarm: the arm is braked instead of controlled
            until `clear_alarm`.
        has_new_period: Whether the control period has become known, or another one; who has read
            it sets it back.
    """

    def __init__(self, config: ControllerConfig) -> None:
        """Prepare the memory."""
        self.config = config
        self.arm = config.arm
        self.time = 0.0
        self.workspace = workspace = Workspace(self.arm.model, self.arm.frame)
        self.memory = workspace.memory
        self.tick_record = workspace.tick
        self.q, self.v = workspace.q, workspace.v
        self._period = Period()
        self._early = -np.inf  # the time of the last state that came early
        self._answered = False
        self._law = RunningLaw(Law(self.arm), workspace)
        self._ramps = self._law.ramps
        self._wrench_until = np.inf
        self._observes = False
        self._segments: deque[JointTrajectory] = deque()
        self._clearance: Clearance | None = None
        self._repulsion: Repulsion | None = None
        self.alarmed = self.has_new_period = False

    # --- Before and during a tick ---------------------------------------------------------

    def measure(self, time: float, q: ArrayLike, v: ArrayLike) -> bool:
        """Take a measured state, and learn the control period from the steps of time.

        Returns:
            False for a state that does not go on from the last one, which is not taken: it is
            that one again (`repeats`), or it begins anew.

        Raises:
            InvalidValueError: A time that is none, or a state that is no two vectors of nv finite
                numbers; it is lost.
        """
        elapsed = time - self.time
        if -_SAME_TIME < elapsed - self._period.value < _SAME_TIME:
            self.workspace.take_state(time, q, v)
        elif not self._measure_off_time(time, q, v):
            return False
        if time > self._wrench_until:
            self.take_wrench(np.zeros(6), np.inf)
        self._answered = False
        self.time = time
        return True

    def _measure_off_time(self, time: float, q: ArrayLike, v: ArrayLike) -> bool:
        """Take a state that is not a period after the last one, as `measure` does."""
        elapsed = checked_time(time) - self.time
        if self._period.note(max(self.time, self._early), time):
            self.has_new_period = True
            self.workspace.change_period(self.period)
            if self._repulsion is not None:
                self._repulsion.period = self.period
        if self.repeats(time):
            self._early = time
            return False
        if self._answered and not 0.0 <= elapsed < LONGEST_GAP + LEAST_PERIOD:  # but for rounding
            return False
        self.workspace.take_state(time, q, v)
        self._early = -np.inf
        if elapsed > GAP * self.period:  # ticks were missed
            self.memory.observing = 0
            if elapsed > WAITING_GAP:
                self._go_on_through_gap(time)
        return True

    def repeats(self, time: float) -> bool:
        """Return whether a state of a time [s] is the one that was answered last, once more."""
        return self._answered and self._period.is_early(time - self.time)

    def _go_on_through_gap(self, time: float) -> None:
        """Bring the reference to a period before a time [s], but no further than the arm has come.

        A plant that went on without an answer is on its path; one that stood still is behind, and
        its path waits for it.
        """
        memory, tick = self.memory, self.tick_record
        if not (memory.tracks and tick.has_joint_reference):
            return
        end = time + (memory.delay - 1.0) * tick.period  # the state that is predicted counts
        while memory.reference_time < end - 0.5 * tick.period:
            tick.time = memory.reference_time + tick.period
            self._go_on()
            self.workspace.run(ADVANCE)
            ahead, here = memory.q_after - self.q, tick.position_reference - self.q
            if ahead @ ahead > here @ here:
                break
        memory.reference_time, tick.time = end, time

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

        Raises:
            InvalidValueError: A state that is no two vectors of nv finite numbers; nothing
                changes.
        """
        memory = self.memory
        self.workspace.take_state(time, q, v)
        memory.acceleration_limit[:] = self.arm.acceleration_limit
        self.time, self._early, self._answered = time, -np.inf, False
        self._period.begin()
        self.take_wrench(np.zeros(6), np.inf)
        self.clear_alarm()
        begin_to_yield(memory, self.tick_record)
        memory.bandwidth[:] = 1.0
        self.workspace.set_losses(self.arm.model.joint_damping, self.arm.model.joint_friction)
        memory.has_torque = memory.prepared = 0
        memory.disturbance[:] = memory.compensation[:] = memory.disturbance_at_rest[:] = 0.0
        memory.cancelled[:] = memory.disturbing_acceleration[:] = 0.0
        forget_weight(memory)
        memory.rest_position[:] = self.q
        forget_motion(memory, self.tick_record)
        integration = self.config.values.integration
        memory.euler_share = 0.0 if integration == 'sampled' else 1.0
        memory.euler_variance, memory.euler_noise = 1.0, 0.0
        given = 'euler' if euler_steps == 1 else 'sampled'
        if euler_steps is not None and integration in ('auto', given):
            memory.euler_share = 1.0 / euler_steps if euler_steps else 0.0
            memory.euler_variance = 0.0
        memory.drag, memory.drag_share, memory.drag_side = 0.0, 1.0, 0.0
        memory.path = NO_PATH
        self.tick_record.has_joint_reference = False
        self._segments.clear()
        self.workspace.run(SENSE)
        # The bridge bears the arm until the first command arrives at the motors.
        memory.sent_torque[:] = self.workspace.data.nle

    def observe_and_predict(self) -> None:
        """Observe the last period, and predict over the delay; else the tick does it itself."""
        if self._observes and not self.memory.prepared:
            self.workspace.run(PREPARE)

    def tick(self) -> int:
        """Compute the torque of the installed law for the state that was measured.

        Returns:
            What has come of it, of the memory module: `DONE`, `ALARMED`, `SHAKEN` or
            `CONTACT_CHANGED`.

        Raises:
            LawError: The law failed; there is no torque yet.
        """
        law, run = self._law, self.workspace.run
        if self._ramps:
            law.advance()
        if self._segments:
            self._go_on()
        if self.alarmed:
            outcome = run(BRAKE)
        elif law.is_compiled:
            try:
                outcome = run(TICK)
            except Exception:  # of the compiled law; always guarded, a tick would cost 1 us more
                with guarded(type(law.law), 'acceleration'):
                    raise
            if outcome == NEAR:
                self._keep_apart()
                with guarded(type(law.law), 'acceleration'):
                    outcome = run(TICK)
            if outcome == NO_ANSWER:
                law.refuse()
        else:
            self.observe_and_predict()
            if self.memory.keeps_apart:
                self._keep_apart()
            run(SENSE)
            self.memory.acceleration[:] = law.answer()
            outcome = run(ACTUATE)
        if outcome != DONE:
            self.alarmed = outcome == ALARMED
        self._answered = True
        return outcome

    def _keep_apart(self) -> None:
        """Find the torque that keeps the links of a yielding arm apart."""
        assert self._repulsion is not None
        self.memory.repels = self._repulsion.write()

    @property
    def period(self) -> float:
        """Between two ticks [s]; not a number until the second state of a start."""
        return self._period.value

    @property
    def is_period_sure(self) -> bool:
        """Whether some steps in a row have confirmed the period."""
        return self._period.is_sure(self.time)

    def is_slower_than(self, share: float) -> bool:
        """Return whether every joint is slower than a share of its velocity limit."""
        return bool((np.abs(self.v) < share * self.arm.model.velocity_limit).all())

    def clear_alarm(self) -> None:
        """Let the law that is installed next run."""
        self.alarmed = False
        self.memory.alarm = CALM
        self.memory.filtered_velocity[:], self.memory.filtered_position[:] = self.v, self.q
        self.memory.time_beyond = self.memory.time_saturated = 0.0
        self.memory.shaking_side, self.memory.turning_time = 0.0, np.inf
        self.memory.shaking_turns = 0.0
        self.memory.brake_rate[:] = 0.0

    def reduce_bandwidth(self, shares: ArrayLike) -> None:
        """Give feedback less bandwidth from the next law on, until the next start.

        Args:
            shares: (nv,) Of its bandwidth, that each joint keeps; or one for all.
        """
        bandwidth = self.memory.bandwidth
        np.maximum(shares * bandwidth, SOFTEST, out=bandwidth)

    def forget_motion(self) -> None:
        """Forget what was learnt while the arm shook, but for its weight at rest.

        What the joints of the model lose, which those of the arm may not, is left out.
        """
        forget_motion(self.memory, self.tick_record)
        self.workspace.set_losses(*np.zeros((2, self.v.size)))

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
            self.workspace.install_path(self._segments.popleft())

    @property
    def motion_left(self) -> float:
        """How much time is left until the reference is at the end of its path [s]."""
        if self.memory.path == NO_PATH:
            return 0.0
        left = self.memory.duration - self.memory.path_time_now
        left += sum(segment.duration for segment in self._segments)
        return max(float(left), self.workspace.time_off_path)

    # --- What it runs ---------------------------------------------------------------------

    def install(self, law: Law, start: Start, plan: Plan) -> None:
        """Run a law from a start along its plan."""
        self.prepare(law)
        self.take_parameters(law)
        self._law.finish()
        memory = self.memory
        if self._repulsion is not None:
            self._repulsion.begin()
        # Without a path there is nothing to be held to.
        tracks = law.TRACKS and plan.path is not None
        is_sent_on = bool(tracks and memory.tracks)
        if tracks and not memory.tracks:
            # A hand that was felt while the arm yielded may be gone: only the weight is known.
            memory.disturbance[:] = memory.disturbance_mean[:] = memory.compensation
            memory.cancelled[:] = memory.compensation
            memory.friction_direction[:] = memory.followed_acceleration[:] = 0.0
            memory.disturbance_at_rest[:] = memory.weight
            memory.rest_position[:] = self.q
            forget_weight(memory)
        elif memory.tracks and not tracks:
            self.workspace.keep_weight()
            forget_lost_weight(memory, self.tick_record)
        if memory.tracks:
            begin_to_yield(memory, self.tick_record)
        memory.tracks = tracks
        self._watch_distances()
        if tracks:
            # A law that tracks has no drag; what was left would act when one that yields follows.
            memory.drag = 0.0
        self.workspace.install_path(plan.path)
        self.workspace.forget_contact(is_sent_on=is_sent_on)
        self._segments = deque(plan.then)
        memory.settles = law.HALTS and self._rests
        memory.way_from_start[:], memory.gives_in = 0.0, 0
        memory.needs_twist = self._law.needs('twist_reference')
        memory.needs_singular_value = self._law.needs('smallest_singular_value')
        # A compliant arm need not be where its path begins.
        q, v = plan.joints or (start.q, start.v)
        tick = self.tick_record
        tick.on_joint_path = law.FOLLOWS == 'pose' and memory.path == JOINT_PATH
        tick.has_joint_reference = memory.path == JOINT_PATH
        if memory.path == POSE_PATH and (tracks or plan.joints):
            self.workspace.prepare_to_follow()
            tick.has_joint_reference = True
        if isinstance(plan.path, JointTrajectory) and law.FOLLOWS == 'pose':
            self.workspace.prepare_to_place()
            q, v = plan.path.coefficients[:, :2].T
        self.workspace.install_start(start.time, q, v)
        tick.pose_reference[:] = as_pose(start.pose)

    def begin_braking(self) -> None:
        """Let the arm go from its reference: it is braked from the next tick on."""
        if self.memory.tracks:
            self.workspace.keep_weight()
        self.memory.tracks = 0

    def prepare(self, law: Law) -> None:
        """Compile a law, and what it may need of the rest, unless that is done."""
        self._law.prepare(law)
        if 'pose' in law.accepts:
            prepare_inverse_kinematics()
            self.workspace.prepare_to_place()
        if law.FOLLOWS == 'pose' and (law.TRACKS or 'pose' in law.accepts):
            self.workspace.prepare_to_follow()

    def take_parameters(self, law: Law) -> None:
        """Take over the parameters of the configuration and of the law that runs.

        Gains, and the law's other numbers, go to new values little by little.
        """
        memory, clearance = self.memory, self.config.arm.clearance
        if clearance is not self._clearance:
            self._clearance, self._repulsion = clearance, None
            if clearance is not None and clearance.least:
                tick = self.tick_record
                state = tick.q, tick.v, tick.M, memory.repulsion, memory.distance_watch
                self._repulsion = Repulsion(clearance, float(tick.period), *state)
            self._watch_distances()
        self._law.take_parameters(self.config, law)
        # An observer that is switched off has yet to let go of what it has learnt.
        learnt = memory.compensation.any() or memory.disturbance.any()
        self._observes = bool(learnt or memory.observer_gain > 0.0 or memory.delay > 0)
        self.workspace.install_following(law.following)

    def _watch_distances(self) -> None:
        """Let the links of an arm that yields be kept apart, where a clearance is set."""
        memory = self.memory
        watches = self._repulsion is not None and not memory.tracks
        memory.keeps_apart, memory.repels = WATCHES if watches else FAR, 0

    def start(self, *, measured: bool = False, keep_pose: bool = False) -> Start:
        """Return where a next motion begins: on the reference, if the arm is held to it.

        Once the present state has been answered, the next torque acts a period later: there, and
        not here, the motion begins.

        Args:
            measured: Begin at the measured state all the same.
            keep_pose: Begin at the pose of the reference also where the arm is compliant.
        """
        ahead = self.workspace.copy()
        memory, tick = ahead.memory, ahead.tick
        memory.needs_twist = keep_pose
        if self._answered:
            ahead.run(STEP)
        ahead.run(ADVANCE)
        period = float(tick.period)
        # The motion begins at the clock's time, before the first torque of its own arrives.
        late, a = period * memory.delay, 0.0
        time = float(tick.time) - late
        if memory.contact and not measured:  # the reference lies behind what the arm touches
            q, v = self.q, np.zeros_like(self.v)
        elif memory.tracks and not measured:
            q, v, a = tick.position_reference, tick.velocity_reference, tick.acceleration_reference
        else:
            q, v = ahead.q + self._position() - self.q, ahead.v + self._velocity() - self.v
        q = q - late * v
        if keep_pose and not memory.contact and (memory.path == POSE_PATH or tick.on_joint_path):
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
        noise = 3.0 * self.memory.velocity_deviation
        if self.memory.ticks * self.tick_record.period < NOISE_TIME:
            noise = np.maximum(noise, FIRST_REST_SPEED)
        return bool((np.abs(self.memory.filtered_velocity) <= noise).all())
