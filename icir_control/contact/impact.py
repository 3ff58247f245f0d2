"""What an impact leaves of a velocity."""

import numpy as np
from quadprog import solve_qp

from icir_control.errors import InvalidValueError
from icir_control.spatial.arrays import Array


def project_velocity(J: Array, v: Array) -> Array:
    """Return v - J^+ J v: no velocity along any contact, whether it closes or opens.

    The simplest inelastic impact. It is orthogonal in the joints' own units and not in the metric
    of the mass matrix, so that it can add energy.

    Args:
        J: Gradients of the contacts' distances (n, nv).
        v: Velocity before the impact (nv,).
    """
    return v - np.linalg.pinv(J) @ (J @ v)


def impact(M: Array, J: Array, v: Array, restitution: float = 0.0) -> Array:
    """Return the velocity after an impact without friction; its energy never rises.

    Moreau's impact: with P the projection on the velocities that open or keep all contacts,
    J v >= 0, in the metric of M,

        v+ = (1 + e) P(v) - e v,

    and P once more where that closes another contact. P takes away the least energy that the
    contacts allow, v - P(v) is perpendicular to P(v), and so the energy that is left of that part
    is e^2 times what it had.

    Args:
        M: Mass matrix (nv, nv).
        J: Gradients of the contacts' distances (n, nv).
        v: Velocity before the impact (nv,).
        restitution: e, from 0 (inelastic) to 1 (no energy is lost).

    Raises:
        InvalidValueError: The restitution is not from 0 to 1.
    """
    if not 0.0 <= restitution <= 1.0:
        raise InvalidValueError('restitution', restitution, 'a number from 0 to 1')
    after = _open(M, J, v)
    if restitution:
        after = _open(M, J, (1.0 + restitution) * after - restitution * v)
    return after


def _open(M: Array, J: Array, v: Array) -> Array:
    """Return the velocity that is nearest to v in the metric of M, and closes no contact."""
    if (J @ v >= 0.0).all():
        return v
    return solve_qp(M, M @ v, np.ascontiguousarray(J.T), np.zeros(len(J)))[0]
