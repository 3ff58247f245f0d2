"""Contact of a moving arm: felt in what the model does not explain; the path waits.

A contact is told from a wrong model by how fast it comes. The residual of a fast momentum observer
(Haddadin, De Luca & Albu-Schaeffer 2017, section III-E) less its own mean over the last tenth of
a second does not feel weight, damping or an inertia that the model lacks. Dry friction changes as
fast as a contact, but only where a joint starts or reverses.
"""

import numpy as np

from icir_control.compiled import part
from icir_control.control.kernels.memory import JOINT_PATH, NO_PATH
from icir_control.control.kernels.plant import LEAST_NUMBER, NOISE_TIME, is_rough
from icir_control.control.kernels.structs import Struct
from icir_control.scratch import scratch_vector
from icir_control.spatial.kernels import clear, copy
from icir_control.trajectory.kernels import polynomial_at

RESIDUAL_GAIN = 200.0
"""[1/s] Of the fast observer."""

SMOOTH_GAIN, SMOOTH_NOISE = 30.0, 0.15
"""[1/s] Of the filter after it, and the share of white noise that it leaves."""

MEAN_RATE = 10.0
"""[1/s] At which the mean of the residual follows it, and friction at a reversal is forgotten."""

REVERSING_SPEED = 0.01
"""[rad/s or m/s] Of a joint's reference, below which its friction may change sign."""

STILL = 1e-3
"""[rad/s or m/s] Of every joint's reference, below which the arm is held against what pushes."""

SPREAD_RATE = 3.0
"""[1/s] At which the mean deviation of the residual is learnt."""

NOISE = 6.0
"""Standard deviations of the residual's noise that count as no contact."""

SHAKING = 2.5
"""Mean deviations of the residual that count as none: an arm that shakes on a plant with delay."""

SMALL_SHARE = 0.4
"""Share of the torque of contact that makes one where the model has not erred lately."""

ERRED = 3.0
"""How often the greatest error of the model lately must fit into what makes a contact."""

ERROR_RISE, ERROR_FALL = 10.0, 0.1
"""[1/s] At which that error follows the residual: a contact is felt before it counts as one."""

INERTIA_ERROR = 0.3
"""Share of the torque that accelerates a joint, lately, by which a model may be wrong at once."""

TICKS = 4
"""In a row that make a contact: one count of an encoder is one, before its noise is known."""

PRESSING_RATE = 10.0
"""[1/s] At which a waiting path builds up the torque of contact."""

LARGEST_PRESSED = 20.0
"""Times the torque of contact that a path may have built up, were what it touches rigid."""

OVER_SHARE, OVER_TIME = 0.5, 0.3
"""Share of the torque of contact, and time [s] below it, after which the contact is over; time
above it counts backwards."""

APART_SHARE, APART_TIME = 0.25, 0.1
"""Share of the torque of contact, and time [s] below it, after which an arm that was sent on in a
contact has left it."""

START_SHARE = 0.7
"""Share of what counts as contact, beyond which a motion has begun under a push: an arm that
shakes reaches pi / 2 mean deviations, 0.63 of `SHAKING`."""

START_TIME = 0.03
"""[s] From the start of a motion, or the end of a contact, in which none is felt: a push that has
just ended leaves the residual, and would pass for one. Nor is any before the noise is known."""

END_TIME = 0.5
"""[s] After the reference has moved, in which the arm may still come to what was in its way."""

AGAIN_TIME = 0.5
"""[s] After a contact, in which what was in the way may be there still: it is felt, too, where the
path that goes on comes to it slowly."""

BACK_RATE = 10.0
"""[1/s] At which the reference comes back to a path of the joints from where the arm touched."""

ON_PATH = 1e-4
"""[rad or m] Off its path, below which the reference counts as on it again."""

LARGEST_GIVE = 0.03
"""[rad or m] By which what pushes a waiting arm may shift its reference."""

FREE, TOUCHED, WAITING = range(3)
"""What `contact` is: none, felt in this tick, known to the reference."""


