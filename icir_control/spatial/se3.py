"""Placements: SE(3) as immutable values, and the exponential of se(3)."""

from typing import Any, Self, TypeVar

import numpy as np

from icir_control.errors import InvalidValueError
from icir_control.spatial import kernels, so3
from icir_control.spatial.arrays import Array, checked, close, cross_matrix, filled, freeze, text
from icir_control.spatial.inertia import Inertia
from icir_control.spatial.vectors import Force, Motion

Placeable = TypeVar('Placeable', 'SE3', Motion, Force, Inertia, Array)


class SE3:
    """M_ab: where frame b lies in frame a, and the map p_a = M_ab p_b of coordinates."""

    __slots__ = ('_rotation', '_translation')
    __array_ufunc__ = None

    def __init__(self, rotation: Any, translation: Any = (0.0, 0.0, 0.0)) -> None:
        """Take copies of both.

        Args:
            rotation: R_ab (3, 3); its columns are b's axes in a. Of one that is rounded to few
                digits the nearest rotation is taken.
            translation: p_ab (3,) [m], b's origin in a.

        Raises:
            InvalidValueError: Not a rotation, or not finite.
        """
        self._rotation = freeze(so3.checked_rotation('rotation', rotation, mends=True))
        self._translation = freeze(checked('translation', translation, (3,)))

    @classmethod
    def trusted(cls, rotation: Array, translation: Array) -> Self:
        """Wrap float64 arrays (3, 3), (3,) without check or copy, and make them read-only.

        For callers in a hurry; the arrays (and what they view) must not change any more.
        """
        self = cls.__new__(cls)
        rotation.setflags(False)  # type: ignore[call-arg]
        translation.setflags(False)  # type: ignore[call-arg]
        self._rotation, self._translation = rotation, translation
        return self

    @classmethod
    def identity(cls) -> Self:
        """Return the placement of a frame in itself."""
        return cls.trusted(np.eye(3), np.zeros(3))

    @classmethod
    def from_translation(cls, translation: Any) -> Self:
        """Return a shift (3,) [m] without rotation."""
        return cls.trusted(np.eye(3), checked('translation', translation, (3,)))

    @classmethod
    def from_matrix(cls, matrix: Any) -> Self:
        """Return the placement with the homogeneous matrix (4, 4).

        Raises:
            InvalidValueError: The last row is not (0, 0, 0, 1), or the rotation is none.
        """
        m = checked('matrix', matrix, (4, 4))
        if not np.array_equal(m[3], (0.0, 0.0, 0.0, 1.0)):
            raise InvalidValueError('matrix', matrix, 'a matrix whose last row is (0, 0, 0, 1)')
        return cls(m[:3, :3], m[:3, 3])

    @classmethod
    def from_xyz_rpy(cls, xyz: Any, rpy: Any) -> Self:
        """Return the placement of a URDF `<origin>`: xyz (3,) [m], rpy (3,) [rad]."""
        return cls.trusted(so3.rotation_from_rpy(rpy), checked('xyz', xyz, (3,)))

    @classmethod
    def from_quaternion(cls, quaternion: Any, translation: Any = (0.0, 0.0, 0.0)) -> Self:
        """Return the placement with a unit quaternion (x, y, z, w) and a translation (3,) [m]."""
        rotation = so3.rotation_from_quaternion(quaternion)
        return cls.trusted(rotation, checked('translation', translation, (3,)))

    @classmethod
    def random(cls, rng: np.random.Generator) -> Self:
        """Return a rotation drawn uniformly from all, and a standard normal translation."""
        quaternion = rng.standard_normal(4)
        quaternion /= np.linalg.norm(quaternion)
        return cls.from_quaternion(quaternion, rng.standard_normal(3))

    @property
    def rotation(self) -> Array:
        """The rotation R_ab (3, 3), read-only."""
        return self._rotation

    @property
    def translation(self) -> Array:
        """The position p_ab (3,) [m] of b's origin in a, read-only."""
        return self._translation

    @property
    def quaternion(self) -> Array:
        """The rotation as a unit quaternion (x, y, z, w), w >= 0; a fresh array."""
        # A copy: the kernel would compile anew for an array that is read-only.
        return filled(kernels.rotation_to_quaternion, self._rotation.copy(), 4)

    @property
    def rpy(self) -> Array:
        """The rotation as URDF's roll, pitch, yaw (3,) [rad]; a fresh array."""
        return so3.rpy_from_rotation(self._rotation)

    @property
    def matrix(self) -> Array:
        """The homogeneous matrix (4, 4); a fresh array."""
        out = np.eye(4)
        out[:3, :3] = self._rotation
        out[:3, 3] = self._translation
        return out

    @property
    def action(self) -> Array:
        """X_ab (6, 6) = [[R, [p] R], [0, R]], which maps the vector of a `Motion` from b to a."""
        R = self._rotation
        return np.block([[R, cross_matrix(self._translation) @ R], [np.zeros((3, 3)), R]])

    @property
    def dual_action(self) -> Array:
        """X*_ab (6, 6) = [[R, 0], [[p] R, R]], which maps the vector of a `Force` from b to a."""
        R = self._rotation
        return np.block([[R, np.zeros((3, 3))], [cross_matrix(self._translation) @ R, R]])

    def inverse(self) -> Self:
        """Return M_ba = (R^T, -R^T p)."""
        # A copy, since the transpose is not contiguous and the kernels would compile anew for it.
        rotation = self._rotation.T.copy()
        return self.trusted(rotation, -rotation.dot(self._translation))

    def __matmul__(self, other: Self) -> Self:
        """Return M_ac = M_ab M_bc."""
        if not isinstance(other, SE3):
            return NotImplemented
        translation = self._translation + self._rotation.dot(other._translation)
        return self.trusted(self._rotation.dot(other._rotation), translation)

    def act(self, x: Placeable) -> Placeable:
        """Return x, given in frame b, in frame a.

        Args:
            x: `SE3`, `Motion`, `Force`, `Inertia`, or points (3,) or (n, 3) [m], one a row.

        Raises:
            InvalidValueError: Something else.
        """
        if isinstance(x, SE3):
            return self @ x
        if isinstance(x, (Motion, Force, Inertia)):
            return x.moved(self._rotation, self._translation)
        return _checked_points(x).dot(self._rotation.T) + self._translation

    def act_inv(self, x: Placeable) -> Placeable:
        """Return x, given in frame a, in frame b; what `inverse().act(x)` gives, at half the cost.

        Args:
            x: As for `act`.

        Raises:
            InvalidValueError: Something else.
        """
        if isinstance(x, SE3):
            back = self._rotation.T
            shift = back.dot(x._translation - self._translation)
            return self.trusted(back.dot(x._rotation), shift)
        if isinstance(x, (Motion, Force, Inertia)):
            return x.moved_back(self._rotation, self._translation)
        return (_checked_points(x) - self._translation).dot(self._rotation)

    def isclose(self, other: Self, tolerance: float = 1e-12) -> bool:
        """Tell whether max |a - b| / max(1, max |b|) of the matrices is at most the tolerance."""
        if not isinstance(other, SE3):
            raise InvalidValueError('other', other, 'an SE3')
        return close(self.matrix, other.matrix, tolerance)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SE3):
            return NotImplemented
        return np.array_equal(self.matrix, other.matrix)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).trusted, (np.array(self._rotation), np.array(self._translation))

    def __repr__(self) -> str:
        return f'SE3(rotation={text(self._rotation)}, translation={text(self._translation)})'


