"""The inertia of each joint that the model lacks, and what it takes of the motion to come."""

import numpy as np

from icir_control.compiled import part
from icir_control.control.kernels.contact import FREE
from icir_control.control.kernels.plant import NOISE_TICKS, NOISE_TIME, QUIET, is_rough
from icir_control.control.kernels.structs import Struct
from icir_control.scratch import scratch_vector

LARGEST_SHARE = 0.75
"""Of the effort limit that an estimate of the disturbance may reach."""

FAST_CHANGE = 0.02**2
"""Of an acceleration in a period, squared, as a share of itself: from it on it shows inertia."""

NOISY_CHANGE = 600.0
"""The same by the variance of the velocity, over h^2: 100 times that of a second difference."""

ASKED_CHANGE = 3.0**2
"""The same by what the law asked for: beyond it something else has accelerated the joint."""

LEAST_CHANGE = 1e-8
"""[rad^2/s^4 or m^2/s^4] Of an acceleration in a period, squared: below, the arm stands still."""

INERTIA_TIME = 1.0
"""[s] In which 63 % of what was seen of an inertia is forgotten: an arm may take a load."""

SMOOTH_SHARE = 1.0
"""Of a second difference of the velocity, by which it differs at most from the one before where
the motion is smooth. With 0.2, joints about which a load swings were too fast for it."""

TOO_LIGHT = 0.5
"""Of its own inertia, that a joint is lighter by than its model only where noise shows it: what a
velocity that is wrong adds to d is all of that inertia."""

EARLY_SHARE = 0.01
"""Of what was seen before the noise is known, that counts afterwards where it does not agree: a
load that begins to sag couples the joints, and shows another inertia than later."""

DISTURBANCE_RATE = 0.1
"""[1/s] Share of the effort limit by which a disturbance changes, and may show as inertia."""

SURE_SHARE = 0.1
"""Of the inertia that a joint's motion shows, by which a next sample that agrees may differ."""

SURE_SAMPLES = 10.0
"""In a row, that must agree before the inertia is sure: a few agree by chance."""

OTHER_DIRECTION, SAME_DIRECTION = 0.5, 0.98
"""cos^2 of two directions of the acceleration, below which they differ; from which they agree."""

OTHER_DECADES, SURE_DECADES = 3.0, 10.0
"""-log10 of the chance that samples in other directions agree, from which on the inertia does not
couple the joints; from which on it is sure."""

LEAST_SHARE = 1e-6
"""That counts of what a sample differs by: no single one makes an inertia sure."""

ADOPTION_TIME = 0.02
"""[s] In which 63 % of an inertia that is a rotor's becomes a part of the model."""

ADOPTION_SHARE = 0.005
"""Of the effort limit by which the torque that the estimate takes over grows in a period."""

NOTED_SHARE = 0.01
"""Of the inertia that a joint shows, from which on M^-1 is found again at once: an old one beside
the new M would cancel a multiple of the estimate."""

DOUBT_TIME = 1.0
"""[s] For which no motion shows an inertia, where the estimate of a joint has swung."""

LOST_SHARE = 0.5
"""Of it that must be gone before it is no part of the model any more."""

LOST_SAMPLES = 3.0
"""First samples after a row that agreed, which show so much of it gone: it was none of a rotor."""

POSSIBLE = 5.0
"""Times what is declared that an inertia is at most that is fed forward."""

POSSIBLE_SHARE = 100.0
"""The same in times the joint's own, where nothing is declared."""


