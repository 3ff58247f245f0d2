"""Inverse kinematics: the configurations in which a frame is at a pose, found from many starts."""

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from icir_control.compiled import JIT_DISABLED, bound, kernel
from icir_control.dynamics.algorithms import forward_kinematics
from icir_control.dynamics.call import check_pair
from icir_control.dynamics.configuration import difference
from icir_control.dynamics.data import Data
from icir_control.dynamics.frames import frame_index
from icir_control.dynamics.joints import FAR, JointKind
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.frames import placement_terms
from icir_control.dynamics.kernels.manifold import advance
from icir_control.dynamics.model import Model
from icir_control.errors import InvalidValueError, OutOfReachError, PositionLimitError
from icir_control.spatial import SE3
from icir_control.spatial.arrays import Array, checked_scalar
from icir_control.spatial.kernels import (
    cholesky,
    cholesky_solve,
    mat_mat_t,
    mat_t_vec,
    pose_error,
)

STEPS = 60
"""Of the iteration from one start, at most; most take five to fifteen."""

TOLERANCE = 1e-10
"""[m, rad] Left between frame and pose."""

TURN = 2.0 * np.pi

LONGEST_STEP = 1.0
"""[rad or m] Of a joint."""

_LENGTHS = {
    JointKind.PRISMATIC: 1,
    JointKind.CYLINDRICAL: 1,
    JointKind.PLANAR: 2,
    JointKind.FLOATING: 3,
}
"""How many of a joint's coordinates, the first ones, are lengths."""


@kernel
def converge(
    buffer: np.ndarray,
    frame: int,
    goal: np.ndarray,
    configurations: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    target: np.ndarray,
    enough: int,
    left: np.ndarray,
) -> None:
    """Move configurations until the frame is at a pose, or comes no nearer.

    Levenberg-Marquardt, dq = J^T (J J^T + lambda 1)^-1 e with lambda = e^2 / 2: Newton's step
    near a solution, and a gradient step far from it (Sugihara 2011). A joint at a bound that it
    would leave takes no part.

    Args:
        buffer: The buffer of a `Data`.
        frame: Index of the frame.
        goal: (4, 3).
        configurations: (m, nq) starts; overwritten by where they lead.
        lower: (nq,) bounds; those of quaternions are not looked at.
        upper: (nq,)
        target: (nq,) near to which the angles of a solution are turned, by whole turns.
        enough: After so many that reach the pose, the other starts are left as they are.
        left: (m, 2) output, way [m] and turn [rad] from the frame to the pose.
    """
    rows, n = at.rows_of(buffer), int(buffer[at.H_NV])
    coordinate, turns_freely = np.full(n, -1), np.zeros(n, dtype=np.bool_)
    for k in range(1, rows.shape[0]):
        i, c = at.integer(rows, k, at.INDEX_V), at.integer(rows, k, at.INDEX_Q)
        motion = at.integer(rows, k, at.MOTION)
        if c < target.size and (motion == at.REVOLUTE or motion == at.PRISMATIC):
            coordinate[i], turns_freely[i] = c, motion == at.REVOLUTE
    for k in range(1, rows.shape[0]):
        # After a whole turn of the joint that it mimics, a joint is elsewhere.
        if at.integer(rows, k, at.INDEX_Q) >= target.size:
            turns_freely[at.integer(rows, k, at.INDEX_V)] = False
    pose, J, J_free = np.empty((4, 3)), np.empty((6, n)), np.empty((6, n))
    A, y, dq = np.empty((6, 6)), np.empty(6), np.empty(n)
    for m in range(configurations.shape[0]):
        q = configurations[m]
        for c in coordinate:
            if c >= 0:
                q[c] = min(max(q[c], lower[c]), upper[c])
        step = np.inf
        for k in range(STEPS + 1):
            placement_terms(buffer, q, frame, pose, J)
            e = pose_error(pose, goal)
            way = e[0] * e[0] + e[1] * e[1] + e[2] * e[2]
            turn = e[3] * e[3] + e[4] * e[4] + e[5] * e[5]
            square = way + turn
            left[m, 0], left[m, 1] = np.sqrt(way), np.sqrt(turn)
            at_rest = step < 1e-7 and square > 1e-6
            if square < TOLERANCE * TOLERANCE or k == STEPS or at_rest:
                break
            for i in range(6):
                for j in range(n):
                    J_free[i, j] = J[i, j]
            for attempt in range(2):
                mat_mat_t(J_free, J_free, A)
                for i in range(6):
                    A[i, i] += 0.5 * square + 1e-14
                    y[i] = e[i]
                cholesky(A)
                cholesky_solve(A, y)
                mat_t_vec(J_free, y, dq)
                is_free = True
                for i in range(n):
                    c = coordinate[i]
                    if c >= 0 and (
                        (q[c] <= lower[c] and dq[i] < 0.0) or (q[c] >= upper[c] and dq[i] > 0.0)
                    ):
                        is_free = False
                        dq[i] = 0.0
                        for j in range(6):
                            J_free[j, i] = 0.0
                if is_free or attempt == 1:
                    break
            longest = 0.0
            for i in range(n):
                longest = max(longest, abs(dq[i]))
            share = min(1.0, LONGEST_STEP / max(longest, 1e-12))
            step = share * longest
            for i in range(n):
                dq[i] *= share
            advance(buffer, q, dq, q)
            for c in coordinate:
                if c >= 0:
                    q[c] = min(max(q[c], lower[c]), upper[c])
        if square < TOLERANCE * TOLERANCE:
            for i in range(n):
                c = coordinate[i]
                if turns_freely[i]:
                    turns = np.floor((target[c] - q[c]) / TURN + 0.5)
                    turns = max(turns, np.ceil((lower[c] - q[c]) / TURN))
                    turns = min(turns, np.floor((upper[c] - q[c]) / TURN))
                    q[c] = min(max(q[c] + turns * TURN, lower[c]), upper[c])
            enough -= 1
            if enough == 0:
                break


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
        joint = next(one for one in model.joints if one.nq and i < one.index_q + one.nq)
        raise PositionLimitError(
            'the goal, in the posture that is nearest to the limits,',
            joint.name,
            float(found[best][i]),
            float(lower[i]),
            float(upper[i]),
            'm' if i - joint.index_q < _LENGTHS.get(joint.kind, 0) else 'rad',
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
