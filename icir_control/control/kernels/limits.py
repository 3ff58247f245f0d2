"""Limits of the arm: of position, speed, torque and its rate; the watchdog, and the brake."""

import numpy as np

from icir_control.compiled import part
from icir_control.control.kernels.memory import (
    BRAKE,
    CALM,
    NO_PATH,
    TOO_FAR,
    TOO_FAST,
    TOO_LONG,
)
from icir_control.control.kernels.plant import beside_damping, independence
from icir_control.control.kernels.structs import Struct
from icir_control.spatial.kernels import clear, copy

LIMIT_STIFFNESS = 1000.0
"""[1/s^2] Of the repulsion at a position limit; it grows from nothing at the margin's edge."""

LEAST_SHARE = 0.1
"""Of its margin that counts for how stiff the limit is where a joint has rested nearer to it."""

STOPPING_TIME = 0.1
"""[s] Times its speed: the way that a moving joint has to stop in when the arm begins to yield."""

FULL_SPEED = 0.95
"""Share of the velocity limits up to which a yielding arm moves as its law wants."""

MOVING_SPEED = 1.05
"""The same while the reference of its law moves."""

FAST_SHARE, FASTEST_SHARE = 1.0, 1.15
"""Of the velocity limits, between which a law that tracks speeds a joint up less and less."""

SPEED_TIME = 0.005
"""[s] Over which that speed is a mean: a joint that shakes beside its path, as its torque is late,
would be shaken the more."""

SPEED_RATE = 2000.0
"""[1/s] At which its motion dies away for each such share that it is faster."""

LARGEST_DRAG = 0.3
"""Share of its motion that dies away in a period, at most."""

LEAST_DRAG = 1e-6
"""[1/s] That is none."""

SHAKING_TIME = 0.05
"""[s] Within which a joint that is beyond its limit both ways shakes: the drag is too strong."""

SHAKING_DRAG = 0.25
"""Share of the drag that is left then."""

CALM_TIME = 2.0
"""[s] In which the drag is as strong again."""

DRAG_TIME = 0.003
"""[s] In which the drag goes 63 % of its way, so that the torque does not jump."""

SHAKING_SPEED = 0.13
"""Times its velocity limit, beyond which a joint shakes if it comes back within `SHAKING_TIME`."""

SHAKING_NOISE, SHAKING_COUNTS = 4.0, 2.0
"""Standard deviations, and counts of an encoder in a period, that are no shaking."""

FEW_TURNS, HALF_OF_THEM, SHAKING_TURNS = 2, 4, 8
"""In a row, that tell a joint which shakes from one that catches up; and which are no more what a
push has left, since that dies away: feedback shakes the arm."""

AMPLIFIED_NOISE, LARGEST_NOISE = 26.0, 0.4
"""Standard deviations of the velocity as which feedback that is nearly unstable answers its noise,
and the share of a velocity limit that they are at most: an arm that swings so far is held."""

GROWTH = 1.6
"""Of its swings within half of these turns, of an arm that is not held for long."""

BRAKE_RATE = 30.0
"""[1/s] At which a braked joint loses speed while its torque is within the limits."""

STRONG_BRAKE_RATE, STRONG_BRAKE_TIME = 200.0, 0.1
"""[1/s] The same of a joint that something drives beyond its velocity limit, and the time [s] in
which it goes there: links that a push has jammed into each other push out for long."""

LARGEST_DRIVEN = 20.0
"""Times its velocity limit up to which it does: with 70 1/s plants diverged at 100 times."""


def begin_to_yield(memory: Struct, tick: Struct) -> None:
    """Let joints that rest within the margins of their position limits rest there."""
    lower, upper = memory.lower_position_limit, memory.upper_position_limit
    room = np.minimum(tick.q - lower, upper - tick.q)
    memory.yielding_margin[:] = room + STOPPING_TIME * np.abs(tick.v)


