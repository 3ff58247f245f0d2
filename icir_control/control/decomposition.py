"""What a torque is made of, for those who want to see it."""

import numpy as np
from numpy.typing import NDArray

from icir_control.control.kernels.record import FEED_FORWARD, JOINT, TASK

MATCHED = FEED_FORWARD.index('matched')

TERMS = (
    'inertia',
    'coriolis',
    'gravity',
    'feedback',
    'null_space',
    'compliance',
    'observer',
    'saturation',
)
"""The parts, which add up to the torque that is sent."""


def torque_terms(
    record: np.record, M: NDArray[np.float64], nle: NDArray[np.float64], g: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """Return the parts of the last torque by name, each (nv,) [N m or N].

    inertia is M a_r of the reference, coriolis C v, gravity g, feedback M (ddq - a_r) without
    null_space, M (1 - J^# J) z of a redundant arm; compliance is J^T f, observer what it cancels,
    saturation what the limits took away (below zero where they took from a positive torque).

    Args:
        record: After a tick.
        M: (nv, nv).
        nle: (nv,).
        g: (nv,).
    """
    forward = FEED_FORWARD[record.feed_forward] in ('acceleration', 'matched')
    follows = record.law == JOINT or (record.law == TASK and record.feed_forward == MATCHED)
    planned = record.a_reference if forward and follows else np.zeros(len(nle))
    free = _null_space_acceleration(record, M)
    return {
        'inertia': M @ planned,
        'coriolis': nle - g,
        'gravity': g.copy(),
        'feedback': M @ (record.acceleration - planned - free),
        'null_space': M @ free,
        'compliance': record.jacobian.T @ record.wrench,
        'observer': -record.compensation,
        'saturation': record.torque - record.torque_unsaturated,
    }


def _null_space_acceleration(record: np.record, M: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (1 - J^# J) z of a redundant arm; zero for others."""
    J, z = record.jacobian, record.posture_acceleration
    if J.shape[1] <= 6 or record.law == JOINT:
        return np.zeros(J.shape[1])
    rows = np.linalg.solve(M, J.T)
    return z - rows @ np.linalg.solve(J @ rows, J @ z)
