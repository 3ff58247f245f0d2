"""The weight that the model lacks, as learnt at rest: of a load at the tool, and of the arm."""

import numpy as np

from icir_control.compiled import part
from icir_control.control.kernels.contact import RESIDUAL_GAIN
from icir_control.control.kernels.plant import NOISE_TIME
from icir_control.control.kernels.structs import Struct

USUAL_WEIGHT = np.array([1.0, 0.1, 0.1, 0.1, 0.1])
"""What a load has, as a measure: mass [kg], first moment [kg m]; and share of the arm's weight."""

WEIGHT_REACH = 1.0
"""[rad or m] From where it was learnt, within which a weight that no load explains acts."""

SHOWN_WEIGHT = 0.01
"""Of the greatest singular value, below which a posture does not show a part of the weight."""

LEAST_ACTING = 0.5
"""Share of the weight that was learnt which must act now; with less the load is not there."""

RESIDUAL_NOISE = 0.05
"""Share of the weight, as noise of the fast residual, above which the smooth one is asked."""


def find_weight(memory: Struct, there: Struct, g: np.ndarray) -> None:
    """Split the torque that was learnt at rest into weight and what is left.

    The weight is that of a load at the tool, of unknown mass m and first moment m c, and of an
    arm heavier by the share s: r = J^T (m gamma, m c x gamma) - s g, gamma the acceleration of
    gravity in axes of the tool. Of all that explain r it is the least, in the sense of least
    squares: one posture does not show the first moment along gravity.

    Args:
        memory: Holds r; the weight is written there.
        there: The tick at rest where r was learnt.
        g: (nv,) gravity torque there [N m or N].
    """
    gamma = there.pose[:3].T @ memory.gravity
    wrenches = np.zeros((6, 4))
    wrenches[:3, 0] = gamma
    wrenches[3:, 1:] = np.cross(np.eye(3), gamma).T
    torques = np.column_stack([there.jacobian.T @ wrenches, -g]) * USUAL_WEIGHT
    found = np.linalg.lstsq(torques, memory.disturbance_at_rest, rcond=SHOWN_WEIGHT)[0]
    memory.disturbance_at_rest -= torques @ found
    found *= USUAL_WEIGHT
    memory.load[:], memory.weight_share = found[:4], found[4]


def weight_at(memory: Struct, tick: Struct, g: np.ndarray) -> np.ndarray:
    """Return what `turn_weight` writes."""
    gamma = tick.pose[:3].T @ memory.gravity
    wrench = np.concatenate([memory.load[0] * gamma, np.cross(memory.load[1:], gamma)])
    near = np.maximum(1.0 - np.abs(tick.q - memory.rest_position) / WEIGHT_REACH, 0.0)
    weight: np.ndarray = tick.jacobian.T @ wrench - memory.weight_share * g
    return weight + near * memory.disturbance_at_rest


def forget_lost_weight(memory: Struct, tick: Struct) -> None:
    """Keep no more of the weight that was learnt at rest than acts now.

    A load may have been put down since. It shows less of its weight where the tool accelerates
    downwards: m (gamma - a) acts.

    Args:
        memory: Holds the weight, at the present posture, and the residual of the fast observer.
        tick: The present state, and the acceleration of its reference.
    """
    if memory.ticks * tick.period < NOISE_TIME:
        return  # the residual is not known yet
    J, weight = tick.jacobian[:3], memory.weight
    expected = weight - memory.load[0] * J.T @ (J @ tick.acceleration_reference)
    square = expected @ expected
    noise = RESIDUAL_GAIN * np.diag(memory.measured_M) * memory.velocity_deviation
    is_quiet = np.linalg.norm(expected * noise) < RESIDUAL_NOISE * square
    acting = expected @ (memory.residual if is_quiet else memory.smooth_residual)
    if square <= LEAST_ACTING * weight @ weight or acting >= LEAST_ACTING * square:
        return
    share = max(acting / square, 0.0)
    memory.load[:] *= share
    memory.disturbance_at_rest[:] *= share
    memory.weight_share *= share
    memory.weight[:] *= share
    memory.compensation[:] = memory.weight


def forget_weight(memory: Struct) -> None:
    """Leave no weight in a controller's memory."""
    memory.load[:] = memory.weight[:] = memory.weight_share = 0.0


@part
def turn_weight(memory: Struct, tick: Struct, g: np.ndarray) -> None:
    """Bring the weight that was learnt to the present posture: J^T (m gamma, m c x gamma) - s g.

    In axes of the tool, where the first moment m c of the load about the tool is constant and
    gamma is the acceleration of gravity; s is the share by which the arm is heavier. What neither
    explains fades as each joint leaves where it was learnt. So all of it has a potential: a
    constant torque would drive a joint that turns without end, and so would one that is late.
    What is compensated therefore changes at once.
    """
    J, pose, gamma, load = tick.jacobian, tick.pose, memory.gravity, memory.load
    along_x, along_y, along_z = 0.0, 0.0, 0.0
    for k in range(3):
        along_x += pose[k, 0] * gamma[k]
        along_y += pose[k, 1] * gamma[k]
        along_z += pose[k, 2] * gamma[k]
    m, x, y, z = load[0], load[1], load[2], load[3]
    for i in range(g.shape[0]):
        total = m * (J[0, i] * along_x + J[1, i] * along_y + J[2, i] * along_z)
        total += J[3, i] * (y * along_z - z * along_y)
        total += J[4, i] * (z * along_x - x * along_z)
        total += J[5, i] * (x * along_y - y * along_x) - memory.weight_share * g[i]
        near = max(1.0 - abs(tick.q[i] - memory.rest_position[i]) / WEIGHT_REACH, 0.0)
        total += near * memory.disturbance_at_rest[i]
        memory.compensation[i] += total - memory.weight[i]
        memory.weight[i] = total
