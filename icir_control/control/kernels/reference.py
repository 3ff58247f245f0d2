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

from icir_control.compiled import JIT_DISABLED, kernel, part
from icir_control.control.kernels.linear import (
    cholesky,
    cholesky_solve,
    clear,
    copy,
    smallest_singular_value,
)
from icir_control.control.kernels.memory import JOINT_PATH, NO_PATH, POSE_PATH
from icir_control.control.kernels.structs import Struct
from icir_control.control.kernels.task_space import pose_error
from icir_control.dynamics.kernels import (
    gravity_of,
    mass_matrix_of,
    nle_of,
    placement_terms,
    terms,
)
from icir_control.scratch import scratch_matrix, scratch_vector
from icir_control.spatial.kernels import mat_mat_t, mat_t_vec, mat_vec
from icir_control.trajectory.kernels import (
    polynomial_at,
    polynomial_rates_at,
    pose_at,
    pose_rates_at,
)

NEWTON_STEPS = 2
"""Of the inverse kinematics in a period; from the last solution the second reaches round-off."""

RATE_SLOPE = 5.0
"""[1/s] How fast the speed along a path may change, as a share of the path's own speed."""

FULL_SPEED = 0.95
"""Share of the speed limits that a path may ask for before it is slowed down."""

RETURN_RATE = 30.0
"""[1/s] At which the joints come back to a path that they had to leave."""

WAITING_DISTANCE = 0.02
"""[m, rad] Off the path by this much, the path goes on at half its speed."""

REACH = 0.05
"""[m, rad] A longer way back to the path is taken as this long."""

TORQUE_SHARE = 0.9
"""Of the effort limits that a planned motion may take; feedback has the rest."""

WEIGHT_SHARE = 0.05
"""Of the effort limit that the weight must leave of that for a slower motion to be of use."""

OUTSIDE, STUCK, ARRIVED = range(3)
"""How a rehearsal ends: past a position limit, at rest elsewhere, at the goal."""


@kernel
def ramp_rate(memory: Struct, wanted: float, period: float) -> None:
    """Bring the speed along the path towards a wanted share of its own."""
    slope = RATE_SLOPE * period
    memory.path_rate += min(max(wanted - memory.path_rate, -slope), slope)