@part
def keep_off_limits(memory: Struct, tick: Struct) -> None:
    """Add to the acceleration what keeps a yielding arm off its position limits.

    Within the margin m of a limit, at a depth x: a spring k x^2 / m with the damping that is
    critical for its slope 2 k x / m, both ways, but never a pull towards the limit: it takes
    energy from the arm, and never adds to it. m is no wider than the joint has been off its limit
    since the arm began to yield, nor than its reference is: what rests there is not pushed, also
    beyond the limit.
    """
    margins, q, v, ddq = memory.yielding_margin, tick.q, tick.v, memory.acceleration
    lower, upper = memory.lower_position_limit, memory.upper_position_limit
    for i in range(q.shape[0]):
        widest = memory.position_margin[i]
        if widest <= 0.0:
            continue
        margin = min(max(margins[i], min(q[i] - lower[i], upper[i] - q[i])), widest)
        if tick.has_joint_reference:
            reference = tick.position_reference[i]
            margin = min(margin, min(reference - lower[i], upper[i] - reference))
        margins[i] = margin
        above = q[i] - (upper[i] - margin)
        below = (lower[i] + margin) - q[i]
        stiff = max(margin, LEAST_SHARE * widest)
        if above > 0.0:
            ddq[i] -= _repulsion(above, v[i], stiff)
        elif below > 0.0:
            ddq[i] += _repulsion(below, -v[i], stiff)


@part
def keep_off_speed_limits(memory: Struct, tick: Struct) -> None:
    """Add to the acceleration what keeps a yielding arm off its velocity limits.

    A drag along the whole motion, so that what the law holds, such as an orientation, stays held.
    While the reference of a law moves, a drag below the limit would only stir its feedback. Beside
    a law that damps a light joint itself it is unstable where the torque is late: a joint that
    shakes is left more of its motion.
    """
    v, limit, ddq = tick.v, memory.velocity_limit, memory.acceleration
    fastest, side = 0.0, 0.0
    for i in range(v.shape[0]):
        if abs(v[i]) / limit[i] > fastest:
            fastest, side = abs(v[i]) / limit[i], i + 1.0 if v[i] > 0.0 else -i - 1.0
    h = tick.period
    moves = memory.path != NO_PATH and memory.path_time_now < memory.duration
    full = MOVING_SPEED if moves else FULL_SPEED
    memory.drag_share += h / CALM_TIME * (1.0 - memory.drag_share)
    memory.drag_time += h
    if fastest > full:
        if side == -memory.drag_side and memory.drag_time < SHAKING_TIME:
            memory.drag_share *= SHAKING_DRAG
        memory.drag_side, memory.drag_time = side, 0.0
    strongest = memory.drag_share * LARGEST_DRAG / h
    wanted = min(SPEED_RATE * max(fastest / full - 1.0, 0.0), strongest)
    memory.drag += min(h / DRAG_TIME, 1.0) * (wanted - memory.drag)
    if memory.drag > LEAST_DRAG:
        for i in range(v.shape[0]):
            ddq[i] -= memory.drag * v[i]


@part
def keep_near_speed_limits(memory: Struct, tick: Struct) -> None:
    """For laws that track, remove acceleration that would speed up a joint near its limit.

    A joint that is behind its path, as one that has stuck, would catch up at any speed. Where the
    mean of its speed is beyond `FAST_SHARE` of its limit it gets less than its law wants, and
    beyond `FASTEST_SHARE` no more than the reference's own acceleration. An arm that shakes would
    be shaken the more.
    """
    v, limit, ddq, a = (
        tick.v,
        memory.velocity_limit,
        memory.acceleration,
        tick.acceleration_reference,
    )
    mean, share = memory.mean_velocity, min(tick.period / SPEED_TIME, 1.0)
    shakes = memory.shaking_turns >= FEW_TURNS
    for i in range(v.shape[0]):
        mean[i] += share * (v[i] - mean[i])
        speed = abs(mean[i]) / limit[i]
        more = ddq[i] - a[i] if tick.has_joint_reference else ddq[i]
        if speed > FAST_SHARE and more * mean[i] > 0.0 and not shakes:
            kept = max((FASTEST_SHARE - speed) / (FASTEST_SHARE - FAST_SHARE), 0.0)
            ddq[i] -= (1.0 - kept) * more


@part
def _repulsion(depth: float, inward: float, margin: float) -> float:
    slope = 2.0 * LIMIT_STIFFNESS * depth / margin
    return max(0.5 * slope * depth + 2.0 * np.sqrt(slope) * inward, 0.0)


