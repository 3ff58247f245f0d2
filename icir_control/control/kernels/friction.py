"""The friction of the joints that no URDF has: learnt after a turn, and turned at the next one."""

from icir_control.compiled import part
from icir_control.control.kernels.memory import NO_PATH
from icir_control.control.kernels.plant import QUIET, is_rough
from icir_control.control.kernels.structs import Struct

RESISTANCE_TIME = 0.6
"""[s] In which 63 % of the greatest torque that was unexplained is forgotten."""

STUCK_SHARE = 0.5
"""Of the speed that a joint is asked for, below which it is held."""

HELD = 2.0
"""Times what an inertia as declared takes of the accelerations of all joints, from which on what
is unexplained of a joint that sticks is friction."""

STICKING = 300.0
"""Times its own inertia that a joint which sticks passes for, and none that moves."""

TURN_SPEED = 0.002
"""[rad/s or m/s] Of a joint's reference, at which its friction has turned."""

TURN_TIME = 0.1
"""[s] After a turn, in which what changes is friction; longer where the estimate takes longer."""

TURN_LAGS = 3.0
"""Lags 1 / K of the estimate for which it then does; and seconds that it does at most."""

LEAP_TIME, SMOOTH_LEAP_TIME = 0.1, 0.2
"""[s] Of a joint that moves after a turn, in which the fast residual shows its friction; in which
the smooth one does. That comes later; in a longer time damping would show as well."""

LEAP_SPEED = 0.03
"""[rad/s or m/s] From which on it moves: one that creeps has not broken away."""

LEAP_SHARE = 1.2
"""Of that leap, that friction takes at most: while the joint stuck, it had begun already."""

LEAST_FRICTION = 0.01
"""Share of the effort limit below which it may as well be something else."""

LEAST_EFFECT = 100.0
"""[rad/s^2 or m/s^2] The same over inertia, where that is less: a light joint of a large motor."""

FRICTION_NOISE = 4.0
"""Standard deviations of the estimate's noise, K M sigma_v, below which it may be noise."""


@part
def turn_friction(memory: Struct, tick: Struct, i: int) -> None:
    """Turn joint i's friction, as far as it is known, with the velocity of its reference.

    A joint that stops keeps the direction of its friction until it starts in the other one. The
    time since a turn is counted in lags of the estimate, which change on the way: a joint that
    sticks passes for a heavy one until it breaks away, and all that is learnt of it is friction.
    In noise its velocity tells that it sticks, and the smooth residual how much holds it: what its
    estimate has of other joints is no friction.
    """
    friction, direction, time = memory.friction, memory.friction_direction, memory.friction_time
    now = direction[i]
    if memory.tracks and memory.path != NO_PATH:
        wanted = min(max(tick.velocity_reference[i] / TURN_SPEED, -1.0), 1.0)
        now = max(now, wanted) if wanted > 0.0 else min(now, wanted) if wanted < 0.0 else now
    turned = now - direction[i]
    direction[i] = now
    faded = max(1.0 - tick.period / RESISTANCE_TIME, 0.0) * memory.resistance[i]
    rough = is_rough(memory, i)
    acting = memory.smooth_residual[i] if rough else memory.residual[i]
    memory.resistance[i] = max(abs(acting), faded)
    if turned == 0.0:
        _watch_leap(memory, tick, acting, i)
        asked = abs(tick.velocity_reference[i])
        is_held = rough and abs(memory.mean_velocity[i]) < STUCK_SHARE * asked
        gain = 0.0 if is_held or _sticks(memory, i) else memory.stable_gain[i]
        slowest = (min(memory.quiet_gain[i], gain) + 1.0) / TURN_LAGS
        time[i] += tick.period * min(1.0 / TURN_TIME, slowest)
        return
    known, would_turn = friction[i], has_friction(memory, i)
    _limit_to_leap(memory, turned, acting, i)
    if would_turn:
        # An estimate that does not turn after all does not swing by that.
        memory.disturbance_mean[i] += (now - turned) * (friction[i] - known)
    time[i] = 0.0
    # Damping that was seen at speed is no friction, and is gone where the joint turns.
    friction[i] = min(friction[i], memory.resistance[i])
    if has_friction(memory, i):
        memory.disturbance[i] -= turned * friction[i]
        memory.friction_turns = 1
    elif now * (now - turned) < 0.0:
        friction[i] = 0.0  # what the estimate now changes by has it in it twice
    memory.friction_doubt[i] = 0.0