@part
def accelerating_torque(memory: Struct, tick: Struct, torque: np.ndarray) -> None:
    """Write the torque that a wrong model may take for a contact as the arm accelerates.

    It is a share of what accelerates the reference, and what friction that turns does to others:
    it kicks a light joint, and by the inertia that couples them also the heavy ones. A load
    doubles that.

    Args:
        memory: Of the controller.
        tick: The state that was measured, and its reference.
        torque: (n,) is written [N m or N].
    """
    M, a, n = memory.measured_M, tick.acceleration_reference, torque.shape[0]
    kicks, is_still = scratch_vector(n), True
    for i in range(n):
        torque[i] = 0.0
        kicks[i] = _kick_of_friction(memory, tick, i)
        is_still = is_still and a[i] == 0.0 and kicks[i] == 0.0
    if is_still:
        return
    for i in range(n):
        inertial = 0.0
        for j in range(n):
            inertial += M[i, j] * a[j]
            torque[i] += abs(M[i, j]) * kicks[j]
        torque[i] -= M[i, i] * kicks[i]  # its own friction is known to change
        torque[i] += INERTIA_ERROR * abs(inertial)


@part
def _kick_of_friction(memory: Struct, tick: Struct, i: int) -> float:
    """Return the acceleration that joint i has beyond its reference where its friction may turn.

    Args:
        memory: Of the controller.
        tick: The state that was measured, and its reference.
        i: Of the joint.

    Returns:
        That acceleration [rad/s^2 or m/s^2], less the longer ago the joint reversed; 0 where noise
        hides it, or the arm follows no path.
    """
    friction, largest = memory.contact_friction[i], memory.largest_friction
    if memory.path == NO_PATH or friction == 0.0 or largest == 0.0 or is_rough(memory, i):
        return 0.0
    a = (tick.v[i] - memory.measured_v[i]) / tick.period
    return abs(a - tick.acceleration_reference[i]) * min(friction / largest, 1.0)


@part
def contact_share(
    memory: Struct,
    tick: Struct,
    unexplained: float,
    independent: float,
    a_count: float,
    accelerating: float,
    i: int,
) -> float:
    """Take in joint i's unexplained torque; return the share of what counts as contact there.

    An encoder hides a motion of less than a count, and shows the next as a leap of the velocity.
    What comes too slowly to be told from noise, and whether the contact lasts, a smooth residual
    tells: what a count adds to the momentum is gone with the next one, and hardly moves it.
    An arm that yields feels none, and needs no more of it than its residuals.

    Args:
        memory: Of the controller.
        tick: The state that was measured.
        unexplained: Torque [N m or N].
        independent: Of the joint's noise; see `independence`.
        a_count: See `momentum_of_a_count` [N m s or N s].
        accelerating: See `accelerating_torque` [N m or N].
        i: Of the joint.
    """
    h, residual, mean = tick.period, memory.residual, memory.residual_mean
    spread, smooth_spread = memory.residual_spread, memory.smooth_spread
    friction, braked = memory.contact_friction, memory.contact_inertia
    residual[i] += min(RESIDUAL_GAIN * h, 1.0) * (unexplained - residual[i])
    is_free = memory.contact == FREE
    smooth = memory.smooth_residual
    smooth[i] += min(SMOOTH_GAIN * h, 1.0) * (residual[i] - smooth[i])
    if not is_free:
        friction[i] = min(2.0 * memory.friction[i], memory.largest_friction)  # it may turn
    elif abs(tick.velocity_reference[i]) < REVERSING_SPEED:
        friction[i] = memory.largest_friction
    else:
        friction[i] -= MEAN_RATE * h * friction[i]
    braked[i] -= min(SMOOTH_GAIN * h, 1.0) * braked[i]
    if braked[i] < LEAST_NUMBER:
        braked[i] = 0.0
    error, torque = memory.residual_error, memory.contact_torque
    more = abs(residual[i] - mean[i])
    is_new = memory.ticks * h < NOISE_TIME
    again = min(memory.time_free / AGAIN_TIME, 1.0)
    share = 0.0
    if memory.tracks or not is_free:
        # The smooth residual comes later than what it is of.
        braked[i] = max(accelerating, braked[i])
        beside = friction[i] + braked[i]
        lasts = abs(smooth[i] - mean[i])
        if memory.contact == WAITING:
            # Begun while the arm pressed already, the mean would not tell that it is free.
            lasts = min(lasts, abs(smooth[i]))
        if not is_free:
            return lasts / (torque + friction[i])  # noise must not end a contact
        noise = NOISE * memory.measured_M[i, i] * memory.velocity_deviation[i] + a_count
        noise *= RESIDUAL_GAIN
        left = max(SMOOTH_NOISE * np.sqrt(independent), SMOOTH_GAIN * h)
        lasting = lasts / (torque + beside + left * noise + SHAKING * smooth_spread[i])
        least = min(max(SMALL_SHARE * torque, ERRED * error[i]), torque)
        share = max(lasting, more / (least + beside + noise + SHAKING * spread[i]))
        # The kicks of an encoder are no push: one that lasts shows in the smooth residual.
        pushed = share if a_count == 0.0 else lasting
        starts = pushed > START_SHARE and memory.time_over < START_TIME
        if noise < SMALL_SHARE * torque:
            starts = starts and abs(unexplained) < abs(residual[i])  # it has ended, not begun
        if memory.presses and is_pressed(memory, i):
            again = 0.0
        if is_new or not starts:
            # Feedback shakes an arm. At first it is a mean of all.
            sample = again * max(SPREAD_RATE * h, 1.0 / (memory.ticks + 1.0))
            spread[i] += sample * (more - spread[i])
            smooth_spread[i] += sample * (lasts - smooth_spread[i])
        if starts or (is_new and pushed > START_SHARE):
            mean[i] = smooth[i] = residual[i] if a_count == 0.0 else smooth[i]
            return 0.0
    rate = ERROR_RISE if more > error[i] else ERROR_FALL
    error[i] += rate * h * (more - error[i])
    if share <= 1.0 or memory.ticks_touching == 0:
        mean[i] += MEAN_RATE * h * again * (residual[i] - mean[i])
    return share


