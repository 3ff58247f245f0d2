"""Inverse kinematics: the postures in which the tool is at a pose, found from many starts."""

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from icir_control.compiled import JIT_DISABLED, bound, kernel
from icir_control.control.arm import Arm
from icir_control.control.kernels.linear import cholesky, cholesky_solve, copy_matrix
from icir_control.control.kernels.memory import as_pose
from icir_control.control.kernels.task_space import pose_error
from icir_control.dynamics import JointKind
from icir_control.dynamics.kernels import placement_terms
from icir_control.errors import OutOfReachError, PositionLimitError
from icir_control.spatial import SE3
from icir_control.spatial.kernels import mat_mat_t, mat_t_vec

Array = NDArray[np.float64]

FEW, MANY = 24, 240
"""Starts: so many always, for a near posture; more, up to so many, until there is one."""

STEPS = 60
"""Of the iteration from one start, at most; most take five to fifteen."""

TOLERANCE = 1e-10
"""[m, rad] Left between tool and pose."""

LONGEST_STEP = 1.0
"""[rad or m] Of a joint."""


def postures_at(arm: Arm, goal: SE3, start: Array, margin: float = 0.0) -> list[Array]:
    """Return postures in which the tool is at a pose, those first that are reached soonest.

    Args:
        arm: The arm.
        goal: T_world_tool.
        start: (nv,) the present posture [rad or m]; the first start of the iteration. The others
            are random, and the same at each call.
        margin: To be kept to the position limits where that is possible [rad or m].

    Returns:
        Each (nv,), within the position limits; at least one.

    Raises:
        PositionLimitError: All that were found are past a limit.
        OutOfReachError: None was found.
    """
    lower, upper = arm.model.lower_position_limit, arm.model.upper_position_limit
    solver = _Solver(arm, goal, start)
    for distance in (margin, 0.0):
        kept = np.minimum(distance, 0.5 * (upper - lower))
        if found := solver.solve(lower + kept, upper - kept):
            slowness = 1.0 / arm.model.velocity_limit
            return sorted(found, key=lambda q: _distances(q - start, slowness))
    unlimited = np.full_like(lower, np.inf)
    if found := solver.solve(-unlimited, unlimited):
        nearest = [solver.turned(q, arm.middle, -unlimited, unlimited) for q in found]
        excess = [np.maximum(lower - q, q - upper) for q in nearest]
        best = int(np.argmin([np.max(beyond) for beyond in excess]))
        i = int(np.argmax(excess[best]))
        raise PositionLimitError(
            'the goal, in the posture that is nearest to the limits,',
            arm.model.joint_names[i],
            float(nearest[best][i]),
            float(lower[i]),
            float(upper[i]),
        )
    raise OutOfReachError(*solver.nearest)


def posture_at(arm: Arm, goal: SE3, start: Array) -> Array | None:
    """Return the posture with the tool at a pose to which the iteration leads from a start."""
    lower, upper = arm.model.lower_position_limit.copy(), arm.model.upper_position_limit.copy()
    found = _Solver(arm, goal, start).converge(start[None].copy(), lower, upper)
    return found[0] if found else None


def _distances(way: Array, slowness: Array) -> tuple[float, float]:
    """Return the time that a way takes at the velocity limits [s], and its length."""
    return float(np.max(np.abs(way) * slowness)), float(np.linalg.norm(way))


