"""How fast each joint's estimate of the disturbance follows: stable, and quiet in noise."""

import numpy as np

from icir_control.compiled import part
from icir_control.control.kernels.contact import is_pressed
from icir_control.control.kernels.plant import NOISE_TIME, QUIET
from icir_control.control.kernels.structs import Struct
from icir_control.scratch import scratch_vector

ESTIMATE_NOISE = 1.0
"""[rad/s^2 or m/s^2] That the noise of the velocity may bring into an estimate, over inertia."""

INDEPENDENT_NOISE = 0.85
"""The same of a velocity that is no difference of positions: its errors do not cancel."""

LATENESS = 0.25
"""Lag of what is cancelled in such noise, as a share of the lag 1 / K of the estimate."""

LATE_MARGIN = 1.0625
"""Of (2 w + K) (n + 1/2) h, with torque that is n periods h late; pi / 3 is the edge."""

LATE_SHARE = 0.125
"""Share of w that an observer may have at such gains in any case."""

COUPLED_SHARE = 0.7
"""Of the gain that one joint by itself allows; a load off the axis couples joints."""

CERTAIN_DAMPING = 0.5
"""Share of the damping in the URDF that a joint surely has."""

GROWTH_TIME = 0.1
"""[s] In which the gain of a joint grows e-fold at the most where its velocity is noisy."""

SWING = 0.03
"""Share of the effort limit by which an estimate passes its own mean when it oscillates."""

SWING_EFFECT = 60.0
"""[rad/s^2 or m/s^2] The same over inertia, where that is less: a light joint of a large motor."""

MEAN_TIME = 0.3
"""[s] Of that mean, and the longest half of an oscillation."""

TAKE_OVER_TIME = 0.02
"""[s] In which what is cancelled takes over from what was, where a law begins to cancel."""

TRUST_TIME = 5.0
"""[s] In which an observer that has backed off trusts the plant again."""

WINDUP_TIME = 0.01
"""[s] In saturation, after which the estimate waits: noise alone saturates a torque at times."""


@part
def gain_share(memory: Struct, h: float, lacking: float, independent: float, i: int) -> float:
    """Return the share K h of what joint i's estimate is off by that it takes in.

    Args:
        memory: Of the controller.
        h: The period [s].
        lacking: See `lacking_inertia` [kg m^2 or kg].
        independent: See `independence`.
        i: Of the joint.
    """
    gain = memory.bandwidth[i] * memory.observer_gain
    quiet = _quiet_gain(memory, h, independent, i)
    # What is not cancelled is no part of the loop.
    if memory.tracks:
        stable = min(gain, _prompt_gain(memory, h, i), _stable_gain(memory, h, lacking, i))
    else:
        stable = gain
    if is_noisy(memory, i):
        stable = min(stable, (1.0 + h / GROWTH_TIME) * memory.stable_gain[i])
    memory.stable_gain[i] = stable
    if memory.time_saturated > WINDUP_TIME:
        return 0.0  # what the arm does without its feedback lasts no longer than that
    if memory.presses and is_pressed(memory, i):
        return 0.0  # who cancels what a surface pushes back with presses ever harder
    return min(memory.observer_trust[i] * min(stable, quiet) * h, 1.0)


@part
def is_noisy(memory: Struct, i: int) -> bool:
    """Return whether noise hides what inertia joint i has, so that its estimate stays slow."""
    return bool(memory.velocity_noise[i] > QUIET)


@part
def _prompt_gain(memory: Struct, h: float, i: int) -> float:
    """Return the gain that leaves joint i stable where its torque is late, as is declared.

    At high frequencies what is cancelled adds K to the damping 2 w of the feedback: the loop gain
    of both is (2 w + K) / s, whose phase at the crossover the delay takes away. What arrives n
    periods late, and is held for one, allows of 2 w + K some pi / 3 / ((n + 1/2) h).

    Args:
        memory: Of the controller.
        h: The period [s].
        i: Of the joint.
    """
    w = memory.joint_rate[i]
    margin = LATE_MARGIN / ((memory.uncertain_delay + 0.5) * h)
    return max(margin - 2.0 * w, LATE_SHARE * w)


@part
def _stable_gain(memory: Struct, h: float, lacking: float, i: int) -> float:
    """Return the gain up to which joint i is stable with an inertia that the model lacks.

    Viscous damping D stays in the loop, since a law that tracks bears that of its reference: with
    c = 2 w + D / m the polynomial of `observe` is rho s^3 + (K + c) s^2 + (c K + w^2) s + w^2 K.
    It is stable for every K while c^2 >= (rho - 1) w^2, and else for K < c w^2 / ((rho - 1) w^2 -
    c^2). The 4 w^2 in c^2 are left out. m, 1 / (M^-1)_ii, is what the joint shows while the others
    are free. Over n periods of delay, predicted or found, a heavier joint keeps less of its
    damping; so much that K is 1 + 4 (w n h)^2 times less. Where they are found that is no less
    than for what is declared: such a gain is low enough.

    Args:
        memory: Of the controller.
        h: The period [s].
        lacking: (rho - 1) m [kg m^2 or kg].
        i: Of the joint.
    """
    if lacking == 0.0:
        return np.inf
    m, w = memory.shown_inertia[i], memory.joint_rate[i]
    damping = CERTAIN_DAMPING * memory.joint_damping[i]
    if damping > 0.0:
        lacking -= damping * (damping / m + 4.0 * w) / (w * w)
        if lacking <= 0.0:
            return np.inf
    late = w * h * max(memory.delay, memory.lateness)
    slower = lacking * (1.0 + 4.0 * late * late)
    if memory.delay == 0:
        slower = min(slower, max(lacking, memory.uncertain_inertia[i]))
    return COUPLED_SHARE * (2.0 * w * m + damping) / slower