@part
def is_pressed(memory: Struct, i: int) -> bool:
    """Return whether joint i is still pushed the way that the contact did.

    Friction that is known of it may have turned since.
    """
    by = memory.pressed_by[i]
    beyond = memory.smooth_residual[i] - memory.residual_before[i]
    least = APART_SHARE * max(memory.contact_torque, abs(by)) + 2.0 * memory.friction[i]
    return bool(beyond * by > least * abs(by))


def begin_to_press(memory: Struct) -> None:
    """Take into a motion that begins in a contact by how much that pushes the joints."""
    memory.residual_before[:] = memory.residual_mean
    memory.pressed_by[:] = memory.residual - memory.residual_mean
    memory.presses, memory.time_apart = 1, 0.0


@part
def decide_contact(memory: Struct, tick: Struct, share: float) -> None:
    """Tell whether the arm touches something, and how fast its path may go on then.

    A path that waits goes on so slowly that its feedback reaches the torque of contact at
    `PRESSING_RATE`, and stops there; one that presses with more goes back. Where it should have
    reached that many times over, what was in the way is gone, and what is left is a wrong model.

    Args:
        memory: Of the controller.
        tick: The state that was measured.
        share: The greatest `contact_share` of a joint.
    """
    if memory.contact != FREE:
        memory.contact_share = share
        least = -1.0 if memory.path_time > 0.0 else 0.0
        ahead = max(1.0 - share, least)
        memory.rate_limit = memory.pressing_rate * ahead
        memory.pressed += PRESSING_RATE * tick.period * ahead
        step = tick.period if share < OVER_SHARE else -tick.period
        memory.time_over = max(memory.time_over + step, 0.0)
        if memory.time_over > OVER_TIME or memory.pressed > LARGEST_PRESSED:
            memory.time_over = memory.time_free = 0.0
            memory.contact = FREE
            memory.contact_changed = 1
            memory.presses = 0
            memory.rate_limit = np.inf
        return
    if memory.presses:
        _look_whether_it_presses(memory, tick.period)
    memory.time_over += tick.period
    memory.time_free += tick.period
    under_way = memory.path != NO_PATH and memory.path_time_now < memory.duration
    if under_way and _fastest(tick.velocity_reference) > STILL:
        memory.time_still = 0.0
    moves = memory.tracks and memory.time_still < END_TIME
    memory.time_still += tick.period
    touches = moves and share > 1.0 and memory.contact_torque > 0.0
    memory.ticks_touching = memory.ticks_touching + 1 if touches else 0
    if memory.ticks_touching == TICKS:
        memory.contact = TOUCHED
        memory.contact_changed = 1
        memory.time_over = memory.contact_share = memory.pressed = 0.0
        _find_pressing_rate(memory, tick)


