"""One control tick: from time, position and velocity to torque, in one compiled call."""

import numpy as np

from icir_control.compiled import kernel, part
from icir_control.control.kernels.estimate import (
    observe,
    predict,
    remember,
    send,
    step_plant,
)
from icir_control.control.kernels.impedance import impedance_law
from icir_control.control.kernels.laws import float_law, gravity_law, joint_law, task_law
from icir_control.control.kernels.limits import keep_off_limits, limit_torque
from icir_control.control.kernels.linear import (
    clear,
    smallest_singular_value,
)
from icir_control.control.kernels.record import (
    ACTUATE,
    ADVANCE,
    FLOAT,
    GRAVITY,
    IMPEDANCE,
    JOINT,
    PREPARE,
    REHEARSE,
    START_PATH,
    STEP,
    TASK,
    TICK,
)
from icir_control.control.kernels.reference import advance_reference, look_ahead
from icir_control.control.kernels.rehearsal import rehearse
from icir_control.dynamics.kernels import frame_terms, mass_matrix_of, nle_of, terms

GAIN_TIME = 0.02
"""[s] In which a gain goes 63 % of the way to a new value."""


@kernel
def run(dynamics: np.ndarray, control: np.ndarray, state: np.ndarray) -> None:
    """Do one operation of the controller; which one stands in the record.

    One compiled function for all of them: each would otherwise be compiled with its own copy of
    the dynamics, which takes longer than all else at the first start.

    Args:
        dynamics: The buffer of a `Data`.
        control: (1,) record array.
        state: (1 + 2 nv,): time [s], q, v.
    """
    record = control[0]
    operation = record.operation
    if operation == PREPARE:
        nv = record.torque.shape[0]
        observe(record, state[1 + nv : 1 + 2 * nv])
        predict(dynamics, record, state)
    elif operation == START_PATH:
        look_ahead(dynamics, record)
    elif operation == STEP:
        step_plant(dynamics, record, record.torque, state)
    elif operation == REHEARSE:
        rehearse(dynamics, record)
    elif operation == ACTUATE:
        actuate(dynamics, record, state)
    else:
        advance_reference(dynamics, record, state[0])
        if operation != ADVANCE:
            sense(dynamics, record, state)
        if operation == TICK:
            accelerate(record, mass_matrix_of(dynamics), state)
            actuate(dynamics, record, state)


@part
def accelerate(record: np.record, M: np.ndarray, state: np.ndarray) -> None:
    """Write the acceleration and the wrench that the law wants."""
    nv = record.torque.shape[0]
    q, v = state[1 : 1 + nv], state[1 + nv : 1 + 2 * nv]
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


@part
def sense(dynamics: np.ndarray, record: np.record, state: np.ndarray) -> None:
    """Bring the terms of the dynamics and the tool to a state."""
    nv = record.torque.shape[0]
    terms(dynamics, state[1 : 1 + nv], state[1 + nv : 1 + 2 * nv])
    frame_terms(dynamics, record.frame, record.pose, record.twist, record.jacobian, record.drift)
    if record.delay == 0:
        M, nle = mass_matrix_of(dynamics), nle_of(dynamics)
        remember(record, M, nle, state[1 + nv : 1 + 2 * nv])
    record.smallest_singular_value = smallest_singular_value(
        record.jacobian, record.singular_direction, record.square, record.six
    )
    clear(record.wrench)
    _approach_gains(record)


@part
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


@part
def actuate(dynamics: np.ndarray, record: np.record, state: np.ndarray) -> None:
    """Write tau = M ddq + nle + J^T f - r (computed torque), and what the motors give of it."""
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
