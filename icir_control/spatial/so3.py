"""Rotations: plain (3, 3) arrays, their coordinates, and the exponential of so(3).

The exponential, logarithm, Jacobians and quaternions call the compiled kernels, which load at the
first use.
"""

from math import atan2, cos, hypot, pi, remainder, sin, sqrt
from typing import Any

import numpy as np

from icir_control.errors import InvalidValueError
from icir_control.spatial import kernels
from icir_control.spatial.arrays import Array, checked, checked_scalar, cross_matrix, filled

LARGEST_ANGLE = 1e100
"""[rad] The squares of larger numbers may be infinite."""

_ORTHONORMAL = 1e-6
"""How far R^T R may be from 1: what numbers rounded to seven digits have."""

_ROUND_OFF = 1e-12
"""How far it is from 1 where double precision has rounded the numbers of a rotation."""

_SINGULAR = 1e-8
"""How near [rad] to where they do not exist inverse Jacobians are refused.

Those of `exp3` at a full turn, that of roll, pitch and yaw at a pitch of +-pi/2.
"""


def skew(vector: Any) -> Array:
    """Return the (3, 3) matrix [a] with [a] b = a x b.

    Raises:
        InvalidValueError: The vector is not three finite numbers.
    """
    return cross_matrix(checked('vector', vector, (3,)))


def unskew(matrix: Any) -> Array:
    """Return the vector (3,) of a skew-symmetric matrix.

    Raises:
        InvalidValueError: The matrix is not (3, 3), or not skew-symmetric.
    """
    m = checked('matrix', matrix, (3, 3))
    if np.abs(m + m.T).max() > 1e-9 * max(1.0, np.abs(m).max()):
        raise InvalidValueError('matrix', matrix, 'a skew-symmetric matrix, A^T = -A')
    return 0.5 * np.array((m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]))


def checked_rotation(name: str, value: Any, *, mends: bool = False) -> Array:
    """Return a fresh (3, 3) array that is a rotation, or say why the value is none.

    Args:
        name: What the value is for.
        value: The rotation.
        mends: Return the nearest rotation, where the value has more than round-off.

    Raises:
        InvalidValueError: R^T R is not 1 (within 1e-6), or the determinant is not +1.
    """
    rotation = checked(name, value, (3, 3))
    defect = np.abs(rotation.T @ rotation - np.eye(3)).max()
    if defect > _ORTHONORMAL or np.linalg.det(rotation) < 0.0:
        expected = f'a rotation, R^T R = 1 within {_ORTHONORMAL:g} and det R = 1'
        raise InvalidValueError(name, value, f'{expected} (see nearest_rotation)')
    return nearest_rotation(rotation) if mends and defect > _ROUND_OFF else rotation


def nearest_rotation(matrix: Any) -> Array:
    """Return the rotation nearest to a (3, 3) matrix (least squares, by its singular values).

    Raises:
        InvalidValueError: The matrix has no single nearest rotation (its rank is too low).
    """
    left, values, right = np.linalg.svd(checked('matrix', matrix, (3, 3)))
    sign = 1.0 if np.linalg.det(left) * np.linalg.det(right) > 0.0 else -1.0
    if values[1] + sign * values[2] <= 1e-12 * values[0]:
        raise InvalidValueError('matrix', matrix, 'a matrix near to a single rotation')
    left[:, 2] *= sign
    return left @ right


def rotation(axis: Any, angle: float) -> Array:
    """Return Rot(axis, angle) = 1 + sin(angle) [u] + (1 - cos(angle)) [u]^2, u the unit axis.

    Args:
        axis: (3,), of any length but zero.
        angle: [rad].

    Raises:
        InvalidValueError: The axis is zero or not finite.
    """
    u = unit('axis', axis)
    angle = checked_scalar('angle', angle)
    w = cross_matrix(u)
    return np.eye(3) + sin(angle) * w + 2.0 * sin(0.5 * angle) ** 2 * (w @ w)


def unit(name: str, vector: Any) -> Array:
    """Return the unit vector (3,) along a vector.

    Raises:
        InvalidValueError: The vector is zero or not finite.
    """
    a = checked(name, vector, (3,))
    # Scaled first, so that neither tiny nor huge vectors under- or overflow when squared.
    scale = np.abs(a).max()
    if scale == 0.0:
        raise InvalidValueError(name, vector, 'a vector that is not zero')
    a /= scale
    return a / sqrt(a.dot(a))


def rotation_from_rpy(rpy: Any) -> Array:
    """Return Rz(yaw) Ry(pitch) Rx(roll), URDF's fixed-axis angles (3,) [rad]."""
    roll, pitch, yaw = checked('rpy', rpy, (3,)).tolist()
    sr, cr, sp, cp, sy, cy = sin(roll), cos(roll), sin(pitch), cos(pitch), sin(yaw), cos(yaw)
    return np.array(
        (
            (cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr),
            (sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr),
            (-sp, cp * sr, cp * cr),
        )
    )


def rpy_from_rotation(matrix: Any) -> Array:
    """Return roll, pitch, yaw (3,) [rad], pitch within +-pi/2.

    At pitch = +-pi/2 only yaw -+ roll is defined. The yaw is therefore measured after the roll is
    undone, so that the angles give the matrix back there too.
    """
    r = checked_rotation('rotation', matrix)
    roll = atan2(r[2, 1], r[2, 2])
    s, c = sin(roll), cos(roll)
    pitch = atan2(-r[2, 0], hypot(r[2, 1], r[2, 2]))
    yaw = atan2(s * r[0, 2] - c * r[0, 1], c * r[1, 1] - s * r[1, 2])
    return np.array((roll, pitch, yaw))


