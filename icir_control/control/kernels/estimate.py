"""What the model does not know: the disturbance observer, and the state behind a delay.

Both rest on the plant's own step, v' = v + h M^-1 (tau - nle + d), q' = q + h v'.
"""

import numpy as np

from icir_control.compiled import kernel, part
from icir_control.control.kernels.linear import (
    cholesky,
    cholesky_solve,
    clear,
    copy,
    copy_matrix,
)
from icir_control.control.kernels.structs import Struct
from icir_control.dynamics.kernels import mass_matrix_of, nle_of, terms

FADE_TIME = 0.1
"""[s] In which a compensation that holds no more goes 63 % of its way."""

TAKE_OVER_TIME = 0.02
"""[s] The same where a law begins to cancel what was only observed."""

REST_SPEED = 0.002
"""[rad/s or m/s] Of every joint, below which friction and damping do not count."""


@part
def observe(memory: Struct, tick: Struct) -> None:
    """Take the disturbance of the last period into its estimate r, and what is cancelled after it.

    The momentum gained beyond what the torque explains, d = M (v' - v) / h + nle - tau, enters
    with the gain K of a first-order lag: r += K h (d - r). This is the generalised momentum
    observer (De Luca & Mattone 2003) in the form that a step of semi-implicit Euler takes, so
    that no derivative of M is needed.

    A law that tracks cancels r. One that yields goes back to the estimate at the last time the
    arm was held at rest, which is weight: friction and damping, seen in motion, would push an arm
    that has stopped. When the gain becomes 0, nothing stays. Never does the compensation jump.

    Args:
        memory: Holds M, nle and v as measured at the last tick, tau, and r.
        tick: Holds v as measured now.
    """
    h, v = tick.period, tick.v
    r, compensation, at_rest = memory.disturbance, memory.compensation, memory.disturbance_at_rest
    share = min(memory.observer_gain * h, 1.0)
    fade = min(h / FADE_TIME, 1.0)
    left = 1.0 - min(h / TAKE_OVER_TIME, 1.0)
    if share == 0.0:
        clear(r)
        clear(at_rest)
    fastest = 0.0
    for i in range(v.shape[0]):
        excess = compensation[i] - r[i]
        if memory.observing and share > 0.0:
            r[i] += share * (_unexplained(memory, v, h, i) - r[i])
        if memory.tracks and share > 0.0:
            compensation[i] = r[i] + left * excess
        else:
            compensation[i] += fade * (at_rest[i] - compensation[i])
        fastest = max(fastest, abs(v[i]))
    if memory.tracks and fastest <= REST_SPEED:
        copy(compensation, at_rest)


@part
def _unexplained(memory: Struct, v: np.ndarray, h: float, i: int) -> float:
    """Return the torque on joint i in the last period that the model does not explain, d_i."""
    M, v_before = memory.measured_M, memory.measured_v
    momentum = 0.0
    for j in range(v.shape[0]):
        momentum += M[i, j] * (v[j] - v_before[j])
    return momentum / h + memory.measured_nle[i] - memory.torque_applied[i]


@kernel
def remember(memory: Struct, M: np.ndarray, nle: np.ndarray, v: np.ndarray) -> None:
    """Keep what `observe` needs of this tick's measured state."""
    copy_matrix(M, memory.measured_M)
    copy(nle, memory.measured_nle)
    copy(v, memory.measured_v)


@part
def predict(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
    """Advance the measured state through the torques that are still under way.

    Args:
        dynamics: The buffer of a `Data`.
        memory: Holds the torques, the oldest first.
        tick: Its time, q and v become those at which the next torque will act.
    """
    for k in range(memory.delay):
        terms(dynamics, tick.q, tick.v)
        if k == 0:
            remember(memory, mass_matrix_of(dynamics), nle_of(dynamics), tick.v)
        step_plant(dynamics, memory, tick, memory.delayed_torque[k])


@kernel
def step_plant(dynamics: np.ndarray, memory: Struct, tick: Struct, torque: np.ndarray) -> None:
    """Advance a state, of which the terms are at hand, by one period under a torque."""
    M, nle, h = mass_matrix_of(dynamics), nle_of(dynamics), tick.period
    q, v, compensation = tick.q, tick.v, memory.compensation
    ddq, L = np.empty_like(torque), np.empty((torque.shape[0], torque.shape[0]))
    for i in range(torque.shape[0]):
        ddq[i] = torque[i] - nle[i] + compensation[i]
    copy_matrix(M, L)
    cholesky(L)
    cholesky_solve(L, ddq)
    for i in range(torque.shape[0]):
        v[i] += h * ddq[i]
        q[i] += h * v[i]
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
