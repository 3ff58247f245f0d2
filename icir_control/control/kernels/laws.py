"""The laws: from reference and state to a desired acceleration, or a wrench, or both.

Each reads like its equation; the torque is then M ddq + nle + J^T f, for all of them alike.
"""

import numpy as np

from icir_control.compiled import kernel
from icir_control.control.kernels.linear import (
    cholesky,
    cholesky_solve,
    inverse_inertia_rows,
    product,
    rows_product,
)
from icir_control.control.kernels.record import FEED_FORWARD
from icir_control.control.kernels.reference import MATCHED, pose_error
from icir_control.spatial.kernels import mat_t_vec, mat_vec

VELOCITY = FEED_FORWARD.index('velocity')
ACCELERATION = FEED_FORWARD.index('acceleration')


@kernel
def gravity_law(record: np.record, v: np.ndarray) -> None:
    """Write ddq = -d v: bias compensation, with a rate at which motion dies away."""
    for i in range(v.shape[0]):
        record.acceleration[i] = -record.damping_rate * v[i]


@kernel
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


@kernel
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


@kernel
def float_law(record: np.record, M: np.ndarray, v: np.ndarray) -> None:
    """Write ddq of a frame that follows a hand: held in rotation, only damped in translation.

    The slide "Task space impedance control" puts the desired position where the arm is, which
    leaves a = Kp log3 + Kd (nu_r - nu) with no stiffness in translation.
    """
    pose_error(record.pose, record.pose_reference, record.turn, record.six)
    goal = record.six
    for i in range(6):
        feedback = record.task_kd[i] * (record.twist_reference[i] - record.twist[i])
        if i < 3:
            goal[i] = record.damping_rate * (record.twist_reference[i] - record.twist[i])
        else:
            goal[i] = record.task_kp[i] * goal[i] + feedback
        goal[i] += record.acceleration_reference[i] - record.drift[i]
    for i in range(v.shape[0]):
        record.acceleration[i] = -record.damping_rate * v[i]
    resolve(record, M, goal)


@kernel
def impedance_law(record: np.record, M: np.ndarray, v: np.ndarray) -> None:
    """Write the wrench f = K e + D (nu_r - nu) of a spring and damper on the arm's own inertia.

    The axes are the base's or the tool's. D = 2 zeta sqrt(K m), with the mass that the arm shows
    along each axis, m = 1 / (J M^-1 J^T)_ii (Khatib 1995, effective mass).
    """
    pose_error(record.pose, record.pose_reference, record.turn, record.six)
    inverse_inertia_rows(M, record.jacobian, record.rows, record.inertia)
    rows_product(record.rows, record.jacobian, record.square)
    for i in range(6):
        record.six_more[i] = record.twist_reference[i] - record.twist[i]
    _stiffness_axes(record)
    for part in range(2):
        error = record.six[3 * part : 3 * part + 3]
        rate = record.six_more[3 * part : 3 * part + 3]
        force = record.wrench[3 * part : 3 * part + 3]
        block = record.square[3 * part : 3 * part + 3, 3 * part : 3 * part + 3]
        R = record.turn
        mat_t_vec(R, error, force)
        error[:] = force
        mat_t_vec(R, rate, force)
        for i in range(3):
            mobility = 0.0
            for j in range(3):
                for k in range(3):
                    mobility += R[j, i] * block[j, k] * R[k, i]
            stiffness = record.stiffness[3 * part + i]
            # No mass can be told along an axis in which the arm cannot move.
            mass = 1.0 / mobility if mobility > 1e-9 else 0.0
            damping = 2.0 * record.damping_ratio * np.sqrt(stiffness * mass)
            error[i] = stiffness * error[i] + damping * force[i]
        mat_vec(R, error, force)
    for i in range(v.shape[0]):
        record.acceleration[i] = 0.0


@kernel
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
    weighted = nv > 6
    if weighted:
        inverse_inertia_rows(M, J, rows, record.inertia)
    else:
        rows[:, :] = J
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
        record.acceleration[:] = 0.0
    if not cholesky(A):
        return
    cholesky_solve(A, goal)
    for j in range(nv):
        for i in range(6):
            record.acceleration[j] += rows[i, j] * goal[i]