@part
def _watch_leap(memory: Struct, tick: Struct, acting: float, i: int) -> None:
    """Note what joint i's unexplained torque leaps by as it turns, which its friction does.

    What a load or damping takes changes with the motion, and would pass for friction in an
    estimate that is slow. A joint that sticks has not turned yet.

    Args:
        memory: Of the controller.
        tick: The state that was measured, and its reference.
        acting: What is unexplained now, by the fast residual, in noise by the smooth one.
        i: Of the joint.
    """
    direction = memory.friction_direction[i]
    if abs(direction) < 1.0 or memory.leap_share[i] >= 1.0:
        return
    leap = direction * (memory.residual_at_turn[i] - acting)
    memory.leap[i] = max(memory.leap[i], leap)
    if tick.v[i] * direction > LEAP_SPEED and not is_stuck(tick, i):
        time = SMOOTH_LEAP_TIME if is_rough(memory, i) else LEAP_TIME
        memory.leap_share[i] += tick.period / time


@part
def _limit_to_leap(memory: Struct, turned: float, acting: float, i: int) -> None:
    """Limit joint i's friction to what leapt when it turned last, and begin anew as it turns."""
    if memory.friction_time[i] > 0.0:
        if memory.leap_share[i] >= 1.0:
            most = LEAP_SHARE * memory.leap[i] / max(abs(memory.turned_by[i]), 1.0)
            memory.friction[i] = min(memory.friction[i], most)
        memory.residual_at_turn[i] = acting
        memory.leap[i] = memory.leap_share[i] = memory.turned_by[i] = 0.0
    memory.turned_by[i] += turned


@part
def _sticks(memory: Struct, i: int) -> bool:
    """Return whether joint i passes for heavier than any that moves, or has not yet moved.

    Where its inertia is in doubt, none is shown of a joint that moves.
    """
    is_known = memory.velocity_noise[i] <= QUIET and memory.inertia_doubt == 0.0
    shows_none = memory.extra_inertia[i] == 0.0 and is_known
    return bool(shows_none or memory.extra_inertia[i] > STICKING * memory.shown_inertia[i])


@part
def is_stuck(tick: Struct, i: int) -> bool:
    """Return whether joint i does not follow its reference, as one that friction holds."""
    asked = abs(tick.velocity_reference[i])
    return bool(asked > TURN_SPEED and abs(tick.v[i]) < STUCK_SHARE * asked)


@part
def is_held(memory: Struct, tick: Struct, unexplained: float, i: int) -> bool:
    """Return whether friction holds joint i: no inertia that may lack explains why it sticks.

    While it holds it damps, far beyond what a heavy joint needs to be stable with any gain of its
    observer: f / v at the speed v at which it creeps. Noise, or counts of an encoder, hide that;
    and where no inertia is declared, nothing bounds it.

    Args:
        memory: Of the controller.
        tick: The state that was measured, and its reference.
        unexplained: Torque of the last period [N m or N].
        i: Of the joint.
    """
    if memory.uncertain_inertia[i] == 0.0 or is_rough(memory, i) or not is_stuck(tick, i):
        return False
    total = 0.0
    for j in range(tick.v.shape[0]):
        total += abs(tick.v[j] - memory.measured_v[j])
    most = HELD * memory.uncertain_inertia[i] * total / tick.period
    return bool(abs(unexplained - memory.disturbance[i]) > most)


@part
def has_friction(memory: Struct, i: int) -> bool:
    """Return whether what was learnt of joint i's friction is more than noise or another cause."""
    least = min(LEAST_FRICTION * memory.effort_limit[i], LEAST_EFFECT * memory.shown_inertia[i])
    return bool(memory.friction[i] > least + memory.friction_doubt[i])


@part
def has_turned(memory: Struct, i: int) -> bool:
    """Return whether joint i has just set off or turned: what changes now is its friction."""
    return bool(memory.friction_time[i] < 1.0)


@part
def learn_friction(memory: Struct, change: float, i: int) -> None:
    """Take what an estimate changes by soon after joint i turned for friction, but for noise.

    While it turns nothing is learnt: what is, would turn with the rest of the way. The first
    counts of an encoder, which kick the estimate to and fro, would pass for friction.
    """
    direction = memory.friction_direction[i]
    if memory.tracks and has_turned(memory, i) and abs(direction) == 1.0:
        change *= -direction
        memory.friction[i] = max(memory.friction[i] + change, 0.0)
        gain = min(memory.stable_gain[i], memory.quiet_gain[i])
        noise = gain * memory.measured_M[i, i] * memory.velocity_deviation[i]
        memory.friction_doubt[i] = max(memory.friction_doubt[i], FRICTION_NOISE * noise)


@part
def doubt_friction(memory: Struct, i: int) -> None:
    """Forget what has been learnt of joint i's friction since it turned: something else held it.

    A floor that a thrown arm reached has passed for friction of 19 N m, half the effort limit.
    """
    if has_turned(memory, i):
        memory.friction[i] = 0.0
