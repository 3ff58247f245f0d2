"""The reference: where the arm should be now, one period ago and one period ahead.

The plant steps by v' = v + h a, q' = q + h v' (semi-implicit Euler). An arm that is to pass
through q_k at every tick therefore needs v_k = (q_k - q_{k-1}) / h, which is not the derivative
of the path but its difference, and a_k = (q_{k+1} - 2 q_k + q_{k-1}) / h^2. With these the
tracking error of an exact model is round-off; with the derivatives it is of order h.

A continuous plant under a torque that is held for h has v_k = q'(t_k) instead, and the mean
acceleration of the period, a_k = (v_{k+1} - v_k) / h. `euler_share` blends the two: 1 and 0, and
1 / m for a plant that takes m Euler steps in a period.
"""

import numpy as np

from icir_control.compiled import part
from icir_control.control.kernels.contact import TOUCHED, leave_path, wait_here
from icir_control.control.kernels.follow import follow, place, ramp_rate
from icir_control.control.kernels.memory import JOINT_PATH, NO_PATH, POSE_PATH
from icir_control.control.kernels.plant import FIRST_REST_SPEED, QUIET
from icir_control.control.kernels.structs import Struct
from icir_control.scratch import scratch_vector
from icir_control.spatial.kernels import copy
from icir_control.trajectory.kernels import (
    polynomial_at,
    polynomial_rates_at,
    pose_at,
    pose_rates_at,
)

SETTLING_TICKS = 30
"""After a start, in which an arm that is held learns where it was."""

GIVE_RATE, GIVE_SPEED = 5.0, 0.01
"""[1/s] At which the reference of an arm that was stopped comes to where it rests, and how fast it
is at most [rad/s or m/s]: a load that nobody knew must not lead it down."""


