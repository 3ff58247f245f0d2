"""All pairs of a list: distances, the rows of their Jacobian, and its rate.

With u = v_a(c_a) - v_b(c_b), the relative velocity of the bodies' points at the cores' nearest
points, and d the distance of the cores:

    d'  = n . u = (n^T (J_a - J_b)) v
    d'' = n . (a_a(c_a) - a_b(c_b)) + 2 n' . u - d |n'|^2,   accelerations classical

The second line, at ddq = 0, is the bias: it follows from d n' = w - n (n . w) with the rate
w = u + sliding of the line between the nearest points. The normal stays perpendicular to all
directions e in which the points slide, n' . e = -n . (omega x e); in the rest of the tangent plane
n' = u / d.
"""

from math import isnan, sqrt

import numpy as np

from icir_control.collision.kernels import layout as at
from icir_control.collision.kernels import shapes
from icir_control.compiled import inlined
from icir_control.dynamics.kernels import layout as buffer_at
from icir_control.dynamics.kernels import spatial as sp
from icir_control.dynamics.kernels import vector as vec
from icir_control.dynamics.kernels.checked import CheckedKernel
from icir_control.dynamics.kernels.vector import Vector


@inlined
def place_shape(rows: np.ndarray, table: np.ndarray, k: int) -> None:
    """Write where a shape lies."""
    row = int(table[k, at.ROW])
    R = vec.load_matrix(rows, row, buffer_at.ROTATION)
    p = vec.apply(R, vec.load(table, k, at.POSITION))
    p = vec.add(vec.load(rows, row, buffer_at.POSITION), p)
    vec.store(table, k, at.PLACED_POSITION, p)
    R = vec.multiply(R, vec.load_matrix(table, k, at.ROTATION))
    vec.store_matrix(table, k, at.PLACED_ROTATION, R)


@inlined
def _pair(
    table: np.ndarray,
    i: int,
    j: int,
    half: Vector,
    radius_j: float,
    out: np.ndarray,
    k: int,
    sign: float,
) -> None:
    """Take the distance of the capsule around shape i and of shape j, if it is a better bound.

    Args:
        table: Shapes.
        i: A shape.
        j: Another, or a half-space; then i stands for itself.
        half: Half the sizes of the box that stands for j, before it is rounded.
        radius_j: Of its rounding.
        out: Distances.
        k: Row of the pair.
        sign: -1 where i is the second of the pair.
    """
    R_i, p_i = (
        vec.load_matrix(table, i, at.PLACED_ROTATION),
        vec.load(table, i, at.PLACED_POSITION),
    )
    R, p = vec.load_matrix(table, j, at.PLACED_ROTATION), vec.load(table, j, at.PLACED_POSITION)
    radius_i = table[i, at.RADIUS]
    if table[j, at.KIND] == at.HALF_SPACE:
        found = shapes.box_half_space(R_i, p_i, vec.load(table, i, at.HALF), R, p)
    else:
        radius_i = table[i, at.SEGMENT_RADIUS]
        way = vec.apply_transposed(R, vec.apply(R_i, vec.load(table, i, at.SEGMENT)))
        center = vec.apply_transposed(R, vec.subtract(p_i, p))
        found = shapes.segment_box(center, way, half)
        found = shapes.in_world(R, p, found)
    d, c_i, c_j, n, feature_i, direction_i, feature_j, direction_j = found
    if table[i, at.KIND] == at.CYLINDER or table[j, at.KIND] == at.CYLINDER:
        _take_direction(table, i, j, out, k, sign, n)
        return
    distance = d - radius_i - radius_j
    if distance <= out[k, at.DISTANCE]:
        return
    out[k, at.DISTANCE] = distance
    first, second = 0, 1
    if sign < 0.0:
        first, second = 1, 0
    step = at.WITNESS_B - at.WITNESS_A
    vec.store(out, k, at.NORMAL, vec.scale(sign, n))
    vec.store(out, k, at.WITNESS_A + first * step, vec.subtract(c_i, vec.scale(radius_i, n)))
    vec.store(out, k, at.WITNESS_A + second * step, vec.add(c_j, vec.scale(radius_j, n)))
    out[k, at.RADIUS_A + first], out[k, at.RADIUS_A + second] = radius_i, radius_j
    step = at.FEATURE_B - at.FEATURE_A
    out[k, at.FEATURE_A + first * step], out[k, at.FEATURE_A + second * step] = (
        feature_i,
        feature_j,
    )
    vec.store(out, k, at.DIRECTION_A + first * step, direction_i)
    vec.store(out, k, at.DIRECTION_A + second * step, direction_j)


