"""What the model does not know: disturbance, and the friction in it.

All rest on the plant's own step, v' = v + h M^-1 (tau - nle + d).
"""

import numpy as np

from icir_control.compiled import part
from icir_control.control.kernels.contact import (
    FREE,
    NOISE,
    RESIDUAL_GAIN,
    contact_share,
    decide_contact,
    is_pressed,
)
from icir_control.control.kernels.inertia import (
    LARGEST_SHARE,
    adopt_inertia,
    forget_inertia,
    has_agreed,
    lacking_inertia,
)
from icir_control.control.kernels.memory import CALM, NO_PATH
from icir_control.control.kernels.plant import (
    LEAST_NUMBER,
    NOISE_TIME,
    QUIET,
    independence,
    momentum_of_a_count,
)
from icir_control.control.kernels.structs import Struct
from icir_control.spatial.kernels import clear, copy

FADE_TIME = 0.1
"""[s] In which a compensation that holds no more goes 63 % of its way."""

TAKE_OVER_TIME = 0.02
"""[s] The same where a law begins to cancel what was only observed."""

OPEN_TIME = 0.1
"""[s] The same where an estimate has the wrong sign: a joint with a rotor swings for longer."""

REST_SPEED = 0.002
"""[rad/s or m/s] Of every joint, below which friction and damping do not count."""

REST_NOISE, REST_TIME = 4.0, 0.3
"""Standard deviations of the velocity's noise that count as rest where the reference has been
still for so long [s]; the weight is a mean over as long there."""

ESTIMATE_NOISE = 1.0
"""[rad/s^2 or m/s^2] That the noise of the velocity may bring into an estimate, over inertia."""

INDEPENDENT_NOISE = 0.85
"""The same of a velocity that is no difference of positions: its errors do not cancel."""

LATENESS = 0.25
"""Lag of what is cancelled in such noise, as a share of the lag 1 / K of the estimate."""

COUPLED_SHARE = 0.7
"""Of the gain that one joint by itself allows; a load off the axis couples joints."""

CERTAIN_DAMPING = 0.5
"""Share of the damping in the URDF that a joint surely has."""

SWING = 0.03
"""Share of the effort limit by which an estimate passes its own mean when it oscillates."""

RESISTANCE_TIME = 0.6
"""[s] In which 63 % of the greatest torque that was unexplained is forgotten."""

WINDUP_TIME = 0.01
"""[s] In saturation, after which the estimate waits: noise alone saturates a torque at times."""

MEAN_TIME = 0.3
"""[s] Of that mean."""

TURN_SPEED = 0.002
"""[rad/s or m/s] Of a joint's reference, at which its friction has turned."""

TURN_TIME = 0.1
"""[s] After a turn, in which what changes is friction; longer where the estimate takes longer."""

TURN_LAGS = 3.0
"""Lags 1 / K of the estimate for which it then does; and seconds that it does at most."""

LEAST_FRICTION = 0.01
"""Share of the effort limit below which it may as well be something else."""

LEAST_EFFECT = 100.0
"""[rad/s^2 or m/s^2] The same over inertia, where that is less: a light joint of a large motor."""

STICKING = 300.0
"""Times its own inertia that a joint which sticks passes for, and none that moves."""

FRICTION_NOISE = 4.0
"""Standard deviations of the estimate's noise, K M sigma_v, below which it may be noise."""

TRUST_TIME = 5.0
"""[s] In which an observer that has backed off trusts the plant again."""


