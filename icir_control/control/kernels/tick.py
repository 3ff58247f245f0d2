"""One control tick: from time, position and velocity to torque, in one compiled call."""

from typing import Any

import numpy as np

from icir_control.compiled import JIT_DISABLED, part
from icir_control.control.kernels.clearance import may_be_near
from icir_control.control.kernels.estimate import observe
from icir_control.control.kernels.inertia import carry_disturbance
from icir_control.control.kernels.limits import (
    brake,
    keep_near_speed_limits,
    keep_off_limits,
    keep_off_speed_limits,
    limit_torque,
    watch,
)
from icir_control.control.kernels.linear import smallest_singular_value
from icir_control.control.kernels.memory import (
    ACTUATE,
    ADVANCE,
    ALARMED,
    BRAKE,
    CALM,
    CONTACT_CHANGED,
    DONE,
    LOOKS,
    NEAR,
    NO_ANSWER,
    PREPARE,
    SENSE,
    SHAKEN,
    STEP,
    TICK,
    WATCHES,
)
from icir_control.control.kernels.plant import (
    beside_damping,
    bring_terms,
    predict,
    remember,
    send,
    step_plant,
    update_terms,
)
from icir_control.control.kernels.reference import advance_reference
from icir_control.control.kernels.structs import Struct, separate
from icir_control.control.kernels.weight import turn_weight
from icir_control.dynamics.kernels import frame_terms, gravity_of, mass_matrix_of, nle_of
from icir_control.dynamics.kernels.checked import LARGEST, with_entrance
from icir_control.spatial.kernels import clear, copy, copy_matrix


@part
def computed_torque(memory: Struct, tick: Struct) -> None:
    """Write tau = M ddq + nle + b + J^T f - r + tau_c before the limits.

    b is what the bias changes in the step that the torque acts in; tau_c keeps links apart in
    laws that yield.
    """
    M, nle, J, f = tick.M, tick.nle, tick.jacobian, tick.wrench
    ddq, r, tau = memory.acceleration, memory.compensation, memory.torque_unsaturated
    for i in range(nle.shape[0]):
        total = nle[i] + memory.bias_change[i] - r[i]
        for j in range(nle.shape[0]):
            total += M[i, j] * ddq[j]
        for j in range(6):
            total += J[j, i] * f[j]
        if memory.repels:
            total += memory.repulsion[i]
        tau[i] = total + beside_damping(memory, tick, i)


@part
def remember_state(memory: Struct, tick: Struct) -> None:
    """Keep the measured state, unless that was done before a prediction."""
    if memory.delay == 0:
        remember(memory, tick.M, tick.nle, tick)
    memory.observing = 1


@part
def bias_change(memory: Struct, tick: Struct) -> None:
    """Write by how much M a_r + nle will change on average in the period to come.

    A plant that integrates finer than the period feels it: half of what the last period changed.
    One that takes a period for a step does not.
    """
    change, share = memory.bias_change, 0.5 * (1.0 - memory.euler_share)
    clear(change)
    if memory.tracks and memory.observing and memory.delay == 0 and share > 0.0:
        M, M_before, a = tick.M, memory.measured_M, tick.acceleration_reference
        for i in range(change.shape[0]):
            total = tick.nle[i] - memory.measured_nle[i]
            for j in range(change.shape[0]):
                total += (M[i, j] - M_before[i, j]) * a[j]
            change[i] = share * total


if not JIT_DISABLED:  # where it is, laws are called from Python
    from icir_control.control.kernels.structs import call_law


