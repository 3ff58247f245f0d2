"""Distances between the shapes of an arm: along a path, and as a torque that keeps them apart.

No joint moves the points of a shape by more than its reach times its own change: so far does a
distance hold, and is not measured again before the joints have gone as far.
"""

from math import sqrt

import numpy as np

from icir_control.collision.kernels import layout as at
from icir_control.collision.kernels.distances import measure, place_shape, write_row
from icir_control.compiled import kernel, part
from icir_control.dynamics.kernels import CheckedKernel
from icir_control.dynamics.kernels import layout as buffer_at
from icir_control.dynamics.kernels import vector as vec
from icir_control.dynamics.kernels.forward import place_all
from icir_control.scratch import scratch_matrix, scratch_vector
from icir_control.spatial.kernels import cholesky, cholesky_solve, copy, copy_matrix

SLACK, LEAST_SLACK = 0.1, 1e-4
"""Share of the bound, and length [m], by which a pair may be nearer between two measurements."""

EXCESS, PAIR, PLACE, NEAREST = range(4)
"""Of what is nearest on a path: the distance above its bound [m], the pair, how many samples from
the start, the distance [m]."""

MARGIN, LEFT, FORCE = range(3)
"""Of a pair: where its repulsion begins [m], what is left of its distance above the clearance
[m], the greatest force [N]."""

POSITION, REACH, ROOM = range(3)
"""Of all pairs: where the joints were when `repel` looked last, the greatest reach of each, and by
how much no pair is nearer than the clearance [m]."""

DAMPING_SHARE = 0.5
"""Of the inertia of a pair by the period that its damping takes at most."""


@kernel
def _look(
    buffer: np.ndarray,
    table: np.ndarray,
    pairs: np.ndarray,
    found: np.ndarray,
    path: np.ndarray,
    bound: np.ndarray,
    nearest: np.ndarray,
    left: np.ndarray,
    cell: int | np.int64,
    share: float,
) -> None:
    """Measure what is due at a place of a path, and write how far it holds into `left`."""
    q = path[cell].copy()
    if share > 0.0:
        for i in range(q.shape[0]):
            q[i] += share * (path[cell + 1, i] - q[i])
    place_all(buffer, q)
    rows = buffer_at.rows_of(buffer)
    for i in range(table.shape[0]):
        place_shape(rows, table, i)
    for k in range(pairs.shape[0]):
        slack = max(SLACK * bound[k], LEAST_SLACK)
        if left[k] < 0.5 * slack:
            measure(table, pairs, k, found)
            excess = found[k, at.DISTANCE] - bound[k]
            left[k] = max(excess, 0.0) + slack
            if excess < nearest[EXCESS]:
                nearest[EXCESS], nearest[PAIR] = excess, k
                nearest[PLACE], nearest[NEAREST] = cell + share, found[k, at.DISTANCE]


@CheckedKernel
def follow_distances(
    buffer: np.ndarray,
    table: np.ndarray,
    pairs: np.ndarray,
    found: np.ndarray,
    reach: np.ndarray,
    path: np.ndarray,
    bound: np.ndarray,
    nearest: np.ndarray,
) -> int:
    """Find out where on a path a pair is nearest, compared with its bound.

    Args:
        buffer: A `Data`'s buffer.
        table: Shapes.
        pairs: Indices of two shapes each (npairs, 2).
        found: Distances (npairs, D_STRIDE), written.
        reach: (npairs, nv) by which a unit of a joint's motion changes a distance at most.
        path: (n, nv) positions, between which the joints go straight.
        bound: (npairs,) [m].
        nearest: (4,) written: EXCESS, PAIR, PLACE, NEAREST.

    Returns:
        0.
    """
    count, n = pairs.shape[0], path.shape[1]
    rate, left = np.zeros(count), np.zeros(count)
    nearest[EXCESS] = np.inf
    first = np.int64(0)  # for a literal, the compiler would make a version of its own
    _look(buffer, table, pairs, found, path, bound, nearest, left, first, 0.0)
    for cell in range(path.shape[0] - 1):
        for k in range(count):
            rate[k] = 0.0
            for i in range(n):
                rate[k] += reach[k, i] * abs(path[cell + 1, i] - path[cell, i])
        share = 0.0
        while share < 1.0:
            step, end = 1.0 - share, 1.0
            for k in range(count):
                if left[k] < rate[k] * step:
                    step = left[k] / rate[k]
                    end = share + step
            share = end
            for k in range(count):
                left[k] -= rate[k] * step
            at_end = share == 1.0 and cell == path.shape[0] - 2
            if at_end:
                for k in range(count):
                    left[k] = 0.0
            if share < 1.0 or at_end:
                _look(buffer, table, pairs, found, path, bound, nearest, left, cell, share)
    return 0


