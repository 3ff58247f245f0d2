"""The laws: from reference and state to a desired acceleration, or a wrench, or both.

Each reads like its equation; the torque is then M ddq + nle + J^T f, for all of them alike.
"""

import numpy as np

from icir_control.compiled import kernel, part
from icir_control.control.kernels.follow import pose_error
from icir_control.control.kernels.linear import (
    cholesky,
    cholesky_solve,
    clear,
    copy,
    copy_matrix,
    inverse_inertia_rows,
    product,
    rows_product,
    solve,
    symmetric_eigen,
)
from icir_control.control.kernels.record import FEED_FORWARD

VELOCITY = FEED_FORWARD.index('velocity')
ACCELERATION = FEED_FORWARD.index('acceleration')
MATCHED = FEED_FORWARD.index('matched')

REST_RATE = 2.0
"""[1/s] Where the tool's motion leaves joints free, their own dies away at this rate."""

SLOWEST_MODE = 0.1
"""[rad/s] Below it, where the arm can hardly move, a mode is damped as if it were this fast."""


@part
def gravity_law(record: np.record, v: np.ndarray) -> None:
    """Write ddq = -d v: bias compensation, with a rate at which motion dies away."""
    for i in range(v.shape[0]):
        record.acceleration[i] = -record.damping_rate[0] * v[i]


@part
def joint_law(record: np.record, q: np.ndarray, v: np.ndarray) -> None:
    """Write ddq = a_r + kp (q_r - q) + kd (v_r - v) (slide "Joint space position control")."""
    forward = record.feed_forward
    for i in range(q.shape[0]):
        v_r = record.v_reference[i] if forward >= VELOCITY else 0.0
        a_r = record.a_reference[i] if forward >= ACCELERATION else 0.0
        record.acceleration[i] = (
            a_r
            + record.joint_kp[i] * (record.q_reference[i] - q[i])
            + record.joint_kd[i] * (v_r - v[i])
        )


@part
def task_law(record: np.record, M: np.ndarray, q: np.ndarray, v: np.ndarray) -> None:
    """Write ddq of a frame on its path (slide "Task space position control").

    With derivatives, as on the slide: ddq = J^+ (a_r + Kp e + Kd (nu_r - nu) - Jdot v).
    Matched to the plant's integrator: ddq = a_r + J^+ (Kp e + Kd J (v_r - v)), where the joint
    reference already holds what Jdot v is for. A redundant arm keeps its joint reference in the
    null space.
    """
    pose_error(record.pose, record.pose_reference, record.turn, record.six)
    goal, error = record.six_more, record.six
    matched = record.feed_forward == MATCHED
    if not matched:
        _reference_in_tool_axes(record)
    for i in range(v.shape[0]):
        record.joints[i] = record.v_reference[i] - v[i]
    product(record.jacobian, record.joints, goal)
    for i in range(6):
        if not matched:
            twist = record.twist_reference[i] if record.feed_forward >= VELOCITY else 0.0
            goal[i] = twist - record.twist[i]
        goal[i] = record.task_kp[i] * error[i] + record.task_kd[i] * goal[i]
        if not matched:
            goal[i] -= record.drift[i]
            if record.feed_forward >= ACCELERATION:
                goal[i] += record.acceleration_reference[i]
    for i in range(v.shape[0]):
        posture = record.joint_kp[i] * (record.q_reference[i] - q[i])
        posture += record.joint_kd[i] * (record.v_reference[i] - v[i])
        record.acceleration[i] = posture
    resolve(record, M, goal)
    if matched:
        for i in range(v.shape[0]):
            record.acceleration[i] += record.a_reference[i]


@part
def float_law(record: np.record, M: np.ndarray, v: np.ndarray) -> None:
    """Write ddq of a frame that follows a hand: held in rotation, only damped in translation.

    The slide "Task space impedance control" puts the desired position where the arm is, which
    leaves a = Kp log3 + Kd (nu_r - nu) with no stiffness in translation.
    """
    pose_error(record.pose, record.pose_reference, record.turn, record.six)
    _reference_in_tool_axes(record)
    goal = record.six
    for i in range(6):
        feedback = record.task_kd[i] * (record.twist_reference[i] - record.twist[i])
        if i < 3:
            goal[i] = record.damping_rate[0] * (record.twist_reference[i] - record.twist[i])
        else:
            goal[i] = record.task_kp[i] * goal[i] + feedback
        goal[i] += record.acceleration_reference[i] - record.drift[i]
    for i in range(v.shape[0]):
        record.acceleration[i] = -REST_RATE * v[i]
    resolve(record, M, goal)