@part
def lacking_inertia(memory: Struct, unexplained: float, v: np.ndarray, h: float, i: int) -> float:
    """Return the greatest inertia of joint i that the model may lack, as far as its motion shows.

    An inertia J beyond the model leaves d = d_0 - J a unexplained. Changes from one period to the
    next give J by least squares that forget (`INERTIA_TIME`). They count where the acceleration a
    changes fast, since a disturbance d_0 that changes as fast would pass for an inertia; beyond
    the noise of the velocity, which is in d and a alike and would pass for none that is lacking;
    and as far as the law asked for it, since a push changes a and d_0 together. What they leave,
    over a, is the deviation of J: inertia that couples the joints, friction or delay do not
    average out. Samples that J foretells are counted (see `carry_disturbance`), but not of an arm
    that sags as it starts: a load couples the joints, and shows one direction alone.

    Args:
        memory: Holds what was seen of J.
        unexplained: d_i [N m or N].
        v: (nv,) as measured now.
        h: The period [s].
        i: The joint.

    Returns:
        J and its deviation; what is declared where that is less, but no less than J less half its
        deviation. Above 0.
    """
    before, change = memory.velocity_change[i], v[i] - memory.measured_v[i]
    asked = memory.acceleration[i] - memory.acceleration_before[i]
    second, d_change = change - before, unexplained - memory.unexplained[i]
    memory.acceleration_before[i] = memory.acceleration[i]
    memory.unexplained[i] = unexplained
    information, residual = memory.inertia_information, memory.inertia_residual
    is_early = memory.ticks * h <= NOISE_TIME
    kept = max(1.0 - h / INERTIA_TIME, 0.0)
    if is_early and (memory.ticks + 1) * h > NOISE_TIME:
        differs = residual[i] > (SURE_SHARE * memory.shown_inertia[i]) ** 2
        kept = EARLY_SHARE if differs else kept
    information[i] = kept * information[i] + 1e-15  # never denormal
    least = FAST_CHANGE * (change * change + before * before) + LEAST_CHANGE * h * h
    least += NOISY_CHANGE * max(memory.velocity_noise[i], 0.0)
    most = ASKED_CHANGE * asked * asked * h * h
    is_known = not is_early or (memory.ticks >= NOISE_TICKS and _is_quiet(memory, second, i))
    is_known = is_known and memory.steady_ticks > 0 and memory.inertia_doubt == 0.0
    if is_known and least < second * second < most:
        a_change = second / h
        size = a_change * a_change
        information[i] += size
        error = d_change + memory.extra_inertia[i] * a_change
        total = memory.extra_inertia[i] + memory.adopted_inertia[i]
        is_sag = is_early and memory.time_still == np.inf
        if not is_sag and abs(error) < SURE_SHARE * total * abs(a_change):
            share = max(abs(error) / (total * abs(a_change)), LEAST_SHARE)
            _count(memory, v, h, i, -np.log10(share))
            memory.samples_without[i] = 0.0
        else:
            memory.agreeing_samples[i] = memory.other_decades[i] = 0.0
            least = (memory.extra_inertia[i] + LOST_SHARE * memory.adopted_inertia[i]) * size
            is_without = error * a_change > least and memory.samples_without[i] >= 0.0
            memory.samples_without[i] = memory.samples_without[i] + 1.0 if is_without else -1.0
        memory.extra_inertia[i] -= error * a_change / information[i]
        left = d_change + memory.extra_inertia[i] * a_change
        residual[i] += (left * left - residual[i] * size) / information[i]
    drift = DISTURBANCE_RATE * memory.effort_limit[i] * h
    shown = memory.extra_inertia[i]
    possible = POSSIBLE * memory.uncertain_inertia[i]
    possible = possible if possible > 0.0 else POSSIBLE_SHARE * memory.shown_inertia[i]
    if shown + memory.adopted_inertia[i] > possible:
        # A joint that sticks moves as if it were heavy.
        memory.agreeing_samples[i] = memory.other_decades[i] = 0.0
    deviation = np.sqrt(residual[i] + 4.0 * drift * drift / information[i])
    if is_early and shown < -TOO_LIGHT * memory.shown_inertia[i]:
        deviation = np.inf
    surely = max(shown - 0.5 * deviation, memory.uncertain_inertia[i])
    return max(min(shown + deviation, surely), 1e-9)


@part
def _is_quiet(memory: Struct, second: float, i: int) -> bool:
    """Return whether joint i shows neither counts nor noise.

    The mean of a few products of second differences is below 0 also by chance: then this one has
    to be like the one before, as that of a smooth motion is.
    """
    is_smooth = abs(second - memory.second_difference[i]) < SMOOTH_SHARE * abs(second)
    return not is_rough(memory, i) and (memory.velocity_noise[i] > -QUIET or is_smooth)


@part
def _count(memory: Struct, v: np.ndarray, h: float, i: int, decades: float) -> None:
    """Count a sample that agrees; its decades, too, where its acceleration has another direction.

    The direction is that of the first sample of a row of them. By chance a sample differs by a
    share s or less as often as s says: where the plant is quiet, two of them exclude chance.
    """
    direction, before = memory.inertia_direction[i], memory.velocity_change
    along, size = 0.0, 0.0
    for k in range(v.shape[0]):
        change = v[k] - memory.measured_v[k] - before[k]
        along += direction[k] * change
        size += change * change
    if memory.agreeing_samples[i] == 0.0:
        for k in range(v.shape[0]):
            direction[k] = (v[k] - memory.measured_v[k] - before[k]) / np.sqrt(size)
    elif along * along < OTHER_DIRECTION * size:
        memory.other_decades[i] += decades
    memory.agreeing_samples[i] += 1.0


