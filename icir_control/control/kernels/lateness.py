"""How late the torque is, as the motion shows it."""

import numpy as np

from icir_control.compiled import part
from icir_control.control.kernels.memory import LONGEST_DELAY
from icir_control.control.kernels.plant import LEAST_NUMBER, is_rough
from icir_control.control.kernels.structs import Struct
from icir_control.spatial.kernels import clear

LEAP_TICKS = 8
"""From a leap of the torque on, in which the motion is compared with it."""

SMOOTH_TICKS = 20.0
"""In which 63 % of the greatest change of the torque is forgotten: a leap is greater."""

LEAST_LEAP = 1e-8
"""Share of the effort limit by which a torque leaps."""

LEAST_LEFT = 1e-4
"""Share of what a joint does that counts as unexplained at least."""

KEPT_SCORE = 0.5
"""Share of what leaps have shown that a next one leaves."""

LATE_MARGIN, LATE_MARGIN_SHARE = 4.0, 0.4
"""Of the logarithms of what is left, all joints together, by which another lateness has to be
better; and as a share of its own."""


@part
def learn_lateness(memory: Struct, change: np.ndarray) -> int:
    """Return by how many periods the torque is late: those after which the motion repeats it.

    What explains the motion, y = M (v' - v) / h + nle, changes with the torque that acts. A motion
    that is smooth does not tell when: a load that swings leads or lags, too. A torque that leaps
    does, since y leaps with it. From there on the changes of y are compared with those of the
    torque n periods before, for every n; of joint i the share

        1 - <dy_i, dtau_i(n)>^2 / (<dy_i, dy_i> <dtau_i(n), dtau_i(n)>)

    is left, whatever the inertia that the model lacks: that is a factor. The n that leaves least,
    as the sum of the logarithms of all joints, is taken where it is clearly better than the one
    before. A joint whose velocity is noisy, or counted by an encoder, shows nothing.

    Args:
        memory: Holds what was sent, and what leaps have shown.
        change: (n,) dy of the last period [N m or N].
    """
    total, power, match = memory.explained_power, memory.torque_power, memory.torque_match
    sent, n, now = memory.sent_torque, change.shape[0], int(memory.lateness)
    leaps = _leaps(memory)
    if memory.leap_ticks == 0:
        if not leaps:
            return now
        clear(total)
        power[:] = match[:] = 0.0
    memory.leap_ticks += 1
    for i in range(n):
        total[i] += change[i] * change[i]
        for k in range(LONGEST_DELAY + 1):
            step = sent[k, i] - sent[k + 1, i]
            power[k, i] += step * step
            match[k, i] += step * change[i]
    if memory.leap_ticks < LEAP_TICKS:
        return now
    memory.leap_ticks = 0
    best, score = 0, memory.lateness_score
    for k in range(LONGEST_DELAY + 1):
        score[k] *= KEPT_SCORE
        for i in range(n):
            score[k] += _left(memory, k, i)
        if score[k] < score[best]:
            best = k
    margin = max(LATE_MARGIN, -LATE_MARGIN_SHARE * score[best])
    return best if score[best] < score[now] - margin else now


@part
def _leaps(memory: Struct) -> bool:
    """Return whether the last torque leapt: its change differs by more than those before it."""
    sent, largest, leaps = memory.sent_torque, memory.torque_change, False
    for i in range(largest.shape[0]):
        step, before = sent[0, i] - sent[1, i], sent[1, i] - sent[2, i]
        largest[i] = max(abs(before), (1.0 - 1.0 / SMOOTH_TICKS) * largest[i])
        least = LEAST_LEAP * memory.effort_limit[i]
        leaps = leaps or abs(step - before) > max(largest[i], least)
        if largest[i] < LEAST_NUMBER:
            largest[i] = 0.0
    return leaps


@part
def _left(memory: Struct, k: int, i: int) -> float:
    """Return the logarithm of what torque that is k periods late leaves of joint i's motion."""
    total, power = memory.explained_power[i], memory.torque_power[k, i]
    least = (LEAST_LEAP * memory.effort_limit[i]) ** 2
    if is_rough(memory, i) or total <= least or power <= least:
        return 0.0
    match = max(memory.torque_match[k, i], 0.0)
    return float(np.log(max(1.0 - match * match / (total * power), LEAST_LEFT)))
