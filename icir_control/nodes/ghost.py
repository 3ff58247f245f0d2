"""Where the arm should be, as a configuration that can be drawn beside the arm."""

import numpy as np

from icir_control.dynamics import Data, Model, forward_kinematics, frame_placement
from icir_control.dynamics.inverse_kinematics import solution_from
from icir_control.spatial import SE3
from icir_control.spatial.arrays import Array

APART = 2e-3
"""Between arm and reference, from which a ghost can be seen [rad or m]."""


def ghost_of(
    model: Model, data: Data, tool: str, position: Array, reference: Array, T_world_tool: SE3
) -> Array | None:
    """Return the configuration (nv,) of the reference; None where it cannot be told apart.

    Args:
        model: The arm.
        data: Is overwritten.
        tool: Name of the end effector's frame.
        position: (nv,) where the joints are [rad or m].
        reference: (nv,) where they should be; as `position` in a mode that leaves them free, whose
            ghost is the configuration next to the arm that has the tool at its reference.
        T_world_tool: The tool's reference.
    """
    if np.abs(reference - position).max() > APART:
        return reference
    forward_kinematics(model, data, position)
    way = T_world_tool.translation - frame_placement(model, data, tool).translation
    if np.linalg.norm(way) <= APART:
        return None
    found = solution_from(model, data, tool, T_world_tool, position)
    return found if found is not None and np.abs(found - position).max() > APART else None
