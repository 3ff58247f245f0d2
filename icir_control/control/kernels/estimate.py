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
from icir_control.dynamics.kernels import mass_matrix_of, nle_of, terms

FADE_TIME = 0.1
"""[s] In which a compensation that holds no more goes 63 % of its way."""

TAKE_OVER_TIME = 0.02
"""[s] The same where a law begins to cancel what was only observed."""

REST_SPEED = 0.002
"""[rad/s or m/s] Of every joint, below which friction and damping do not count."""


@part
def observe(record: np.record, v: np.ndarray) -> None:
    """Take the disturbance of the last period into its estimate r, and what is cancelled after it.

    The momentum gained beyond what the torque explains, d = M (v' - v) / h + nle - tau, enters
    with the gain K of a first-order lag: r += K h (d - r). This is the generalised momentum
    observer (De Luca & Mattone 2003) in the form that a step of semi-implicit Euler takes, so
    that no derivative of M is needed.

    A law that tracks cancels r. One that yields goes back to what was learnt when the arm was last
    held at rest, which is weight: friction and damping, learnt in motion, would push an arm that
    has stopped. When the gain becomes 0, nothing stays. Never does the compensation jump.

    Args:
        record: Holds M, nle, v and tau of the last tick, and r.
        v: (nv,) measured now [rad/s or m/s].
    """
    h = record.period
    share = min(record.observer_gain * h, 1.0)
    fade = min(h / FADE_TIME, 1.0)
    left = 1.0 - min(h / TAKE_OVER_TIME, 1.0)
    if share == 0.0:
        clear(record.disturbance)
        clear(record.learnt_at_rest)
    for i in range(v.shape[0]):
        excess = record.compensation[i] - record.disturbance[i]
        if record.observing and share > 0.0:
            record.disturbance[i] += share * (_unexplained(record, v, i) - record.disturbance[i])
        if record.feeds_back and share > 0.0:
            record.compensation[i] = record.disturbance[i] + left * excess
        else:
            record.compensation[i] += fade * (record.learnt_at_rest[i] - record.compensation[i])
    if record.feeds_back and _rests(v):
        copy(record.compensation, record.learnt_at_rest)


@part
def _unexplained(record: np.record, v: np.ndarray, i: int) -> float:
    """Return the torque on joint i in the last period that the model does not explain, d_i."""
    momentum = 0.0
    for j in range(v.shape[0]):
        momentum += record.M_before[i, j] * (v[j] - record.v_before[j])
    return momentum / record.period + record.nle_before[i] - record.torque_applied[i]


@kernel
def _rests(v: np.ndarray) -> bool:
    """Tell whether every joint is as good as at rest."""
    fastest = 0.0
    for i in range(v.shape[0]):
        fastest = max(fastest, abs(v[i]))
    return fastest <= REST_SPEED


@kernel
def remember(record: np.record, M: np.ndarray, nle: np.ndarray, v: np.ndarray) -> None:
    """Keep what `observe` needs of this tick's measured state."""
    copy_matrix(M, record.M_before)
    copy(nle, record.nle_before)
    copy(v, record.v_before)


@part
def predict(dynamics: np.ndarray, record: np.record, state: np.ndarray) -> None:
    """Advance the measured state through the torques that are still under way.

    Args:
        dynamics: The buffer of a `Data`.
        record: Holds the torques, the oldest first.
        state: (1 + 2 nv,): time [s], q, v; the state in which the next torque will act; in place.
    """
    n = record.torque.shape[0]
    q, v = state[1 : 1 + n], state[1 + n : 1 + 2 * n]
    for k in range(record.delay):
        terms(dynamics, q, v)
        if k == 0:
            remember(record, mass_matrix_of(dynamics), nle_of(dynamics), v)
        step_plant(dynamics, record, record.pending[k], state)


@kernel
def step_plant(
    dynamics: np.ndarray, record: np.record, torque: np.ndarray, state: np.ndarray
) -> None:
    """Advance a state, of which the terms are at hand, by one period under a torque."""
    M, nle = mass_matrix_of(dynamics), nle_of(dynamics)
    n = torque.shape[0]
    ddq, h = record.joints, record.period
    for i in range(n):
        ddq[i] = torque[i] - nle[i] + record.compensation[i]
    copy_matrix(M, record.inertia)
    cholesky(record.inertia)
    cholesky_solve(record.inertia, ddq)
    for i in range(n):
        state[1 + n + i] += h * ddq[i]
        state[1 + i] += h * state[1 + n + i]
    state[0] += h


@part
def send(record: np.record) -> None:
    """Put this tick's torque under way; the one that arrives now is what `observe` will see."""
    delay = record.delay
    if delay == 0:
        copy(record.torque, record.torque_applied)
        return
    copy(record.pending[0], record.torque_applied)
    for step in range(delay - 1):
        record.pending[step] = record.pending[step + 1]
    record.pending[delay - 1] = record.torque