class _Solver:
    """Looks for postures of one arm with the tool at one pose.

    Attributes:
        nearest: How near the tool came to the pose so far [m], [rad].
    """

    def __init__(self, arm: Arm, goal: SE3, start: Array) -> None:
        self.nearest = np.inf, np.inf
        self._start = start
        self._arguments = arm.model.create_data().buffer, arm.frame, as_pose(goal)
        joints = [joint for joint in arm.model.joints for _ in range(joint.nq)]
        turning = JointKind.REVOLUTE, JointKind.CONTINUOUS
        self._turns = np.array([joint.kind in turning for joint in joints])

    def solve(self, lower: Array, upper: Array) -> list[Array]:
        """Return the postures (nv,) that are found within bounds (nv,)."""
        rng = np.random.default_rng(0)
        # Without limits within half a turn of the present posture, which is the first start.
        lowest = np.where(np.isfinite(lower), lower, self._start - np.pi)
        highest = np.where(np.isfinite(upper), upper, self._start + np.pi)
        found: list[Array] = []
        for count in range(0, MANY, FEW):
            postures = rng.uniform(lowest, highest, (FEW, len(lower)))
            if count == 0:
                postures[0] = self._start
            found += self.converge(postures, lower, upper)
            if found:
                break
        return [self.turned(q, self._start, lower, upper) for q in found]

    def converge(self, postures: Array, lower: Array, upper: Array) -> list[Array]:
        """Return those postures, of the ones to which starts (m, nv) lead, that are at the pose.

        The starts are overwritten.
        """
        left = np.empty((len(postures), 2))
        _compiled()(*self._arguments, postures, lower, upper, left)
        distance = np.hypot(*left.T)
        nearest = int(np.argmin(distance))
        if distance[nearest] < math.hypot(*self.nearest):
            self.nearest = float(left[nearest, 0]), float(left[nearest, 1])
        return list(postures[distance < TOLERANCE])

    def turned(self, q: Array, target: Array, lower: Array, upper: Array) -> Array:
        """Return a posture (nv,) with each angle by whole turns near to a target's, in bounds."""
        turn = 2.0 * np.pi
        turns = np.round((target - q) / turn)
        turns = np.clip(turns, np.ceil((lower - q) / turn), np.floor((upper - q) / turn))
        return q + np.where(self._turns, turn * turns, 0.0)


@kernel
def converge(
    dynamics: np.ndarray,
    frame: int,
    goal: np.ndarray,
    postures: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    left: np.ndarray,
) -> None:
    """Move postures until the tool is at a pose, or comes no nearer.

    Levenberg-Marquardt, dq = J^T (J J^T + lambda 1)^-1 e with lambda = e^2 / 2: Newton's step
    near a solution, and a gradient step far from it (Sugihara 2011). A joint at a bound that it
    would leave takes no part.

    Args:
        dynamics: The buffer of a `Data`.
        frame: Of the tool.
        goal: (4, 3).
        postures: (m, n) starts; overwritten by where they lead.
        lower: (n,) bounds.
        upper: (n,)
        left: (m, 2) output, way [m] and turn [rad] from the tool to the pose.
    """
    n = postures.shape[1]
    pose, J, J_free = np.empty((4, 3)), np.empty((6, n)), np.empty((6, n))
    A, y, dq = np.empty((6, 6)), np.empty(6), np.empty(n)
    for m in range(postures.shape[0]):
        q = postures[m]
        for i in range(n):
            q[i] = min(max(q[i], lower[i]), upper[i])
        step = np.inf
        for k in range(STEPS + 1):
            placement_terms(dynamics, q, frame, pose, J)
            e = pose_error(pose, goal)
            way = e[0] * e[0] + e[1] * e[1] + e[2] * e[2]
            turn = e[3] * e[3] + e[4] * e[4] + e[5] * e[5]
            square = way + turn
            left[m, 0], left[m, 1] = np.sqrt(way), np.sqrt(turn)
            at_rest = step < 1e-7 and square > 1e-6
            if square < TOLERANCE * TOLERANCE or k == STEPS or at_rest:
                break
            copy_matrix(J, J_free)
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
                    if (q[i] <= lower[i] and dq[i] < 0.0) or (q[i] >= upper[i] and dq[i] > 0.0):
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
            step = 0.0
            for i in range(n):
                before = q[i]
                q[i] = min(max(before + share * dq[i], lower[i]), upper[i])
                step = max(step, abs(q[i] - before))


@cache
def _compiled() -> Callable[..., None]:
    if JIT_DISABLED:
        return converge
    from numba import types

    vector, matrix = (types.Array(types.float64, size, 'C') for size in (1, 2))
    arrays = matrix, matrix, vector, vector, matrix
    return bound(converge, vector, types.int64, *arrays)


def prepare() -> None:
    """Compile what looks for postures, unless it is."""
    _compiled()
