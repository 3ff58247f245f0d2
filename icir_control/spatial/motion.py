"""Motions: twists and spatial accelerations, elements of the Lie algebra se(3)."""

from typing import Self, overload

import numpy as np

from icir_control.errors import InvalidValueError
from icir_control.spatial.arrays import cross, cross_matrix
from icir_control.spatial.force import Force
from icir_control.spatial.vector6 import Vector6


class Motion(Vector6):
    """A twist [m/s, rad/s] or a spatial acceleration: linear part, then angular.

    The linear part belongs to the body's point that lies in the frame's origin.
    """

    __slots__ = ()

    @overload
    def cross(self, other: 'Motion') -> 'Motion': ...
    @overload
    def cross(self, other: Force) -> Force: ...
    def cross(self, other: 'Motion | Force') -> 'Motion | Force':
        """Return the rate at which `other`, at rest in a body, changes as the body moves so.

        On a motion it is the Lie bracket, (w x v' + v x w', w x w'); on a force it is
        (w x f, w x tau + v x f).

        Raises:
            InvalidValueError: The argument is neither a `Motion` nor a `Force`.
        """
        v, w = self.linear, self.angular
        out = np.empty(6)
        if isinstance(other, Motion):
            out[:3] = cross(w, other.linear) + cross(v, other.angular)
            out[3:] = cross(w, other.angular)
            return Motion.trusted(out)
        if isinstance(other, Force):
            out[:3] = cross(w, other.linear)
            out[3:] = cross(w, other.angular) + cross(v, other.linear)
            return Force.trusted(out)
        raise InvalidValueError('other', other, 'a Motion or a Force')

    @property
    def cross_matrix(self) -> np.ndarray:
        """The (6, 6) matrix ad with ad y = self x y on the vector of a `Motion`."""
        w = cross_matrix(self.angular)
        return np.block([[w, cross_matrix(self.linear)], [np.zeros((3, 3)), w]])

    @property
    def dual_cross_matrix(self) -> np.ndarray:
        """The (6, 6) matrix ad* = -ad^T with ad* f = self x f on the vector of a `Force`."""
        return -self.cross_matrix.T

    def dot(self, force: Force) -> float:
        """Return the power phi . nu [W] of a wrench in the same frame on this twist.

        Raises:
            InvalidValueError: The argument is not a `Force`.
        """
        if not isinstance(force, Force):
            raise InvalidValueError('force', force, 'a Force')
        return force.dot(self)

    def classical(self, twist: 'Motion') -> 'Motion':
        """Return the classical acceleration for this spatial acceleration.

        Its linear part, v' + w x v, is the second derivative of the position of the frame's
        origin, in the frame's axes; the spatial one is that of a point fixed in space.

        Args:
            twist: The body's twist in the same frame.
        """
        out = np.array(self._vector)
        out[:3] += cross(twist.angular, twist.linear)
        return Motion.trusted(out)

    def moved(self, rotation: np.ndarray, translation: np.ndarray) -> Self:
        """Return the twist in the parent frame: w_a = R w_b, v_a = R v_b + p x w_a."""
        out = np.empty(6)
        out[3:] = rotation.dot(self.angular)
        out[:3] = rotation.dot(self.linear) + cross(translation, out[3:])
        return self.trusted(out)

    def moved_back(self, rotation: np.ndarray, translation: np.ndarray) -> Self:
        """Return the twist in the child frame: w_b = R^T w_a, v_b = R^T (v_a - p x w_a)."""
        out = np.empty(6)
        out[3:] = self.angular.dot(rotation)
        out[:3] = (self.linear - cross(translation, self.angular)).dot(rotation)
        return self.trusted(out)
