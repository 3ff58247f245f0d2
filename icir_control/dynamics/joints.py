"""What a tree is made of: its joints, and the frames on its bodies."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property

import numpy as np

from icir_control.spatial import SE3
from icir_control.spatial.arrays import Array, Value

FAR = 1000.0
"""[rad] or [m] From here on a limit is written where none is meant."""


class JointKind(Enum):
    """The kinds of joint, by the names that URDF gives them where it has any."""

    UNIVERSE = 'universe'
    """The world itself, joint 0 of every model: nothing moves."""
    REVOLUTE = 'revolute'
    """A rotation about `axis` by q [rad], limited."""
    CONTINUOUS = 'continuous'
    """A rotation about `axis` by q [rad], an unwrapped angle without limits."""
    PRISMATIC = 'prismatic'
    """A translation along `axis` by q [m]."""
    CYLINDRICAL = 'cylindrical'
    """A translation along `axis` by q[0] [m] and a rotation about it by q[1] [rad]."""
    PLANAR = 'planar'
    """Three plain coordinates (x, y, theta) in the joint's x-y plane, and their rates."""
    SPHERICAL = 'spherical'
    """A quaternion (x, y, z, w), and the angular velocity in body coordinates."""
    FLOATING = 'floating'
    """A position and a quaternion (x, y, z, w), and the twist in body coordinates."""

    @property
    def nq(self) -> int:
        """How many numbers of q the joint takes."""
        return _SIZES[self][0]

    @property
    def nv(self) -> int:
        """How many degrees of freedom the joint has."""
        return _SIZES[self][1]

    @property
    def lengths(self) -> int:
        """How many of its first coordinates are lengths; the rest are angles, or a quaternion."""
        return _LENGTHS.get(self, 0)

    @property
    def can_mimic(self) -> bool:
        """Whether it has one coordinate, that another joint may share."""
        return self.nv == 1

    @property
    def has_quaternion(self) -> bool:
        """Whether the last four of its coordinates are a unit quaternion."""
        return self.nq > self.nv


_SIZES = {
    JointKind.UNIVERSE: (0, 0),
    JointKind.REVOLUTE: (1, 1),
    JointKind.CONTINUOUS: (1, 1),
    JointKind.PRISMATIC: (1, 1),
    JointKind.CYLINDRICAL: (2, 2),
    JointKind.PLANAR: (3, 3),
    JointKind.SPHERICAL: (4, 3),
    JointKind.FLOATING: (7, 6),
}
_LENGTHS = {
    JointKind.PRISMATIC: 1,
    JointKind.CYLINDRICAL: 1,
    JointKind.PLANAR: 2,
    JointKind.FLOATING: 3,
}


@dataclass(frozen=True)
class Mimic:
    """What a joint does that has no coordinate of its own: q = multiplier q_leader + offset.

    Attributes:
        leader: Index of the joint whose coordinate it shares; that one mimics none.
        multiplier: Ratio of the rates, [1], [rad/m] or [m/rad].
        offset: Where the joint is while its leader is at 0 [rad or m].
    """

    leader: int
    multiplier: float
    offset: float


