"""The reference: where the arm should be now, one period ago and one period ahead.

The plant steps by v' = v + h a, q' = q + h v' (semi-implicit Euler). An arm that is to pass
through q_k at every tick therefore needs v_k = (q_k - q_{k-1}) / h, which is not the derivative
of the path but its difference, and a_k = (q_{k+1} - 2 q_k + q_{k-1}) / h^2. With these the
tracking error of an exact model is round-off; with the derivatives it is of order h.
"""

import numpy as np

from icir_control.compiled import kernel, part
from icir_control.control.kernels.follow import follow_pose_path, ramp_rate
from icir_control.control.kernels.linear import copy
from icir_control.control.kernels.record import (
    FEED_FORWARD,
    NO_PATH,
    POSE_PATH,
    TASK,
)
from icir_control.trajectory.kernels import (
    polynomial_at,
    polynomial_rates_at,
    pose_at,
    pose_rates_at,
)

MATCHED = FEED_FORWARD.index('matched')


@part
def advance_reference(dynamics: np.ndarray, record: np.record, time: float) -> None:
    """Bring the reference to a time: its three positions, velocity and acceleration."""
    if record.path == NO_PATH:
        return
    if record.path == POSE_PATH and record.law != TASK:
        _pose_reference(record, time - record.start_time)
        return
    while record.reference_time < time - 0.5 * record.period:
        record.reference_time += record.period
        if abs(record.reference_time - time) < 0.5 * record.period:
            record.reference_time = time
        copy(record.q_reference, record.q_before)
        copy(record.q_after, record.q_reference)
        look_ahead(dynamics, record)
    _differences(record)
    if record.feed_forward != MATCHED:
        _derivatives(record)


@kernel
def look_ahead(dynamics: np.ndarray, record: np.record) -> None:
    """Find the joint positions one period after the present reference."""
    record.path_time_now = record.path_time
    record.rate_now = record.path_rate
    if record.path == POSE_PATH:
        follow_pose_path(dynamics, record)
        return
    record.path_time += record.period * record.path_rate
    ramp_rate(record, record.speed_scale)
    polynomial_at(record.joint_coefficients, record.duration, record.path_time, record.q_after)


@part
def _differences(record: np.record) -> None:
    h = record.period
    for i in range(record.q_reference.shape[0]):
        forward = record.q_after[i] - record.q_reference[i]
        backward = record.q_reference[i] - record.q_before[i]
        record.v_reference[i] = backward / h
        record.a_reference[i] = (forward - backward) / (h * h)


@part
def _derivatives(record: np.record) -> None:
    """Write the path's own velocity and acceleration, for comparison with the matched ones."""
    rate = record.rate_now
    if record.path == POSE_PATH:
        _pose_reference(record, record.path_time_now)
        for i in range(6):
            record.twist_reference[i] *= rate
            record.acceleration_reference[i] *= rate * rate
        return
    v, a = record.v_reference, record.a_reference
    polynomial_rates_at(record.joint_coefficients, record.duration, record.path_time_now, v, a)
    for i in range(v.shape[0]):
        v[i] *= rate
        a[i] *= rate * rate


@kernel
def _pose_reference(record: np.record, elapsed: float) -> None:
    coefficients, duration = record.pose_coefficients, record.duration
    pose_at(record.pose_start, coefficients, duration, elapsed, record.pose_reference)
    pose_rates_at(
        record.pose_reference,
        coefficients,
        duration,
        elapsed,
        record.twist_reference,
        record.acceleration_reference,
    )