def prepare(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
    """Observe the last period, and predict the state that the next torque will meet."""
    observe(memory, tick)
    predict(dynamics, memory, tick)
    memory.prepared = 1


def sense(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
    """Bring the terms of the dynamics and the tool to the state of the tick."""
    bring_terms(dynamics, memory, tick)
    frame_terms(dynamics, memory.frame, tick.pose, tick.twist, tick.jacobian, tick.drift)
    copy_matrix(mass_matrix_of(dynamics), tick.M)
    copy(nle_of(dynamics), tick.nle)
    if memory.needs_singular_value:
        tick.smallest_singular_value = smallest_singular_value(
            tick.jacobian, memory.singular_direction
        )
    clear(tick.wrench)
    if not memory.tracks:
        turn_weight(memory, tick, gravity_of(dynamics))


def actuate(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
    """Write what the motors give of the torque that law or brake want, and keep the state."""
    carry_disturbance(memory, tick)
    if memory.operation == BRAKE:
        remember_state(memory, tick)
        brake(memory, tick, gravity_of(dynamics))
    else:
        if not memory.tracks:
            keep_off_limits(memory, tick)
            keep_off_speed_limits(memory, tick)
        else:
            keep_near_speed_limits(memory, tick)
        bias_change(memory, tick)
        remember_state(memory, tick)
        computed_torque(memory, tick)
    limit_torque(memory, tick)
    send(memory)
    if memory.operation != BRAKE:
        watch(memory, tick)


STAGES: dict[str, Any] = {
    'prepare_code': prepare,
    'terms_code': update_terms,
    'reference_code': advance_reference,
    'sense_code': sense,
    'actuate_code': actuate,
}
"""What a tick calls that is compiled by itself, by the memory's field for its machine code."""

_prepare, _, _advance, _sense, _actuate = (separate(one, field) for field, one in STAGES.items())


@with_entrance
def run(dynamics: np.ndarray, memory: Struct, tick: Struct) -> int:
    """Do one operation of the controller; which one stands in the memory.

    A tick goes from the measured state to the reference, the terms of the dynamics, the law's
    acceleration, and the torque. Its stages are compiled by themselves: as one function they would
    take longer. It keeps the interpreter's lock, since to give that away and back costs more than
    a stage.

    Args:
        dynamics: The buffer of a `Data`.
        memory: A struct of `MEMORY_LAYOUT`.
        tick: A struct of `TICK_LAYOUT`; time, q and v as measured.

    Returns:
        `DONE`, ... of the memory module.
    """
    operation, outcome = memory.operation, DONE
    # A tick prepares itself, unless that was done to plan from the state that it answers.
    answers = operation in (TICK, BRAKE)
    if operation == PREPARE or (answers and memory.prepared == 0):
        _prepare(dynamics, memory, tick)
    if operation == TICK and memory.keeps_apart == WATCHES:
        memory.repels = 0
        if may_be_near(memory.distance_watch, tick.q):
            memory.keeps_apart = LOOKS
            return NEAR
    elif operation == TICK and memory.keeps_apart == LOOKS:
        memory.keeps_apart = WATCHES
    if answers or operation in (SENSE, ADVANCE):
        _advance(dynamics, memory, tick)
    if answers or operation == SENSE:
        _sense(dynamics, memory, tick)
    if operation == TICK:
        ddq = call_law(memory.law_code, memory.law, tick)
        size = 0.0
        for i in range(ddq.shape[0]):
            size += abs(ddq[i])
        for i in range(6):
            size += abs(tick.wrench[i])
        if ddq.shape[0] != memory.joints or not size < LARGEST:
            outcome = NO_ANSWER
        if outcome == DONE:
            copy(ddq, memory.acceleration)
    if outcome == DONE and (answers or operation == ACTUATE):
        _actuate(dynamics, memory, tick)
    if operation == STEP:
        step_plant(dynamics, memory, tick, memory.torque, memory.compensation)
    if outcome == DONE and operation not in (PREPARE, SENSE):
        memory.prepared = 0
    if memory.alarm != CALM:
        outcome = ALARMED
    elif outcome == DONE and memory.shaken:
        memory.shaken = 0
        outcome = SHAKEN
    elif outcome == DONE and memory.contact_changed and operation in (TICK, ACTUATE):
        memory.contact_changed = 0
        outcome = CONTACT_CHANGED
    return outcome
