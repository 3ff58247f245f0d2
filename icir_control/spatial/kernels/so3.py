"""SO(3): rotation vectors phi (3,) [rad], rotations (3, 3) and the Jacobians between them.

The result goes into the last argument, which must not be an input.
"""

from math import sqrt

import numpy as np

from icir_control.compiled import kernel
from icir_control.spatial.kernels.coefficients import (
    cotangent_defect_ratio,
    sine_defect_ratio,
    sine_ratio,
    versine_ratio,
)
from icir_control.spatial.kernels.quaternion import log_scale, quaternion_of


@kernel
def rodrigues(phi: np.ndarray, alpha: float, beta: float, matrix: np.ndarray) -> None:
    """Write I + alpha [phi] + beta [phi]^2, the form of every function of [phi] here."""
    x, y, z = phi[0], phi[1], phi[2]
    matrix[0, 0] = 1.0 - beta * (y * y + z * z)
    matrix[0, 1] = beta * x * y - alpha * z
    matrix[0, 2] = beta * x * z + alpha * y
    matrix[1, 0] = beta * x * y + alpha * z
    matrix[1, 1] = 1.0 - beta * (x * x + z * z)
    matrix[1, 2] = beta * y * z - alpha * x
    matrix[2, 0] = beta * x * z - alpha * y
    matrix[2, 1] = beta * y * z + alpha * x
    matrix[2, 2] = 1.0 - beta * (x * x + y * y)


@kernel
def squared_norm(vector: np.ndarray) -> float:
    """Return the squared length of a (3,) vector."""
    return vector[0] * vector[0] + vector[1] * vector[1] + vector[2] * vector[2]


@kernel
def exp3(phi: np.ndarray, rotation: np.ndarray) -> None:
    """Write the rotation about phi by |phi| (Rodrigues)."""
    x = squared_norm(phi)
    rodrigues(phi, sine_ratio(x), versine_ratio(x), rotation)


@kernel
def log3(rotation: np.ndarray, phi: np.ndarray) -> None:
    """Write the rotation vector, at most pi long; at pi one of the two that there are."""
    x, y, z, w = quaternion_of(rotation)
    scale = log_scale(sqrt(x * x + y * y + z * z), w)
    phi[0], phi[1], phi[2] = scale * x, scale * y, scale * z


@kernel
def right_jacobian3(phi: np.ndarray, jacobian: np.ndarray) -> None:
    """Write J with omega = J dphi/dt, omega in the axes of the rotated body.

    Equally exp(phi + d) = exp(phi) exp(J d) to first order. The left Jacobian is its transpose.
    """
    x = squared_norm(phi)
    rodrigues(phi, -versine_ratio(x), sine_defect_ratio(x), jacobian)


@kernel
def right_jacobian3_inverse(phi: np.ndarray, inverse: np.ndarray) -> None:
    """Write the inverse of the right Jacobian; it exists up to |phi| < 2 pi."""
    rodrigues(phi, 0.5, cotangent_defect_ratio(squared_norm(phi)), inverse)
