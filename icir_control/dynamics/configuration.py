"""Configurations of joints: the neutral one and random ones."""

from collections.abc import Sequence

import numpy as np

from icir_control.dynamics.joints import Joint, JointKind

_METRES = {
    JointKind.PRISMATIC: 1,
    JointKind.CYLINDRICAL: 1,
    JointKind.PLANAR: 2,
    JointKind.FLOATING: 3,
}
"""How many of a kind's first coordinates are lengths; the rest are angles, or a quaternion."""


def neutral(joints: Sequence[Joint]) -> np.ndarray:
    """Return zeros, and the identity for each quaternion: (nq,)."""
    q = np.zeros(sum(joint.nq for joint in joints))
    for joint in joints:
        if joint.kind.has_quaternion:
            q[joint.index_q + joint.nq - 1] = 1.0
    return q


def random(joints: Sequence[Joint], rng: np.random.Generator) -> np.ndarray:
    """Return a configuration (nq,) within the limits; without any, within +-1 m or +-pi."""
    return np.concatenate([_random_of_joint(joint, rng) for joint in joints])


def _random_of_joint(joint: Joint, rng: np.random.Generator) -> np.ndarray:
    reach = np.full(joint.nq, np.pi)
    reach[: _METRES.get(joint.kind, 0)] = 1.0
    has_lower, has_upper = np.isfinite(joint.lower), np.isfinite(joint.upper)
    low = np.where(has_upper, joint.upper - 2.0 * reach, -reach)
    low = np.where(has_lower, joint.lower, low)
    high = np.where(has_lower, low + 2.0 * reach, reach)
    high = np.where(has_upper, joint.upper, high)
    q = rng.uniform(low, high)
    if joint.kind.has_quaternion:
        quaternion = rng.standard_normal(4)
        q[-4:] = quaternion / np.linalg.norm(quaternion)
    return q