@inlined
def _against(table: np.ndarray, i: int, n: Vector) -> Vector:
    """Return the point of a shape that lies farthest against a direction, in world axes."""
    R, half = vec.load_matrix(table, i, at.PLACED_ROTATION), vec.load(table, i, at.HALF)
    x = vec.apply_transposed(R, n)
    if table[i, at.KIND] == at.CYLINDER:
        point = shapes.against_cylinder(x, half)
    else:
        point = shapes.against_box(x, half)
    point = vec.add(vec.load(table, i, at.PLACED_POSITION), vec.apply(R, point))
    return vec.subtract(point, vec.scale(table[i, at.RADIUS], n))


@inlined
def _take_direction(
    table: np.ndarray, i: int, j: int, out: np.ndarray, k: int, sign: float, n: Vector
) -> None:
    """Take the gap between two shapes along a direction from j to i, if it is a better bound.

    The distance is the greatest such gap (Gilbert, Johnson & Keerthi 1988); here of a few
    directions, each improved by two steps towards the line between the two points.
    """
    p = vec.load(table, j, at.PLACED_POSITION)
    step = at.WITNESS_B - at.WITNESS_A
    first, second = 0, 1
    if sign < 0.0:
        first, second = 1, 0
    for _ in range(3):
        a = _against(table, i, n)
        b = p
        if table[j, at.KIND] != at.HALF_SPACE:
            b = _against(table, j, vec.scale(-1.0, n))
        way = vec.subtract(a, b)
        gap = vec.dot(n, way)
        if table[j, at.KIND] == at.HALF_SPACE:
            b = vec.subtract(a, vec.scale(gap, n))
        if gap > out[k, at.DISTANCE]:
            out[k, at.DISTANCE] = gap
            vec.store(out, k, at.NORMAL, vec.scale(sign, n))
            vec.store(out, k, at.WITNESS_A + first * step, a)
            vec.store(out, k, at.WITNESS_A + second * step, b)
            out[k, at.RADIUS_A], out[k, at.RADIUS_B] = 0.0, 0.0
            out[k, at.FEATURE_A], out[k, at.FEATURE_B] = at.VERTEX, at.VERTEX
        if gap <= 0.0 or table[j, at.KIND] == at.HALF_SPACE:
            return
        n = vec.add(n, vec.scale(0.5 / sqrt(vec.dot(way, way)), way))
        n = vec.scale(1.0 / sqrt(vec.dot(n, n)), n)


@inlined
def measure(table: np.ndarray, pairs: np.ndarray, k: int, out: np.ndarray) -> None:
    """Write the distance of one pair of shapes whose places are written."""
    a, b = int(pairs[k, 0]), int(pairs[k, 1])
    kind_a, kind_b = table[a, at.KIND], table[b, at.KIND]
    out[k, at.DISTANCE] = -np.inf
    # The segment comes first, a half-space last. Of two others: the better of two lower bounds.
    is_ordered = kind_a == at.CAPSULE or kind_b == at.HALF_SPACE
    is_flat = kind_a != at.CAPSULE and kind_a != at.HALF_SPACE
    both = is_flat and kind_b != at.CAPSULE and kind_b != at.HALF_SPACE
    for swap in range(2):
        if both or is_ordered == (swap == 0):
            i, j, sign = (b, a, -1.0) if swap else (a, b, 1.0)
            half, radius = vec.load(table, j, at.HALF), table[j, at.RADIUS]
            _pair(table, i, j, half, radius, out, k, sign)
    for side in range(2):
        i, j, sign = (b, a, -1.0) if side else (a, b, 1.0)
        if table[i, at.KIND] == at.CYLINDER and table[j, at.KIND] != at.HALF_SPACE:
            if table[j, at.KIND] != at.BOX and (side == 0 or not both):
                # The capsule around a cylinder, along its z, stands for it, too.
                half, radius = vec.load(table, i, at.SEGMENT), table[i, at.SEGMENT_RADIUS]
                _pair(table, j, i, half, radius, out, k, -sign)
            z = vec.apply(vec.load_matrix(table, i, at.PLACED_ROTATION), (0.0, 0.0, 1.0))
            p = vec.load(table, i, at.PLACED_POSITION)
            if vec.dot(z, vec.subtract(p, vec.load(table, j, at.PLACED_POSITION))) < 0.0:
                z = vec.scale(-1.0, z)
            _take_direction(table, i, j, out, k, sign, z)


