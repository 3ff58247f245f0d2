"""A trajectory of the joints."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.trajectory import kernels
from icir_control.trajectory.profile import find_profile


@dataclass(frozen=True)
class JointTrajectory:
    """Joint positions as polynomials of time.

    Attributes:
        start_time: [s].
        duration: [s].
        coefficients: (nv, 6), of powers of the time since the start.
    """

    start_time: float
    duration: float
    coefficients: NDArray[np.float64]

    @classmethod
    def to_rest(
        cls,
        start_time: float,
        duration: float,
        start: ArrayLike,
        velocity: ArrayLike,
        goal: ArrayLike,
        *,
        profile: str = 'cubic',
    ) -> Self:
        """Plan a motion from a (moving) start to rest at a goal.

        Args:
            start_time: [s].
            duration: [s], above 0.
            start: (nv,) [rad or m].
            velocity: (nv,) at the start [rad/s or m/s].
            goal: (nv,) [rad or m].
            profile: `cubic` or `quintic`.

        Raises:
            UnknownNameError: A profile that does not exist.
            InvalidValueError: A duration that is not positive, or arrays that do not match.
        """
        return cls(start_time, duration, find_profile(profile)(start, velocity, goal, duration))

    def position(self, time: float) -> NDArray[np.float64]:
        """Return q(t), (nv,) [rad or m]; before the start extrapolated, after the end at rest."""
        q = np.empty(len(self.coefficients))
        kernels.polynomial_at(self.coefficients, self.duration, time - self.start_time, q)
        return q

    def sample(
        self, time: float
    ) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Return position, velocity and acceleration at a time, each (nv,)."""
        elapsed = time - self.start_time
        v = np.empty(len(self.coefficients))
        a = np.empty(len(self.coefficients))
        kernels.polynomial_rates_at(self.coefficients, self.duration, elapsed, v, a)
        return self.position(time), v, a
