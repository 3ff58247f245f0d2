"""What the model does not know: disturbance, and the friction in it.

All rest on the plant's own step, v' = v + h M^-1 (tau - nle + d).
"""

import numpy as np

from icir_control.compiled import part
from icir_control.control.kernels.contact import (
    FREE,
    NOISE,
    RESIDUAL_GAIN,
    accelerating_torque,
    contact_share,
    decide_contact,
)
from icir_control.control.kernels.friction import (
    doubt_friction,
    has_friction,
    has_turned,
    is_held,
    is_stuck,
    learn_friction,
    turn_friction,
)
from icir_control.control.kernels.gains import (
    MEAN_TIME,
    TAKE_OVER_TIME,
    WINDUP_TIME,
    back_off,
    fade_excess,
    gain_share,
    is_noisy,
    share_of_each,
)
from icir_control.control.kernels.inertia import (
    EARLY_SHARE,
    LARGEST_SHARE,
    POSSIBLE,
    adopt_inertia,
    doubt_inertia,
    forget_inertia,
    has_agreed,
    lacking_inertia,
)
from icir_control.control.kernels.lateness import learn_lateness
from icir_control.control.kernels.linear import invert
from icir_control.control.kernels.memory import CALM
from icir_control.control.kernels.plant import (
    COARSEST_COUNT,
    INERTIA_TICKS,
    LEAST_COUNT,
    LEAST_NUMBER,
    independence,
    is_rough,
    momentum_of_a_count,
)
from icir_control.control.kernels.structs import Struct
from icir_control.scratch import scratch_matrix, scratch_vector
from icir_control.spatial.kernels import clear, copy

LARGEST_UNEXPLAINED = 4.0
"""Of the effort limit, that the torque of one period counts at most, beside an encoder's kicks."""

FADE_TIME = 0.1
"""[s] In which a compensation that holds no more goes 63 % of its way."""

LEAST_LATE = 0.1
"""[rad/s^2 or m/s^2] That an estimate of the wrong sign takes of the acceleration at least."""

OPEN_TIME = 0.1
"""[s] The same where an estimate has the wrong sign: a joint with a rotor swings for longer."""

LEAST_SWING_TIME, SWING_TIME = 0.04, 0.4
"""[s] For which an estimate is right between two times that it is wrong, where a joint swings."""

REST_SPEED = 0.002
"""[rad/s or m/s] Of every joint, below which friction and damping do not count."""

REST_NOISE, REST_TIME = 4.0, 0.3
"""Standard deviations of the velocity's noise that count as rest where the reference has been
still for so long [s]; the weight is a mean over as long there."""