@part
def impedance_law(record: np.record, M: np.ndarray, v: np.ndarray) -> None:
    """Write the wrench f = K e + D (nu_r - nu) of a spring and damper on the arm's own inertia.

    The damping follows the inertia that the arm shows, Lambda = (J M^-1 J^T)^-1 (Khatib 1987), so
    that each mode of Lambda e'' + D e' + K e = 0 has the ratio zeta: with S = K^1/2 Lambda^-1
    K^1/2 it is D = K^1/2 (2 zeta S^-1/2) K^1/2 (Albu-Schaeffer et al. 2003, without an inverse
    of Lambda^-1, which is singular where J is). A damping matrix that is given adds to it, and a
    reference wrench is what the arm presses with where it is held.
    """
    n = v.shape[0]
    root, wrench, S = record.six_more, record.wrench, record.square
    pose_error(record.pose, record.pose_reference, record.turn, record.six)
    _reference_in_tool_axes(record)
    for i in range(6):
        wrench[i] = record.twist_reference[i] - record.twist[i]
        root[i] = np.sqrt(record.stiffness[i])
    _stiffness_axes(record)
    _turn(record.turn, True, record.six)
    _turn(record.turn, True, wrench)
    if record.shapes_inertia:
        _shape_inertia(record, M, v)
        return
    inverse_inertia_rows(M, record.jacobian, record.rows, record.inertia)
    rows_product(record.rows, record.jacobian, S)
    for i in range(6):
        _turn(record.turn, True, S[i])
    for j in range(6):
        _turn(record.turn, True, S[:, j])
    # The spring's K e, the wrench that is asked for at rest, and a given damping's D nu.
    for i in range(6):
        record.six[i] = record.stiffness[i] * record.six[i] + record.reference_wrench[i]
    if record.has_damping:
        _add_given_damping(record, S, wrench, record.six)
    for i in range(6):
        for j in range(6):
            S[i, j] *= root[i] * root[j]
    eigenvectors = record.vectors
    symmetric_eigen(S, eigenvectors)
    # Along the modes: 2 zeta S^-1/2 (K^1/2 nu), and then K^1/2 of it.
    for i in range(6):
        wrench[i] *= root[i]
    for k in range(6):
        rate = 0.0
        for i in range(6):
            rate += eigenvectors[i, k] * wrench[i]
        frequency = np.sqrt(max(S[k, k], SLOWEST_MODE * SLOWEST_MODE))
        share = 2.0 * record.damping_ratio / frequency * rate
        for i in range(6):
            record.six[i] += root[i] * eigenvectors[i, k] * share
    copy(record.six, wrench)
    _turn(record.turn, False, wrench)
    for i in range(n):
        record.acceleration[i] = -REST_RATE * v[i]
    clear(root)
    resolve(record, M, root)


@part
def _shape_inertia(record: np.record, M: np.ndarray, v: np.ndarray) -> None:
    """Write ddq and f with which the tool has the inertia that is wished, Lambda_d.

    Lambda_d (a - a_r) = K e + D (nu_r - nu) + f_measured, D = 2 zeta sqrt(K Lambda_d) on each
    axis, is resolved into the joints, and f = -f_measured takes back what the hand does to them
    (Hogan 1985). Without a measured wrench it would be a wrong inertia's stiffness.
    """
    a, rate, measured = record.six, record.wrench, record.six_more
    copy(record.measured_wrench, measured)
    _turn(record.turn, True, measured)
    for i in range(6):
        K, inertia = record.stiffness[i], record.desired_inertia[i]
        a[i] = K * a[i] + 2.0 * record.damping_ratio * np.sqrt(K * inertia) * rate[i]
        a[i] += measured[i] + record.reference_wrench[i]
        for j in range(6):
            record.square[i, j] = 1.0 / inertia if i == j else 0.0
    if record.has_damping:
        _add_given_damping(record, record.square, rate, a)
    for i in range(6):
        measured[i] = a[i] / record.desired_inertia[i]
    _turn(record.turn, False, measured)
    for i in range(6):
        measured[i] += record.acceleration_reference[i] - record.drift[i]
        record.wrench[i] = -record.measured_wrench[i]
    for i in range(v.shape[0]):
        record.acceleration[i] = -REST_RATE * v[i]
    resolve(record, M, measured)