@part
def _shakes(memory: Struct, tick: Struct) -> bool:
    """Return whether an arm that is held to its reference is shaken by what holds it.

    Joint i, of which `shaking_side` is i + 1 with the sign of its speed beside the reference's, is
    looked at as long as it turns back within `SHAKING_TIME`.

    Args:
        memory: Of the controller.
        tick: Its velocities, measured and of the reference.
    """
    memory.turning_time += tick.period
    if memory.turning_time > SHAKING_TIME or memory.shaking_side == 0.0:
        memory.turning_time = memory.shaking_turns = memory.shaking_side = 0.0
        memory.swing = memory.swings = memory.swings_before = 0.0
        most = 1.0
        for i in range(tick.v.shape[0]):
            share = _shaking_share(memory, tick, i)
            if abs(share) > most:
                most = abs(share)
                memory.shaking_side = np.copysign(i + 1.0, share)
    side = memory.shaking_side
    if side == 0.0:
        return False
    i = int(abs(side)) - 1
    has_turned = _shaking_share(memory, tick, i) * side < -abs(side)
    if has_turned:
        memory.shaking_side, memory.turning_time = -side, 0.0
        memory.shaking_turns += 1.0
        memory.swings += memory.swing
        memory.swing = 0.0
    memory.swing = max(memory.swing, abs(_beside_reference(tick, i)))
    if not has_turned or memory.shaking_turns % HALF_OF_THEM > 0.0:
        return False
    swings, before = memory.swings, memory.swings_before
    memory.swings_before, memory.swings = swings, 0.0
    noise = AMPLIFIED_NOISE * memory.velocity_deviation[i] * independence(memory, tick.period, i)
    noise = HALF_OF_THEM * min(noise, LARGEST_NOISE * memory.velocity_limit[i])
    if memory.shaking_turns < SHAKING_TURNS or swings < min(noise, GROWTH * before):
        return False
    memory.shaking_turns = 0.0
    return True


@part
def _beside_reference(tick: Struct, i: int) -> float:
    """Return the speed of joint i beside its reference [rad/s or m/s]."""
    return float(tick.v[i] - tick.velocity_reference[i] if tick.has_joint_reference else tick.v[i])


@part
def _shaking_share(memory: Struct, tick: Struct, i: int) -> float:
    """Return the speed of joint i beside its reference, over what may be shaking."""
    v = _beside_reference(tick, i)
    least = max(
        SHAKING_SPEED * memory.velocity_limit[i],
        SHAKING_NOISE * memory.velocity_deviation[i],
        SHAKING_COUNTS * memory.position_count[i] / tick.period,
    )
    return float(v / least)


@part
def watch(memory: Struct, tick: Struct) -> None:
    """Raise the alarm where speed, distance or saturation are beyond bounds for their time.

    Time within the bounds counts backwards: a joint that shakes is beyond them most of the time,
    and never for long. One that feedback shakes grows slowly at times, and need not be as fast.
    """
    h, q, v = tick.period, tick.q, tick.v
    reference, limit = tick.position_reference, memory.velocity_limit
    reason = CALM
    for i in range(q.shape[0]):
        if memory.largest_speed > 0.0 and abs(v[i]) > memory.largest_speed * limit[i]:
            reason = TOO_FAST
        far = memory.tracks and memory.largest_error > 0.0
        if reason == CALM and far and abs(reference[i] - q[i]) > memory.largest_error:
            reason = TOO_FAR
    memory.time_beyond = max(memory.time_beyond + (h if reason != CALM else -h), 0.0)
    saturated = memory.time_saturated + (h if memory.effort_share < 1.0 else -h)
    memory.time_saturated = max(saturated, 0.0)
    if reason != CALM and memory.time_beyond > memory.beyond_time:
        memory.alarm = reason
    elif memory.saturation_time > 0.0 and memory.time_saturated > memory.saturation_time:
        memory.alarm = TOO_LONG
    elif memory.tracks and memory.largest_speed > 0.0 and _shakes(memory, tick):
        memory.shaken = 1