def follow_pose_path(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
    """Find the joint positions a period ahead on a pose path, `q_after`; called by `follow`."""
    q, v, q_after, h = (
        tick.position_reference,
        tick.velocity_reference,
        memory.q_after,
        tick.period,
    )
    n = q.shape[0]
    J = np.empty((6, n))
    placement_terms(dynamics, q, memory.frame, tick.pose_reference, J)
    sigma = smallest_singular_value(J, memory.reference_direction)
    memory.reference_singular_value = sigma
    now = memory.path_time
    memory.path_time += h * memory.path_rate
    q_before = memory.q_before
    for i in range(n):
        v[i] = (q[i] - q_before[i]) / h
        q_after[i] = q[i] + h * v[i]
    if n > 6:
        _move_in_null_space(memory, tick, J)
    memory.limited = 0
    memory.off_path = 0.0
    if not (_newton(dynamics, memory, J) and _is_gentle(memory, tick)):
        memory.limited = 1
        _step_towards(memory, tick, J, now, sigma)
    _adapt_rate(memory, tick)


@part
def _move_in_null_space(memory: Struct, tick: Struct, J: np.ndarray) -> None:
    """Let the posture of a redundant arm go where it may without moving the tool.

    Its velocity there becomes z = k (q_posture - q), and nothing of the last one stays:
    u = v + (1 - J^+ J)(z - v), the change within half the limits of acceleration.
    """
    n, h = J.shape[1], tick.period
    q, v, posture = tick.position_reference, tick.velocity_reference, memory.posture
    speed_limit, acceleration_limit = memory.velocity_limit, memory.acceleration_limit
    A, w, y = scratch_matrix(6, 6), np.empty(n), scratch_vector(6)
    for i in range(n):
        z = memory.posture_rate * (posture[i] - q[i])
        limit = 0.5 * speed_limit[i]
        w[i] = min(max(z, -limit), limit) - v[i]
    mat_mat_t(J, J, A)
    mat_vec(J, w, y)
    if cholesky(A):
        cholesky_solve(A, y)
        share = 1.0
        for i in range(n):
            for k in range(6):
                w[i] -= J[k, i] * y[k]
            share = min(share, 0.5 * h * acceleration_limit[i] / max(abs(w[i]), 1e-12))
        q_after = memory.q_after
        for i in range(n):
            q_after[i] += h * share * w[i]


@part
def _newton(dynamics: np.ndarray, memory: Struct, J_now: np.ndarray) -> bool:
    """Move `q_after` onto the path by q += J^+ e; False where there is no inverse."""
    q = memory.q_after
    pose, goal, J = scratch_matrix(4, 3), scratch_matrix(4, 3), np.empty_like(J_now)
    L, dq = scratch_matrix(6, 6), np.empty(q.shape[0])
    coefficients = memory.pose_coefficients
    pose_at(memory.pose_start, coefficients, memory.duration, memory.path_time, goal)
    solved = True
    for _ in range(NEWTON_STEPS):
        placement_terms(dynamics, q, memory.frame, pose, J)
        error = pose_error(pose, goal)
        mat_mat_t(J, J, L)
        if cholesky(L):
            cholesky_solve(L, error)
            mat_t_vec(J, error, dq)
            for i in range(q.shape[0]):
                q[i] += dq[i]
        else:
            solved = False
    return solved


@part
def _is_gentle(memory: Struct, tick: Struct) -> bool:
    """Tell whether the joints may go to `q_after` within their limits."""
    h, q, v, q_after = (
        tick.period,
        tick.position_reference,
        tick.velocity_reference,
        memory.q_after,
    )
    speed_limit, acceleration_limit = memory.velocity_limit, memory.acceleration_limit
    gentle = True
    for i in range(q.shape[0]):
        speed = (q_after[i] - q[i]) / h
        if not abs(speed) <= speed_limit[i]:
            gentle = False
        if abs(speed - v[i]) > h * acceleration_limit[i]:
            gentle = False
    return gentle


@part
def _step_towards(memory: Struct, tick: Struct, J: np.ndarray, now: float, sigma: float) -> None:
    """Write the `q_after` that follows the path as well as the limits allow.

    u = J^T (J J^T + lambda^2 1)^-1 (rho nu + k e), the damped inverse of Nakamura & Hanafusa
    (1986), its damping less the nearer the goal; then scaled, never bent, into the speed limits,
    and its change into those of acceleration.
    """
    n, h = J.shape[1], tick.period
    pose, nu, unused = scratch_matrix(4, 3), scratch_vector(6), scratch_vector(6)
    coefficients, duration = memory.pose_coefficients, memory.duration
    pose_at(memory.pose_start, coefficients, duration, now, pose)
    pose_rates_at(pose, coefficients, duration, now, nu, unused)
    error = pose_error(tick.pose_reference, pose)
    off = 0.0
    for i in range(6):
        off += error[i] * error[i]
    off = np.sqrt(off)
    memory.off_path = off
    back = RETURN_RATE * min(1.0, REACH / max(off, 1e-12))
    for i in range(6):
        nu[i] = memory.path_rate * nu[i] + back * error[i]
    ratio = min(sigma / memory.singularity_threshold, 1.0)
    damping = memory.singularity_damping**2 * (1.0 - ratio * ratio) * min(off / 0.01, 1.0) + 1e-8
    A, u = scratch_matrix(6, 6), np.empty(n)
    mat_mat_t(J, J, A)
    for i in range(6):
        A[i, i] += damping
    cholesky(A)
    cholesky_solve(A, nu)
    mat_t_vec(J, nu, u)
    q, v, q_after = tick.position_reference, tick.velocity_reference, memory.q_after
    speed_limit, acceleration_limit = memory.velocity_limit, memory.acceleration_limit
    share, change = 1.0, 1.0
    for i in range(n):
        share = min(share, speed_limit[i] / max(abs(u[i]), 1e-12))
    for i in range(n):
        u[i] *= share
        change = min(change, h * acceleration_limit[i] / max(abs(u[i] - v[i]), 1e-12))
    for i in range(n):
        q_after[i] = q[i] + h * (v[i] + change * (u[i] - v[i]))


@part
def _adapt_rate(memory: Struct, tick: Struct) -> None:
    """Slow the path down where the joints are near their limits or off it."""
    q, q_after, speed_limit = tick.position_reference, memory.q_after, memory.velocity_limit
    load = 0.0
    for i in range(q.shape[0]):
        speed = abs(q_after[i] - q[i]) / tick.period
        load = max(load, speed / (FULL_SPEED * speed_limit[i]))
    wanted = memory.speed_scale
    if load > memory.path_rate:
        # At its full speed the path would ask for load / rate of what the joints can do.
        wanted = min(wanted, memory.path_rate / load)
    if memory.limited:
        off = memory.off_path / WAITING_DISTANCE
        wanted /= 1.0 + off * off
    ramp_rate(memory, wanted, tick.period)


def place_joint_path(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
    """Write the tool's pose, twist and acceleration on a joint path; called by `place`.

    The acceleration is the difference of two twists, a period apart.
    """
    n, h, nu = tick.q.shape[0], tick.period, tick.twist_reference
    a, pose, J = tick.frame_acceleration_reference, tick.pose_reference, np.empty((6, n))
    q, q_before, q_after = tick.position_reference, memory.q_before, memory.q_after
    turned = np.empty(6)
    for now in range(2):  # one period ahead, then now
        end, begin = (q, q_before) if now else (q_after, q)
        placement_terms(dynamics, end, memory.frame, pose, J)
        for i in range(6):
            nu[i] = 0.0
            for j in range(n):
                nu[i] += J[i, j] * (end[j] - begin[j]) / h
        if now:
            for k in range(0, 6, 3):
                for i in range(3):
                    along = 0.0
                    for j in range(3):
                        along += pose[j, i] * turned[k + j]
                    a[k + i] = (along - nu[k + i]) / h
        else:
            for k in range(0, 6, 3):
                for i in range(3):
                    turned[k + i] = 0.0
                    for j in range(3):
                        turned[k + i] += pose[i, j] * nu[k + j]


if JIT_DISABLED:
    follow, place = follow_pose_path, place_joint_path
else:
    from icir_control.control.kernels.struct_types import call_follower

    @part
    def follow(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
        """Do what `follow_pose_path` does, which is compiled by itself."""
        call_follower(memory.follower, dynamics, memory, tick)

    @part
    def place(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
        """Do what `place_joint_path` does, which is compiled by itself."""
        call_follower(memory.follower, dynamics, memory, tick)


@kernel
def rehearse(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
    """Run a motion along a pose path to its end without moving the arm.

    Args:
        dynamics: The buffer of a `Data`.
        memory: At the start of the path; it moves. Its `lowest` and `highest` are the position
            limits that hold. Its `outcome` then is how it ends (OUTSIDE, ...), the joint that is
            past its limit and where it would be, the time that it takes [s], the smallest
            singular value on the way, the distance that is left to the path [m, rad], the
            greatest on the way, and the square of `stretch`.
        tick: Holds the reference, which moves.
    """
    lowest, highest, outcome = memory.lowest, memory.highest, memory.outcome
    q, q_before, q_after = tick.position_reference, memory.q_before, memory.q_after
    n, h = q.shape[0], tick.period
    longest = 3.0 * memory.duration / memory.speed_scale + 10.0
    still = 0.0
    time = 0.0
    clear(outcome)
    outcome[0] = STUCK
    outcome[4] = np.inf
    while time < longest and still <= 0.3 and outcome[0] == STUCK:
        copy(q, q_before)
        copy(q_after, q)
        follow(dynamics, memory, tick)
        time += h
        outcome[3] = time
        outcome[4] = min(outcome[4], memory.reference_singular_value)
        outcome[6] = max(outcome[6], memory.off_path)
        outcome[7] = max(outcome[7], _square_of_stretch(dynamics, memory, tick))
        fastest = 0.0
        for i in range(n):
            if not lowest[i] <= q_after[i] <= highest[i] and outcome[0] == STUCK:
                outcome[0] = OUTSIDE
                outcome[1] = i
                outcome[2] = q_after[i]
            fastest = max(fastest, abs(q_after[i] - q[i]) / h)
        at_goal = memory.path_time >= memory.duration and memory.off_path < 1e-6
        # The posture of a redundant arm may take its time, the tool is there.
        if outcome[0] == STUCK and at_goal and (n > 6 or fastest < 1e-4):
            outcome[0] = ARRIVED
        still = still + h if fastest < 1e-3 and memory.limited else 0.0
    outcome[5] = memory.off_path


@part
def _square_of_stretch(dynamics: np.ndarray, memory: Struct, tick: Struct) -> float:
    """Return the square of the factor on time that brings the torque of the path within limits.

    Stretched by s, tau = g + d becomes g + d / s^2. A joint whose weight alone takes the torque
    that is there does not count: more time is no help.
    """
    h, q, q_before, q_after = (
        tick.period,
        tick.position_reference,
        memory.q_before,
        memory.q_after,
    )
    n = q.shape[0]
    v, limit = np.empty(n), memory.effort_limit
    for i in range(n):
        v[i] = (q[i] - q_before[i]) / h
    terms(dynamics, q, v)
    M, nle, g = mass_matrix_of(dynamics), nle_of(dynamics), gravity_of(dynamics)
    square = 0.0
    for i in range(n):
        d = nle[i] - g[i]
        for j in range(n):
            d += M[i, j] * (q_after[j] - 2.0 * q[j] + q_before[j]) / (h * h)
        left = TORQUE_SHARE * limit[i] - (g[i] if d > 0.0 else -g[i])
        if left > WEIGHT_SHARE * limit[i]:
            square = max(square, abs(d) / left)
    return square


@part
def advance_reference(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
    """Bring the reference to the tick's time: positions, velocity and acceleration."""
    if memory.path == POSE_PATH and not memory.joints_follow:
        memory.path_time_now = tick.time - memory.start_time
        memory.rate_now = 1.0
        pose = tick.pose_reference
        coefficients, duration = memory.pose_coefficients, memory.duration
        pose_at(memory.pose_start, coefficients, duration, memory.path_time_now, pose)
    elif memory.path != NO_PATH:
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
def _look_ahead(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
    """Find the joint positions one period after the present reference."""
    memory.path_time_now = memory.path_time
    memory.rate_now = memory.path_rate
    if memory.path == POSE_PATH:
        follow(dynamics, memory, tick)
    else:
        memory.path_time += tick.period * memory.path_rate
        ramp_rate(memory, memory.speed_scale, tick.period)
        coefficients, duration = memory.joint_coefficients, memory.duration
        polynomial_at(coefficients, duration, memory.path_time, memory.q_after)


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

    That of a tool's path, which the joints have only as positions, is a central difference.
    """
    h, q = tick.period, tick.position_reference
    v, a = tick.velocity_reference, tick.acceleration_reference
    n = q.shape[0]
    if memory.path == JOINT_PATH:
        after, unused = np.empty(n), np.empty(n)
        coefficients, duration = memory.joint_coefficients, memory.duration
        now, ahead = memory.path_time_now, memory.path_time
        polynomial_rates_at(coefficients, duration, now, v, unused)
        polynomial_rates_at(coefficients, duration, ahead, after, unused)
        for i in range(n):
            v[i] *= memory.rate_now
            a[i] = (memory.path_rate * after[i] - v[i]) / h
    else:
        q_before, q_after = memory.q_before, memory.q_after
        for i in range(n):
            v[i] = (q_after[i] - q_before[i]) / (2.0 * h)
            a[i] = (q_after[i] - 2.0 * q[i] + q_before[i]) / (h * h)


@part
def _pose_rates(memory: Struct, tick: Struct) -> None:
    """Write the twist and the classical acceleration of the path at the present reference."""
    nu, a, rate = tick.twist_reference, tick.frame_acceleration_reference, memory.rate_now
    coefficients, elapsed = memory.pose_coefficients, memory.path_time_now
    pose_rates_at(tick.pose_reference, coefficients, memory.duration, elapsed, nu, a)
    for i in range(6):
        nu[i] *= rate
        a[i] *= rate * rate
