"""Where a robot starts that would touch itself: the nearest posture found that does not."""

from collections import Counter

import mujoco
import numpy as np
from numpy.typing import NDArray

TRIED = 300
"""Postures, the same at every start."""

_UNLIMITED = np.pi  # rad or m, to each side
_MOST = 0.5  # share of the postures in which shapes touch that overlap by design

Pair = tuple[str, str]


def touching(model: mujoco.MjModel, data: mujoco.MjData) -> set[Pair]:
    """Return the links that touch, by name, each pair once; the floor belongs to the world."""
    bodies = model.geom_bodyid
    pairs = (sorted(model.body(bodies[geom]).name for geom in one.geom) for one in data.contact)
    return {(first, second) for first, second in pairs}


def find_start(
    model: mujoco.MjModel,
    start: NDArray[np.float64],
    lower: NDArray[np.float64],
    upper: NDArray[np.float64],
) -> tuple[NDArray[np.float64], set[Pair], set[Pair]]:
    """Return a start without contact near another, if that has any.

    Shapes that are convex hulls may overlap whatever the joints do. Links that touch in half of
    the postures are told apart: their contacts mean nothing.

    Args:
        model: The robot, each joint with one degree of freedom.
        start: (nv,) where it would start, in MuJoCo's order [rad or m].
        lower: (nv,) limits.
        upper: (nv,) limits.

    Returns:
        The start (nv,), as it was where none is free of contact; the links that touch at the first
        one, the floor aside; the links that touch in most postures.
    """
    data, world = mujoco.MjData(model), model.body(0).name

    def touching_at(q: NDArray[np.float64]) -> set[Pair]:
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_collision(model, data)
        return touching(model, data)

    first = {pair for pair in touching_at(start) if world not in pair}
    if not first:
        return start, set(), set()
    low, high = np.fmax(lower, start - _UNLIMITED), np.fmin(upper, start + _UNLIMITED)
    rng = np.random.default_rng(0)
    postures = rng.uniform(low, high, (TRIED, len(start)))
    counts = Counter(pair for q in postures for pair in touching_at(q) if world not in pair)
    overlapping = {pair for pair, count in counts.items() if count >= _MOST * TRIED}
    first -= overlapping
    if not first:
        return start, first, overlapping
    shares = np.linspace(0.0, 1.0, TRIED)[:, None]
    nearer = start + shares * (postures - start)
    found = [(q, touching_at(q) - overlapping) for q in nearer]
    for q, pairs in found:
        if not pairs:
            return q, first, overlapping
    for q, pairs in found:
        if all(world in pair for pair in pairs):  # the floor will be lowered
            return q, first, overlapping
    return start, first, overlapping
