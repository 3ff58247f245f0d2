"""SO(3): rotations (3, 3), rotation vectors phi (3,) [rad], their Jacobians, and quaternions.

Quaternions are (x, y, z, w). The result goes into the last argument, which must not be an input,
but for `quaternion_multiply`.
"""

from math import atan2, cos, sqrt

import numpy as np

from icir_control.compiled import kernel
from icir_control.spatial.kernels.coefficients import (
    cotangent_defect_ratio,
    sine_defect_ratio,
    sine_ratio,
    versine_ratio,
)


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


@kernel
def quaternion_of(rotation: np.ndarray) -> tuple[float, float, float, float]:
    """Return (x, y, z, w) of a (3, 3) rotation, with w >= 0.

    Of the four squares the largest is taken by a square root and the others by division (Shepperd,
    1978), so that no component loses digits, at any angle.
    """
    a, b, c = rotation[0, 0], rotation[1, 1], rotation[2, 2]
    trace = a + b + c
    if trace >= a and trace >= b and trace >= c:
        s = 2.0 * sqrt(1.0 + trace)
        w = 0.25 * s
        x = (rotation[2, 1] - rotation[1, 2]) / s
        y = (rotation[0, 2] - rotation[2, 0]) / s
        z = (rotation[1, 0] - rotation[0, 1]) / s
    elif a >= b and a >= c:
        s = 2.0 * sqrt(1.0 + a - b - c)
        x = 0.25 * s
        y = (rotation[1, 0] + rotation[0, 1]) / s
        z = (rotation[0, 2] + rotation[2, 0]) / s
        w = (rotation[2, 1] - rotation[1, 2]) / s
    elif b >= c:
        s = 2.0 * sqrt(1.0 + b - c - a)
        y = 0.25 * s
        z = (rotation[2, 1] + rotation[1, 2]) / s
        x = (rotation[1, 0] + rotation[0, 1]) / s
        w = (rotation[0, 2] - rotation[2, 0]) / s
    else:
        s = 2.0 * sqrt(1.0 + c - a - b)
        z = 0.25 * s
        x = (rotation[0, 2] + rotation[2, 0]) / s
        y = (rotation[2, 1] + rotation[1, 2]) / s
        w = (rotation[1, 0] - rotation[0, 1]) / s
    if w < 0.0:
        return -x, -y, -z, -w
    return x, y, z, w


@kernel
def rotation_to_quaternion(rotation: np.ndarray, quaternion: np.ndarray) -> None:
    """Write the unit quaternion of a (3, 3) rotation, with w >= 0."""
    x, y, z, w = quaternion_of(rotation)
    scale = 1.0 / sqrt(x * x + y * y + z * z + w * w)
    quaternion[0], quaternion[1] = x * scale, y * scale
    quaternion[2], quaternion[3] = z * scale, w * scale


@kernel
def quaternion_to_rotation(quaternion: np.ndarray, rotation: np.ndarray) -> None:
    """Write the (3, 3) rotation of a quaternion; its norm, if not zero, does not matter."""
    x, y, z, w = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    s = 2.0 / (x * x + y * y + z * z + w * w)
    rotation[0, 0] = 1.0 - s * (y * y + z * z)
    rotation[0, 1] = s * (x * y - z * w)
    rotation[0, 2] = s * (x * z + y * w)
    rotation[1, 0] = s * (x * y + z * w)
    rotation[1, 1] = 1.0 - s * (x * x + z * z)
    rotation[1, 2] = s * (y * z - x * w)
    rotation[2, 0] = s * (x * z - y * w)
    rotation[2, 1] = s * (y * z + x * w)
    rotation[2, 2] = 1.0 - s * (x * x + y * y)


@kernel
def quaternion_multiply(a: np.ndarray, b: np.ndarray, out: np.ndarray) -> None:
    """Write a b, the quaternion of R(a) R(b); `out` may be `a` or `b`."""
    x = a[3] * b[0] + a[0] * b[3] + a[1] * b[2] - a[2] * b[1]
    y = a[3] * b[1] + a[1] * b[3] + a[2] * b[0] - a[0] * b[2]
    z = a[3] * b[2] + a[2] * b[3] + a[0] * b[1] - a[1] * b[0]
    w = a[3] * b[3] - a[0] * b[0] - a[1] * b[1] - a[2] * b[2]
    out[0], out[1], out[2], out[3] = x, y, z, w


@kernel
def quaternion_exp(phi: np.ndarray, quaternion: np.ndarray) -> None:
    """Write the unit quaternion of the rotation vector phi (3,) [rad]."""
    quarter = 0.25 * (phi[0] * phi[0] + phi[1] * phi[1] + phi[2] * phi[2])
    s = 0.5 * sine_ratio(quarter)
    quaternion[0], quaternion[1], quaternion[2] = s * phi[0], s * phi[1], s * phi[2]
    quaternion[3] = cos(sqrt(quarter))


@kernel
def log_scale(sine: float, cosine: float) -> float:
    """Return t / sin(t / 2) from the sine >= 0 and cosine >= 0 of t / 2, up to a common factor."""
    return 2.0 * atan2(sine, cosine) / sine if sine > 0.0 else 2.0 / cosine


@kernel
def quaternion_log(quaternion: np.ndarray, phi: np.ndarray) -> None:
    """Write the rotation vector (3,) [rad], at most pi long, of a quaternion (of either sign)."""
    x, y, z, w = quaternion[0], quaternion[1], quaternion[2], quaternion[3]
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    scale = log_scale(sqrt(x * x + y * y + z * z), w)
    phi[0], phi[1], phi[2] = scale * x, scale * y, scale * z