@part
def observe(memory: Struct, tick: Struct) -> None:
    """Take the disturbance of the last period into its estimate r, and what is cancelled after it.

    The momentum gained beyond what the torque explains, d = M (v' - v) / h + nle - tau, enters
    with the gain K of a first-order lag: r += K h (d - r). This is the generalised momentum
    observer (De Luca & Mattone 2003) in the form that a step of semi-implicit Euler takes, so
    that no derivative of M is needed.

    Cancelled, r takes an inertia that the model lacks out of the loop, but a lag later: a joint
    of rho times its modelled inertia m under kp = w^2, kd = 2 w then has the characteristic
    polynomial rho s^3 + (K + 2 w) s^2 + (2 w K + w^2) s + w^2 K. By Routh's criterion it is stable
    for every K while rho < 9, and for K < 2 w / (rho - 5) at the least. The gain of each joint is
    therefore at most some 2 w / (rho - 1), more where it is damped (`_stable_gain`). Lacking is
    what is declared, or what the motion leaves possible of it (`lacking_inertia`). Where the
    velocity is noisy, d is so by sigma_v / h, and r by at most sigma_v sqrt(K / h): `_quiet_gain`.
    Where an estimate oscillates all the same, its gain is halved at every swing, and comes back
    slowly.

    A law that tracks cancels r, in noise through a second, shorter lag. Fed back at once, r adds K
    to the gain kd by which the feedback answers the noise; through a lag it adds little within
    the band of the feedback, and a disturbance that lasts is cancelled all the same. Friction that
    turns is, at once, and so is what an inertia that is sure takes of the next acceleration
    (`kernels.inertia`); an estimate of the wrong sign is not (`_open`), and it waits while the
    torque is saturated. One that yields goes back to the estimate at the last time the arm was
    held at rest, which is weight: friction and damping, seen in motion, would push an arm
    that has stopped. So would a push that has ended, which is why an estimate that has just
    changed is not weight, and why the brake takes no more of the weight than r shows. As far as a
    load or a heavier arm explain it, the weight changes with the posture.
    When the gain becomes 0, nothing stays, and the compensation fades.

    Args:
        memory: Holds M, nle and v as measured at the last tick, tau, and r.
        tick: Holds v as measured now.
    """
    h, v = tick.period, tick.v
    r, compensation, at_rest = memory.disturbance, memory.compensation, memory.disturbance_at_rest
    gain, limit, trust = memory.observer_gain, memory.effort_limit, memory.observer_trust
    fade = min(h / FADE_TIME, 1.0)
    if gain == 0.0:
        clear(r)
        clear(at_rest)
        clear(memory.load)
        clear(memory.weight)
        clear(memory.friction)
        memory.weight_share = 0.0
        for i in range(v.shape[0]):
            memory.adopted_inertia[i] -= fade * memory.adopted_inertia[i]
    mean_share = max(h / MEAN_TIME, 1.0 / (memory.ticks + 1.0))
    fastest, touch, swings, rests = 0.0, 0.0, False, memory.time_still > REST_TIME
    for i in range(v.shape[0]):
        excess = compensation[i] - memory.cancelled_share[i] * r[i]
        _turn_friction(memory, tick, i)
        if memory.observing and gain > 0.0:
            unexplained = _unexplained(memory, v, h, i)
            lacking = lacking_inertia(memory, unexplained, v, h, i)
            independent = independence(memory, h, i)
            a_count = momentum_of_a_count(memory, tick, i)
            touched = contact_share(memory, tick, unexplained, independent, a_count, i)
            touch = max(touch, touched)
        if memory.observing and gain > 0.0 and memory.contact == FREE:
            # What is not cancelled is no part of the loop.
            stable = min(gain, _stable_gain(memory, lacking, i)) if memory.tracks else gain
            quiet = _quiet_gain(memory, h, independent, i)
            share = min(trust[i] * min(stable, quiet) * h, 1.0)
            if memory.time_saturated > WINDUP_TIME:
                share = 0.0  # what the arm does without its feedback lasts no longer than that
            if memory.presses and is_pressed(memory, i):
                share = 0.0  # who cancels what a surface pushes back with presses ever harder
            memory.stable_gain[i] = stable
            change, before = share * (unexplained - r[i]), r[i]
            a = (v[i] - memory.measured_v[i]) / h
            step = share * (a - memory.followed_acceleration[i])
            memory.followed_acceleration[i] += step
            if abs(memory.followed_acceleration[i]) < LEAST_NUMBER:
                memory.followed_acceleration[i] = 0.0
            r[i] = min(max(r[i] + change, -LARGEST_SHARE * limit[i]), LARGEST_SHARE * limit[i])
            if not (_has_turned(memory, i) and _has_friction(memory, i)):
                excess -= independent * (1.0 - (quiet / gain) ** 2) * (r[i] - before)
            if has_agreed(memory, i):
                change += memory.extra_inertia[i] * step
            _learn_friction(memory, change, i)
            adopt_inertia(memory, a, h, i)
            if _back_off(memory, i, h, share * a_count / h, mean_share):
                swings = True
        if memory.tracks and gain > 0.0:
            follow = min(1.0 / TAKE_OVER_TIME, memory.quiet_gain[i] / LATENESS)
            _open(memory, h, i)
            cancelled = memory.cancelled_share[i] * r[i]
            compensation[i] = cancelled + (1.0 - min(h * follow, 1.0)) * excess
        else:
            weight, memory.cancelled_share[i] = memory.weight[i], 1.0
            if memory.alarm != CALM:
                weight = min(max(weight, min(r[i], 0.0)), max(r[i], 0.0))
                fade = min(h / TAKE_OVER_TIME, 1.0)
            compensation[i] += fade * (weight - compensation[i])
        fastest = max(fastest, abs(v[i]))
        noise = REST_NOISE * memory.velocity_deviation[i]
        rests = rests and abs(v[i]) <= max(noise, REST_SPEED)
    decide_contact(memory, tick, touch)
    is_steady = not swings and memory.contact == FREE
    if memory.tracks and (rests or fastest <= REST_SPEED) and is_steady:
        mean = 1.0 if fastest <= REST_SPEED else min(h / REST_TIME, 1.0)
        for i in range(v.shape[0]):
            weight = compensation[i]
            if has_agreed(memory, i):
                # What an inertia takes of a motion that begins is no weight.
                weight += memory.extra_inertia[i] * memory.followed_acceleration[i]
            at_rest[i] += mean * (weight - at_rest[i])
        copy(tick.q, memory.rest_position)