@CheckedKernel
def distances(buffer: np.ndarray, table: np.ndarray, pairs: np.ndarray, out: np.ndarray) -> int:
    """Write the distances of all pairs of shapes.

    Args:
        buffer: A `Data`'s buffer, with placements.
        table: Shapes (n, S_STRIDE); where they lie is written.
        pairs: Indices of two shapes each (npairs, 2).
        out: (npairs, D_STRIDE), written.

    Returns:
        0, or 1 where placements were never computed.
    """
    rows = buffer_at.rows_of(buffer)
    origin = vec.load(rows, 0, buffer_at.POSITION)
    for k in range(table.shape[0]):
        place_shape(rows, table, k)
    for k in range(pairs.shape[0]):
        measure(table, pairs, k, out)
        for step in range(0, 6, 3):
            p = vec.load(out, k, at.WITNESS_A + step)
            vec.store(out, k, at.WORLD_A + step, vec.subtract(p, origin))
            if isnan(p[0]):
                return 1
    return 0


@inlined
def _along(rows: np.ndarray, row: int, p: Vector, n: Vector) -> float:
    """Return n . (velocity of a point p for unit speed of what moves a row)."""
    column = sp.load(rows, row, buffer_at.COLUMN)
    along = vec.dot(n, vec.add(column[0], vec.cross(column[1], p)))
    return rows[row, buffer_at.MULTIPLIER] * along


@inlined
def write_row(
    rows: np.ndarray, a: int, b: int, p_a: Vector, p_b: Vector, n: Vector, out: np.ndarray
) -> None:
    """Write n^T (J_a - J_b) at points of the bodies of two rows; what moves both cancels."""
    out[:] = 0.0
    while a != b:
        if a > b:
            out[buffer_at.integer(rows, a, buffer_at.INDEX_V)] += _along(rows, a, p_a, n)
            a = buffer_at.integer(rows, a, buffer_at.PARENT)
        else:
            out[buffer_at.integer(rows, b, buffer_at.INDEX_V)] -= _along(rows, b, p_b, n)
            b = buffer_at.integer(rows, b, buffer_at.PARENT)


@inlined
def _feature_rate(w: Vector, e: Vector, n: Vector) -> float:
    """Return n' . e of a direction e that turns with omega w."""
    return -vec.dot(n, vec.cross(w, e))


@inlined
def _normal_rate(
    out: np.ndarray, k: int, n: Vector, d: float, u: Vector, w_a: Vector, w_b: Vector
) -> Vector:
    """Return n'."""
    feature_a, feature_b = out[k, at.FEATURE_A], out[k, at.FEATURE_B]
    if feature_b == at.FACE:
        return vec.cross(w_b, n)
    if feature_a == at.FACE:
        return vec.cross(w_a, n)
    a, b = vec.load(out, k, at.DIRECTION_A), vec.load(out, k, at.DIRECTION_B)
    if feature_a == at.EDGE:
        a = vec.scale(1.0 / sqrt(vec.dot(a, a)), a)
    if feature_b == at.EDGE:
        b = vec.scale(1.0 / sqrt(vec.dot(b, b)), b)
    if feature_a == at.EDGE and feature_b == at.EDGE:
        area = vec.dot(n, vec.cross(a, b))
        if abs(area) > shapes.PARALLEL:
            # n' = alpha n x b + beta n x a, of which each is perpendicular to one direction
            alpha, beta = -_feature_rate(w_a, a, n) / area, _feature_rate(w_b, b, n) / area
            rate = vec.scale(alpha, vec.cross(n, b))
            return vec.add(rate, vec.scale(beta, vec.cross(n, a)))
    tangential = vec.subtract(u, vec.scale(vec.dot(n, u), n))
    if feature_a == at.VERTEX and feature_b == at.VERTEX:
        return vec.ZERO if abs(d) <= shapes.TOUCHING else vec.scale(1.0 / d, tangential)
    e, w = (a, w_a) if feature_a == at.EDGE else (b, w_b)
    rate = vec.scale(_feature_rate(w, e, n), e)
    if abs(d) <= shapes.TOUCHING:
        return rate
    rest = vec.subtract(tangential, vec.scale(vec.dot(tangential, e), e))
    return vec.add(rate, vec.scale(1.0 / d, rest))


