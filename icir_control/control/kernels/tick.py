"""One control tick: from time, position and velocity to torque, in one compiled call."""

import numpy as np

from icir_control.compiled import kernel
from icir_control.control.kernels.estimate import (
    observe,
    predict,
    remember,
    send,
    step_plant,
)
from icir_control.control.kernels.laws import (
    float_law,
    gravity_law,
    impedance_law,
    joint_law,
    task_law,
)
from icir_control.control.kernels.limits import keep_off_limits, limit_torque
from icir_control.control.kernels.linear import smallest_singular_value
from icir_control.control.kernels.record import FLOAT, GRAVITY, IMPEDANCE, JOINT, TASK
from icir_control.control.kernels.reference import advance_reference, look_ahead
from icir_control.dynamics.kernels import frame_terms, mass_matrix_of, nle_of, terms

GAIN_TIME = 0.02
"""[s] In which a gain goes 63 % of the way to a new value."""


@kernel
def tick(dynamics: np.ndarray, control: np.ndarray, state: np.ndarray) -> None:
    """Compute the torque of a compiled law; it stands in the record.

    Args:
        dynamics: The buffer of a `Data`.
        control: (1,) record array.
        state: (1 + 2 nv,): time [s], q, v.
    """
    sense(dynamics, control, state)
    record = control[0]
    nv = record.torque.shape[0]
    q, v = state[1 : 1 + nv], state[1 + nv : 1 + 2 * nv]
    M = mass_matrix_of(dynamics)
    if record.law == GRAVITY:
        gravity_law(record, v)
    elif record.law == JOINT:
        joint_law(record, q, v)
    elif record.law == TASK:
        task_law(record, M, q, v)
    elif record.law == FLOAT:
        float_law(record, M, v)
    elif record.law == IMPEDANCE:
        impedance_law(record, M, v)
    actuate(dynamics, control, state)


@kernel
def sense(dynamics: np.ndarray, control: np.ndarray, state: np.ndarray) -> None:
    """Bring the reference and the terms of the dynamics to a state."""
    record = control[0]
    nv = record.torque.shape[0]
    advance_reference(dynamics, record, state[0])
    terms(dynamics, state[1 : 1 + nv], state[1 + nv : 1 + 2 * nv])
    frame_terms(dynamics, record.frame, record.pose, record.twist, record.jacobian, record.drift)
    if record.delay == 0:
        M, nle = mass_matrix_of(dynamics), nle_of(dynamics)
        remember(record, M, nle, state[1 + nv : 1 + 2 * nv])
    record.smallest_singular_value = smallest_singular_value(
        record.jacobian, record.singular_direction, record.square, record.six
    )
    record.wrench[:] = 0.0
    _approach_gains(record)


@kernel
def _approach_gains(record: np.record) -> None:
    """Bring the gains nearer to their goals, so that no change of them is a jump of torque."""
    share = min(record.period / GAIN_TIME, 1.0)
    _approach(record.joint_kp, record.joint_kp_goal, share)
    _approach(record.joint_kd, record.joint_kd_goal, share)
    _approach(record.task_kp, record.task_kp_goal, share)
    _approach(record.task_kd, record.task_kd_goal, share)
    _approach(record.stiffness, record.stiffness_goal, share)
    _approach(record.damping_rate, record.damping_rate_goal, share)


@kernel
def _approach(x: np.ndarray, goal: np.ndarray, share: float) -> None:
    for i in range(x.shape[0]):
        x[i] += share * (goal[i] - x[i])


@kernel
def prepare(dynamics: np.ndarray, control: np.ndarray, state: np.ndarray) -> None:
    """Before a tick: observe the last period, and look past the torques still under way.

    Args:
        dynamics: The buffer of a `Data`.
        control: (1,) record array.
        state: (1 + 2 nv,): time [s], q, v as measured; as they will be when the torque acts, out.
    """
    record = control[0]
    nv = record.torque.shape[0]
    if record.observer_gain > 0.0:
        observe(record, state[1 + nv : 1 + 2 * nv])
    predict(dynamics, record, state)


@kernel
def actuate(dynamics: np.ndarray, control: np.ndarray, state: np.ndarray) -> None:
    """Write tau = M ddq + nle + J^T f - r (computed torque), and what the motors give of it."""
    record = control[0]
    M, nle = mass_matrix_of(dynamics), nle_of(dynamics)
    if not record.feeds_back:
        keep_off_limits(record, state)
    for i in range(M.shape[0]):
        tau = nle[i] - record.compensation[i]
        for j in range(M.shape[0]):
            tau += M[i, j] * record.acceleration[j]
        for j in range(6):
            tau += record.jacobian[j, i] * record.wrench[j]
        record.torque_unsaturated[i] = tau
    limit_torque(record, nle)
    send(record)
    record.observing = 1


@kernel
def step(dynamics: np.ndarray, control: np.ndarray, state: np.ndarray) -> None:
    """Advance the state of the last tick by a period under the torque that it got."""
    step_plant(dynamics, control[0], control[0].torque, state)


@kernel
def start_path(dynamics: np.ndarray, control: np.ndarray) -> None:
    """Find the first position ahead on a path that the joints are to follow."""
    look_ahead(dynamics, control[0])