@part
def observe(memory: Struct, tick: Struct) -> None:
    """Take the disturbance of the last period into its estimate r, and what is cancelled after it.

    The momentum gained beyond what the torque explains, d = M (v' - v) / h + nle - tau, enters
    with the gain K of a first-order lag: r += K h (d - r). This is the generalised momentum
    observer (De Luca & Mattone 2003) in the form that a step of semi-implicit Euler takes, so
    that no derivative of M is needed. Where the gains of the joints differ, those of the slow ones
    are those of their accelerations (`_correct`), and r turns with M.

    Cancelled, r takes an inertia that the model lacks out of the loop, but a lag later: a joint
    of rho times its modelled inertia m under kp = w^2, kd = 2 w then has the characteristic
    polynomial rho s^3 + (K + 2 w) s^2 + (2 w K + w^2) s + w^2 K. By Routh's criterion it is stable
    for every K while rho < 9, and for K < 2 w / (rho - 5) at the least. The gain of each joint is
    therefore at most some 2 w / (rho - 1), more where it is damped (`_stable_gain`). Lacking is
    what is declared, or what the motion leaves possible of it (`lacking_inertia`); nothing of a
    joint that friction holds, since that damps it (`is_held`). Where the velocity is noisy, d is
    so by sigma_v / h, and r by at most sigma_v sqrt(K / h): `_quiet_gain`. Where an estimate
    oscillates all the same, its gain is halved at every swing, and comes back slowly.

    A law that tracks cancels r, in noise through a second, shorter lag. Fed back at once, r adds K
    to the gain kd by which the feedback answers the noise; through a lag it adds little within
    the band of the feedback, and a disturbance that lasts is cancelled all the same. Friction that
    turns is, at once, and so is what an inertia that is sure takes of the next acceleration
    (`kernels.inertia`); an estimate of the wrong sign is not (`_cancel`), and it waits while the
    torque is saturated. A law that yields goes back to the estimate at the last time the arm
    was held at rest, which is weight: friction and damping, seen in motion, would push an arm
    that has stopped. So would a push that has ended, which is why an estimate that has just
    changed is not weight. As far as a load or a heavier arm explain it, the weight changes with
    the posture. The brake cannot wait for rest: it bears what drives a joint, as a load that
    nobody knew does, as the smooth residual shows it; a push that has ended is gone from the fast
    one. Of what brakes a joint, as friction and damping do, it bears no more than that weight.
    When the gain becomes 0, nothing stays, and the compensation fades.

    Args:
        memory: Holds M, nle and v as measured at the last tick, tau, and r.
        tick: Holds v as measured now.
    """
    h, v = tick.period, tick.v
    r, compensation, at_rest = memory.disturbance, memory.compensation, memory.disturbance_at_rest
    gain, limit = memory.observer_gain, memory.effort_limit
    fade = min(h / FADE_TIME, 1.0)
    if gain == 0.0:
        clear(r)
        clear(at_rest)
        clear(memory.load)
        clear(memory.weight)
        clear(memory.friction)
        clear(memory.unexplained)
        memory.weight_share = 0.0
        for i in range(v.shape[0]):
            memory.adopted_inertia[i] -= fade * memory.adopted_inertia[i]
    mean_share = max(h / MEAN_TIME, 1.0 / (memory.ticks + 1.0))
    fastest, touch, swings, rests = 0.0, 0.0, False, memory.time_still > REST_TIME
    backs_off = False
    n, observes = v.shape[0], bool(memory.observing and gain > 0.0)
    excess, counts, accelerating = scratch_vector(n), scratch_vector(n), scratch_vector(n)
    shares, change = scratch_vector(n), scratch_vector(n)
    if observes:
        accelerating_torque(memory, tick, accelerating)
        for i in range(n):
            explained = _explained(memory, v, h, i)
            change[i] = explained - memory.explained[i]
            memory.explained[i] = explained
        if memory.delay == 0 and memory.steady_ticks > 0:
            late = learn_lateness(memory, change)
            if late != memory.lateness:
                _count_lateness(memory, late)
    for i in range(n):
        excess[i] = compensation[i] - memory.cancelled[i]
        turn_friction(memory, tick, i)
        if observes:
            unexplained = memory.explained[i] - memory.torque_applied[i]
            unexplained = _believable(memory, unexplained, h, i)
            lacking = lacking_inertia(memory, unexplained, v, h, i)
            if is_held(memory, tick, unexplained, i):
                lacking = 0.0
            elif is_stuck(tick, i) and lacking > POSSIBLE * memory.uncertain_inertia[i] > 0.0:
                lacking = memory.uncertain_inertia[i]  # it creeps like a heavy one
            independent = independence(memory, h, i)
            counts[i] = momentum_of_a_count(memory, tick, i)
            touched = contact_share(
                memory, tick, unexplained, independent, counts[i], accelerating[i], i
            )
            touch = max(touch, touched)
            if memory.contact == FREE:
                shares[i] = gain_share(memory, h, lacking, independent, i)
    observes = observes and memory.contact == FREE
    memory.couples = 0
    if observes:
        _correct(memory, tick, shares, change)
    for i in range(n):
        if observes:
            before = r[i]
            a = (v[i] - memory.measured_v[i]) / h
            step = shares[i] * (a - memory.followed_acceleration[i])
            memory.followed_acceleration[i] += step
            if abs(memory.followed_acceleration[i]) < LEAST_NUMBER:
                memory.followed_acceleration[i] = 0.0
            most = LARGEST_SHARE * limit[i]
            r[i] = min(max(r[i] + change[i], -most), most)
            if memory.couples or not (has_turned(memory, i) and has_friction(memory, i)):
                quiet = memory.quiet_gain[i] / (memory.bandwidth[i] * gain)
                excess[i] -= independence(memory, h, i) * (1.0 - quiet * quiet) * (r[i] - before)
            learnt = change[i]
            if has_agreed(memory, i):
                learnt += memory.extra_inertia[i] * step
            learn_friction(memory, learnt, i)
        if memory.contact != FREE or memory.time_saturated > WINDUP_TIME:
            doubt_friction(memory, i)
    if memory.tracks and gain > 0.0:
        if memory.ticks % INERTIA_TICKS == 0 or memory.adopts:
            _look_at_signs(memory)
        if observes:
            _let_go(memory, h)
        _cancel(memory, h)
        fade_excess(memory, shares, h, excess)
    else:
        memory.couples = 0
    memory.adopts = 0
    for i in range(n):
        if observes:
            trust = memory.observer_trust[i]
            if back_off(memory, i, h, shares[i] * counts[i] / h, mean_share):
                swings = True
            backs_off = backs_off or memory.observer_trust[i] < trust
            adopt_inertia(memory, (v[i] - memory.measured_v[i]) / h, h, i)
        if memory.tracks and gain > 0.0:
            compensation[i] = memory.cancelled[i] + excess[i]
        else:
            weight, memory.cancelled[i], memory.cancelled_share[i] = memory.weight[i], r[i], 1.0
            if memory.alarm != CALM:
                load, acting = memory.smooth_residual[i], memory.residual[i]
                if not is_noisy(memory, i):
                    load = min(max(load, min(acting, 0.0)), max(acting, 0.0))
                if shares[i] > 0.0 and load * v[i] > 0.0:
                    weight, fade = load, 1.0
                else:
                    weight = min(max(weight, min(r[i], 0.0)), max(r[i], 0.0))
                    fade = min(h / TAKE_OVER_TIME, 1.0)
            compensation[i] += fade * (weight - compensation[i])
        fastest = max(fastest, abs(v[i]))
        noise = REST_NOISE * memory.velocity_deviation[i]
        rests = rests and abs(v[i]) <= max(noise, REST_SPEED)
    memory.inertia_doubt = max(memory.inertia_doubt - h, 0.0)
    if backs_off:
        doubt_inertia(memory)
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
def _correct(memory: Struct, tick: Struct, shares: np.ndarray, change: np.ndarray) -> None:
    """Write what the estimate changes by, each joint's at its own rate.

    Were a torque corrected wherever it is found, a joint that is corrected slowly would be pushed
    by those that are corrected at once: what a delay or a heavier arm leaves unexplained is alpha
    in every acceleration, and M alpha in the torques. So it is the acceleration of a slow joint
    that changes by its share of what is off, a = M^-1 (d - r). Of the fastest ones the torques
    change by theirs, e = d - r: friction is a torque. With L for the slow joints, F for the fast
    ones, W = M^-1 and S the shares,

        change_F = S e_F,  W_LL change_L = S_L a_L - W_LF change_F.

    A velocity that is noisy, or counted by an encoder, is so in its acceleration: a fast joint
    with such a one is a slow one. A slow one that friction holds, or one whose share is 0, is one
    of F, with its own share.

    Args:
        memory: Of the controller.
        tick: Its velocities, measured and of the reference.
        shares: (n,) of what is off.
        change: (n,) is written [N m or N].
    """
    n, most, off = shares.shape[0], 0.0, scratch_vector(shares.shape[0])
    for i in range(n):
        off[i] = memory.unexplained[i] - memory.disturbance[i]
        change[i] = shares[i] * off[i]
        most = max(most, shares[i])
        if shares[i] != shares[0]:
            memory.couples = 1
    if not memory.couples:
        return
    for i in range(n):
        follows = shares[i] < most and not is_stuck(tick, i)
        slow = 1.0 if shares[i] > 0.0 and (is_rough(memory, i) or follows) else 0.0
        if slow != memory.is_slow[i]:
            memory.is_slow[i], memory.slow_inertia_is_old = slow, 1
    if memory.slow_inertia_is_old:
        _invert_slow(memory)
    share_of_each(memory, shares, off, change)