@part
def may_be_near(watch: np.ndarray, q: np.ndarray) -> bool:
    """Return whether the joints have gone so far that a pair may be within the clearance.

    Args:
        watch: (3, nv) POSITION, REACH, ROOM; see `repel`.
        q: (nv,) position.
    """
    room = watch[ROOM, 0]
    for i in range(q.shape[0]):
        room -= watch[REACH, i] * abs(q[i] - watch[POSITION, i])
    return not room >= 0.0


@CheckedKernel
def repel(
    buffer: np.ndarray,
    table: np.ndarray,
    pairs: np.ndarray,
    found: np.ndarray,
    reach: np.ndarray,
    state: np.ndarray,
    watch: np.ndarray,
    bounds: np.ndarray,
    q: np.ndarray,
    v: np.ndarray,
    M: np.ndarray,
    torque: np.ndarray,
) -> int:
    """Write the torque that keeps pairs apart which are nearer than the clearance.

    At a depth x within the margin m <= c of a pair, a force f = F (x / c)^2 - D d' along the
    gradient of the distance d, with the damping D that is critical for its slope and the inertia
    (J M^-1 J^T)^-1; never a pull, and never above F. The margin is no wider than the pair has
    been apart since the law began: what the spring gives back it was given before.

    Args:
        buffer: A `Data`'s buffer.
        table: Shapes.
        pairs: Indices of two shapes each (npairs, 2).
        found: Distances, written where they are needed.
        reach: (npairs, nv); see `follow_distances`.
        state: (npairs, 3) MARGIN, LEFT, FORCE; a margin that is not a number is yet to be found.
        watch: (3, nv) POSITION and ROOM, written, and REACH.
        bounds: (2,) c [m] and the control period [s].
        q: (nv,) position.
        v: (nv,) velocity.
        M: (nv, nv) inertia.
        torque: (nv,), written where the result is 1.

    Returns:
        1 where a pair is within its margin, else 0.
    """
    count, n = pairs.shape[0], q.shape[0]
    clearance, period = bounds[0], bounds[1]
    rows = buffer_at.rows_of(buffer)
    acts, is_placed, room = 0, False, np.inf
    J, y, L = scratch_vector(n), scratch_vector(n), scratch_matrix(n, n)
    for k in range(count):
        left = state[k, LEFT]
        for i in range(n):
            left -= reach[k, i] * abs(q[i] - watch[POSITION, i])
        if left >= 0.0:
            state[k, LEFT] = left
            room = min(room, left)
            continue
        if not is_placed:
            place_all(buffer, q)
            is_placed = True
        for side in range(2):
            place_shape(rows, table, int(pairs[k, side]))
        measure(table, pairs, k, found)
        d = found[k, at.DISTANCE]
        margin = d
        if state[k, MARGIN] > margin:
            margin = state[k, MARGIN]
        margin = min(margin, clearance)
        state[k, MARGIN], state[k, LEFT] = margin, d - clearance
        room = min(room, d - clearance)
        depth = margin - d
        if depth <= 0.0:
            continue
        if acts == 0:
            acts = 1
            for i in range(n):
                torque[i] = 0.0
            copy_matrix(M, L)
            cholesky(L)
        a, b = int(table[int(pairs[k, 0]), at.ROW]), int(table[int(pairs[k, 1]), at.ROW])
        p_a, p_b = vec.load(found, k, at.WITNESS_A), vec.load(found, k, at.WITNESS_B)
        write_row(rows, a, b, p_a, p_b, vec.load(found, k, at.NORMAL), J)
        copy(J, y)
        cholesky_solve(L, y)
        rate, mobility = 0.0, 0.0
        for i in range(n):
            rate += J[i] * v[i]
            mobility += J[i] * y[i]
        share = min(depth / clearance, 1.0)
        slope = 2.0 * state[k, FORCE] * share / clearance
        inertia = 1.0 / max(mobility, 1e-12)
        damping = min(2.0 * sqrt(slope * inertia), DAMPING_SHARE * inertia / period)
        force = state[k, FORCE] * share * share - damping * rate
        force = min(max(force, 0.0), state[k, FORCE])
        for i in range(n):
            torque[i] += force * J[i]
    for i in range(n):
        watch[POSITION, i] = q[i]
    watch[ROOM, 0] = room
    return acts
