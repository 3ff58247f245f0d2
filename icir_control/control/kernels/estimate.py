"""What the model does not know: the disturbance observer, and the state behind a delay.

Both rest on the plant's own step, v' = v + h M^-1 (tau - nle + d), q' = q + h v'.
"""

import numpy as np

from icir_control.compiled import kernel, part
from icir_control.control.kernels.linear import (
    cholesky,
    cholesky_solve,
    copy,
    copy_matrix,
)
from icir_control.dynamics.kernels import mass_matrix_of, nle_of, terms


@part
def observe(record: np.record, v: np.ndarray) -> None:
    """Take the disturbance of the last period into its estimate r.

    The momentum gained beyond what the torque explains, d = M (v' - v) / h + nle - tau, enters
    with the gain K of a first-order lag: r += K h (d - r). This is the generalised momentum
    observer (De Luca & Mattone 2003) in the form that a step of semi-implicit Euler takes, so
    that no derivative of M is needed.

    Args:
        record: Holds M, nle, v and tau of the last tick, and r.
        v: (nv,) measured now [rad/s or m/s].
    """
    if not record.observing:
        return
    n = v.shape[0]
    share = min(record.observer_gain * record.period, 1.0)
    for i in range(n):
        momentum = 0.0
        for j in range(n):
            momentum += record.M_before[i, j] * (v[j] - record.v_before[j])
        d = momentum / record.period + record.nle_before[i] - record.torque_applied[i]
        record.disturbance[i] += share * (d - record.disturbance[i])
        if record.feeds_back:
            record.compensation[i] = record.disturbance[i]


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
