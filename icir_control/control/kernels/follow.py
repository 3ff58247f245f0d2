"""The joints on a path of the tool, a period ahead; and the tool on a path of the joints."""

import numpy as np

from icir_control.compiled import kernel, part
from icir_control.control.kernels.linear import gram, smallest_singular_value
from icir_control.control.kernels.structs import Struct, separate
from icir_control.control.kernels.task_space import pose_error
from icir_control.dynamics.kernels import placement_terms
from icir_control.scratch import scratch_matrix, scratch_vector
from icir_control.spatial.kernels import cholesky, cholesky_solve, mat_t_vec, mat_vec
from icir_control.trajectory.kernels import pose_at, pose_rates_at

NEWTON_STEPS = 2
"""Of the inverse kinematics in a period; from the last solution the second reaches round-off."""

OFF_PATH = 1e-6
"""[m, rad] Left after them: fewer than six joints cannot follow such a path."""

RATE_SLOPE = 5.0
"""[1/s] How fast the speed along a path may change, as a share of the path's own speed."""

LARGEST_LOAD = 0.95
"""Share of the speed limits that a path may ask for before it is slowed down."""

SMALL_LOAD = 0.02
"""Share of the speed limits that never slows a path down: one that stands could not go on."""

RETURN_RATE = 30.0
"""[1/s] At which the joints come back to a path that they had to leave."""

WAITING_DISTANCE = 0.02
"""[m, rad] Off the path by this much, the path goes on at half its speed."""

REACH = 0.05
"""[m, rad] A longer way back to the path is taken as this long."""


@kernel
def ramp_rate(memory: Struct, wanted: float, period: float) -> None:
    """Bring the speed along the path towards a wanted share of its own; a contact limits it."""
    slope = RATE_SLOPE * period
    wanted = min(wanted, memory.rate_limit)
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
    J, J_after = scratch_matrix(6, n), scratch_matrix(6, n)
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
    if not (_newton(dynamics, memory, J_after) and _is_gentle(memory, tick)):
        memory.limited = 1
        _step_towards(memory, tick, J, now, sigma)
    _adapt_rate(memory, tick)
    if memory.euler_share < 1.0:
        _find_slopes(memory, tick, J, J_after, now)


@part
def _move_in_null_space(memory: Struct, tick: Struct, J: np.ndarray) -> None:
    """Let the posture of a redundant arm go where it may without moving the tool.

    Its velocity there becomes z = k (q_posture - q), and nothing of the last one stays:
    u = v + (1 - J^+ J)(z - v), the change within half the limits of acceleration.
    """
    n, h = J.shape[1], tick.period
    q, v, posture = tick.position_reference, tick.velocity_reference, memory.posture
    speed_limit, acceleration_limit = memory.velocity_limit, memory.acceleration_limit
    A, w, y = scratch_matrix(6, 6), scratch_vector(n), scratch_vector(6)
    for i in range(n):
        z = memory.posture_rate * (posture[i] - q[i])
        limit = 0.5 * speed_limit[i]
        w[i] = min(max(z, -limit), limit) - v[i]
    gram(J, J, A)
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
def _newton(dynamics: np.ndarray, memory: Struct, J: np.ndarray) -> bool:
    """Move `q_after` onto the path by q += J^+ e; False where that does not lead there.

    J is that of the last step, which differs from the one there by round-off.
    """
    q = memory.q_after
    pose, goal = scratch_matrix(4, 3), scratch_matrix(4, 3)
    L, dq = scratch_matrix(6, 6), scratch_vector(q.shape[0])
    coefficients = memory.pose_coefficients
    pose_at(memory.pose_start, coefficients, memory.duration, memory.path_time, goal)
    solved = True
    for _ in range(NEWTON_STEPS):
        placement_terms(dynamics, q, memory.frame, pose, J)
        error = pose_error(pose, goal)
        _regular_gram(J, L)
        if cholesky(L):
            cholesky_solve(L, error)
            mat_t_vec(J, error, dq)
            for i in range(q.shape[0]):
                q[i] += dq[i]
        else:
            solved = False
    if q.shape[0] < 6:  # there always is an inverse
        placement_terms(dynamics, q, memory.frame, pose, J)
        error = pose_error(pose, goal)
        solved = np.abs(error).max() < OFF_PATH
    return solved


