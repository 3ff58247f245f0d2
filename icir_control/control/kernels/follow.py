"""Following a pose path with the joints, one period at a time, within their limits.

Where the joints can keep up, they are put exactly on the path (Newton). Where they cannot, at a
singularity, at the edge of the workspace or because the path is too fast, they follow it as well
as an explicit bound on joint speed and acceleration lets them, and the path waits for them.
"""

import numpy as np

from icir_control.compiled import kernel, part
from icir_control.control.kernels.linear import (
    cholesky,
    cholesky_solve,
    smallest_singular_value,
)
from icir_control.dynamics.kernels import placement_terms
from icir_control.spatial.kernels import log3, mat_mat_t, mat_t_mat, mat_t_vec, mat_vec
from icir_control.trajectory.kernels import pose_at, pose_rates_at

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


@kernel
def pose_error(pose: np.ndarray, goal: np.ndarray, turn: np.ndarray, error: np.ndarray) -> None:
    """Write the error from a pose to a goal in the axes of the pose (slide "errorInSE3").

    e = (R^T (p_goal - p), log3(R^T R_goal)) for poses (4, 3); turn (3, 3) is scratch.
    """
    for i in range(3):
        error[i] = (
            pose[0, i] * (goal[3, 0] - pose[3, 0])
            + pose[1, i] * (goal[3, 1] - pose[3, 1])
            + pose[2, i] * (goal[3, 2] - pose[3, 2])
        )
    mat_t_mat(pose[:3], goal[:3], turn)
    log3(turn, error[3:])


@kernel
def ramp_rate(record: np.record, wanted: float) -> None:
    """Bring the speed along the path towards a wanted share of its own."""
    slope = RATE_SLOPE * record.period
    record.path_rate += min(max(wanted - record.path_rate, -slope), slope)


@kernel
def follow_pose_path(dynamics: np.ndarray, record: np.record) -> None:
    """Find the joint positions a period ahead on a pose path."""
    q, h = record.q_reference, record.period
    n = q.shape[0]
    J = record.reference_jacobian
    placement_terms(dynamics, q, record.frame, record.pose_reference, J)
    sigma = smallest_singular_value(J, record.reference_direction, record.square, record.six)
    record.reference_singular_value = sigma
    now = record.path_time
    record.path_time += h * record.path_rate
    goal = record.goal_pose
    pose_at(record.pose_start, record.pose_coefficients, record.duration, record.path_time, goal)
    for i in range(n):
        record.v_reference[i] = (q[i] - record.q_before[i]) / h
        record.q_after[i] = q[i] + h * record.v_reference[i]
    if n > 6:
        _move_in_null_space(record)
    record.limited = 0
    record.off_path = 0.0
    if not (_newton(dynamics, record) and _is_gentle(record)):
        record.limited = 1
        _step_towards(record, now, sigma)
    _adapt_rate(record)


@part
def _move_in_null_space(record: np.record) -> None:
    """Let the posture of a redundant arm go where it may without moving the tool.

    Its velocity there becomes z = k (q_posture - q), and nothing of the last one stays:
    u = v + (1 - J^+ J)(z - v), the change within half the limits of acceleration.
    """
    J, A, w, y = record.reference_jacobian, record.square, record.joints, record.six
    n, h = J.shape[1], record.period
    for i in range(n):
        z = record.posture_rate * (record.posture[i] - record.q_reference[i])
        limit = 0.5 * record.velocity_limit[i]
        w[i] = min(max(z, -limit), limit) - record.v_reference[i]
    mat_mat_t(J, J, A)
    mat_vec(J, w, y)
    if not cholesky(A):
        return
    cholesky_solve(A, y)
    share = 1.0
    for i in range(n):
        for k in range(6):
            w[i] -= J[k, i] * y[k]
        share = min(share, 0.5 * h * record.acceleration_limit[i] / max(abs(w[i]), 1e-12))
    for i in range(n):
        record.q_after[i] += h * share * w[i]


