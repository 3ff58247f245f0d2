"""The rehearsal of a motion along a path of the tool, before anything moves."""

from typing import NamedTuple

import numpy as np

from icir_control.compiled import kernel, part
from icir_control.control.kernels.follow import follow
from icir_control.control.kernels.structs import Struct
from icir_control.dynamics.kernels import gravity_of, mass_matrix_of, nle_of, terms
from icir_control.spatial.kernels import copy

TORQUE_SHARE = 0.9
"""Of the effort limits that a planned motion may take; feedback has the rest."""

WEIGHT_SHARE = 0.05
"""Of the effort limit that the weight must leave of that for a slower motion to be of use."""

LONGEST_TIMES, LONGEST_WAIT = 3.0, 10.0
"""Times the time of the path, and time beside it [s], after which a rehearsal is given up."""

STUCK_TIME = 0.3
"""[s] At rest before the goal, after which a rehearsal is given up, too."""

REST, SLOWEST = 1e-4, 1e-3
"""[rad/s or m/s] Below which all joints are at rest at the goal; do not move on before it."""

AT_GOAL = 1e-6
"""[m, rad] Off the path's end, below which the tool is there."""

OUTSIDE, STUCK, ARRIVED = range(3)
"""How a rehearsal ends: past a position limit, at rest elsewhere, at the goal."""


class Ending(NamedTuple):
    """How a rehearsal ended; the memory's `outcome` holds it.

    Attributes:
        kind: OUTSIDE, STUCK or ARRIVED.
        joint: The joint that is past its limit.
        position: Where it would be [rad or m].
        duration: Of the motion [s].
        singular_value: The smallest on the way.
        off_path: Distance from the path at the end [m, rad].
        farthest: The greatest on the way [m, rad].
        square: Of the factor on time that the torque needs; see `square_of_stretch`.
    """

    kind: float
    joint: float
    position: float
    duration: float
    singular_value: float
    off_path: float
    farthest: float
    square: float


def square_of_stretch(
    limit: float, friction: float, weight: float, motion: float, v: float
) -> float:
    """Return the square of the factor on time that brings a joint's torque within its limit.

    Stretched by s, tau = c + d becomes c + d / s^2, within 90 % of the limit. A joint whose weight
    and friction c take the torque that is there does not count: more time is no help.

    Args:
        limit: Of its effort [N m or N].
        friction: That is there at any speed [N m or N].
        weight: That it bears [N m or N].
        motion: d, the torque of acceleration and speed [N m or N].
        v: Its velocity [rad/s or m/s].
    """
    constant = weight + friction * np.sign(v)
    left = TORQUE_SHARE * limit - (constant if motion > 0.0 else -constant)
    return abs(motion) / left if left > WEIGHT_SHARE * limit else 0.0


_square_of_joint = part(square_of_stretch)


@kernel
def rehearse(dynamics: np.ndarray, memory: Struct, tick: Struct, trace: np.ndarray) -> int:
    """Run a motion along a pose path to its end without moving the arm.

    Args:
        dynamics: The buffer of a `Data`.
        memory: At the start of the path; it moves. Its `lowest` and `highest` are the position
            limits that hold. Its `outcome` is written, an `Ending`.
        tick: Holds the reference, which moves.
        trace: (n, nv), written: where the joints are before each step, as far as there is room.

    Returns:
        How many rows were written.
    """
    lowest, highest = memory.lowest, memory.highest
    q, q_before, q_after = tick.position_reference, memory.q_before, memory.q_after
    n, h = q.shape[0], tick.period
    longest = LONGEST_TIMES * memory.duration / memory.speed_scale + LONGEST_WAIT
    ending, outside, position = STUCK, 0, 0.0
    time, still, steps = 0.0, 0.0, 0
    singular_value, farthest, square = np.inf, 0.0, 0.0
    while time < longest and still <= STUCK_TIME and ending == STUCK:
        copy(q, q_before)
        copy(q_after, q)
        if steps < trace.shape[0]:
            for i in range(n):
                trace[steps, i] = q[i]
            steps += 1
        follow(dynamics, memory, tick)
        time += h
        singular_value = min(singular_value, memory.reference_singular_value)
        farthest = max(farthest, memory.off_path)
        square = max(square, _square_of_stretch(dynamics, memory, tick))
        fastest = 0.0
        for i in range(n):
            if not lowest[i] <= q_after[i] <= highest[i] and ending == STUCK:
                ending, outside, position = OUTSIDE, i, q_after[i]
            fastest = max(fastest, abs(q_after[i] - q[i]) / h)
        at_goal = memory.path_time >= memory.duration and memory.off_path < AT_GOAL
        # The posture of a redundant arm may take its time, the tool is there.
        if ending == STUCK and at_goal and (n > 6 or fastest < REST):
            ending = ARRIVED
        still = still + h if fastest < SLOWEST and memory.limited else 0.0
    outcome = memory.outcome
    outcome[0], outcome[1], outcome[2], outcome[3] = ending, outside, position, time
    outcome[4], outcome[5] = singular_value, memory.off_path
    outcome[6], outcome[7] = farthest, square
    return steps


@part
def _square_of_stretch(dynamics: np.ndarray, memory: Struct, tick: Struct) -> float:
    """Return the largest square of a stretch that a joint needs at a step; see there."""
    h, q, q_before, q_after = (
        tick.period,
        tick.position_reference,
        memory.q_before,
        memory.q_after,
    )
    n = q.shape[0]
    v = np.empty(n)
    for i in range(n):
        v[i] = (q[i] - q_before[i]) / h
    terms(dynamics, q, v)
    M, nle, g = mass_matrix_of(dynamics), nle_of(dynamics), gravity_of(dynamics)
    limit, friction = memory.effort_limit, memory.joint_friction
    square = 0.0
    for i in range(n):
        d = nle[i] - g[i] + memory.joint_damping[i] * v[i]
        for j in range(n):
            d += M[i, j] * (q_after[j] - 2.0 * q[j] + q_before[j]) / (h * h)
        square = max(square, _square_of_joint(limit[i], friction[i], g[i], d, v[i]))
    return square
