"""Poses for arms with fewer than six joints: the position, then what is left of the rotation."""

import numpy as np
from numpy.typing import NDArray

from icir_control.control.arm import Arm
from icir_control.errors import OutOfReachError
from icir_control.spatial import SE3, log3

STEPS = 300
"""Of the iteration, at most; most goals take five to ten."""

TOLERANCE = 1e-9
"""[m] Left between tool and position; [rad or m] last step of a joint."""

_DECAY = 0.97  # of the turn by step, so that at last the position alone counts
_LONGEST_STEP = 0.3  # rad or m
_DAMPING = 0.1  # of the turn: what cannot be turned must not shake the position
_RANK = 1e-3  # least singular value that counts, relative to the largest


def position_first(arm: Arm, goal: SE3, start: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the posture (nv,) near a start with the tool at the position of a goal.

    What freedom the position leaves turns the tool towards the goal's rotation (Siciliano and
    Slotine 1991, two tasks by priority).

    Args:
        arm: The arm.
        goal: T_world_tool.
        start: (nv,) [rad or m].

    Raises:
        OutOfReachError: The position is out of reach from the start, within the limits.
    """
    lower, upper = arm.model.lower_position_limit, arm.model.upper_position_limit
    q = start.copy()
    for count in range(STEPS):
        way = arm.placement(q).inverse() @ goal
        linear, angular = np.split(arm.jacobian(q), 2)
        step = np.linalg.lstsq(linear, way.translation, rcond=_RANK)[0]
        _, values, directions = np.linalg.svd(linear)
        free = directions[np.sum(values > _RANK * values[0]) :].T
        if free.size:
            turn = log3(way.rotation) - angular @ step
            secondary = angular @ free
            damped = secondary.T @ secondary + _DAMPING**2 * np.eye(free.shape[1])
            step += _DECAY**count * free @ np.linalg.solve(damped, secondary.T @ turn)
        step *= min(1.0, _LONGEST_STEP / max(np.abs(step).max(), 1e-12))
        before, q = q, np.clip(q + step, np.minimum(lower, start), np.maximum(upper, start))
        if np.abs(q - before).max() < TOLERANCE:
            break
    way = arm.placement(q).inverse() @ goal
    distance = float(np.linalg.norm(way.translation))
    if distance > TOLERANCE:
        raise OutOfReachError(distance, float(np.linalg.norm(log3(way.rotation))))
    return q