@part
def _regular_gram(J: np.ndarray, L: np.ndarray) -> None:
    """Write J J^T, regular also with fewer than six joints.

    A path that these can follow asks for no motion but theirs: what is added to the diagonal costs
    1e-10 over the square of a singular value. Without it rounding alone would make L regular, and
    the joints shake.
    """
    gram(J, J, L)
    if J.shape[1] < 6:
        for i in range(6):
            L[i, i] += 1e-10


@part
def _find_slopes(
    memory: Struct, tick: Struct, J: np.ndarray, J_after: np.ndarray, now: float
) -> None:
    """Write the joint velocities that a continuous plant has on the path, now and a period ahead.

    From rest, differences of the positions would be late by half a period's acceleration.
    """
    h, q, q_before, q_after = (
        tick.period,
        tick.position_reference,
        memory.q_before,
        memory.q_after,
    )
    slope, slope_after = memory.slope, memory.slope_after
    for i in range(q.shape[0]):
        forward, backward = (q_after[i] - q[i]) / h, (q[i] - q_before[i]) / h
        slope[i] = 0.5 * (forward + backward)
        slope_after[i] = 1.5 * forward - 0.5 * backward
    if memory.limited == 0:
        goal, coefficients = scratch_matrix(4, 3), memory.pose_coefficients
        pose_at(memory.pose_start, coefficients, memory.duration, memory.path_time, goal)
        _follow_twist(memory, J, tick.pose_reference, now, memory.rate_now, slope)
        _follow_twist(memory, J_after, goal, memory.path_time, memory.path_rate, slope_after)


@part
def _follow_twist(
    memory: Struct, J: np.ndarray, pose: np.ndarray, elapsed: float, rate: float, v: np.ndarray
) -> None:
    """Bring joint velocities to the twist of the path, v += J^+ (rate nu - J v)."""
    L, w = scratch_matrix(6, 6), scratch_vector(v.shape[0])
    nu, unused = scratch_vector(6), scratch_vector(6)
    pose_rates_at(pose, memory.pose_coefficients, memory.duration, elapsed, nu, unused)
    _regular_gram(J, L)
    if cholesky(L):
        for i in range(6):
            nu[i] *= rate
            for j in range(v.shape[0]):
                nu[i] -= J[i, j] * v[j]
        cholesky_solve(L, nu)
        mat_t_vec(J, nu, w)
        for j in range(v.shape[0]):
            v[j] += w[j]


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
    A, u = scratch_matrix(6, 6), scratch_vector(n)
    gram(J, J, A)
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
        load = max(load, speed / (LARGEST_LOAD * speed_limit[i]))
    wanted = memory.speed_scale
    if load > max(abs(memory.path_rate), SMALL_LOAD):
        # At its full speed the path would ask for load / rate of what the joints can do.
        wanted = min(wanted, abs(memory.path_rate) / load)
    if memory.limited:
        off = memory.off_path / WAITING_DISTANCE
        wanted /= 1.0 + off * off
    ramp_rate(memory, wanted, tick.period)


def place_joint_path(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
    """Write the tool's pose, twist and acceleration on a joint path; called by `place`.

    The acceleration is the difference of two twists, a period apart.
    """
    n, h, nu = tick.q.shape[0], tick.period, tick.twist_reference
    a, pose, J = tick.frame_acceleration_reference, tick.pose_reference, scratch_matrix(6, n)
    q, q_before, q_after = tick.position_reference, memory.q_before, memory.q_after
    turned = scratch_vector(6)
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


follow = separate(follow_pose_path, 'path_code')
place = separate(place_joint_path, 'path_code')
