"""One control tick: from time, position and velocity to torque, in one compiled call."""

import numpy as np

from icir_control.compiled import JIT_DISABLED, kernel, part
from icir_control.control.kernels.estimate import observe, predict, remember, send, step_plant
from icir_control.control.kernels.linear import (
    clear,
    copy,
    copy_matrix,
    smallest_singular_value,
)
from icir_control.control.kernels.memory import (
    ACTUATE,
    ADVANCE,
    PREPARE,
    STEP,
    TICK,
)
from icir_control.control.kernels.reference import advance_reference
from icir_control.control.kernels.structs import Struct
from icir_control.dynamics.kernels import frame_terms, mass_matrix_of, nle_of, terms

LIMIT_STIFFNESS = 1000.0
"""[1/s^2] Of the repulsion at a position limit; it grows from nothing at the margin's edge."""


@part
def keep_off_limits(memory: Struct, tick: Struct) -> None:
    """Add to the acceleration what keeps a yielding arm off its position limits.

    Within the margin m of a limit, at a depth x: ddq -= (x / m) (k x + 2 sqrt(k) v), the second
    part only on the way to the limit.
    """
    margin, q, v, ddq = memory.position_margin, tick.q, tick.v, memory.acceleration
    lower, upper = memory.lower_position_limit, memory.upper_position_limit
    damping = 2.0 * np.sqrt(LIMIT_STIFFNESS)
    if margin > 0.0:
        for i in range(q.shape[0]):
            above = q[i] - (upper[i] - margin)
            below = (lower[i] + margin) - q[i]
            if above > 0.0:
                ddq[i] -= above / margin * (LIMIT_STIFFNESS * above + damping * max(v[i], 0.0))
            elif below > 0.0:
                ddq[i] += below / margin * (LIMIT_STIFFNESS * below + damping * max(-v[i], 0.0))


@part
def limit_torque(memory: Struct, nle: np.ndarray, period: float) -> None:
    """Write the torque that is within the effort and rate limits.

    The law's part is scaled as a whole, tau = nle + s (tau_law - nle) with the greatest s in
    [0, 1] that every joint allows: the arm then accelerates where it was meant to, only less. A
    bias beyond the limit itself is cut off joint by joint.

    Args:
        memory: Holds the torque before limits and the limits.
        nle: (n,) bias torque [N m or N].
        period: Between two ticks [s].
    """
    wanted, torque, limit = memory.torque_unsaturated, memory.torque, memory.effort_limit
    rate_limit = memory.torque_rate_limit
    share = 1.0
    for i in range(nle.shape[0]):
        if wanted[i] > limit[i]:
            share = min(share, max(limit[i] - nle[i], 0.0) / (wanted[i] - nle[i]))
        elif wanted[i] < -limit[i]:
            share = min(share, min(-limit[i] - nle[i], 0.0) / (wanted[i] - nle[i]))
    memory.effort_share = share
    memory.rate_limited = 0
    for i in range(nle.shape[0]):
        tau = wanted[i] if share == 1.0 else nle[i] + share * (wanted[i] - nle[i])
        if memory.has_torque:
            step = rate_limit[i] * period
            if abs(tau - torque[i]) > step:
                tau = min(max(tau, torque[i] - step), torque[i] + step)
                memory.rate_limited = 1
        torque[i] = min(max(tau, -limit[i]), limit[i])
    memory.has_torque = 1


if not JIT_DISABLED:  # where it is, laws are called from Python
    from icir_control.control.kernels.struct_types import call_law


@kernel
def run(dynamics: np.ndarray, memory: Struct, tick: Struct) -> int:
    """Do one operation of the controller; which one stands in the memory.

    One compiled function for all of them: each would otherwise be compiled with its own copy of
    the dynamics, which takes longer than all else at the first start.

    Args:
        dynamics: The buffer of a `Data`.
        memory: A struct of `MEMORY_LAYOUT`.
        tick: A struct of `TICK_LAYOUT`; time, q and v as measured.

    Returns:
        1 where the law's answer is not one finite number for each joint; there is no torque then.
    """
    operation, failed = memory.operation, 0
    if operation == PREPARE:
        observe(memory, tick)
        predict(dynamics, memory, tick)
    elif operation == STEP:
        step_plant(dynamics, memory, tick, memory.torque)
    elif operation == ACTUATE:
        actuate(memory, tick)
    else:
        advance_reference(dynamics, memory, tick)
        if operation != ADVANCE:
            sense(dynamics, memory, tick)
        if operation == TICK:
            ddq = call_law(memory.law_function, memory.law, tick)
            if ddq.shape[0] != memory.joints:
                failed = 1
            for i in range(ddq.shape[0]):
                if not abs(ddq[i]) < np.inf:
                    failed = 1
            if failed == 0:
                copy(ddq, memory.acceleration)
                actuate(memory, tick)
    return failed


@part
def sense(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
    """Bring the terms of the dynamics and the tool to the state of the tick."""
    terms(dynamics, tick.q, tick.v)
    frame_terms(dynamics, memory.frame, tick.pose, tick.twist, tick.jacobian, tick.drift)
    M, nle = mass_matrix_of(dynamics), nle_of(dynamics)
    copy_matrix(M, tick.M)
    copy(nle, tick.nle)
    if memory.delay == 0 and memory.observer_gain > 0.0:
        remember(memory, M, nle, tick.v)
    tick.smallest_singular_value = smallest_singular_value(
        tick.jacobian, memory.singular_direction
    )
    clear(tick.wrench)


@part
def actuate(memory: Struct, tick: Struct) -> None:
    """Write tau = M ddq + nle + J^T f - r (computed torque), and what the motors give of it."""
    if not memory.tracks:
        keep_off_limits(memory, tick)
    M, nle, J, f = tick.M, tick.nle, tick.jacobian, tick.wrench
    ddq, r, tau = memory.acceleration, memory.compensation, memory.torque_unsaturated
    for i in range(nle.shape[0]):
        total = nle[i] - r[i]
        for j in range(nle.shape[0]):
            total += M[i, j] * ddq[j]
        for j in range(6):
            total += J[j, i] * f[j]
        tau[i] = total
    limit_torque(memory, nle, tick.period)
    send(memory)
    memory.observing = 1 if memory.observer_gain > 0.0 else 0
