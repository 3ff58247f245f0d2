"""Where a robot starts that would touch itself, or sink: the nearest posture without either."""

from collections import Counter
from dataclasses import dataclass

import mujoco
import numpy as np
from numpy.typing import NDArray

from icir_control.simulation.joints import Joints

TRIED = 300
"""Postures, the same at every start."""

_UNLIMITED = np.pi  # rad or m, to each side
_HELD = 0.8  # share of the effort limits that the weight takes at a start that was looked for
_MOST = 0.5  # share of the postures in which shapes touch that overlap by design

Pair = tuple[str, str]


def touching(model: mujoco.MjModel, data: mujoco.MjData) -> set[Pair]:
    """Return the links that touch, by name, each pair once; the floor belongs to the world."""
    bodies = model.geom_bodyid
    pairs = (sorted(model.body(bodies[geom]).name for geom in one.geom) for one in data.contact)
    return {(first, second) for first, second in pairs}


def overloaded(
    model: mujoco.MjModel, data: mujoco.MjData, joints: Joints, share: float = 1.0
) -> dict[str, tuple[float, float]]:
    """Return the joints whose weight takes more than a share of their effort limit.

    Args:
        model: The robot, each joint with one degree of freedom.
        data: At rest, its positions up to date.
        joints: Its joints.
        share: Of the limit.

    Returns:
        By joint, what its weight takes, and the limit [N m or N].
    """
    mujoco.mj_rne(model, data, 0, weight := np.empty(model.nv))
    weight, limit = np.abs(weight @ joints.coupling), joints.effort_limit
    heavy = np.flatnonzero(weight > share * limit)
    return {joints.names[i]: (float(weight[i]), float(limit[i])) for i in heavy}


@dataclass(frozen=True)
class InitialPosture:
    """Where a robot starts.

    Attributes:
        q: (nv,) [rad or m].
        touching: Links that touch where it would have started, the floor aside.
        overloaded: Joints that could not hold themselves there; see `overloaded`.
        overlapping: Links that touch in most postures.
    """

    q: NDArray[np.float64]
    touching: set[Pair]
    overloaded: dict[str, tuple[float, float]]
    overlapping: set[Pair]


def find_start(
    model: mujoco.MjModel, joints: Joints, start: NDArray[np.float64]
) -> InitialPosture:
    """Return a start near another, without contact, in which the motors hold the weight.

    Shapes that are convex hulls may overlap whatever the joints do. Links that touch in half of
    the postures are told apart: their contacts mean nothing.

    Args:
        model: The robot, each joint with one degree of freedom.
        joints: Its joints.
        start: (nv,) where it would start [rad or m].

    Returns:
        The start, as it was where it is free of faults, or no other is.
    """
    data, world = mujoco.MjData(model), model.body(0).name

    def touching_at(q: NDArray[np.float64]) -> set[Pair]:
        data.qpos[:] = joints.positions(q)
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_collision(model, data)
        return touching(model, data)

    first = {pair for pair in touching_at(start) if world not in pair}
    heavy = overloaded(model, data, joints)
    if not first and not heavy:
        return InitialPosture(start, set(), {}, set())
    low = np.fmax(joints.lower, start - _UNLIMITED)
    high = np.fmin(joints.upper, start + _UNLIMITED)
    rng = np.random.default_rng(0)
    postures = rng.uniform(low, high, (TRIED, len(start)))
    counts = Counter(pair for q in postures for pair in touching_at(q) if world not in pair)
    overlapping = {pair for pair, count in counts.items() if count >= _MOST * TRIED}
    first -= overlapping
    if not first and not heavy:
        return InitialPosture(start, first, heavy, overlapping)
    shares = np.linspace(0.0, 1.0, TRIED)[:, None]
    nearer = start + shares * (postures - start)
    found = [
        (q, touching_at(q) - overlapping, overloaded(model, data, joints, _HELD)) for q in nearer
    ]
    light = [(q, pairs) for q, pairs, heavier in found if not heavier]
    for q, pairs in light or [(q, pairs) for q, pairs, _ in found]:
        if not pairs:
            return InitialPosture(q, first, heavy, overlapping)
    for q, pairs in light:
        if all(world in pair for pair in pairs):  # the floor will be lowered
            return InitialPosture(q, first, heavy, overlapping)
    return InitialPosture(start, first, heavy, overlapping)
