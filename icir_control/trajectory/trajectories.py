"""Trajectories of the joints, and of a frame in SE(3)."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.spatial import SE3, Motion, log3
from icir_control.trajectory import kernels
from icir_control.trajectory.profile import find_profile, stop


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


@dataclass(frozen=True)
class SE3Trajectory:
    """Placement of a frame as a function of time: p(s), R(s) = R_0 exp(phi(s)).

    Straight in translation, about one axis in rotation.
    For a start at rest this is the tutorial's SE3Cubic: phi(s) = tau(s) log(R_0^T R_f), with tau
    the cubic from 0 to 1. A start that moves gives phi its first velocity.

    Attributes:
        start_time: [s].
        duration: [s].
        start: Placement at the start, T_world_frame.
        coefficients: (6, 6), rows 0-2 of p in world axes [m], rows 3-5 of phi [rad].
    """

    start_time: float
    duration: float
    start: SE3
    coefficients: NDArray[np.float64]

    @classmethod
    def to_rest(
        cls,
        start_time: float,
        duration: float,
        start: SE3,
        twist: Motion,
        goal: SE3,
        *,
        profile: str = 'cubic',
    ) -> Self:
        """Plan a motion from a (moving) start to rest at a goal.

        Args:
            start_time: [s].
            duration: [s], above 0.
            start: T_world_frame at the start.
            twist: Of the frame at the start, in its own (LOCAL) axes [m/s, rad/s].
            goal: T_world_frame at the end.
            profile: `cubic` or `quintic`.

        Raises:
            UnknownNameError: A profile that does not exist.
            InvalidValueError: A duration that is not positive.
        """
        turn = log3(start.rotation.T @ goal.rotation)
        return cls(
            start_time,
            duration,
            start,
            find_profile(profile)(
                np.concatenate([start.translation, np.zeros(3)]),
                _first_rate(start, twist),
                np.concatenate([goal.translation, turn]),
                duration,
            ),
        )

    @classmethod
    def to_stop(cls, start_time: float, duration: float, start: SE3, twist: Motion) -> Self:
        """Plan how a moving frame comes to rest where it may.

        Args:
            start_time: [s].
            duration: [s], above 0.
            start: T_world_frame at the start.
            twist: Of the frame at the start, LOCAL [m/s, rad/s].
        """
        x = np.concatenate([start.translation, np.zeros(3)])
        return cls(start_time, duration, start, stop(x, _first_rate(start, twist), duration))

    def placement(self, time: float) -> SE3:
        """Return T_world_frame at a time; before the start extrapolated, after the end at rest."""
        start = np.vstack([self.start.rotation, self.start.translation])
        pose = np.empty((4, 3))
        elapsed = time - self.start_time
        kernels.pose_at(start, self.coefficients, self.duration, elapsed, pose)
        return SE3(pose[:3], pose[3])

    def sample(self, time: float) -> tuple[SE3, Motion, Motion]:
        """Return the placement, the twist and the classical acceleration, both LOCAL."""
        elapsed = time - self.start_time
        placement = self.placement(time)
        pose = np.vstack([placement.rotation, placement.translation])
        twist, acceleration = np.empty(6), np.empty(6)
        kernels.pose_rates_at(pose, self.coefficients, self.duration, elapsed, twist, acceleration)
        return placement, Motion(twist[:3], twist[3:]), Motion(acceleration[:3], acceleration[3:])


def _first_rate(start: SE3, twist: Motion) -> NDArray[np.float64]:
    """Return p' in world axes and phi' at phi = 0, where the right Jacobian is the identity."""
    return np.concatenate([start.rotation @ twist.linear, twist.angular])
