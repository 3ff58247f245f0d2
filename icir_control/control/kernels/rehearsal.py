"""The rehearsal of a motion along a pose path, before anything moves."""

import numpy as np

from icir_control.compiled import part
from icir_control.control.kernels.follow import follow_pose_path
from icir_control.control.kernels.linear import clear, copy

LOST, OUTSIDE, STUCK, ARRIVED = range(4)
"""How a rehearsal ends: no solution, past a position limit, at rest elsewhere, at the goal."""


@part
def rehearse(dynamics: np.ndarray, record: np.record) -> None:
    """Run a motion along a pose path to its end without moving the arm.

    Args:
        dynamics: The buffer of a `Data`.
        record: At the start of the path; it moves. Its `lowest` and `highest` are the position
            limits that hold. Its `outcome` then tells how it ends (LOST, ...), the joint that is
            past its limit and where it would be, the time that it takes [s], the smallest
            singular value on the way, the distance that is left to the path [m, rad].
    """
    lower, upper, outcome = record.lowest, record.highest, record.outcome
    n, h = lower.shape[0], record.period
    longest = 3.0 * record.duration / record.speed_scale + 10.0
    still = 0.0
    time = 0.0
    clear(outcome)
    outcome[4] = np.inf
    while time < longest:
        follow_pose_path(dynamics, record)
        time += h
        outcome[3] = time
        outcome[4] = min(outcome[4], record.reference_singular_value)
        fastest = 0.0
        for i in range(n):
            if not lower[i] <= record.q_after[i] <= upper[i]:
                outcome[0] = OUTSIDE
                outcome[1] = i
                outcome[2] = record.q_after[i]
                return
            fastest = max(fastest, abs(record.q_after[i] - record.q_reference[i]) / h)
        copy(record.q_reference, record.q_before)
        copy(record.q_after, record.q_reference)
        at_goal = record.path_time >= record.duration and record.off_path < 1e-6
        # The posture of a redundant arm may take its time, the tool is there.
        if at_goal and (n > 6 or fastest < 1e-4):
            outcome[0] = ARRIVED
            return
        still = still + h if fastest < 1e-3 and record.limited else 0.0
        if still > 0.3:
            break
    outcome[0] = STUCK
    outcome[5] = record.off_path