@part
def _look_whether_it_presses(memory: Struct, h: float) -> None:
    """Tell whether an arm that was sent on while it touched something has left it.

    Until then its observer does not follow what the surface pushes back with, nor does the mean of
    the residual: along a surface the arm goes as its feedback alone takes it, and what presses it
    more is felt, however slowly it comes.
    """
    is_apart = True
    for i in range(memory.pressed_by.shape[0]):
        if is_pressed(memory, i):
            is_apart = False
    memory.time_apart = memory.time_apart + h if is_apart else 0.0
    if memory.time_apart > APART_TIME or not memory.tracks:
        memory.presses = 0


@part
def _fastest(v: np.ndarray) -> float:
    greatest = 0.0
    for i in range(v.shape[0]):
        greatest = max(greatest, abs(v[i]))
    return greatest


@part
def _find_pressing_rate(memory: Struct, tick: Struct) -> None:
    """Write the speed along the path at which M kp q_r' is the torque of contact in 0.1 s."""
    M, u, kp = tick.M, tick.velocity_reference, tick.joint_kp
    greatest = 0.0
    for i in range(u.shape[0]):
        total = 0.0
        for j in range(u.shape[0]):
            total += M[i, j] * kp[j] * u[j]
        greatest = max(greatest, abs(total))
    full = PRESSING_RATE * memory.contact_torque * memory.path_rate
    memory.pressing_rate = min(full / max(greatest, 1e-12), memory.speed_scale)


@part
def wait_here(memory: Struct, tick: Struct) -> None:
    """Stop the reference where the arm is, and the path at the point that is next to it."""
    q, reference, u = tick.q, tick.position_reference, tick.velocity_reference
    behind, square = 0.0, 1e-12
    for i in range(q.shape[0]):
        behind += (reference[i] - q[i]) * u[i]
        square += u[i] * u[i]
    back = behind / square * memory.path_rate
    memory.path_time = min(memory.path_time, memory.duration)
    memory.path_time -= min(max(back, 0.0), memory.path_time)
    memory.path_rate = memory.rate_limit = 0.0
    copy(q, reference)
    copy(q, memory.q_before)
    clear(memory.slope_after)  # or the next period would brake the speed of the reference at once
    clear(memory.off_path_rate)
    if memory.path == JOINT_PATH:
        off, coefficients = memory.off_joint_path, memory.joint_coefficients
        polynomial_at(coefficients, memory.duration, memory.path_time, off)
        for i in range(q.shape[0]):
            off[i] = q[i] - off[i]
    memory.contact = WAITING


@part
def leave_path(memory: Struct, tick: Struct) -> None:
    """Add to the reference ahead what it is off the path of the joints.

    Where the arm presses with more than the torque of contact the reference comes to the arm, by
    `LARGEST_GIVE` at most. Once the contact is over it comes back, o'' + 2 w o' + w^2 o = 0.
    """
    off, rate, q_after, h = (
        memory.off_joint_path,
        memory.off_path_rate,
        memory.q_after,
        tick.period,
    )
    give = h * PRESSING_RATE * max(1.0 - 1.0 / max(memory.contact_share, 1.0), 0.0)
    for i in range(off.shape[0]):
        if memory.contact == FREE:
            pull = BACK_RATE * BACK_RATE * off[i] + 2.0 * BACK_RATE * rate[i]
            rate[i] -= h * pull
            off[i] += h * rate[i]
        else:
            o = off[i] + give * (tick.q[i] - tick.position_reference[i])
            off[i] = min(max(o, min(off[i], -LARGEST_GIVE)), max(off[i], LARGEST_GIVE))
        q_after[i] += off[i]