def _checked_points(value: Any) -> Array:
    """Return points as a float64 array (3,) or (n, 3)."""
    try:
        points = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        points = None
    if points is None or points.ndim not in (1, 2) or points.shape[-1] != 3:
        expected = 'an SE3, Motion, Force, Inertia, or points of shape (3,) or (n, 3)'
        raise InvalidValueError('x', value, expected)
    return points


def hat(motion: Motion) -> Array:
    """Return the (4, 4) matrix [[[w], v], [0, 0]] of se(3)."""
    if not isinstance(motion, Motion):
        raise InvalidValueError('motion', motion, 'a Motion')
    out = np.zeros((4, 4))
    out[:3, :3] = cross_matrix(motion.angular)
    out[:3, 3] = motion.linear
    return out


def vee(matrix: Any) -> Motion:
    """Return the motion of a (4, 4) matrix of se(3).

    Raises:
        InvalidValueError: The last row is not zero, or the rest not skew-symmetric.
    """
    m = checked('matrix', matrix, (4, 4))
    if m[3].any():
        raise InvalidValueError('matrix', matrix, 'a matrix whose last row is zero')
    return Motion(m[:3, 3], so3.unskew(m[:3, :3]))


def _coordinates(xi: Any) -> Array:
    """Return exponential coordinates (6,) from a `Motion` or six numbers, linear part first."""
    vector = xi.vector if isinstance(xi, Motion) else xi
    return checked('xi', vector, (6,), largest=so3.LARGEST_ANGLE)


def exp6(xi: Motion | Any) -> SE3:
    """Return the placement that a constant twist xi, in the body's axes, reaches in unit time.

    Args:
        xi: A `Motion` or (6,), linear part first [m, rad].
    """
    rotation, translation = np.empty((3, 3)), np.empty(3)
    kernels.exp6(_coordinates(xi), rotation, translation)
    return SE3.trusted(rotation, translation)


def log6(placement: SE3 | Any) -> Motion:
    """Return the constant twist, turning by at most pi, that reaches a placement in unit time.

    Args:
        placement: An `SE3`, or its homogeneous matrix (4, 4).

    Raises:
        InvalidValueError: It is neither.
    """
    if not isinstance(placement, SE3):
        placement = SE3.from_matrix(placement)
    out = np.empty(6)
    # Copies, since numba compiles anew for read-only arrays.
    kernels.log6(np.array(placement.rotation), np.array(placement.translation), out)
    return Motion.trusted(out)


def right_jacobian6(xi: Motion | Any) -> Array:
    """Return J (6, 6) with exp6(xi + d) = exp6(xi) @ exp6(J d) to first order.

    So nu = J dxi/dt, the twist in the axes of the moved body.
    """
    return filled(kernels.right_jacobian6, _coordinates(xi), 6, 6)


def right_jacobian6_inverse(xi: Motion | Any) -> Array:
    """Return the inverse of `right_jacobian6`.

    Raises:
        InvalidValueError: The rotation is a full turn or several, where there is none.
    """
    coordinates = _coordinates(xi)
    so3.refuse_full_turn(coordinates[3:])
    return filled(kernels.right_jacobian6_inverse, coordinates, 6, 6)