@inlined
def _velocity(rows: np.ndarray, row: int, p: Vector) -> tuple[Vector, Vector]:
    """Return the velocity of a body's point, and the angular velocity."""
    v = sp.load(rows, row, buffer_at.TWIST)
    return vec.add(v[0], vec.cross(v[1], p)), v[1]


@inlined
def _acceleration(rows: np.ndarray, row: int, p: Vector, v: Vector, w: Vector) -> Vector:
    """Return the classical acceleration of a body's point at ddq = 0."""
    a = sp.load(rows, row, buffer_at.ACCELERATION)
    return vec.add(vec.add(a[0], vec.cross(a[1], p)), vec.cross(w, v))


@inlined
def _bias(rows: np.ndarray, a: int, b: int, out: np.ndarray, k: int) -> float:
    """Return d'' at ddq = 0."""
    n = vec.load(out, k, at.NORMAL)
    radius_a, radius_b = out[k, at.RADIUS_A], out[k, at.RADIUS_B]
    c_a = vec.add(vec.load(out, k, at.WITNESS_A), vec.scale(radius_a, n))
    c_b = vec.subtract(vec.load(out, k, at.WITNESS_B), vec.scale(radius_b, n))
    v_a, w_a = _velocity(rows, a, c_a)
    v_b, w_b = _velocity(rows, b, c_b)
    d = out[k, at.DISTANCE] + radius_a + radius_b
    u = vec.subtract(v_a, v_b)
    rate = _normal_rate(out, k, n, d, u, w_a, w_b)
    drift = vec.subtract(
        _acceleration(rows, a, c_a, v_a, w_a), _acceleration(rows, b, c_b, v_b, w_b)
    )
    return vec.dot(n, drift) + 2.0 * vec.dot(rate, u) - d * vec.dot(rate, rate)


@inlined
def _bodies(table: np.ndarray, pairs: np.ndarray, k: int) -> tuple[int, int]:
    """Return the rows that carry the two shapes of a pair."""
    return int(table[int(pairs[k, 0]), at.ROW]), int(table[int(pairs[k, 1]), at.ROW])


@CheckedKernel
def jacobian(
    buffer: np.ndarray, table: np.ndarray, pairs: np.ndarray, found: np.ndarray, out: np.ndarray
) -> int:
    """After `distances`: write their gradients, (npairs, nv)."""
    rows = buffer_at.rows_of(buffer)
    for k in range(pairs.shape[0]):
        a, b = _bodies(table, pairs, k)
        p_a, p_b = vec.load(found, k, at.WITNESS_A), vec.load(found, k, at.WITNESS_B)
        write_row(rows, a, b, p_a, p_b, vec.load(found, k, at.NORMAL), out[k])
    return 0


@CheckedKernel
def bias(
    buffer: np.ndarray, table: np.ndarray, pairs: np.ndarray, found: np.ndarray, out: np.ndarray
) -> int:
    """After `distances`: write their second derivatives at ddq = 0, (npairs,)."""
    rows = buffer_at.rows_of(buffer)
    for k in range(pairs.shape[0]):
        a, b = _bodies(table, pairs, k)
        out[k] = _bias(rows, a, b, found, k)
        if isnan(out[k]):
            return 1
    return 0


@CheckedKernel
def tangents(
    buffer: np.ndarray, table: np.ndarray, pairs: np.ndarray, found: np.ndarray, out: np.ndarray
) -> int:
    """After `distances`: write two rows per pair, the relative velocity along two tangents.

    Args:
        buffer: A `Data`'s buffer.
        table: Shapes.
        pairs: The pairs.
        found: What `distances` found.
        out: (2 npairs, nv), written.
    """
    rows = buffer_at.rows_of(buffer)
    for k in range(pairs.shape[0]):
        a, b = _bodies(table, pairs, k)
        n = vec.load(found, k, at.NORMAL)
        p_a, p_b = vec.load(found, k, at.WITNESS_A), vec.load(found, k, at.WITNESS_B)
        # One point for both, so that what moves both bodies moves it alike.
        p = vec.scale(0.5, vec.add(p_a, p_b))
        t = shapes.perpendicular(n)
        write_row(rows, a, b, p, p, t, out[2 * k])
        write_row(rows, a, b, p, p, vec.cross(n, t), out[2 * k + 1])
    return 0