@part
def _invert_slow(memory: Struct) -> None:
    """Write W_LL^-1 of `_correct`, among the rows and columns of a unit matrix."""
    W, n, slow = memory.inverse_inertia, memory.is_slow.shape[0], memory.is_slow
    A = scratch_matrix(n, n)
    for i in range(n):
        for j in range(n):
            A[i, j] = slow[i] * slow[j] * W[i, j]
        A[i, i] += 1.0 - slow[i]
    invert(A, memory.slow_inertia)
    memory.slow_inertia_is_old = 0


@part
def _look_at_signs(memory: Struct) -> None:
    """Find the estimates of which a fast one tells that they have the wrong sign.

    An estimate that is slow, for an inertia that the joint may have, is late where the disturbance
    turns, as damping does with the motion: what was cancelled would be twice as wrong as nothing.
    A joint that shakes turns more often than the mean of the fast one does, and where noise hides
    it than the smooth one. What is wrong is an acceleration where those are corrected. Friction
    that turns, or an inertia that the model gains or loses, changes the accelerations of all
    joints at once: what is left out of them stays.
    """
    W, n, couples = memory.inverse_inertia, memory.disturbance.shape[0], memory.couples
    for i in range(n):
        alpha, fast, mean = 0.0, 0.0, 0.0
        residual_mean = memory.smooth_residual if is_noisy(memory, i) else memory.residual_mean
        for j in range(n):
            if couples or i == j:
                alpha += W[i, j] * memory.disturbance[j]
                fast += W[i, j] * memory.residual[j]
                mean += W[i, j] * residual_mean[j]
        if (memory.friction_turns or memory.adopts) and alpha != 0.0:
            left = (1.0 - memory.cancelled_share[i]) * memory.disturbing_acceleration[i]
            memory.cancelled_share[i] = 1.0 - min(max(left / alpha, 0.0), 1.0)
        memory.disturbing_acceleration[i] = alpha
        noise = NOISE * RESIDUAL_GAIN * memory.velocity_deviation[i]
        is_late = fast * alpha < 0.0 and mean * alpha < 0.0 and abs(fast) > noise + LEAST_LATE
        memory.is_wrong[i] = 1.0 if is_late else 0.0
    memory.friction_turns = 0