@part
def _add_given_damping(
    record: np.record, mobility: np.ndarray, rate: np.ndarray, wrench: np.ndarray
) -> None:
    """Add D nu' to a wrench, nu' the rate at the end of the period: (1 + h Lambda^-1 D) nu' = nu.

    Taken at its beginning, a damping above inertia / h would shake the arm.
    """
    D, B, x = record.damping, record.vectors, record.rate
    for i in range(6):
        x[i] = rate[i]
        for j in range(6):
            B[i, j] = 1.0 if i == j else 0.0
            for k in range(6):
                B[i, j] += record.period * mobility[i, k] * D[k, j]
    solve(B, x)
    for i in range(6):
        for j in range(6):
            wrench[i] += D[i, j] * x[j]


@kernel
def _turn(R: np.ndarray, back: bool, x: np.ndarray) -> None:
    """Replace both halves of x (6,) by R x, or by R^T x on the way back."""
    for k in range(0, 6, 3):
        a, b, c = x[k], x[k + 1], x[k + 2]
        for i in range(3):
            if back:
                x[k + i] = R[0, i] * a + R[1, i] * b + R[2, i] * c
            else:
                x[k + i] = R[i, 0] * a + R[i, 1] * b + R[i, 2] * c


@part
def _stiffness_axes(record: np.record) -> None:
    """Write the axes of the stiffness in those of the tool, R_tool_axes, into `turn`."""
    for i in range(3):
        for j in range(3):
            if record.base_axes:
                # R_tool_base = R_world_tool^T R_world_base.
                total = 0.0
                for k in range(3):
                    total += record.pose[k, i] * record.axes[k, j]
                record.turn[i, j] = total
            else:
                record.turn[i, j] = 1.0 if i == j else 0.0


@part
def _reference_in_tool_axes(record: np.record) -> None:
    """Turn the reference's motion from its own axes into those of the tool: R_tool_reference."""
    goal, pose = record.pose_reference, record.pose
    for i in range(3):
        for j in range(3):
            total = 0.0
            for k in range(3):
                total += pose[k, i] * goal[k, j]
            record.turn[i, j] = total
    _turn(record.turn, False, record.twist_reference)
    _turn(record.turn, False, record.acceleration_reference)


@kernel
def resolve(record: np.record, M: np.ndarray, goal: np.ndarray) -> None:
    """Replace a posture acceleration z by ddq = z + J^# (goal - J z), the task before the posture.

    J^# = W J^T (J W J^T + lambda^2 1)^-1, so that the posture acts through 1 - J^# J. A redundant
    arm takes W = M^-1, the dynamically consistent inverse (Khatib 1987); with six joints every W
    gives J^-1, and W = 1 the best conditioned. lambda is exactly 0 where the smallest singular
    value is above its threshold (Nakamura & Hanafusa 1986).

    Args:
        record: Holds J and, in `acceleration`, z; ddq out.
        M: (nv, nv) inertia [kg, kg m, kg m^2].
        goal: (6,) task acceleration less the drift; overwritten.
    """
    J, rows, A = record.jacobian, record.rows, record.square
    nv = J.shape[1]
    copy(record.acceleration, record.posture_acceleration)
    weighted = nv > 6
    if weighted:
        inverse_inertia_rows(M, J, rows, record.inertia)
    else:
        copy_matrix(J, rows)
    rows_product(rows, J, A)
    ratio = record.smallest_singular_value / record.singularity
    damping = 0.0
    if ratio < 1.0:
        damping = record.singularity_damping**2 * (1.0 - ratio * ratio)
        if weighted:
            damping *= (A[0, 0] + A[1, 1] + A[2, 2]) / 3.0
    for i in range(6):
        A[i, i] += damping
    # With six joints and no damping nothing is left for the posture, not even round-off.
    if weighted or damping > 0.0:
        for i in range(6):
            for j in range(nv):
                goal[i] -= J[i, j] * record.acceleration[j]
    else:
        clear(record.acceleration)
    if not cholesky(A):
        return
    cholesky_solve(A, goal)
    for j in range(nv):
        for i in range(6):
            record.acceleration[j] += rows[i, j] * goal[i]