@part
def _quiet_gain(memory: Struct, h: float, independent: float, i: int) -> float:
    """Return the gain up to which the velocity's noise is little in joint i's estimate.

    It changes slowly. The noise of one velocity enters the estimate at its tick, and leaves it at
    the next one as far as the gain is still the same: what is left would stay for 1 / K.
    """
    gain, now = memory.quiet_gain, memory.bandwidth[i] * memory.observer_gain
    most = ESTIMATE_NOISE + independent * (INDEPENDENT_NOISE - ESTIMATE_NOISE)
    wanted = h * most * most / (max(memory.velocity_noise[i], 0.0) + 1e-30)
    gain[i] = min(gain[i], now)
    gain[i] += min(h / NOISE_TIME, 1.0) * (min(wanted, now) - gain[i])
    return float(gain[i])


@part
def lag_of_noise(memory: Struct, gain: float, i: int) -> float:
    """Return the lag T of what is cancelled that lets little of the noise through [s].

    Fed back through it, white noise is so with K / (T s + 1), of a variance of K^2 / (2 T): what
    the quietest gain passes at `LATENESS`, a slower one passes at a shorter lag.

    Args:
        memory: Of the controller.
        gain: K, at which the estimate of the joint is corrected now [1/s].
        i: Of the joint.
    """
    quiet = memory.quiet_gain[i]
    share = gain / quiet
    return float(LATENESS / quiet * share * share)


@part
def share_of_each(memory: Struct, shares: np.ndarray, x: np.ndarray, kept: np.ndarray) -> None:
    """Write what is kept of a torque x where each joint keeps a share of its own.

    Of a fast joint that is a share of its torque, of a slow one a share of its acceleration, as
    `_correct` has it: kept_F = S x_F, W_LL kept_L = S_L (W x)_L - W_LF kept_F.

    Args:
        memory: Holds W = M^-1, which joints are slow, and W_LL^-1.
        shares: (n,) S.
        x: (n,) [N m or N].
        kept: (n,) is written [N m or N].
    """
    W, A, slow, n = memory.inverse_inertia, memory.slow_inertia, memory.is_slow, x.shape[0]
    fast, b = scratch_vector(n), scratch_vector(n)
    for i in range(n):
        fast[i] = (1.0 - slow[i]) * shares[i] * x[i]
    for i in range(n):
        b[i] = 0.0
        if slow[i]:
            for j in range(n):
                b[i] += W[i, j] * (shares[i] * x[j] - fast[j])
    for i in range(n):
        kept[i] = fast[i]
        for j in range(n):
            kept[i] += A[i, j] * b[j]


@part
def fade_excess(memory: Struct, shares: np.ndarray, h: float, excess: np.ndarray) -> None:
    """Let a period of its lag go by for what is cancelled beside the estimate.

    Where accelerations are corrected it is theirs that has the lag of each joint: a torque of the
    heavy joints that comes later than what it brings about in the light ones would push these.

    Args:
        memory: Of the controller.
        shares: (n,) as of `gain_share`; 0 where nothing is observed.
        h: The period [s].
        excess: (n,) torque that is cancelled beyond the estimate; it is changed [N m or N].
    """
    n, most = excess.shape[0], 0.0
    for i in range(n):
        most = max(most, abs(excess[i]))
    if most == 0.0:
        return
    left, before = scratch_vector(n), scratch_vector(n)
    for i in range(n):
        lag = max(TAKE_OVER_TIME, lag_of_noise(memory, shares[i] / h, i))
        left[i], before[i] = 1.0 - min(h / lag, 1.0), excess[i]
    if memory.couples:
        share_of_each(memory, left, before, excess)
    else:
        for i in range(n):
            excess[i] *= left[i]


@part
def back_off(memory: Struct, i: int, h: float, kick: float, mean_share: float) -> bool:
    """Halve the trust in the estimate of joint i when it swings to the other side of its mean.

    One that comes to its other side late does not oscillate: friction and damping turn with the
    motion. Nor is a count of an encoder a swing: it kicks the estimate by K M c / h, and a tick
    later kicks it back.

    Returns:
        Whether the estimate is on one of its sides, beyond `SWING`.
    """
    trust, mean, side = memory.observer_trust, memory.disturbance_mean, memory.disturbance_side
    r = memory.disturbance[i] + memory.friction_direction[i] * memory.friction[i]
    mean[i] += mean_share * (r - mean[i])
    trust[i] += h / TRUST_TIME * (1.0 - trust[i])
    swing = min(SWING * memory.effort_limit[i], SWING_EFFECT * memory.shown_inertia[i]) + kick
    beyond = r - mean[i]
    swings = abs(beyond) > swing
    memory.side_time[i] += h
    if swings:
        now = 1.0 if beyond > 0.0 else -1.0
        if side[i] * now < 0.0 and memory.side_time[i] < MEAN_TIME:
            trust[i] *= 0.5
        if side[i] * now <= 0.0:
            side[i], memory.side_time[i] = now, 0.0
    return swings
