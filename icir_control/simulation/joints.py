"""The joints of a world: their order, their limits, and what is valid for them."""

import math
from collections.abc import Mapping

import mujoco
import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.errors import InvalidValueError, ModelError, UnknownNameError
from icir_control.simulation.urdf import Mimic

LARGEST_INPUT = 1e9
"""MuJoCo takes a larger command for a fault and puts zero in its place [N m or N]."""

_INSIDE = 0.11
"""How far from a limit a joint starts, or a quarter of its range [rad or m]."""


class Joints:
    """The moving joints in the order that the user gives them, but those that mimic others.

    Limits and losses are what those of a joint and of all that mimic it mean for its coordinate.

    Attributes:
        names: The joints.
        shape: Of an array with one number per joint.
        order: (nv,) MuJoCo's index of each joint, of its coordinate and of its velocity alike.
        coupling: (n, nv) that gives the velocities of MuJoCo's n joints.
        lower: (nv,) least position, -infinity where there is none [rad or m].
        upper: (nv,) largest position, infinity where there is none [rad or m].
        effort_limit: (nv,) infinity where there is none [N m or N].
        damping: (nv,) [N m s/rad or N s/m].
        friction: (nv,) Coulomb friction [N m or N].
        armature: (nv,) rotor inertia [kg m^2 or kg].
    """

    def __init__(
        self, names: tuple[str, ...], model: mujoco.MjModel, mimics: Mapping[str, Mimic]
    ) -> None:
        """Look the joints up.

        Args:
            names: Every joint of the model that mimics none, once.
            model: A model whose joints have one degree of freedom each.
            mimics: By name, the other joints.
        """
        self.names = names
        self.shape = (len(names),)
        self.order = order = np.array([model.joint(name).id for name in names], np.intp)
        self.coupling = np.zeros((model.nv, len(names)))
        self.coupling[order, np.arange(len(names))] = 1.0
        self._offset = np.zeros(model.nv)
        bounded = model.jnt_limited.astype(bool)
        lower = np.where(bounded, model.jnt_range[:, 0], -np.inf)
        upper = np.where(bounded, model.jnt_range[:, 1], np.inf)
        self.lower, self.upper = lower[order], upper[order]
        for name, (leader, multiplier, offset) in mimics.items():
            i, k = model.joint(name).id, names.index(leader)
            self.coupling[i, k], self._offset[i] = multiplier, offset
            if multiplier:
                ends = (np.array([lower[i], upper[i]]) - offset) / multiplier
                self.lower[k] = max(self.lower[k], ends.min())
                self.upper[k] = min(self.upper[k], ends.max())
        limited = model.jnt_actfrclimited[order].astype(bool)
        self.effort_limit = np.where(limited, model.jnt_actfrcrange[order, 1], np.inf)
        self.damping = model.dof_damping @ self.coupling**2
        self.friction = model.dof_frictionloss @ np.abs(self.coupling)
        self.armature = model.dof_armature @ self.coupling**2

    def positions(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return where MuJoCo's joints are (n,) at q (nv,), those that mimic others included."""
        return self.coupling @ q + self._offset

    def vector(self, name: str, value: ArrayLike) -> NDArray[np.float64]:
        """Return one finite number per joint.

        Args:
            name: What the value is for.
            value: (nv,) what was given.

        Raises:
            InvalidValueError: A wrong length, or a value that is not finite.
        """
        vector = np.asarray(value, dtype=np.float64)
        if vector.shape != self.shape or not np.isfinite(vector).all():
            expected = f'{self.shape[0]} finite numbers'
            raise InvalidValueError(name, np.asarray(value).tolist(), expected)
        return vector

    def configuration(self, value: ArrayLike | None) -> NDArray[np.float64]:
        """Return a configuration within the limits; None is zero, or next to it inside them.

        At a limit itself a law that keeps off the limits would push the joint away.

        Args:
            value: (nv,) [rad or m].

        Raises:
            InvalidValueError: A wrong length, a value that is not finite or outside its limits.
        """
        if value is None:
            inside = np.minimum(_INSIDE, 0.25 * (self.upper - self.lower))
            return np.clip(np.zeros(self.shape), self.lower + inside, self.upper - inside)
        q = self.vector('configuration', value).copy()
        outside = np.flatnonzero((q < self.lower) | (q > self.upper))
        if outside.size:
            first = int(outside[0])
            name = f'configuration of joint {self.names[first]!r}'
            expected = f'a value from {self.lower[first]:g} to {self.upper[first]:g}'
            raise InvalidValueError(name, float(q[first]), expected)
        return q

    def input(self, torque: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a command of any size within what MuJoCo takes: (nv,) [N m or N].

        Args:
            torque: (nv,) [N m or N].

        Raises:
            InvalidValueError: A wrong shape, or a value that is not finite.
        """
        if torque.shape != self.shape:
            raise InvalidValueError('torque', torque.tolist(), f'{self.shape[0]} numbers')
        for name, value in zip(self.names, torque.tolist(), strict=True):
            if not math.isfinite(value):
                raise InvalidValueError(f'torque of joint {name!r}', value, 'a finite number')
        return np.clip(torque, -LARGEST_INPUT, LARGEST_INPUT)

    def bounded(self, torque: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return a torque within the effort limits: (nv,) [N m or N]."""
        return np.clip(torque, -self.effort_limit, self.effort_limit)


def check_joint_names(given: tuple[str, ...], moving: tuple[str, ...]) -> None:
    """Refuse a list of joints that is not the list of all moving joints, in any order.

    Args:
        given: The list.
        moving: The moving joints of the robot.

    Raises:
        UnknownNameError: A name is not that of a moving joint.
        ModelError: A joint is missing or repeated.
    """
    for name in given:
        if name not in moving:
            raise UnknownNameError('joint', name, moving)
    missing = [name for name in moving if name not in given]
    if missing or len(set(given)) != len(given):
        raise ModelError(
            f'joint_names must name every moving joint once; missing: {", ".join(missing) or "-"}'
        )
