"""The plant: as the model has it, and what its sensors show of it.

The model has losses in its joints, its step, and the state behind a delay; sensors show their
noise, the state without it, and how the plant integrates.
"""

import numpy as np

from icir_control.compiled import kernel, part
from icir_control.control.kernels.linear import invert
from icir_control.control.kernels.structs import Struct, separate
from icir_control.dynamics.kernels import mass_matrix_of, nle_of, terms
from icir_control.scratch import scratch_matrix, scratch_vector
from icir_control.spatial.kernels import cholesky, cholesky_solve, clear, copy, copy_matrix

FORESEEING_GAIN, PLAY = 300.0, 3.0
"""[1/s] Of the estimate for the state over a delay, and standard deviations of its noise that are
no disturbance. At three periods of delay a heavy joint under kp = 40000 1/s^2 has half of its
damping left with 300 1/s, a quarter with 200, and none with 400."""

NOISE_TIME = 0.1
"""[s] Over which the noise of the measured velocity is averaged."""

NOISE_TICKS = 10
"""After which that average tells whether there is any."""

QUIET = 1e-8
"""[rad^2/s^2 or m^2/s^2] Variance of a velocity without noise."""

SMOOTH = 0.5
"""[rad/s^2 or m/s^2] Change of the velocity that the model need not explain, in the filter."""

TURNING_SHARE = 0.7
"""Of a disturbance that noise or counts keep slow, that turns with M as the arm moves."""

LEAST_COUNT = 1e-7
"""[rad or m] Of an encoder; below it the position is as good as continuous."""

COARSEST_COUNT = 0.01
"""[rad or m] Of an encoder; beyond it no position has changed yet, or one was wrong."""

COUNT_ERROR = 1e-3
"""Of a count, or of a change, by which a multiple of it may be off: rounding, and no more."""

LEAST_NUMBER = 1e-100
"""What fades to less is gone: a processor takes ten times as long for the least of numbers."""

ONE_STEP = 1.0 - 1e-6
"""Of `euler_share`: from here on it is 1 but for rounding; no derivative of the path is needed."""

FIRST_REST_SPEED = 0.05
"""[rad/s or m/s] Below which an arm is at rest as long as the noise is not known."""

INERTIA_TICKS = 8
"""After so many M^-1, and what follows from it, is found again; it changes slowly."""

LARGEST_GROWTH = 1.0
"""[1/s] At which a joint that yields may speed up where the plant lacks the model's damping."""

FRICTION_RATE = 2.0 / (0.95 * 0.02)
"""[1/s] b of the friction f sat((a + b v) / (R f)), by MuJoCo's default `solreffriction`."""

FRICTION_SOFTNESS = 0.1 / 0.9
"""R of each joint, in shares of (M^-1)_ii at q = 0, by MuJoCo's default `solimpfriction`."""


@part
def add_losses(dynamics: np.ndarray, memory: Struct, tick: Struct, v: np.ndarray) -> None:
    """Add to M and nle, which are up to date, what damping and friction ask of the torque.

    Semi-implicit Euler takes the damping D of the joints at the end of its step,
    M a = tau - nle - D (v + h a): M + h D and nle + D v stand for both. A plant that integrates
    finer has a share of h D; `bias_change` has the rest.

    Friction is that of the reference, never of the measured velocity: at rest it is zero, and
    noise does not make it change its sign. A law that yields is given none, and of the damping no
    more than an arm without any bears: it would push such an arm along its motion, which then
    grows by (D / m) v.

    Args:
        dynamics: The buffer of a `Data`, for a state that moves at v.
        memory: Holds the losses.
        tick: Holds the reference.
        v: (nv,) [rad/s or m/s].
    """
    if memory.lossy:
        M, nle, D, m = (
            mass_matrix_of(dynamics),
            nle_of(dynamics),
            memory.joint_damping,
            memory.shown_inertia,
        )
        share = memory.euler_share * tick.period
        if memory.tracks and tick.has_joint_reference:
            _add_friction(M, nle, memory, tick, share)
        for i in range(nle.shape[0]):
            known = D[i] if memory.tracks else min(D[i], LARGEST_GROWTH * m[i])
            nle[i] += known * v[i]
            M[i, i] += share * known