@part
def adopt_inertia(memory: Struct, a: float, h: float, i: int) -> None:
    """Make an inertia of joint i that does not couple it with others a part of the model.

    That is a rotor's, on the diagonal of M: feed-forward, feedback and observer have it then. So
    that the torque does not jump, the estimate r takes what J adds to it, and gives it back with
    its own lag. What is gone of J, as it would be of a load, goes as soon; and at once where most
    of J is still to come, and what ends the row of samples that agreed shows none of it. A load
    has passed for a rotor where one joint moved alone; where two then turned against each other,
    their feedback was twice as stiff, which late torque does not bear.

    Args:
        memory: Holds what was seen of J.
        a: Acceleration of the joint in the last period [rad/s^2 or m/s^2].
        h: The period [s].
        i: The joint.
    """
    adopted, extra = memory.adopted_inertia, memory.extra_inertia[i]
    is_rotor = has_agreed(memory, i) and memory.other_decades[i] >= OTHER_DECADES
    was_none = extra > adopted[i] > 0.0 and memory.samples_without[i] >= LOST_SAMPLES
    is_gone = adopted[i] > 0.0 and extra < -LOST_SHARE * adopted[i]
    if not (is_rotor or is_gone or was_none):
        return
    step = -adopted[i] if was_none else max(min(h / ADOPTION_TIME, 1.0) * extra, -adopted[i])
    most = ADOPTION_SHARE * memory.effort_limit[i] / (abs(memory.acceleration[i]) + 1e-12)
    step = min(step, most)
    if abs(extra) > SURE_SHARE * adopted[i]:
        memory.friction_time[i] = 1.0  # what r gives back is no friction
    if abs(step) > NOTED_SHARE * memory.shown_inertia[i]:
        memory.adopts = 1
    adopted[i] += step
    memory.extra_inertia[i] -= step
    memory.measured_M[i, i] += step
    memory.disturbance[i] += step * memory.acceleration[i]
    memory.cancelled[i] += step * memory.acceleration[i]
    memory.disturbance_mean[i] += step * memory.acceleration[i]
    memory.explained[i] += step * a
    memory.unexplained[i] += step * a
    memory.residual[i] += step * a
    memory.residual_mean[i] += step * a
    memory.residual_at_turn[i] += step * a


def forget_inertia(memory: Struct) -> None:
    """Leave the inertia of the model alone, until motion has shown another one again."""
    memory.extra_inertia[:] = memory.inertia_information[:] = memory.inertia_residual[:] = 0.0
    memory.agreeing_samples[:] = memory.other_decades[:] = memory.adopted_inertia[:] = 0.0
    memory.samples_without[:] = memory.inertia_doubt = 0.0


@part
def doubt_inertia(memory: Struct) -> None:
    """Forget what was shown of inertias that have not foretold anything yet, and wait.

    A load couples the joints. Where they swing about it, it hardly moves, and shows nothing of
    the inertia that it has for the joint that turns it.
    """
    memory.inertia_doubt = DOUBT_TIME
    for i in range(memory.extra_inertia.shape[0]):
        if not has_agreed(memory, i):
            memory.extra_inertia[i] = memory.inertia_information[i] = 0.0
            memory.agreeing_samples[i] = memory.other_decades[i] = 0.0
            memory.inertia_residual[i] = 0.0


@part
def carry_disturbance(memory: Struct, tick: Struct) -> None:
    """Let the estimate hold what a known inertia takes of the acceleration that is to come.

    An inertia J beyond the model leaves -J a unexplained. r follows that with its lag, so that a
    part of it is -J a_f, a_f being the acceleration after the same lag. Where the inertia is sure,
    that part becomes -J a_r: r changes by -J (a_r - a_f).
    """
    r, a = memory.disturbance, tick.acceleration_reference
    followed, change = memory.followed_acceleration, scratch_vector(tick.q.shape[0])
    if memory.tracks and memory.observing and memory.contact == FREE and memory.delay == 0:
        for i in range(r.shape[0]):
            change[i] = a[i] - followed[i]
        for i in range(r.shape[0]):
            if _is_sure(memory, change, i):
                limit = LARGEST_SHARE * memory.effort_limit[i]
                held = r[i] - memory.extra_inertia[i] * change[i]
                held = min(max(held, -limit), limit)
                memory.compensation[i] += held - r[i]
                memory.cancelled[i] += held - r[i]
                r[i], followed[i] = held, a[i]


@part
def has_agreed(memory: Struct, i: int) -> bool:
    """Return whether the inertia of joint i has foretold what its motion left unexplained."""
    is_sure = memory.agreeing_samples[i] >= SURE_SAMPLES
    is_sure = is_sure or memory.other_decades[i] >= SURE_DECADES
    return bool(memory.observer_gain > 0.0 and is_sure)


@part
def _is_sure(memory: Struct, change: np.ndarray, i: int) -> bool:
    """Return whether the inertia of joint i holds where the acceleration changes by so much.

    A rotor's does in every direction. That of a heavier link, or of a load, couples the joints: as
    a number of one joint it is true of the direction alone in which it was found.
    """
    if not has_agreed(memory, i):
        return False
    if memory.other_decades[i] >= OTHER_DECADES:
        return True
    along, size = 0.0, 0.0
    for k in range(change.shape[0]):
        along += memory.inertia_direction[i, k] * change[k]
        size += change[k] * change[k]
    return bool(along * along >= SAME_DIRECTION * size)
