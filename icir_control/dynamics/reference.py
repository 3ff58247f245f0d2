"""In which axes, and at which point, a twist or a Jacobian of a frame is given."""

from enum import IntEnum


class ReferenceFrame(IntEnum):
    """Axes and point of reference, as in Pinocchio."""

    LOCAL = 0
    """The frame's own axes, at its origin: the body twist."""
    WORLD = 1
    """The world's axes, at the world's origin: the spatial twist."""
    LOCAL_WORLD_ALIGNED = 2
    """The world's axes, at the frame's origin."""
