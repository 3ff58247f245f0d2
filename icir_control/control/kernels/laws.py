"""The laws that want an acceleration: gravity, joint, task and float.

Each reads like its equation; the torque is then M ddq + nle + J^T f, for all laws alike.
"""

import numpy as np

from icir_control.compiled import part
from icir_control.control.kernels.follow import pose_error
from icir_control.control.kernels.record import FEED_FORWARD
from icir_control.control.kernels.resolution import (
    let_joints_rest,
    reference_in_tool_axes,
    resolve,
)
from icir_control.spatial.kernels import mat_vec

VELOCITY = FEED_FORWARD.index('velocity')
ACCELERATION = FEED_FORWARD.index('acceleration')
MATCHED = FEED_FORWARD.index('matched')


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
        reference_in_tool_axes(record)
    for i in range(v.shape[0]):
        record.joints[i] = record.v_reference[i] - v[i]
    mat_vec(record.jacobian, record.joints, goal)
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
    reference_in_tool_axes(record)
    goal = record.six
    for i in range(6):
        feedback = record.task_kd[i] * (record.twist_reference[i] - record.twist[i])
        if i < 3:
            goal[i] = record.damping_rate[0] * (record.twist_reference[i] - record.twist[i])
        else:
            goal[i] = record.task_kp[i] * goal[i] + feedback
        goal[i] += record.acceleration_reference[i] - record.drift[i]
    let_joints_rest(record, v)
    resolve(record, M, goal)
