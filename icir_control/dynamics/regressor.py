"""What is linear in the inertial parameters: the torque of inverse dynamics."""

from typing import Any

import numpy as np

from icir_control.dynamics.call import compute3
from icir_control.dynamics.data import Data
from icir_control.dynamics.frames import joint_jacobian
from icir_control.dynamics.kernels import forward
from icir_control.dynamics.model import Model
from icir_control.spatial.arrays import Array, cross, cross_matrix


def joint_torque_regressor(model: Model, data: Data, q: Any, v: Any, a: Any) -> Array:
    """Return Y (nv, 10 (njoints - 1)) with `rnea` = Y pi, for the identification of inertias.

    pi holds the ten `Inertia.parameters` of each moving joint's body, one joint after the other.
    Placements, twists and accelerations are filled, as by `forward_kinematics`.

    Args:
        model: The model.
        data: Its data.
        q: Configuration.
        v: Velocity.
        a: Acceleration.

    Raises:
        InvalidValueError: As for `rnea`.
    """
    compute3(forward.accelerations, model, data, q, v, a)
    out = np.empty((model.nv, 10 * (model.njoints - 1)))
    for i in range(1, model.njoints):
        twist, acceleration = data.v[i], data.a[i]
        w, alpha = twist.angular, acceleration.angular
        # The classical acceleration of the joint's origin; at rest in a field, one against it.
        a_point = acceleration.linear + cross(w, twist.linear)
        a_point = a_point - data.oMi[i].rotation.T @ model.gravity
        W = cross_matrix(w)
        # f = m a + (alpha x + w x w x) m c,  n = m c x a + I alpha + w x I w
        forces = np.zeros((6, 10))
        forces[:3, 0] = a_point
        forces[:3, 1:4] = cross_matrix(alpha) + W @ W
        forces[3:, 1:4] = -cross_matrix(a_point)
        forces[3:, 4:] = _moments_times(alpha) + W @ _moments_times(w)
        out[:, 10 * (i - 1) : 10 * i] = joint_jacobian(model, data, i).T @ forces
    return out


def _moments_times(x: Array) -> Array:
    """Return L (3, 6) with I x = L (xx, xy, yy, xz, yz, zz) of a symmetric I."""
    a, b, c = x.tolist()
    return np.array(((a, b, 0, c, 0, 0), (0, a, b, 0, c, 0), (0, 0, 0, a, b, c)))
