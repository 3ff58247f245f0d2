"""The plant as the model has it: losses in its joints, its step, and the state behind a delay."""

import numpy as np

from icir_control.compiled import kernel, part
from icir_control.control.kernels.linear import cholesky, cholesky_solve, copy, copy_matrix
from icir_control.control.kernels.memory import JOINT_PATH
from icir_control.control.kernels.sensors import remember
from icir_control.control.kernels.structs import Struct, separate
from icir_control.dynamics.kernels import mass_matrix_of, nle_of, terms

FRICTION_RATE = 2.0 / (0.95 * 0.02)
"""[1/s] b of the friction f sat((a + b v) / (R f)), by MuJoCo's default `solreffriction`."""

FRICTION_SOFTNESS = 0.1 / 0.9
"""R of each joint, in shares of (M^-1)_ii at q = 0, by MuJoCo's default `solimpfriction`."""


@part
def add_losses(dynamics: np.ndarray, memory: Struct, tick: Struct, v: np.ndarray) -> None:
    """Add to M and nle, which are up to date, what damping and friction ask of the torque.

    Semi-implicit Euler takes the damping D of the joints at the end of its step,
    M a = tau - nle - D (v + h a): M + h D and nle + D v stand for both. A plant that integrates
    finer has a share of h D; `bias_change` has the rest.

    Friction is that of the reference, never of the measured velocity: at rest it is zero, and
    noise does not make it change its sign. A law that yields is given none.

    Args:
        dynamics: The buffer of a `Data`, for a state that moves at v.
        memory: Holds the losses.
        tick: Holds the reference.
        v: (nv,) [rad/s or m/s].
    """
    if memory.lossy:
        M, nle, D = mass_matrix_of(dynamics), nle_of(dynamics), memory.joint_damping
        share = memory.euler_share * tick.period
        if memory.tracks and (memory.path == JOINT_PATH or memory.joints_follow):
            _add_friction(M, nle, memory, tick, share)
        for i in range(nle.shape[0]):
            nle[i] += D[i] * v[i]
            M[i, i] += share * D[i]


@part
def _add_friction(
    M: np.ndarray, nle: np.ndarray, memory: Struct, tick: Struct, share: float
) -> None:
    """Add f sat((a + b v) / (R f)), Coulomb's friction as MuJoCo has it, with a slope at rest.

    MuJoCo takes it, for a = M^-1 (tau - nle - D v - friction), before its step makes the damping
    implicit: where the reference accelerates by a_r, a is a_r + h M^-1 D a_r.
    """
    v, a, n = tick.velocity_reference, tick.acceleration_reference, nle.shape[0]
    L, explicit = np.empty((n, n)), np.empty(n)
    copy_matrix(M, L)
    cholesky(L)
    for i in range(n):
        explicit[i] = share * memory.joint_damping[i] * a[i]
    cholesky_solve(L, explicit)
    for i in range(n):
        most = memory.joint_friction[i]
        wanted = (a[i] + explicit[i] + FRICTION_RATE * v[i]) / memory.friction_softness[i]
        nle[i] += min(max(wanted, -most), most)


def update_terms(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
    """Bring M, nle and the rest of the dynamics to the state of the tick, losses included."""
    terms(dynamics, tick.q, tick.v)
    add_losses(dynamics, memory, tick, tick.v)


bring_terms = separate(update_terms, 'terms_code')


@part
def predict(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
    """Advance the measured state through the torques that are still under way.

    Args:
        dynamics: The buffer of a `Data`.
        memory: Holds the torques, the oldest first.
        tick: Its time, q and v become those at which the next torque will act.
    """
    for k in range(memory.delay):
        bring_terms(dynamics, memory, tick)
        if k == 0:
            remember(memory, mass_matrix_of(dynamics), nle_of(dynamics), tick)
        step_plant(dynamics, memory, tick, memory.delayed_torque[k])


@kernel
def step_plant(dynamics: np.ndarray, memory: Struct, tick: Struct, torque: np.ndarray) -> None:
    """Advance a state, of which the terms are at hand, by one period under a torque."""
    M, nle, h = mass_matrix_of(dynamics), nle_of(dynamics), tick.period
    q, v, compensation = tick.q, tick.v, memory.compensation
    late = 0.5 * (1.0 - memory.euler_share) * h
    ddq, L = np.empty_like(torque), np.empty((torque.shape[0], torque.shape[0]))
    for i in range(torque.shape[0]):
        ddq[i] = torque[i] - nle[i] - memory.bias_change[i] + compensation[i]
    copy_matrix(M, L)
    cholesky(L)
    cholesky_solve(L, ddq)
    for i in range(torque.shape[0]):
        v[i] += h * ddq[i]
        q[i] += h * (v[i] - late * ddq[i])
    tick.time += h


@part
def send(memory: Struct) -> None:
    """Put this tick's torque under way; the one that arrives now is what `observe` will see."""
    delay, delayed = memory.delay, memory.delayed_torque
    if delay == 0:
        copy(memory.torque, memory.torque_applied)
    else:
        copy(delayed[0], memory.torque_applied)
        for step in range(delay - 1):
            copy(delayed[step + 1], delayed[step])
        copy(memory.torque, delayed[delay - 1])