@part
def beside_damping(memory: Struct, tick: Struct, i: int) -> float:
    """Return D (v_r - v) of joint i where a law tracks, so that nle bears the damping D v_r.

    An arm that is less damped than its model would be pushed along by what it does beside its
    path; the model's step, and with it the observer, keeps what the plant does, D v.
    """
    if memory.lossy and memory.tracks and tick.has_joint_reference:
        return float(memory.joint_damping[i] * (tick.velocity_reference[i] - tick.v[i]))
    return 0.0


@part
def _add_friction(
    M: np.ndarray, nle: np.ndarray, memory: Struct, tick: Struct, share: float
) -> None:
    """Add f sat((a + b v) / (R f)), Coulomb's friction as MuJoCo has it, with a slope at rest.

    MuJoCo takes it, for a = M^-1 (tau - nle - D v - friction), before its step makes the damping
    implicit: where the reference accelerates by a_r, a is a_r + h M^-1 D a_r.
    """
    v, a, n = tick.velocity_reference, tick.acceleration_reference, nle.shape[0]
    L, explicit = scratch_matrix(n, n), scratch_vector(n)
    copy_matrix(M, L)
    cholesky(L)
    for i in range(n):
        explicit[i] = share * memory.joint_damping[i] * a[i]
    cholesky_solve(L, explicit)
    for i in range(n):
        most = memory.joint_friction[i]
        wanted = (a[i] + explicit[i] + FRICTION_RATE * v[i]) / memory.friction_softness[i]
        nle[i] += min(max(wanted, -most), most)