@part
def _let_go(memory: Struct, h: float) -> None:
    """Forget an estimate that has the wrong sign, where noise hides what inertia the joint has.

    So it begins anew where the disturbance turns, as a Clegg integrator does (Clegg 1958). One
    that is wrong again so soon that its joint swings is trusted half as much.
    """
    M, r, alpha, right_time = (
        memory.measured_M,
        memory.disturbance,
        memory.disturbing_acceleration,
        memory.right_time,
    )
    n = r.shape[0]
    for j in range(n):
        if not is_noisy(memory, j):
            continue
        if memory.is_wrong[j] == 0.0:
            right_time[j] += h
            continue
        if LEAST_SWING_TIME < right_time[j] < SWING_TIME:
            memory.observer_trust[j] *= 0.5
        right_time[j] = 0.0
        gone = min(h / OPEN_TIME, 1.0)
        if memory.couples:
            for i in range(n):
                r[i] -= gone * M[i, j] * alpha[j]
        else:
            r[j] -= gone * r[j]


@part
def _cancel(memory: Struct, h: float) -> None:
    """Write what is cancelled: the estimate, but for the parts that have the wrong sign.

    Where the motion shows the inertia, r holds what it takes (`kernels.inertia`), and is kept.
    """
    M, r, cancelled = memory.measured_M, memory.disturbance, memory.cancelled
    share, n, least = memory.cancelled_share, r.shape[0], 1.0
    for i in range(n):
        wrong = 0.0 if is_noisy(memory, i) else memory.is_wrong[i]
        share[i] += min(h / OPEN_TIME, 1.0) * (1.0 - wrong - share[i])
        least = min(least, share[i])
        cancelled[i] = r[i] if memory.couples else share[i] * r[i]
    if memory.couples and least < 1.0:
        for i in range(n):
            for j in range(n):
                left = (1.0 - share[j]) * memory.disturbing_acceleration[j]
                cancelled[i] -= M[i, j] * left