@dataclass(frozen=True, eq=False)
class Joint(Value):
    """One joint of a model, and where its numbers are.

    Of a joint that mimics another, limits and losses are empty: what they mean for the other one
    is among that one's.

    Attributes:
        name: Its name.
        kind: What it can do.
        parent: Index of the joint that carries it; 0 is the world.
        placement: From the joint's frame, in neutral configuration, to the parent joint's frame.
        axis: Unit axis in the joint's frame (3,); of use to the kinds that have one.
        lower: Smallest q (nq,) [rad or m]; -inf where there is no limit.
        upper: Largest q (nq,).
        velocity: Largest speed (nv,) [rad/s or m/s].
        effort: Largest torque or force (nv,) [N m or N].
        damping: Viscous (nv,) [N m s/rad or N s/m].
        friction: Coulomb (nv,) [N m or N].
        armature: Inertia of what turns with the motor alone, as the joint feels it: that of the
            rotor times the square of the gear's ratio (nv,) [kg m^2 or kg].
        actuated: Whether a motor moves it.
        mimic: Which joint it mimics, and how; None where it has coordinates of its own.
        index_q: Where its coordinates begin in q, or those of the joint that it mimics.
        index_v: Where its degrees of freedom begin in v, or those of the joint that it mimics.
        first_row: The first of its rows in the kernels' buffer.
    """

    name: str
    kind: JointKind
    parent: int
    placement: SE3
    axis: Array
    lower: Array
    upper: Array
    velocity: Array
    effort: Array
    damping: Array
    friction: Array
    armature: Array
    actuated: bool
    mimic: Mimic | None = None
    index_q: int = 0
    index_v: int = 0
    first_row: int = 1

    @property
    def nq(self) -> int:
        """How many numbers of q are the joint's own."""
        return self.kind.nq if self.mimic is None else 0

    @property
    def nv(self) -> int:
        """How many degrees of freedom are the joint's own."""
        return self.kind.nv if self.mimic is None else 0

    @property
    def row(self) -> int:
        """The row of the kernels' buffer that carries the joint's body; 0 is the world."""
        return self.first_row + self.kind.nv - 1

    def neutral(self) -> Array:
        """Return zeros, or the identity for a quaternion: (nq,)."""
        q = np.zeros(self.nq)
        if self.kind.has_quaternion:
            q[-1] = 1.0
        return q

    def random(self, rng: np.random.Generator) -> Array:
        """Return coordinates (nq,) within the limits; without any, within +-1 m or +-pi.

        A limit beyond `FAR` stands for none: where a base may be a million metres away, inertias
        say nothing of the arm on it.
        """
        q = np.minimum(np.maximum(rng.uniform(*self._drawn_from), self.lower), self.upper)
        if self.kind.has_quaternion:
            quaternion = rng.standard_normal(4)
            q[-4:] = quaternion / np.linalg.norm(quaternion)
        return q

    @cached_property
    def _drawn_from(self) -> tuple[Array, Array]:
        """The least and the largest coordinates, (nq,) each, that `random` draws."""
        reach = np.full(self.nq, np.pi)
        reach[: self.kind.lengths] = 1.0
        has_lower, has_upper = np.abs(self.lower) < FAR, np.abs(self.upper) < FAR
        low = np.where(has_upper, self.upper - 2.0 * reach, -reach)
        low = np.where(has_lower, self.lower, low)
        high = np.where(has_lower, low + 2.0 * reach, reach)
        return low, np.where(has_upper, self.upper, high)


def numbered(joints: Iterable[Joint]) -> tuple[Joint, ...]:
    """Return joints, the universe first, with their places in q, v and the kernels' rows."""
    index_q, index_v, row = 0, 0, 1
    placed: list[Joint] = []
    for joint in joints:
        placed.append(replace(joint, index_q=index_q, index_v=index_v, first_row=row))
        index_q, index_v, row = index_q + joint.nq, index_v + joint.nv, row + joint.kind.nv
    for i, joint in enumerate(placed):
        if joint.mimic is not None:
            leader = placed[joint.mimic.leader]
            placed[i] = replace(joint, index_q=leader.index_q, index_v=leader.index_v)
    return tuple(placed)


class FrameType(Enum):
    """What a frame stands for."""

    OP_FRAME = 'op_frame'
    """An operational frame that a user adds."""
    JOINT = 'joint'
    """The output of a moving joint."""
    FIXED_JOINT = 'fixed_joint'
    """The output of a joint that does not move."""
    BODY = 'body'
    """A link."""
    SENSOR = 'sensor'
    """A sensor on a link."""


@dataclass(frozen=True, eq=False)
class Frame(Value):
    """A place that moves with a joint.

    Attributes:
        name: Its name; a joint and its link may share one.
        parent: Index of the joint that carries it; 0 is the world.
        placement: From the frame to the joint's frame.
        type: What it stands for.
    """

    name: str
    parent: int
    placement: SE3
    type: FrameType