def advance_reference(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
    """Bring the reference to the tick's time: positions, velocity and acceleration."""
    if memory.path == POSE_PATH and not tick.has_joint_reference:
        memory.path_time_now = tick.time - memory.start_time
        memory.rate_now = 1.0
        pose = tick.pose_reference
        coefficients, duration = memory.pose_coefficients, memory.duration
        pose_at(memory.pose_start, coefficients, duration, memory.path_time_now, pose)
    elif memory.path != NO_PATH:
        if memory.settles:
            _settle(memory, tick)
        if memory.gives_in:
            _give_in(memory, tick)
        while memory.reference_time < tick.time - 0.5 * tick.period:
            memory.reference_time += tick.period
            if abs(memory.reference_time - tick.time) < 0.5 * tick.period:
                memory.reference_time = tick.time
            copy(tick.position_reference, memory.q_before)
            copy(memory.q_after, tick.position_reference)
            _look_ahead(dynamics, memory, tick)
        _differences(memory, tick)
    if tick.on_joint_path:
        place(dynamics, memory, tick)
    elif memory.path == POSE_PATH and memory.needs_twist:
        _pose_rates(memory, tick)


@part
def _settle(memory: Struct, tick: Struct) -> None:
    """Bring an arm that is held from its start on to where it then was.

    The first sample may be far off where sensors are noisy. In the first ticks the reference moves
    to the mean of what the positions so far say of the start, as soon as there is noise, and as
    long as the arm rests: each less the way that the arm has gone since. A mean of the positions
    alone would go along with an arm that its own noise moves.
    """
    noisy, rests, moved = False, memory.ticks < SETTLING_TICKS, memory.way_from_start
    for i in range(tick.q.shape[0]):
        moved[i] += tick.period * tick.v[i]
        noise = memory.velocity_noise[i]
        noisy = noisy or noise > QUIET
        if memory.filtered_velocity[i] ** 2 > max(9.0 * noise, FIRST_REST_SPEED**2):
            rests = False
    if not rests:
        memory.settles = 0
    elif noisy:
        for i in range(tick.q.shape[0]):
            shift = (tick.q[i] - moved[i] - tick.position_reference[i]) / (memory.ticks + 1.0)
            _shift(memory, tick, i, shift)


@part
def _give_in(memory: Struct, tick: Struct) -> None:
    """Bring an arm that was stopped, and rests elsewhere than it is held, to be held there.

    Where a push has jammed it against something its estimate would grow, and with it the torque,
    until it slips off. On a free arm the estimate is faster: the reference hardly moves.
    """
    if memory.path_time_now >= memory.duration:
        most = GIVE_SPEED * tick.period
        for i in range(tick.q.shape[0]):
            way = GIVE_RATE * tick.period * (tick.q[i] - tick.position_reference[i])
            _shift(memory, tick, i, min(max(way, -most), most))


@part
def _shift(memory: Struct, tick: Struct, i: int, way: float) -> None:
    """Move the path of joint i, and the reference on it."""
    memory.q_before[i] += way
    tick.position_reference[i] += way
    memory.q_after[i] += way
    memory.joint_coefficients[i, 0] += way


@part
def _look_ahead(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
    """Find the joint positions one period after the present reference."""
    if memory.contact == TOUCHED:
        wait_here(memory, tick)
    memory.path_time_now = memory.path_time
    memory.rate_now = memory.path_rate
    if memory.path == POSE_PATH:
        follow(dynamics, memory, tick)
    else:
        memory.path_time += tick.period * memory.path_rate
        ramp_rate(memory, memory.speed_scale, tick.period)
        coefficients, duration = memory.joint_coefficients, memory.duration
        polynomial_at(coefficients, duration, memory.path_time, memory.q_after)
        leave_path(memory, tick)
        _slope_ahead(memory, tick)


@part
def _slope_ahead(memory: Struct, tick: Struct) -> None:
    """Write the derivative of the joints' path at the reference, and a period ahead.

    That at the reference was found a period ago: it may be of the polynomial before. Where nothing
    needs it a difference does, until the plant turns out to be continuous.
    """
    slope, slope_after = memory.slope, memory.slope_after
    q, q_after, h = tick.position_reference, memory.q_after, tick.period
    if memory.euler_share == 1.0:
        for i in range(q.shape[0]):
            slope_after[i] = (q_after[i] - q[i]) / h
        return
    unused = scratch_vector(q.shape[0])
    copy(slope_after, slope)
    coefficients, duration = memory.joint_coefficients, memory.duration
    polynomial_rates_at(coefficients, duration, memory.path_time, slope_after, unused)
    for i in range(q.shape[0]):
        slope_after[i] *= memory.path_rate


@part
def _differences(memory: Struct, tick: Struct) -> None:
    """Write the velocity and acceleration that take the plant along the three positions."""
    h, q = tick.period, tick.position_reference
    v, a = tick.velocity_reference, tick.acceleration_reference
    q_before, q_after = memory.q_before, memory.q_after
    euler = memory.euler_share
    if euler < 1.0:
        _derivatives(memory, tick)
    for i in range(q.shape[0]):
        forward = q_after[i] - q[i]
        backward = q[i] - q_before[i]
        velocity, acceleration = backward / h, (forward - backward) / (h * h)
        if euler < 1.0:
            velocity = euler * velocity + (1.0 - euler) * v[i]
            acceleration = euler * acceleration + (1.0 - euler) * a[i]
        v[i] = velocity
        a[i] = acceleration


@part
def _derivatives(memory: Struct, tick: Struct) -> None:
    """Write the derivative of the path at the reference, and its mean slope in the next period.

    Those of a tool's path were found where the joints were; see `follow`.
    """
    h, v, a = tick.period, tick.velocity_reference, tick.acceleration_reference
    for i in range(v.shape[0]):
        v[i] = memory.slope[i]
        a[i] = (memory.slope_after[i] - v[i]) / h
        if memory.path == JOINT_PATH:
            v[i] += memory.off_path_rate[i]


@part
def _pose_rates(memory: Struct, tick: Struct) -> None:
    """Write the twist and the classical acceleration of the path at the present reference."""
    nu, a, rate = tick.twist_reference, tick.frame_acceleration_reference, memory.rate_now
    coefficients, elapsed = memory.pose_coefficients, memory.path_time_now
    pose_rates_at(tick.pose_reference, coefficients, memory.duration, elapsed, nu, a)
    for i in range(6):
        nu[i] *= rate
        a[i] *= rate * rate