@part
def _open(memory: Struct, h: float, i: int) -> None:
    """Let joint i's estimate be cancelled, unless a fast one tells that it has the wrong sign.

    An estimate that is slow, for an inertia that the joint may have, is late where the disturbance
    turns, as damping does with the motion: what was cancelled would be twice as wrong as nothing.
    A joint that shakes turns more often than the mean of the fast one does.
    """
    r, fast, mean = memory.disturbance[i], memory.residual[i], memory.residual_mean[i]
    noise = NOISE * RESIDUAL_GAIN * memory.velocity_deviation[i]
    beyond = memory.shown_inertia[i] * noise
    is_wrong = fast * r < 0.0 and mean * r < 0.0 and abs(fast) > beyond
    wanted = 0.0 if is_wrong else 1.0
    share = min(h / OPEN_TIME, 1.0)
    memory.cancelled_share[i] += share * (wanted - memory.cancelled_share[i])


@part
def _stable_gain(memory: Struct, lacking: float, i: int) -> float:
    """Return the gain up to which joint i is stable with an inertia that the model lacks.

    Viscous damping D stays in the loop, since a law that tracks bears that of its reference: with
    c = 2 w + D / m the polynomial of `observe` is rho s^3 + (K + c) s^2 + (c K + w^2) s + w^2 K.
    It is stable for every K while c^2 >= (rho - 1) w^2, and else for K < c w^2 / ((rho - 1) w^2 -
    c^2). The 4 w^2 in c^2 are left out. m, 1 / (M^-1)_ii, is what the joint shows while the others
    are free.

    Args:
        memory: Of the controller.
        lacking: (rho - 1) m [kg m^2 or kg].
        i: Of the joint.
    """
    m, w = memory.shown_inertia[i], memory.joint_rate[i]
    damping = CERTAIN_DAMPING * memory.joint_damping[i]
    if damping > 0.0:
        lacking -= damping * (damping / m + 4.0 * w) / (w * w)
        if lacking <= 0.0:
            return np.inf
    return COUPLED_SHARE * (2.0 * w * m + damping) / lacking


@part
def _quiet_gain(memory: Struct, h: float, independent: float, i: int) -> float:
    """Return the gain up to which the velocity's noise is little in joint i's estimate.

    It changes slowly. The noise of one velocity enters the estimate at its tick, and leaves it at
    the next one as far as the gain is still the same: what is left would stay for 1 / K.
    """
    gain, now = memory.quiet_gain, memory.observer_gain
    most = ESTIMATE_NOISE + independent * (INDEPENDENT_NOISE - ESTIMATE_NOISE)
    wanted = h * most * most / (max(memory.velocity_noise[i], 0.0) + 1e-30)
    gain[i] = min(gain[i], now)
    gain[i] += min(h / NOISE_TIME, 1.0) * (min(wanted, now) - gain[i])
    return float(gain[i])


@part
def _turn_friction(memory: Struct, tick: Struct, i: int) -> None:
    """Turn joint i's friction, as far as it is known, with the velocity of its reference.

    A joint that stops keeps the direction of its friction until it starts in the other one. The
    time since a turn is counted in lags of the estimate, which change on the way: a joint that
    sticks passes for a heavy one until it breaks away, and all that is learnt of it is friction.
    """
    friction, direction, time = memory.friction, memory.friction_direction, memory.friction_time
    now = direction[i]
    if memory.tracks and memory.path != NO_PATH:
        wanted = min(max(tick.velocity_reference[i] / TURN_SPEED, -1.0), 1.0)
        now = max(now, wanted) if wanted > 0.0 else min(now, wanted) if wanted < 0.0 else now
    turned = now - direction[i]
    direction[i] = now
    faded = max(1.0 - tick.period / RESISTANCE_TIME, 0.0) * memory.resistance[i]
    memory.resistance[i] = max(abs(memory.residual[i]), faded)
    if turned == 0.0:
        gain = 0.0 if _sticks(memory, i) else memory.stable_gain[i]
        slowest = min(memory.quiet_gain[i] + 1.0, (gain + 1.0) / TURN_LAGS)
        time[i] += tick.period * min(1.0 / TURN_TIME, slowest)
        return
    time[i] = 0.0
    # Damping that was seen at speed is no friction, and is gone where the joint turns.
    friction[i] = min(friction[i], memory.resistance[i])
    if _has_friction(memory, i):
        memory.disturbance[i] -= turned * friction[i]
    elif now * (now - turned) < 0.0:
        friction[i] = 0.0  # what the estimate now changes by has it in it twice


