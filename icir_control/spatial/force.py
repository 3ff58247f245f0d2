"""Forces: wrenches and momenta, which pair with motions to power and energy."""

from typing import TYPE_CHECKING, Self

import numpy as np

from icir_control.errors import InvalidValueError
from icir_control.spatial.arrays import cross
from icir_control.spatial.vector6 import Vector6

if TYPE_CHECKING:
    from icir_control.spatial.motion import Motion


class Force(Vector6):
    """A wrench [N, N m] or a momentum [N s, N m s]: linear part, then moment about the origin."""

    __slots__ = ()

    def dot(self, motion: 'Motion') -> float:
        """Return the power phi . nu [W] of this wrench on a twist in the same frame.

        Raises:
            InvalidValueError: The argument is not a `Motion`.
        """
        from icir_control.spatial.motion import Motion

        if not isinstance(motion, Motion):
            raise InvalidValueError('motion', motion, 'a Motion')
        return float(self._vector.dot(motion.vector))

    def moved(self, rotation: np.ndarray, translation: np.ndarray) -> Self:
        """Return the wrench in the parent frame: f_a = R f_b, tau_a = R tau_b + p x f_a."""
        out = np.empty(6)
        out[:3] = rotation.dot(self.linear)
        out[3:] = rotation.dot(self.angular) + cross(translation, out[:3])
        return self.trusted(out)

    def moved_back(self, rotation: np.ndarray, translation: np.ndarray) -> Self:
        """Return the wrench in the child frame: f_b = R^T f_a, tau_b = R^T (tau_a - p x f_a)."""
        out = np.empty(6)
        out[:3] = self.linear.dot(rotation)
        out[3:] = (self.angular - cross(translation, self.linear)).dot(rotation)
        return self.trusted(out)
