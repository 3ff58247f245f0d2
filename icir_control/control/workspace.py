"""The workspace: memory of the compiled function, and its call."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.compiled import JIT_DISABLED, bound, machine_code
from icir_control.control.kernels.contact import (
    BACK_RATE,
    FREE,
    ON_PATH,
    SHAKING,
    begin_to_press,
)
from icir_control.control.kernels.follow import follow_pose_path, place_joint_path
from icir_control.control.kernels.inertia import SURE_SAMPLES
from icir_control.control.kernels.memory import (
    JOINT_PATH,
    MEMORY_LAYOUT,
    NO_PATH,
    POSE_PATH,
    SENSE,
    TICK,
    TICK_LAYOUT,
    as_placement,
    as_pose,
)
from icir_control.control.kernels.plant import FRICTION_SOFTNESS, LEAST_COUNT
from icir_control.control.kernels.rehearse import LONGEST_TIMES, LONGEST_WAIT, rehearse
from icir_control.control.kernels.structs import argument
from icir_control.control.kernels.tick import STAGES, run
from icir_control.control.kernels.weight import find_weight, weight_at
from icir_control.dynamics import Model, compute_all_terms
from icir_control.dynamics.kernels import CheckedKernel
from icir_control.dynamics.kernels.checked import LARGEST
from icir_control.spatial import SE3, Motion
from icir_control.spatial.arrays import checked
from icir_control.trajectory import JointTrajectory, SE3Trajectory

REST_SPEED = 1e-6
"""[rad/s or m/s] A start that is slower in each joint is one from rest."""


def _take_state(state: np.ndarray, q: np.ndarray, v: np.ndarray) -> int:
    """Copy q and v; return 1, and copy nothing, if lengths differ or a number is not finite."""
    nv, total = q.shape[0], 0.0
    if v.shape[0] != nv or state.shape[0] != 2 * nv:
        return 1
    for i in range(nv):
        total += abs(q[i]) + abs(v[i])
    if not total < LARGEST:
        return 1
    for i in range(nv):  # a slice takes 2 s to compile
        state[i] = q[i]
        state[nv + i] = v[i]
    return 0


# Three times as fast as two assignments of numpy's.
_TAKE_STATE = CheckedKernel(_take_state)


@cache
def _types() -> tuple[Any, ...]:
    """Return the types of the arguments of a compiled function: they serve every arm."""
    from numba import types

    from icir_control.control.kernels.structs import StructType

    buffer = types.Array(types.float64, 1, 'C')
    return buffer, StructType(MEMORY_LAYOUT), StructType(TICK_LAYOUT)


@cache
def _compiled_run() -> Callable[..., int]:
    """Return the function of (dynamics, memory, tick) that serves every arm."""
    if JIT_DISABLED:
        return run
    from icir_control.dynamics.kernels.entrance import entrance

    return entrance(run, *_types())


def compile_backwards() -> None:
    """Compile the stages of a tick from the last one on, and what lets the joints follow a pose.

    Another process begins with the first stage.
    """
    for function in (*reversed(STAGES.values()), follow_pose_path, place_joint_path):
        machine_code(function, *_types())
    _compiled_rehearse()


@cache
def _compiled_rehearse() -> Callable[..., int]:
    """Return the function of (dynamics, memory, tick, trace) that serves every arm."""
    if JIT_DISABLED:
        return rehearse
    from numba import types

    return bound(rehearse, *_types(), types.Array(types.float64, 2, 'C'))


@dataclass(frozen=True)
class Following:
    """How the joints follow a pose path.

    Attributes:
        singularity_threshold: Smallest singular value of the Jacobian below which the inverse is
            damped, and below which no motion starts.
        singularity_damping: Its damping where the Jacobian is singular.
        posture: (nv,) where the joints of a redundant arm go [rad or m]; None for nowhere.
        posture_rate: How fast they do [1/s].
    """

    singularity_threshold: float = 0.02
    singularity_damping: float = 0.1
    posture: NDArray[np.float64] | None = None
    posture_rate: float = 0.0


class Workspace:
    """What the compiled function reads and writes for one arm.

    Attributes:
        data: Terms of the dynamics at the state that was last sensed.
        memory: Record of `MEMORY_LAYOUT`.
        tick: Record of `TICK_LAYOUT`.
        arrays: Of these two records, one in each.
        q: (nv,) view of the tick's position.
        v: (nv,) view of the tick's velocity.
    """

    def __init__(self, model: Model, frame: int) -> None:
        """Make memory for a model; `frame` is the index of the frame that acts."""
        nv = model.nv
        self._model = model
        self.data = model.create_data()
        self.arrays = MEMORY_LAYOUT.new(nv), TICK_LAYOUT.new(nv)
        self.memory, self.tick = (array[0] for array in self.arrays)
        self.q: NDArray[np.float64] = self.tick.q
        self.v: NDArray[np.float64] = self.tick.v
        first = self.tick.dtype.fields['q'][1] // 8
        self._state = self.arrays[1].view(np.float64)[first : first + 2 * nv]
        # Of numpy's, an array takes twice as long to set one number.
        self._time: Any = memoryview(self.arrays[1]['time'])
        self._operation = memoryview(self.arrays[0]['operation'])
        self._operation[0] = self._selected = TICK
        self._arguments = (self.data.buffer, *map(argument, self.arrays))
        self._run: Any = None  # compiled when it is first needed
        _TAKE_STATE.run(self._state, self.q, self.v)
        self._initialise(frame)

    def _initialise(self, frame: int) -> None:
        memory, tick, model = self.memory, self.tick, self._model
        memory.frame = frame
        memory.gravity[:] = model.gravity
        memory.effort_limit[:] = model.effort_limit
        memory.velocity_limit[:] = model.velocity_limit
        memory.lower_position_limit[:] = model.lower_position_limit
        memory.upper_position_limit[:] = model.upper_position_limit
        self.set_losses(model.joint_damping, model.joint_friction)
        memory.friction_softness[:] = np.inf
        if model.joint_friction.any():
            compute_all_terms(model, self.data, np.zeros(model.nq), np.zeros(model.nv))
            mobility = np.linalg.inv(self.data.M).diagonal()
            memory.friction_softness[:] = FRICTION_SOFTNESS * mobility
        memory.acceleration_limit[:] = memory.torque_rate_limit[:] = np.inf
        self.forget_contact()
        memory.singular_direction[:] = memory.reference_direction[:] = 1.0 / np.sqrt(6.0)
        memory.speed_scale = memory.path_rate = memory.effort_share = 1.0
        memory.bandwidth[:] = 1.0
        tick.period = 1e-3
        for pose in (tick.pose, tick.pose_reference, memory.pose_start):
            pose[:3] = np.eye(3)

    def copy(self) -> 'Workspace':
        """Return the same state on memory of its own."""
        other = Workspace(self._model, int(self.memory.frame))
        other.data.buffer[:] = self.data.buffer
        for mine, its in zip(self.arrays, other.arrays, strict=True):
            its[:] = mine
        other._selected = self._selected
        return other

    def prepare_to_follow(self) -> None:
        """Compile what lets the joints follow a pose path, unless it is."""
        self._install_code(path_code=follow_pose_path)
        _compiled_rehearse()

    def prepare_to_place(self) -> None:
        """Compile what places the tool on a joint path, unless it is."""
        self._install_code(path_code=place_joint_path)

    def _install_code(self, **functions: Callable[..., None]) -> None:
        """Compile functions of (dynamics, memory, tick), and note in the memory where they are."""
        if not JIT_DISABLED:
            for field, function in functions.items():
                self.memory[field] = machine_code(function, *_types())

    def rehearse(self) -> NDArray[np.float64]:
        """Run a motion along a pose path to its end without moving the arm; see the kernel.

        Returns:
            (n, nv) where the joints are at each step of it.
        """
        self.prepare_to_follow()
        memory = self.memory
        longest = LONGEST_TIMES * memory.duration / memory.speed_scale + LONGEST_WAIT
        steps = int(longest / self.tick.period) + 2
        trace = np.empty((steps, self._model.nv))
        return trace[: _compiled_rehearse()(*self._arguments, trace)]

    def run(self, operation: int = TICK) -> int:
        """Do one operation (`TICK`, ... of the memory module) on this memory; see the kernel."""
        if operation != self._selected:
            self._operation[0] = self._selected = operation
        if self._run is None:
            self._install_code(**STAGES)
            self._run = _compiled_run()
        outcome: int = self._run(*self._arguments)
        return outcome

    def take_state(self, time: float, q: ArrayLike, v: ArrayLike) -> None:
        """Take a time [s] and a state q, v (nv,) over; the dynamics stays where it is."""
        try:
            taken = _TAKE_STATE.call(self._state, q, v) == 0
        except TypeError:
            taken = False  # other arrays than it takes
        if not taken:
            nv = len(self.q)
            self.q[:], self.v[:] = (
                checked(name, x, (nv,), largest=LARGEST) for name, x in (('q', q), ('v', v))
            )
        self._time[0] = time

    def sense(self, q: NDArray[np.float64], v: NDArray[np.float64]) -> None:
        """Bring dynamics and tool to a state q, v (nv,)."""
        self.take_state(0.0, q, v)
        self.run(SENSE)

    def keep_weight(self) -> None:
        """Keep, of what a law that tracks cancels, the weight that was learnt at rest."""
        memory = self.memory
        # What an inertia took of the path's acceleration would push an arm without a path.
        sure = memory.agreeing_samples >= SURE_SAMPLES
        memory.compensation += sure * memory.extra_inertia * memory.followed_acceleration
        there = self.copy()
        there.sense(memory.rest_position, np.zeros(self._model.nv))
        find_weight(memory, there.tick, there.data.g)
        memory.weight[:] = weight_at(memory, self.tick, self.data.g)

    def install_path(self, path: JointTrajectory | SE3Trajectory | None) -> None:
        """Take the path that the reference is to follow."""
        memory = self.memory
        if path is None:
            memory.path = NO_PATH
            return
        memory.start_time = path.start_time
        memory.duration = path.duration
        if isinstance(path, JointTrajectory):
            memory.path = JOINT_PATH
            memory.joint_coefficients[:] = path.coefficients
        else:
            memory.path = POSE_PATH
            memory.pose_start[:] = as_pose(path.start)
            memory.pose_coefficients[:] = path.coefficients

    def set_losses(self, damping: NDArray[np.float64], friction: NDArray[np.float64]) -> None:
        """Take what the joints lose: damping [N m s/rad or N s/m], friction [N m or N], (nv,)."""
        memory = self.memory
        memory.joint_damping[:], memory.joint_friction[:] = damping, friction
        memory.lossy = damping.any() or friction.any()

    def forget_contact(self, *, is_sent_on: bool = False) -> None:
        """Let a new motion begin as if the arm touched nothing.

        Args:
            is_sent_on: It tracked before, and goes on to: what it touches then, it may go along.
        """
        memory = self.memory
        if is_sent_on and memory.contact != FREE:
            begin_to_press(memory)
        memory.contact, memory.contact_changed, memory.rate_limit = FREE, 0, np.inf
        memory.time_over, memory.time_free, memory.time_still = 0.0, np.inf, np.inf
        # Where an arm shakes, or an encoder kicks, one sample tells less than the mean so far.
        counts = memory.position_count > LEAST_COUNT
        now = np.where(counts, memory.smooth_residual, memory.residual)
        spread = np.where(counts, memory.smooth_spread, memory.residual_spread)
        off = now - memory.residual_mean
        memory.residual_mean += np.where(abs(off) > SHAKING * spread, off, 0.0)
        memory.off_joint_path[:] = memory.off_path_rate[:] = 0.0

    @property
    def time_off_path(self) -> float:
        """After how much time a path of the joints has again what a contact kept off it [s]."""
        off = float(np.abs(self.memory.off_joint_path).max(initial=0.0))
        return math.log(off / ON_PATH) / BACK_RATE if off > ON_PATH else 0.0

    def install_following(self, following: Following) -> None:
        """Take how the joints follow a pose path."""
        memory = self.memory
        memory.singularity_threshold = following.singularity_threshold
        memory.singularity_damping = following.singularity_damping
        memory.posture_rate = 0.0
        if following.posture is not None:
            memory.posture[:] = following.posture
            memory.posture_rate = following.posture_rate

    def install_start(self, time: float, q: NDArray[np.float64], v: NDArray[np.float64]) -> None:
        """Let the reference start at a time [s] at q (nv,), moving at v (nv,).

        A motion from rest begins at the speed that is set; a moving arm is brought to it.
        """
        memory, tick = self.memory, self.tick
        # The reference is put one period before the start, so that its first step leads there.
        memory.reference_time = time - tick.period
        memory.path_time = memory.path_time_now = 0.0
        at_rest = np.abs(v).max(initial=0.0) < REST_SPEED
        memory.path_rate = memory.rate_now = memory.speed_scale if at_rest else 1.0
        memory.q_before[:] = q - 2.0 * tick.period * v
        tick.position_reference[:] = q - tick.period * v
        memory.q_after[:] = q
        tick.velocity_reference[:] = memory.slope_after[:] = v
        tick.acceleration_reference[:] = 0.0

    def change_period(self, period: float) -> None:
        """Take another control period [s], and bring the reference to it.

        Its three positions are a period apart; on the parabola through them, q + v s + a s^2 / 2,
        they stay. Divided by the new period alone their differences would be velocities and
        accelerations that nobody wants.
        """
        memory, q, old = self.memory, self.tick.position_reference, self.tick.period
        forward, backward = memory.q_after - q, q - memory.q_before
        v, a = (forward + backward) / (2.0 * old), (forward - backward) / old**2
        memory.q_before[:] = q - period * v + 0.5 * period**2 * a
        memory.q_after[:] = q + period * v + 0.5 * period**2 * a
        ahead = memory.path_time - memory.path_time_now
        memory.path_time = memory.path_time_now + period / old * ahead
        self.tick.period = period

    @property
    def placement(self) -> SE3:
        """T_world_tool at the state that was last sensed."""
        return as_placement(self.tick.pose)

    @property
    def twist(self) -> Motion:
        """LOCAL twist of the tool at the state that was last sensed."""
        nu = self.tick.twist.copy()
        return Motion(nu[:3], nu[3:])