@part
def _newton(dynamics: np.ndarray, record: np.record) -> bool:
    """Move `q_after` onto the goal pose by q += J^+ e; False where there is no inverse."""
    pose, J, L = record.other_pose, record.other_jacobian, record.square
    q = record.q_after
    for _ in range(NEWTON_STEPS):
        placement_terms(dynamics, q, record.frame, pose, J)
        pose_error(pose, record.goal_pose, record.turn, record.six)
        mat_mat_t(J, J, L)
        if not cholesky(L):
            return False
        cholesky_solve(L, record.six)
        mat_t_vec(J, record.six, record.joints)
        for i in range(q.shape[0]):
            q[i] += record.joints[i]
    return True


@part
def _is_gentle(record: np.record) -> bool:
    """Tell whether the joints may go to `q_after` within their limits."""
    h = record.period
    for i in range(record.q_after.shape[0]):
        speed = (record.q_after[i] - record.q_reference[i]) / h
        if not abs(speed) <= record.velocity_limit[i]:
            return False
        if abs(speed - record.v_reference[i]) > h * record.acceleration_limit[i]:
            return False
    return True


@part
def _step_towards(record: np.record, now: float, sigma: float) -> None:
    """Write the `q_after` that follows the path as well as the limits allow.

    u = J^T (J J^T + lambda^2 1)^-1 (rho nu + k e), the damped inverse of Nakamura & Hanafusa
    (1986), its damping less the nearer the goal; then scaled, never bent, into the speed limits,
    and its change into those of acceleration.
    """
    J, A, goal, error = record.reference_jacobian, record.square, record.six_more, record.six
    n, h = J.shape[1], record.period
    pose = record.other_pose
    coefficients, duration = record.pose_coefficients, record.duration
    pose_at(record.pose_start, coefficients, duration, now, pose)
    pose_rates_at(pose, coefficients, duration, now, goal, record.acceleration_reference)
    pose_error(record.pose_reference, pose, record.turn, error)
    off = 0.0
    for i in range(6):
        off += error[i] * error[i]
    off = np.sqrt(off)
    record.off_path = off
    back = RETURN_RATE * min(1.0, REACH / max(off, 1e-12))
    for i in range(6):
        goal[i] = record.path_rate * goal[i] + back * error[i]
    ratio = min(sigma / record.singularity, 1.0)
    damping = record.singularity_damping**2 * (1.0 - ratio * ratio) * min(off / 0.01, 1.0) + 1e-8
    mat_mat_t(J, J, A)
    for i in range(6):
        A[i, i] += damping
    cholesky(A)
    cholesky_solve(A, goal)
    u = record.joints
    mat_t_vec(J, goal, u)
    share = 1.0
    for i in range(n):
        share = min(share, record.velocity_limit[i] / max(abs(u[i]), 1e-12))
    change = 1.0
    for i in range(n):
        u[i] *= share
        step = abs(u[i] - record.v_reference[i])
        change = min(change, h * record.acceleration_limit[i] / max(step, 1e-12))
    for i in range(n):
        u[i] = record.v_reference[i] + change * (u[i] - record.v_reference[i])
        record.q_after[i] = record.q_reference[i] + h * u[i]


@part
def _adapt_rate(record: np.record) -> None:
    """Slow the path down where the joints are near their limits or off it."""
    h = record.period
    load = 0.0
    for i in range(record.q_after.shape[0]):
        speed = abs(record.q_after[i] - record.q_reference[i]) / h
        load = max(load, speed / (FULL_SPEED * record.velocity_limit[i]))
    wanted = record.speed_scale
    if load > record.path_rate:
        # At its full speed the path would ask for load / rate of what the joints can do.
        wanted = min(wanted, record.path_rate / load)
    if record.limited:
        off = record.off_path / WAITING_DISTANCE
        wanted /= 1.0 + off * off
    ramp_rate(record, wanted)
