"""The reference: where the arm should be now, one period ago and one period ahead.

The plant steps by v' = v + h a, q' = q + h v' (semi-implicit Euler). An arm that is to pass
through q_k at every tick therefore needs v_k = (q_k - q_{k-1}) / h, which is not the derivative
of the path but its difference, and a_k = (q_{k+1} - 2 q_k + q_{k-1}) / h^2. With these the
tracking error of an exact model is round-off; with the derivatives it is of order h.
"""

import numpy as np

from icir_control.compiled import kernel
from icir_control.control.kernels.linear import (
    cholesky,
    cholesky_solve,
    rows_product,
    transpose_product,
)
from icir_control.control.kernels.record import FEED_FORWARD, JOINT_PATH, POSE_PATH, TASK
from icir_control.dynamics.kernels import placement_terms
from icir_control.spatial.kernels import log3, mat_t_mat
from icir_control.trajectory.kernels import (
    polynomial_at,
    polynomial_rates_at,
    pose_at,
    pose_rates_at,
)

MATCHED = FEED_FORWARD.index('matched')

NEWTON_STEPS = 2
"""Of the inverse kinematics in a period; from the last solution the second reaches round-off."""


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
def follow_pose(dynamics: np.ndarray, record: np.record, goal: np.ndarray, q: np.ndarray) -> bool:
    """Move q to where the frame has a pose near its present one: Newton steps q += J^+ e.

    Returns:
        False where the Jacobian is singular; q is then wherever it was.
    """
    pose, J, L = record.other_pose, record.other_jacobian, record.square
    for _ in range(NEWTON_STEPS):
        placement_terms(dynamics, q, record.frame, pose, J)
        pose_error(pose, goal, record.turn, record.six)
        rows_product(J, J, L)
        if not cholesky(L):
            return False
        cholesky_solve(L, record.six)
        transpose_product(J, record.six, record.joints)
        for i in range(q.shape[0]):
            q[i] += record.joints[i]
    return True


@kernel
def advance_reference(dynamics: np.ndarray, record: np.record, time: float) -> None:
    """Bring the reference to a time: its three positions, velocity and acceleration."""
    elapsed = time - record.start_time
    if record.path == JOINT_PATH:
        _joint_reference(record, elapsed)
    elif record.path == POSE_PATH:
        if record.law == TASK:
            _follow_in_joint_space(dynamics, record, time)
        pose_at(
            record.pose_start,
            record.pose_coefficients,
            record.duration,
            elapsed,
            record.pose_reference,
        )
        pose_rates_at(
            record.pose_reference,
            record.pose_coefficients,
            record.duration,
            elapsed,
            record.twist_reference,
            record.acceleration_reference,
        )
    record.reference_time = time


@kernel
def look_ahead(dynamics: np.ndarray, record: np.record) -> None:
    """Find the joint positions one period after the reference's time on a pose path."""
    ahead = record.reference_time + record.period - record.start_time
    goal = record.pose_reference
    pose_at(record.pose_start, record.pose_coefficients, record.duration, ahead, goal)
    for i in range(record.q_after.shape[0]):
        record.q_after[i] = 2.0 * record.q_reference[i] - record.q_before[i]
    follow_pose(dynamics, record, goal, record.q_after)


@kernel
def _joint_reference(record: np.record, elapsed: float) -> None:
    h = record.period
    coefficients, duration = record.joint_coefficients, record.duration
    polynomial_at(coefficients, duration, elapsed - h, record.q_before)
    polynomial_at(coefficients, duration, elapsed, record.q_reference)
    polynomial_at(coefficients, duration, elapsed + h, record.q_after)
    if record.feed_forward == MATCHED:
        _differences(record)
    else:
        v, a = record.v_reference, record.a_reference
        polynomial_rates_at(coefficients, duration, elapsed, v, a)


@kernel
def _follow_in_joint_space(dynamics: np.ndarray, record: np.record, time: float) -> None:
    """Step the joint positions along a pose path, one period at a time, up to now."""
    while record.reference_time < time - 0.5 * record.period:
        record.reference_time += record.period
        if abs(record.reference_time - time) < 0.5 * record.period:
            record.reference_time = time
        record.q_before[:] = record.q_reference
        record.q_reference[:] = record.q_after
        look_ahead(dynamics, record)
    _differences(record)


@kernel
def _differences(record: np.record) -> None:
    h = record.period
    for i in range(record.q_reference.shape[0]):
        forward = record.q_after[i] - record.q_reference[i]
        backward = record.q_reference[i] - record.q_before[i]
        record.v_reference[i] = backward / h
        record.a_reference[i] = (forward - backward) / (h * h)
