"""The weight that the model lacks, found in what the observer learnt of an arm at rest."""

from typing import Any

import numpy as np

from icir_control.control.workspace import Workspace

USUAL_WEIGHT = np.array([1.0, 0.1, 0.1, 0.1, 0.1])
"""What a load has, as a measure: mass [kg], first moment [kg m]; and share of the arm's weight."""

SHOWN_WEIGHT = 0.01
"""Of the greatest singular value, below which a posture does not show a part of the weight."""


def find_weight(workspace: Workspace) -> None:
    """Split the torque that was learnt at rest into weight and what is left.

    The weight is that of a load at the tool, of unknown mass m and first moment m c, and of an
    arm heavier by the share s: r = J^T (m gamma, m c x gamma) - s g, gamma the acceleration of
    gravity in axes of the tool. Of all that explain r it is the least, in the sense of least
    squares: one posture does not show the first moment along gravity.

    Args:
        workspace: Its memory holds r, and where it was learnt; the weight is written there.
    """
    memory, there = workspace.memory, workspace.copy()
    there.sense(memory.rest_position, np.zeros(memory.rest_position.size))
    gamma = there.tick.pose[:3].T @ memory.gravity
    wrenches = np.zeros((6, 4))
    wrenches[:3, 0] = gamma
    wrenches[3:, 1:] = np.cross(np.eye(3), gamma).T
    torques = np.column_stack([there.tick.jacobian.T @ wrenches, -there.data.g]) * USUAL_WEIGHT
    found = np.linalg.lstsq(torques, memory.disturbance_at_rest, rcond=SHOWN_WEIGHT)[0]
    memory.weight[:] = torques @ found
    memory.disturbance_at_rest -= memory.weight
    found *= USUAL_WEIGHT
    memory.load[:], memory.weight_share = found[:4], found[4]


def forget_weight(memory: Any) -> None:
    """Leave no weight in a controller's memory."""
    memory.load[:] = memory.weight[:] = memory.weight_share = 0.0