@part
def _explained(memory: Struct, v: np.ndarray, h: float, i: int) -> float:
    """Return the torque on joint i in the last period by which the model explains its motion."""
    M, v_before = memory.measured_M, memory.measured_v
    momentum = 0.0
    for j in range(v.shape[0]):
        momentum += M[i, j] * (v[j] - v_before[j])
    return float(momentum / h + memory.measured_nle[i] + memory.bias_change[i])


@part
def _count_lateness(memory: Struct, late: int) -> None:
    """Take torque for so many periods late; what was seen of inertias before hardly counts."""
    sent, before = memory.sent_torque, memory.lateness
    for i in range(memory.unexplained.shape[0]):
        memory.torque_applied[i] = sent[late, i]
        memory.unexplained[i] += sent[before + 1, i] - sent[late + 1, i]
        memory.inertia_information[i] *= EARLY_SHARE
    memory.lateness = late


@part
def _believable(memory: Struct, unexplained: float, h: float, i: int) -> float:
    """Return an unexplained torque within what a motor, and the counts of encoders, may do.

    One velocity that is wrong would fill the estimates of all joints, and so would a blow that is
    over within a period: what is cancelled then throws the arm. A count kicks by M c / h^2, twice.
    """
    M, count = memory.measured_M, memory.position_count
    most = LARGEST_UNEXPLAINED * memory.effort_limit[i]
    if abs(unexplained) <= most:
        return unexplained
    for j in range(count.shape[0]):
        if LEAST_COUNT < count[j] < COARSEST_COUNT:
            most += 2.0 * abs(M[i, j]) * count[j] / (h * h)
    return min(max(unexplained, -most), most)


def forget_doubtful(memory: Struct) -> None:
    """Forget what a stop of the watchdog makes doubtful.

    Feedback with an inertia that is gone shakes the arm; and what has shaken the residual was a
    push, more likely than feedback.
    """
    forget_inertia(memory)
    memory.residual_spread[:] = memory.smooth_spread[:] = 0.0


def forget_motion(memory: Struct, tick: Struct) -> None:
    """Forget all that the motion of an arm has shown: noise, friction, inertia and contacts."""
    memory.observing = memory.ticks = memory.presses = memory.couples = memory.adopts = 0
    memory.friction_turns = 0
    memory.lateness = 0
    memory.lateness_score[:] = memory.torque_change[:] = memory.leap_ticks = 0.0
    memory.shown_inertia[:] = 0.0
    memory.disturbance_mean[:] = memory.disturbance_side[:] = memory.side_time[:] = 0.0
    memory.resistance[:] = memory.friction_doubt[:] = 0.0
    memory.friction[:] = memory.friction_direction[:] = memory.friction_time[:] = 0.0
    memory.residual_at_turn[:] = memory.leap[:] = memory.leap_share[:] = 0.0
    memory.turned_by[:] = 0.0
    memory.residual[:] = memory.smooth_residual[:] = memory.residual_mean[:] = 0.0
    memory.fast_acceleration[:] = memory.foreseen_acceleration[:] = 0.0
    memory.contact_friction[:] = memory.contact_inertia[:] = 0.0
    memory.residual_error[:] = 0.0
    memory.observer_trust[:] = memory.cancelled_share[:] = 1.0
    memory.right_time[:] = np.inf
    forget_doubtful(memory)
    memory.unexplained[:] = 0.0
    memory.acceleration_before[:] = memory.followed_acceleration[:] = 0.0
    memory.position_count[:] = 1.0  # as coarse as can be, until it is seen to change
    memory.velocity_noise[:] = memory.velocity_deviation[:] = memory.independent_noise[:] = 0.0
    memory.bias_change[:] = memory.is_wrong[:] = 0.0
    memory.quiet_gain[:] = memory.stable_gain[:] = np.inf
    memory.filtered_velocity[:], memory.filtered_position[:] = tick.v, tick.q
    memory.mean_velocity[:] = tick.v