def rpy_jacobian(rpy: Any) -> Array:
    """Return J (3, 3) with omega = J drpy/dt, the angular velocity in world axes [rad/s].

    Its columns are the axes about which the three turn R = Rz(yaw) Ry(pitch) Rx(roll). In the
    axes of the body it is R^T J, with R of `rotation_from_rpy`.

    Args:
        rpy: Roll, pitch and yaw (3,) [rad].

    Raises:
        InvalidValueError: They are not three finite numbers.
    """
    _, pitch, yaw = checked('rpy', rpy, (3,)).tolist()
    sp, cp, sy, cy = sin(pitch), cos(pitch), sin(yaw), cos(yaw)
    return np.array(((cy * cp, -sy, 0.0), (sy * cp, cy, 0.0), (-sp, 0.0, 1.0)))


def rpy_jacobian_inverse(rpy: Any) -> Array:
    """Return the inverse (3, 3) of `rpy_jacobian`: drpy/dt = J^-1 omega, omega in world axes.

    For the angular velocity in the axes of the body it is J^-1 R.

    Args:
        rpy: Roll, pitch and yaw (3,) [rad].

    Raises:
        InvalidValueError: The pitch is within 1e-8 of +-pi/2, where roll and yaw turn about one
            axis; or they are not three finite numbers.
    """
    _, pitch, yaw = checked('rpy', rpy, (3,)).tolist()
    sp, cp, sy, cy = sin(pitch), cos(pitch), sin(yaw), cos(yaw)
    if abs(cp) < _SINGULAR:
        expected = 'a pitch that is not +-pi/2, where roll and yaw turn about one axis'
        raise InvalidValueError('rpy', rpy, expected)
    return np.array(((cy / cp, sy / cp, 0.0), (-sy, cy, 0.0), (cy * sp / cp, sy * sp / cp, 1.0)))


def rpy_jacobian_time_derivative(rpy: Any, rpy_dot: Any) -> Array:
    """Return dJ/dt (3, 3) of `rpy_jacobian`: domega/dt = J d^2rpy/dt^2 + dJ/dt drpy/dt.

    In world axes. In those of the body, the derivative of R^T J is R^T (dJ/dt - [omega] J); there
    the angular acceleration is R^T domega/dt.

    Args:
        rpy: Roll, pitch and yaw (3,) [rad].
        rpy_dot: Their rates (3,) [rad/s].

    Raises:
        InvalidValueError: One of them is not three finite numbers.
    """
    _, pitch, yaw = checked('rpy', rpy, (3,)).tolist()
    _, dp, dy = checked('rpy_dot', rpy_dot, (3,)).tolist()
    sp, cp, sy, cy = sin(pitch), cos(pitch), sin(yaw), cos(yaw)
    return np.array(
        (
            (-sy * cp * dy - cy * sp * dp, -cy * dy, 0.0),
            (cy * cp * dy - sy * sp * dp, -sy * dy, 0.0),
            (-cp * dp, 0.0, 0.0),
        )
    )


def rotation_from_quaternion(quaternion: Any) -> Array:
    """Return the rotation of a quaternion (x, y, z, w), which is normalised first.

    Raises:
        InvalidValueError: Its norm is not 1 within 1e-3, so it is likely no rotation at all.
    """
    q = checked('quaternion', quaternion, (4,))
    norm = sqrt(q.dot(q))
    if abs(norm - 1.0) > 1e-3:
        raise InvalidValueError('quaternion', quaternion, 'a unit quaternion (x, y, z, w)')
    return filled(kernels.quaternion_to_rotation, q, 3, 3)


def quaternion_from_rotation(matrix: Any) -> Array:
    """Return the unit quaternion (x, y, z, w) of a rotation, with w >= 0."""
    return filled(kernels.rotation_to_quaternion, checked_rotation('rotation', matrix), 4)


def exp3(phi: Any) -> Array:
    """Return the rotation about the vector phi (3,) by |phi| [rad]."""
    return filled(kernels.exp3, checked('phi', phi, (3,), largest=LARGEST_ANGLE), 3, 3)


def log3(matrix: Any) -> Array:
    """Return the rotation vector (3,) [rad], at most pi long, of a rotation.

    At a half turn there are two; one of them is returned, and it gives the rotation back.

    Args:
        matrix: A rotation (3, 3), or its unit quaternion (x, y, z, w).

    Raises:
        InvalidValueError: It is neither.
    """
    if np.asarray(matrix, dtype=object).shape == (4,):
        matrix = rotation_from_quaternion(matrix)
    return filled(kernels.log3, checked_rotation('rotation', matrix), 3)


def right_jacobian3(phi: Any) -> Array:
    """Return J (3, 3) with exp3(phi + d) = exp3(phi) exp3(J d) to first order.

    So omega = J dphi/dt in the axes of the rotated body. The left Jacobian is J^T.
    """
    return filled(kernels.right_jacobian3, checked('phi', phi, (3,), largest=LARGEST_ANGLE), 3, 3)


def right_jacobian3_inverse(phi: Any) -> Array:
    """Return the inverse of `right_jacobian3`.

    Raises:
        InvalidValueError: |phi| is a full turn or several, where there is none.
    """
    phi = checked('phi', phi, (3,), largest=LARGEST_ANGLE)
    refuse_full_turn(phi)
    return filled(kernels.right_jacobian3_inverse, phi, 3, 3)


def refuse_full_turn(phi: Array) -> None:
    """Raise where the right Jacobian has no inverse.

    Raises:
        InvalidValueError: |phi| is a full turn or several.
    """
    angle = sqrt(phi.dot(phi))
    if angle > pi and abs(remainder(angle, 2.0 * pi)) < _SINGULAR:
        raise InvalidValueError('phi', phi, 'a rotation vector that is not a full turn long')
