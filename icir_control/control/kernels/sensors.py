"""What the sensors show of the plant: their noise, its state without it, how it integrates."""

import numpy as np

from icir_control.compiled import kernel, part
from icir_control.control.kernels.linear import clear, copy, copy_matrix, shown_inertia
from icir_control.control.kernels.structs import Struct

NOISE_TIME = 0.1
"""[s] Over which the noise of the measured velocity is averaged."""

QUIET = 1e-8
"""[rad^2/s^2 or m^2/s^2] Variance of a velocity without noise."""

SMOOTH = 0.5
"""[rad/s^2 or m/s^2] Change of the velocity that the model need not explain, in the filter."""

SLOW = 0.05
"""[rad/s or m/s] Below which an arm is at rest as long as the noise is not known."""

INERTIA_TICKS = 8
"""After so many the inertia that the joints show is found again; it changes slowly."""


@kernel
def remember(memory: Struct, M: np.ndarray, nle: np.ndarray, tick: Struct) -> None:
    """Keep what `observe` needs of this tick's measured state, and learn from it."""
    h, q, v = tick.period, tick.q, tick.v
    q_before, v_before = memory.measured_q, memory.measured_v
    if memory.observing:
        _learn_noise(memory, q, v, h)
        _learn_integration(memory, q, v, h)
    else:
        clear(memory.velocity_change)
        clear(memory.second_difference)
        copy(v, memory.filtered_velocity)
        copy(q, memory.filtered_position)
    copy_matrix(M, memory.measured_M)
    copy(nle, memory.measured_nle)
    copy(q, q_before)
    copy(v, v_before)
    if memory.ticks % INERTIA_TICKS == 0:
        shown_inertia(M, memory.shown_inertia)
    memory.ticks += 1


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
    for i in range(v.shape[0]):
        second = v[i] - v_before[i] - change[i]
        change[i] = v[i] - v_before[i]
        noise[i] += h / NOISE_TIME * (-0.25 * second * second_before[i] - noise[i])
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
    memory.euler_share = min(max(share, 0.0), 1.0)
    memory.euler_variance = variance
    memory.euler_noise += h / NOISE_TIME * (residual - memory.euler_noise)
