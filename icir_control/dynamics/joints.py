"""What a tree is made of: its joints, and the frames on its bodies."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from icir_control.spatial import SE3
from icir_control.spatial.arrays import Array, Value


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


@dataclass(frozen=True, eq=False)
class Joint(Value):
    """One joint of a model, and where its numbers are.

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
        actuated: Whether a motor moves it.
        index_q: Where its coordinates begin in q.
        index_v: Where its degrees of freedom begin in v.
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
    actuated: bool
    index_q: int
    index_v: int

    @property
    def nq(self) -> int:
        """How many numbers of q the joint takes."""
        return self.kind.nq

    @property
    def nv(self) -> int:
        """How many degrees of freedom the joint has."""
        return self.kind.nv

    @property
    def row(self) -> int:
        """The row of the kernels' buffer that carries the joint's body; 0 is the world."""
        return self.index_v + self.nv

    def neutral(self) -> Array:
        """Return zeros, or the identity for a quaternion: (nq,)."""
        q = np.zeros(self.nq)
        if self.kind.has_quaternion:
            q[-1] = 1.0
        return q

    def random(self, rng: np.random.Generator) -> Array:
        """Return coordinates (nq,) within the limits; without any, within +-1 m or +-pi."""
        reach = np.full(self.nq, np.pi)
        reach[: self.kind.lengths] = 1.0
        has_lower, has_upper = np.isfinite(self.lower), np.isfinite(self.upper)
        low = np.where(has_upper, self.upper - 2.0 * reach, -reach)
        low = np.where(has_lower, self.lower, low)
        high = np.where(has_lower, low + 2.0 * reach, reach)
        high = np.where(has_upper, self.upper, high)
        q = rng.uniform(low, high)
        if self.kind.has_quaternion:
            quaternion = rng.standard_normal(4)
            q[-4:] = quaternion / np.linalg.norm(quaternion)
        return q


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