@part
def _sticks(memory: Struct, i: int) -> bool:
    """Return whether joint i passes for heavier than any that moves, or has not yet moved."""
    shows_none = memory.extra_inertia[i] == 0.0 and memory.velocity_noise[i] <= QUIET
    return bool(shows_none or memory.extra_inertia[i] > STICKING * memory.shown_inertia[i])


@part
def _has_friction(memory: Struct, i: int) -> bool:
    """Return whether what was learnt of joint i's friction is more than noise or another cause."""
    least = min(LEAST_FRICTION * memory.effort_limit[i], LEAST_EFFECT * memory.shown_inertia[i])
    gain = min(memory.stable_gain[i], memory.quiet_gain[i])
    noise = gain * memory.measured_M[i, i] * memory.velocity_deviation[i]
    return bool(memory.friction[i] > least + FRICTION_NOISE * noise)


@part
def _has_turned(memory: Struct, i: int) -> bool:
    """Return whether joint i has just set off or turned: what changes now is its friction."""
    return bool(memory.friction_time[i] < 1.0)


@part
def _learn_friction(memory: Struct, change: float, i: int) -> None:
    """Take what an estimate changes by soon after joint i turned for friction."""
    if memory.tracks and _has_turned(memory, i):
        change *= -memory.friction_direction[i]
        memory.friction[i] = max(memory.friction[i] + change, 0.0)


@part
def _back_off(memory: Struct, i: int, h: float, kick: float, mean_share: float) -> bool:
    """Halve the trust in the estimate of joint i when it swings to the other side of its mean.

    A count of an encoder is none: it kicks the estimate by K M c / h, and a tick later kicks it
    back.

    Returns:
        Whether the estimate is on one of its sides, beyond `SWING`.
    """
    trust, mean, side = memory.observer_trust, memory.disturbance_mean, memory.disturbance_side
    r = memory.disturbance[i] + memory.friction_direction[i] * memory.friction[i]
    mean[i] += mean_share * (r - mean[i])
    trust[i] += h / TRUST_TIME * (1.0 - trust[i])
    swing = SWING * memory.effort_limit[i] + kick
    beyond = r - mean[i]
    swings = abs(beyond) > swing
    if swings:
        now = 1.0 if beyond > 0.0 else -1.0
        if side[i] * now < 0.0:
            trust[i] *= 0.5
        side[i] = now
    return swings


@part
def _unexplained(memory: Struct, v: np.ndarray, h: float, i: int) -> float:
    """Return the torque on joint i in the last period that the model does not explain, d_i."""
    M, v_before = memory.measured_M, memory.measured_v
    momentum = 0.0
    for j in range(v.shape[0]):
        momentum += M[i, j] * (v[j] - v_before[j])
    bias = memory.measured_nle[i] + memory.bias_change[i]
    return momentum / h + bias - memory.torque_applied[i]


def forget_doubtful(memory: Struct) -> None:
    """Forget what a stop of the watchdog makes doubtful.

    Feedback with an inertia that is gone shakes the arm; and what has shaken the residual was a
    push, more likely than feedback.
    """
    forget_inertia(memory)
    memory.residual_spread[:] = memory.smooth_spread[:] = 0.0


def forget_motion(memory: Struct, tick: Struct) -> None:
    """Forget all that the motion of an arm has shown: noise, friction, inertia and contacts."""
    memory.observing = memory.ticks = memory.presses = 0
    memory.shown_inertia[:] = 0.0
    memory.disturbance_mean[:] = memory.disturbance_side[:] = 0.0
    memory.resistance[:] = 0.0
    memory.friction[:] = memory.friction_direction[:] = memory.friction_time[:] = 0.0
    memory.residual[:] = memory.smooth_residual[:] = memory.residual_mean[:] = 0.0
    memory.contact_friction[:] = memory.contact_inertia[:] = 0.0
    memory.residual_error[:] = 0.0
    memory.observer_trust[:] = memory.cancelled_share[:] = 1.0
    forget_doubtful(memory)
    memory.unexplained[:] = 0.0
    memory.acceleration_before[:] = memory.followed_acceleration[:] = 0.0
    memory.position_count[:] = 1.0  # as coarse as can be, until it is seen to change
    memory.velocity_noise[:] = memory.velocity_deviation[:] = memory.independent_noise[:] = 0.0
    memory.bias_change[:] = 0.0
    memory.quiet_gain[:] = memory.stable_gain[:] = np.inf
    memory.filtered_velocity[:], memory.filtered_position[:] = tick.v, tick.q