@part
def brake(memory: Struct, tick: Struct, g: np.ndarray) -> None:
    """Write tau_i = g_i - d_i m_i v_i before the limits, m_i the inertia that a joint shows.

    Each joint's torque beyond its weight is against its motion, cut off or not: as long as the
    limits bear the weight, energy only decreases, whatever the speed, the load or the pushes were
    (v^T C v is no power). The weight is g less what `observe` lets the brake bear of a load; of
    that, too, only what drives a joint is more than was known at rest.

    What is too heavy for the motors is not held halfway: once they have lacked torque for
    `WINDUP_TIME` the observer waits, and the arm sinks to where its load hangs.

    d_i grows as long as something drives a joint beyond its velocity limit. Where it shakes it
    does not: an arm that is lighter or later than its model would be shaken by its brake.
    """
    v, m, wanted = tick.v, memory.shown_inertia, memory.torque_unsaturated
    rate, share = memory.brake_rate, min(tick.period / STRONG_BRAKE_TIME, 1.0)
    lacks_torque = False
    for i in range(v.shape[0]):
        d = max(abs(rate[i]), BRAKE_RATE) if rate[i] * v[i] > 0.0 else BRAKE_RATE
        limit = memory.velocity_limit[i]
        is_driven = limit < abs(v[i]) < LARGEST_DRIVEN * limit
        d += share * ((STRONG_BRAKE_RATE if is_driven else BRAKE_RATE) - d)
        rate[i] = np.copysign(d, v[i])
        wanted[i] = g[i] - memory.compensation[i] - d * m[i] * v[i]
        lacks_torque = lacks_torque or abs(wanted[i]) > memory.effort_limit[i]
    if lacks_torque:
        memory.time_saturated += tick.period
    clear(memory.acceleration)
    copy(wanted, memory.torque_base)


@part
def limit_torque(memory: Struct, tick: Struct) -> None:
    """Write the torque that is within the effort and rate limits.

    What carries the arm along its path comes first, tau_0 = M a_r + nle - r, cut off joint by
    joint. The rest of what the law wants is scaled as a whole, tau = tau_0 + s (tau_law - tau_0)
    with the greatest s in [0, 1] that every joint allows: feedback keeps its direction. What
    brakes is cut off joint by joint.

    Args:
        memory: Holds the torque before limits and the limits.
        tick: Holds M, nle and the reference.
    """
    wanted, limit, base = memory.torque_unsaturated, memory.effort_limit, memory.torque_base
    torque, rate_limit, share = memory.torque, memory.torque_rate_limit, 1.0
    if memory.operation != BRAKE:
        for i in range(wanted.shape[0]):
            if not abs(wanted[i]) <= limit[i]:
                share = 0.0
        if share == 0.0:
            share = _feedback_share(memory, tick)
    memory.effort_share = share
    memory.rate_limited = 0
    for i in range(wanted.shape[0]):
        tau = wanted[i] if share == 1.0 else base[i] + share * (wanted[i] - base[i])
        if memory.has_torque:
            step = rate_limit[i] * tick.period
            if abs(tau - torque[i]) > step:
                tau = min(max(tau, torque[i] - step), torque[i] + step)
                memory.rate_limited = 1
        torque[i] = min(max(tau, -limit[i]), limit[i])
    memory.has_torque = 1


@part
def _feedback_share(memory: Struct, tick: Struct) -> float:
    """Write tau_0 within the limits, and return the share of the rest that fits beside it."""
    wanted, limit, base = memory.torque_unsaturated, memory.effort_limit, memory.torque_base
    M, a = tick.M, tick.acceleration_reference
    share = 1.0
    for i in range(base.shape[0]):
        total = tick.nle[i] - memory.compensation[i] + beside_damping(memory, tick, i)
        if memory.tracks:
            for j in range(base.shape[0]):
                total += M[i, j] * a[j]
        base[i] = min(max(total, -limit[i]), limit[i])
        if base[i] != total:
            continue  # this joint has nothing left for feedback; the others have
        if wanted[i] > limit[i]:
            share = min(share, (limit[i] - base[i]) / (wanted[i] - base[i]))
        elif wanted[i] < -limit[i]:
            share = min(share, (-limit[i] - base[i]) / (wanted[i] - base[i]))
    return share
