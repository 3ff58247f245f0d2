"""The joints of a tree: what each kind can do, how many numbers it takes, and one joint's data."""

from dataclasses import dataclass
from enum import Enum

import numpy as np

from icir_control.spatial import SE3


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
    def has_axis(self) -> bool:
        """Whether the kind moves about or along an axis that one can choose."""
        return self in _WITH_AXIS

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
_WITH_AXIS = frozenset(
    (JointKind.REVOLUTE, JointKind.CONTINUOUS, JointKind.PRISMATIC, JointKind.CYLINDRICAL)
)


@dataclass(frozen=True, eq=False)
class Joint:
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
        actuated: Whether a motor moves it.
        index_q: Where its coordinates begin in q.
        index_v: Where its degrees of freedom begin in v.
    """

    name: str
    kind: JointKind
    parent: int
    placement: SE3
    axis: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray
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