def update_terms(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
    """Bring M, nle and the rest of the dynamics to the state of the tick, losses included."""
    terms(dynamics, tick.q, tick.v)
    M = mass_matrix_of(dynamics)
    for i in range(tick.q.shape[0]):
        M[i, i] += memory.adopted_inertia[i]
    add_losses(dynamics, memory, tick, tick.v)


bring_terms = separate(update_terms, 'terms_code')


@part
def predict(dynamics: np.ndarray, memory: Struct, tick: Struct) -> None:
    """Advance the measured state through the torques that are still under way.

    Args:
        dynamics: The buffer of a `Data`.
        memory: Holds the torques, the newest first.
        tick: Its time, q and v become those at which the next torque will act.
    """
    if memory.delay > 0:
        _foresee(memory, tick.period)
    for k in range(memory.delay):
        bring_terms(dynamics, memory, tick)
        if k == 0:
            remember(memory, mass_matrix_of(dynamics), nle_of(dynamics), tick)
        torque = memory.sent_torque[memory.delay - 1 - k]
        step_plant(dynamics, memory, tick, torque, memory.foreseen_disturbance)


@part
def _foresee(memory: Struct, h: float) -> None:
    """Write the disturbance that will act over the delay.

    The estimate is too slow for it: of a light joint with damping that the model lacks it would
    foretell several times the speed. A faster one has the noise of the velocity, and would shake
    the arm, so what it takes of the acceleration is followed with a play: within it all stays.
    """
    M, W, fast, alpha, n = (
        memory.measured_M,
        memory.inverse_inertia,
        memory.fast_acceleration,
        memory.foreseen_acceleration,
        memory.unexplained.shape[0],
    )
    for i in range(n):
        now, play = 0.0, PLAY * FORESEEING_GAIN * memory.velocity_deviation[i]
        for j in range(n):
            now += W[i, j] * memory.unexplained[j]
        fast[i] += min(FORESEEING_GAIN * h, 1.0) * (now - fast[i])
        alpha[i] = min(max(alpha[i], fast[i] - play), fast[i] + play)
    for i in range(n):
        total = 0.0
        for j in range(n):
            total += M[i, j] * alpha[j]
        memory.foreseen_disturbance[i] = total


@kernel
def step_plant(
    dynamics: np.ndarray, memory: Struct, tick: Struct, torque: np.ndarray, disturbance: np.ndarray
) -> None:
    """Advance a state, of which the terms are at hand, by one period under a torque."""
    M, nle, h = mass_matrix_of(dynamics), nle_of(dynamics), tick.period
    q, v = tick.q, tick.v
    late = 0.5 * (1.0 - memory.euler_share) * h
    n = torque.shape[0]
    ddq, L = scratch_vector(n), scratch_matrix(n, n)
    for i in range(torque.shape[0]):
        ddq[i] = torque[i] - nle[i] - memory.bias_change[i] + disturbance[i]
    copy_matrix(M, L)
    cholesky(L)
    cholesky_solve(L, ddq)
    for i in range(torque.shape[0]):
        v[i] += h * ddq[i]
        q[i] += h * (v[i] - late * ddq[i])
    tick.time += h


@part
def send(memory: Struct) -> None:
    """Put this tick's torque under way; the one that arrives now is what `observe` will see."""
    sent = memory.sent_torque
    for step in range(sent.shape[0] - 1, 0, -1):
        copy(sent[step - 1], sent[step])
    copy(memory.torque, sent[0])
    copy(sent[max(memory.delay, memory.lateness)], memory.torque_applied)


@kernel
def remember(memory: Struct, M: np.ndarray, nle: np.ndarray, tick: Struct) -> None:
    """Keep what `observe` needs of this tick's measured state, and learn from it."""
    h, q, v = tick.period, tick.q, tick.v
    q_before, v_before = memory.measured_q, memory.measured_v
    if memory.observing:
        _learn_noise(memory, q, v, h)
        _learn_integration(memory, q, v, h)
        memory.steady_ticks += 1
        _turn_disturbance(memory, M)
    else:
        memory.steady_ticks = 0  # nothing tells the last change of velocity
        clear(memory.velocity_change)
        clear(memory.second_difference)
        copy(v, memory.filtered_velocity)
        copy(q, memory.filtered_position)
    copy_matrix(M, memory.measured_M)
    copy(nle, memory.measured_nle)
    copy(q, q_before)
    copy(v, v_before)
    if memory.ticks % INERTIA_TICKS == 0 or memory.adopts:
        invert(M, memory.inverse_inertia)
        memory.slow_inertia_is_old = 1
        for i in range(v.shape[0]):
            memory.shown_inertia[i] = 1.0 / memory.inverse_inertia[i, i]
    memory.ticks += 1


@part
def _turn_disturbance(memory: Struct, M: np.ndarray) -> None:
    """Bring the estimate, M alpha, to this tick's M where its accelerations alpha are corrected.

    Held as a torque, what couples the joints would turn with the arm, and a slow joint feels it.
    Turned as a whole, one that is known slowly grows without a bound in the heavy joints where it
    is a torque after all, as friction is, that takes much of a light joint's acceleration.
    """
    r, alpha, before = memory.disturbance, memory.disturbing_acceleration, memory.measured_M
    if memory.couples:
        for j in range(r.shape[0]):
            share = TURNING_SHARE if is_rough(memory, j) else 1.0
            for i in range(r.shape[0]):
                r[i] += share * (M[i, j] - before[i, j]) * alpha[j]


@part
def _learn_noise(memory: Struct, q: np.ndarray, v: np.ndarray, h: float) -> None:
    """Bring the noise of the velocity, and the state without it, to this tick.

    White noise makes two second differences in a row differ in sign, -4 sigma^2 in the mean, and a
    push does not. The filter is Kalman's for a velocity that follows the commanded acceleration
    up to `SMOOTH`. Without noise it is the measured velocity. `independent_noise`, in positions,
    is what keeps a step of the position apart from the velocity.
    """
    noise, change, filtered = (
        memory.velocity_noise,
        memory.velocity_change,
        memory.filtered_velocity,
    )
    second_before, position = memory.second_difference, memory.filtered_position
    q_before, v_before, ddq = memory.measured_q, memory.measured_v, memory.acceleration
    independent = memory.independent_noise
    smooth = (h * SMOOTH) ** 2
    deviation = memory.velocity_deviation
    for i in range(v.shape[0]):
        second = v[i] - v_before[i] - change[i] if memory.steady_ticks > 0 else 0.0
        change[i] = v[i] - v_before[i]
        noise[i] += h / NOISE_TIME * (-0.25 * second * second_before[i] - noise[i])
        if abs(noise[i]) < LEAST_NUMBER:
            noise[i] = 0.0
        deviation[i] = np.sqrt(max(noise[i], 0.0))
        second_before[i] = second
        apart = h * v[i] - (q[i] - q_before[i])
        independent[i] += h / NOISE_TIME * (apart * apart - independent[i])
        r, gain = max(noise[i], 0.0) + 1e-30, 1.0
        if smooth <= 1e8 * r:
            q_over_r = smooth / r
            gain = 0.5 * (np.sqrt(q_over_r * q_over_r + 4.0 * q_over_r) - q_over_r)
        expected = filtered[i] + h * ddq[i]
        filtered[i] = expected + gain * (v[i] - expected)
        expected = position[i] + h * filtered[i]
        position[i] = expected + gain * (q[i] - expected)


@part
def independence(memory: Struct, h: float, i: int) -> float:
    """Return the share of joint i's noise of velocity, in variance, that its positions lack.

    None of it where the velocity is the difference of positions: the errors of an encoder cancel
    in the sum that the estimate is, and what stays keeps the arm from creeping inside a count.
    """
    noise = max(memory.velocity_noise[i], 0.0) * h * h + 1e-30
    return min(memory.independent_noise[i] / noise, 1.0)


@part
def is_rough(memory: Struct, i: int) -> bool:
    """Return whether noise, or the counts of an encoder, hide the acceleration of joint i."""
    return bool(memory.velocity_noise[i] > QUIET or memory.position_count[i] > LEAST_COUNT)


@part
def momentum_of_a_count(memory: Struct, tick: Struct, i: int) -> float:
    """Take in how far joint i has moved; return what a count of each encoder adds to (M v)_i.

    All that an encoder's position changes by is a multiple of a count. By Euclid's algorithm, what
    is left of a change beside multiples is the next count: of other sensors it soon is nothing.

    Returns:
        sum_j |M_ij| c_j / h [N m s or N s]; 0 without encoders.
    """
    M, count, momentum = memory.measured_M, memory.position_count, 0.0
    if count[i] <= LEAST_COUNT:
        return 0.0
    moved = abs(tick.q[i] - memory.measured_q[i])
    left = abs(moved - count[i] * np.round(moved / count[i]))
    if left > COUNT_ERROR * min(count[i], moved):
        count[i] = left
    for j in range(count.shape[0]):
        momentum += abs(M[i, j]) * count[j]
    return float(momentum / tick.period)


@part
def _learn_integration(memory: Struct, q: np.ndarray, v: np.ndarray, h: float) -> None:
    """Learn from the last period how the plant integrates, `euler_share` = s.

    2 (q' - q) / h - (v + v') = s (v' - v): 1 for semi-implicit Euler, also where the velocity is
    measured as a difference of positions, 0 for a continuous plant. By recursive least squares,
    whose noise is that of its own residual, from velocities that change smoothly: noise on v' - v
    would make every plant look continuous. What the plant itself tells has no variance.
    """
    if memory.euler_variance == 0.0:
        return
    q_before, v_before = memory.measured_q, memory.measured_v
    share, variance, noise = memory.euler_share, memory.euler_variance, memory.euler_noise
    n = q.shape[0]
    residual = 0.0
    for i in range(n):
        x = memory.velocity_change[i]
        noisy = x * x <= 100.0 * memory.velocity_noise[i]
        if noisy or abs(memory.second_difference[i]) > 0.1 * abs(x):
            continue
        y = 2.0 * (q[i] - q_before[i]) / h - (v[i] + v_before[i])
        gain = variance * x / (noise + 1e-24 + variance * x * x)
        share += gain * (y - share * x)
        variance *= 1.0 - gain * x
        left = y - share * x
        residual += left * left / n
    memory.euler_share = 1.0 if share > ONE_STEP else max(share, 0.0)
    memory.euler_variance = variance
    memory.euler_noise += h / NOISE_TIME * (residual - memory.euler_noise)
