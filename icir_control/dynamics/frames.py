"""Frames: places on the bodies of a model that have a name."""

from dataclasses import dataclass
from enum import Enum

from icir_control.spatial import SE3


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
class Frame:
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
