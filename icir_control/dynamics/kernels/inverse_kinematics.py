"""From many starts to the configurations in which a frame is at a pose."""

import numpy as np

from icir_control.compiled import kernel
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.frames import placement_terms
from icir_control.dynamics.kernels.manifold import advance
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
