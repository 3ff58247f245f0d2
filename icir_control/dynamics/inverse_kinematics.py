"""Inverse kinematics: the configurations in which a frame is at a pose, found from many starts."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from icir_control.compiled import JIT_DISABLED, bound
from icir_control.dynamics.algorithms import forward_kinematics
from icir_control.dynamics.call import check_pair
from icir_control.dynamics.configuration import difference
from icir_control.dynamics.data import Data
from icir_control.dynamics.frames import frame_index
from icir_control.dynamics.joints import FAR
from icir_control.dynamics.kernels.inverse_kinematics import TOLERANCE, converge
from icir_control.dynamics.model import Model
from icir_control.errors import InvalidValueError, OutOfReachError, PositionLimitError
from icir_control.spatial import SE3
from icir_control.spatial.arrays import Array, checked_scalar

FEW, MANY = 24, 240
"""Random starts: so many at a time; at most so many until there is a solution."""


def inverse_kinematics(model: Model, data: Data, frame: int | str, goal: SE3, q0: Any) -> Array:
    """Return a configuration (nq,) within the position limits in which a frame is at a pose.

    That to which Levenberg-Marquardt's iteration leads from q0; if it leads to none, one from
    random starts, the same at each call. What remains is below 1e-10 m and rad. Angles without
    limits are turned to within half a turn of q0. Placements and J of the result are in `data`.

    Args:
        model: The model.
        data: Its data.
        frame: Name or index of the frame.
        goal: Where it is to be, in the world.
        q0: Configuration (nq,) to start from.

    Raises:
        PositionLimitError: All configurations that were found are past a limit; names the joint.
        OutOfReachError: None was found; says how near the frame comes.
        InvalidValueError: An argument is not what is said above.
        UnknownNameError: There is no such frame.
    """
    solver = _Solver(model, data, frame, goal, q0)
    lower, upper = model.lower_position_limit, model.upper_position_limit
    found = solver.converge(solver.start[None].copy(), lower, upper, enough=1)
    found = found or solver.from_random_starts(lower, upper, enough=1) or solver.refuse()
    forward_kinematics(model, data, found[0])
    return found[0]


def inverse_kinematics_solutions(
    model: Model, data: Data, frame: int | str, goal: SE3, q0: Any, margin: float = 0.0
) -> list[Array]:
    """Return configurations with a frame at a pose, those first that are reached soonest.

    At the velocity limits, from q0. As `inverse_kinematics`, but from q0 and 23 random starts,
    and more of them as long as there is no solution.

    Args:
        model: The model.
        data: Its data.
        frame: Name or index of the frame.
        goal: Where it is to be, in the world.
        q0: Configuration (nq,), the first start.
        margin: To be kept to the position limits where that is possible [rad or m].

    Returns:
        Each (nq,), within the position limits; at least one.

    Raises:
        RefusedError: As `inverse_kinematics`, and its other errors.
    """
    solver = _Solver(model, data, frame, goal, q0)
    lower, upper = model.lower_position_limit, model.upper_position_limit
    margin = checked_scalar('margin', margin, 'a distance of 0 or more', lowest=0.0)
    for distance in (margin, 0.0):
        kept = np.minimum(distance, 0.5 * (upper - lower))
        bounds = lower + kept, upper - kept
        if found := solver.from_random_starts(*bounds, with_start=True):
            slowness = 1.0 / model.velocity_limit
            return sorted(found, key=lambda q: _length(difference(model, q0, q), slowness))
    return solver.refuse()


def solution_from(model: Model, data: Data, frame: int | str, goal: SE3, q0: Any) -> Array | None:
    """Return the configuration with a frame at a pose to which the iteration leads from q0."""
    solver = _Solver(model, data, frame, goal, q0)
    lower, upper = model.lower_position_limit, model.upper_position_limit
    found = solver.converge(solver.start[None].copy(), lower, upper)
    return found[0] if found else None


def _length(way: Array, slowness: Array) -> tuple[float, float]:
    """Return the time that a way takes at the velocity limits [s], and its length."""
    return float(np.max(np.abs(way) * slowness)), float(np.linalg.norm(way))


class _Solver:
    """Looks for configurations of one model with a frame at a pose.

    Attributes:
        start: (nq,) the first start.
        target: (nq,) near to which angles are turned.
        nearest: How near the frame came to the pose so far [m], [rad].
    """

    def __init__(self, model: Model, data: Data, frame: int | str, goal: SE3, q0: Any) -> None:
        check_pair(model, data)
        if not isinstance(goal, SE3):
            raise InvalidValueError('goal', goal, 'an SE3')
        difference(model, q0, q0)  # checks q0
        self.start = self.target = np.array(q0, dtype=float)
        self.nearest = np.inf, np.inf
        self._model = model
        pose = np.empty((4, 3))
        pose[:3], pose[3] = goal.rotation, goal.translation
        self._arguments = data.buffer, frame_index(model, frame), pose

    def converge(
        self, configurations: Array, lower: Array, upper: Array, enough: int = MANY
    ) -> list[Array]:
        """Return those, of the configurations to which starts (m, nq) lead, that are at the pose.

        The starts are overwritten. The search ends when there are enough.
        """
        left = np.full((len(configurations), 2), np.inf)
        bounds = lower, upper, self.target
        _compiled()(*self._arguments, configurations, *bounds, enough, left)
        distances = [math.hypot(*one) for one in left.tolist()]
        nearest = min(distances)
        if nearest < math.hypot(*self.nearest):
            way, turn = left[distances.index(nearest)].tolist()
            self.nearest = way, turn
        # The iteration keeps what a floating joint has of coordinates in no bounds.
        inside = np.all((lower <= configurations) & (configurations <= upper), axis=1)
        near = zip(configurations, distances, inside.tolist(), strict=True)
        return [q for q, d, within in near if d < TOLERANCE and within]

    def from_random_starts(
        self, lower: Array, upper: Array, *, with_start: bool = False, enough: int = MANY
    ) -> list[Array]:
        """Return what is found within bounds (nq,) from random starts, and from the first."""
        rng = np.random.default_rng(0)
        # Without limits within half a turn of the first start, or of the one limit.
        is_below, is_above = np.abs(lower) < FAR, np.abs(upper) < FAR
        lowest = np.where(is_above, np.minimum(upper, self.start) - np.pi, self.start - np.pi)
        lowest = np.where(is_below, lower, lowest)
        highest = np.where(is_below, np.maximum(lower, self.start) + np.pi, self.start + np.pi)
        highest = np.where(is_above, upper, highest)
        for count in range(0, MANY, FEW):
            starts = rng.uniform(lowest, highest, (FEW, len(lower)))
            for joint in self._model.joints:
                if joint.kind.has_quaternion:
                    end = joint.index_q + joint.nq
                    quaternions = rng.standard_normal((FEW, 4))
                    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
                    starts[:, end - 4 : end] = quaternions
            if with_start and count == 0:
                starts[0] = self.start
            if found := self.converge(starts, lower, upper, enough):
                return found
        return []

    def refuse(self) -> Any:
        """Raise for the reason that there is no solution."""
        model, unlimited = self._model, np.full(self._model.nq, np.inf)
        lower, upper = model.lower_position_limit, model.upper_position_limit
        is_limited = np.isfinite(lower) & np.isfinite(upper)
        self.target = np.zeros(model.nq)
        self.target[is_limited] = 0.5 * (lower[is_limited] + upper[is_limited])
        found = self.from_random_starts(-unlimited, unlimited, with_start=True)
        if not found:
            raise OutOfReachError(*self.nearest)
        excess = [np.maximum(lower - q, q - upper) for q in found]
        best = int(np.argmin([np.max(beyond) for beyond in excess]))
        i = int(np.argmax(excess[best]))
        raise PositionLimitError(
            'the goal, in the posture that is nearest to the limits,',
            next(one.name for one in model.joints if one.nq and i < one.index_q + one.nq),
            float(found[best][i]),
            float(lower[i]),
            float(upper[i]),
        )


@cache
def _compiled() -> Callable[..., None]:
    if JIT_DISABLED:
        return converge
    from numba import types

    vector, matrix = (types.Array(types.float64, size, 'C') for size in (1, 2))
    arrays = matrix, matrix, vector, vector, vector, types.int64, matrix
    return bound(converge, vector, types.int64, *arrays)


def prepare() -> None:
    """Compile what looks for solutions, unless it is."""
    _compiled()
