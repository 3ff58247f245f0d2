"""The distance of two convex shapes, with the points and the features where they are nearest.

Every shape but a half-space is a *core*, a box that may be as thin as a segment or a point, and a
radius around it. So all pairs come down to a segment and a box, and a box and a half-space. The
distance from a segment to a box is a convex function of the place on the segment, with a
derivative that is continuous and linear between at most six places: its zero is found exactly.
Where the cores overlap, the depth is the least overlap over all directions in which two polytopes
can be separated: normals of faces, and products of edges (separating axis theorem; Ericson,
Real-Time Collision Detection, 5.2.1 and 5.5.7).
"""

from math import sqrt

import numpy as np

from icir_control.collision.kernels import layout as at
from icir_control.compiled import inlined
from icir_control.dynamics.kernels import vector as vec
from icir_control.dynamics.kernels.vector import Matrix, Vector

Found = tuple[float, Vector, Vector, Vector, int, Vector, int, Vector]
"""Distance of the cores, their points a and b, the normal from b to a, the features of both."""

TOUCHING = 1e-12
"""Cores nearer than this [m] overlap: the line between their points has no direction."""
PARALLEL = 1e-12
"""Sine of the angle below which directions are parallel."""


@inlined
def _excess(x: float, half: float) -> float:
    """Return how far a coordinate lies outside [-half, half]."""
    return x - min(max(x, -half), half)


@inlined
def _outside(x: Vector, half: Vector) -> Vector:
    """Return the vector to a point from the nearest point of a box."""
    return _excess(x[0], half[0]), _excess(x[1], half[1]), _excess(x[2], half[2])


@inlined
def _slope(s: float, center: Vector, way: Vector, half: Vector) -> float:
    """Return half the derivative of the squared distance to the box at a place s."""
    return vec.dot(_outside(vec.add(center, vec.scale(s, way)), half), way)


@inlined
def _zero(low: float, slope_low: float, high: float, slope_high: float, level: float) -> float:
    """Return where a linear function reaches a level."""
    return low + (level - slope_low) * (high - low) / (slope_high - slope_low)


@inlined
def _nearest_place(center: Vector, way: Vector, half: Vector) -> float:
    """Return the place s in [-1, 1] at which center + s way is nearest to a box.

    Of many such places, where the segment is parallel to the box, the middle: the mean of where
    the slope rises above -level, and of where it rises above level.
    """
    length = sqrt(vec.dot(way, way))
    level = 1e-15 * length * (length + sqrt(vec.dot(center, center)))
    # The last place with a slope below each level and the first with one above, and the slopes.
    below, slope_below, above, slope_above = -2.0, 0.0, 2.0, 0.0
    under, slope_under, over, slope_over = -2.0, 0.0, 2.0, 0.0
    for i in range(8):
        s = 1.0 if i & 1 else -1.0
        if i >= 2:
            axis = (i >> 1) - 1
            if way[axis] == 0.0:
                continue
            s = (s * half[axis] - center[axis]) / way[axis]
            if not -1.0 < s < 1.0:
                continue
        slope = _slope(s, center, way, half)
        if slope < -level:
            if s > below:
                below, slope_below = s, slope
        elif s < above:
            above, slope_above = s, slope
        if slope <= level:
            if s > under:
                under, slope_under = s, slope
        elif s < over:
            over, slope_over = s, slope
    left, right = -1.0, 1.0
    if above > 1.0:
        left = 1.0
    elif below >= -1.0:
        left = _zero(below, slope_below, above, slope_above, -level)
    if under < -1.0:
        right = -1.0
    elif over <= 1.0:
        right = _zero(under, slope_under, over, slope_over, level)
    return 0.5 * (left + right)


@inlined
def _unit(i: int) -> Vector:
    return (1.0 if i == 0 else 0.0), (1.0 if i == 1 else 0.0), (1.0 if i == 2 else 0.0)


@inlined
def _sign(x: float) -> float:
    return -1.0 if x < 0.0 else 1.0


@inlined
def _support(n: float, half: float) -> float:
    """Return a box's coordinate that lies farthest against a direction; of many the middle."""
    if abs(n) < PARALLEL:
        return 0.0
    return -half if n > 0.0 else half


@inlined
def against_box(n: Vector, half: Vector) -> Vector:
    """Return the point of a box that lies farthest against a direction; of many the middle."""
    return _support(n[0], half[0]), _support(n[1], half[1]), _support(n[2], half[2])


@inlined
def against_cylinder(n: Vector, half: Vector) -> Vector:
    """Return the same of a cylinder along z; half its sizes."""
    across = sqrt(n[0] * n[0] + n[1] * n[1])
    if across < PARALLEL:
        return 0.0, 0.0, _support(n[2], half[2])
    return -half[0] * n[0] / across, -half[0] * n[1] / across, _support(n[2], half[2])


@inlined
def perpendicular(a: Vector) -> Vector:
    """Return a unit vector perpendicular to a, which is not 0."""
    i = 0 if abs(a[0]) < 0.6 * sqrt(vec.dot(a, a)) else 1
    e = vec.cross(a, _unit(i))
    return vec.scale(1.0 / sqrt(vec.dot(e, e)), e)


@inlined
def _separated(center: Vector, way: Vector, half: Vector, s: float) -> Found:
    """Describe the nearest points of a segment and a box that do not overlap."""
    p = vec.add(center, vec.scale(s, way))
    out = _outside(p, half)
    d = sqrt(vec.dot(out, out))
    slides = -1.0 < s < 1.0 and vec.dot(way, way) > 0.0
    free, axis = 0, 0
    for i in range(3):
        if out[i] == 0.0 and -half[i] < p[i] < half[i]:
            free, axis = free + 1, i
    feature_b = at.VERTEX if free == 0 else at.EDGE if free == 1 else at.FACE
    feature_a = at.EDGE if slides else at.VERTEX
    n = vec.scale(1.0 / d, out)
    return d, p, vec.subtract(p, out), n, feature_a, way, feature_b, _unit(axis)


@inlined
def _overlapping(center: Vector, way: Vector, half: Vector, s: float) -> Found:
    """Describe the least overlap of a segment and a box; s is the middle of what is inside."""
    best, n, edge = np.inf, vec.ZERO, -1
    length = sqrt(vec.dot(way, way))
    for i in range(7):
        e = _unit(i % 3)
        if i == 6:
            if half[0] > 0.0:
                break
            # Lines or points that coincide can be separated across the line.
            e = perpendicular(way if length > 0.0 else vec.Z)
        elif i < 3:
            e = vec.cross(way, e)
            size = sqrt(vec.dot(e, e))
            if size <= PARALLEL * length or half[i] == 0.0:
                continue
            e = vec.scale(1.0 / size, e)
        reach = half[0] * abs(e[0]) + half[1] * abs(e[1]) + half[2] * abs(e[2])
        reach += abs(vec.dot(way, e))
        c = vec.dot(center, e)
        # Rounding must not choose between equals.
        if reach - abs(c) < best - 1e-15:
            best, n, edge = reach - abs(c), vec.scale(_sign(c), e), i
    d = -best
    toward = vec.dot(way, n)
    if edge >= 3:
        if abs(toward) > PARALLEL * length:
            s = -_sign(toward)
        p = vec.add(center, vec.scale(s, way))
        feature = at.EDGE if -1.0 < s < 1.0 and length > 0.0 else at.VERTEX
        return d, p, vec.subtract(p, vec.scale(d, n)), n, feature, way, at.FACE, vec.ZERO
    # Seen along n the two lines cross.
    across = vec.cross(n, _unit(edge))
    corner = -_support(n[0], half[0]), -_support(n[1], half[1]), -_support(n[2], half[2])
    s = -vec.dot(vec.subtract(center, corner), across) / vec.dot(way, across)
    s = min(max(s, -1.0), 1.0)
    p = vec.add(center, vec.scale(s, way))
    return d, p, vec.subtract(p, vec.scale(d, n)), n, at.EDGE, way, at.EDGE, _unit(edge)


@inlined
def segment_box(center: Vector, way: Vector, half: Vector) -> Found:
    """Return the distance of the segment center +- way and the box around the origin.

    Args:
        center: Middle of the segment in the box's frame [m].
        way: Half of the segment.
        half: Half sizes of the box; 0 where it is thin.
    """
    s = _nearest_place(center, way, half)
    out = _outside(vec.add(center, vec.scale(s, way)), half)
    if vec.dot(out, out) > TOUCHING**2:
        return _separated(center, way, half, s)
    return _overlapping(center, way, half, s)


@inlined
def box_half_space(R: Matrix, p: Vector, half: Vector, R_plane: Matrix, p_plane: Vector) -> Found:
    """Return the distance of a box at (R, p) and of a half-space, in world axes."""
    n = R_plane[0][2], R_plane[1][2], R_plane[2][2]
    a = vec.add(p, vec.apply(R, against_box(vec.apply_transposed(R, n), half)))
    d = vec.dot(n, vec.subtract(a, p_plane))
    return d, a, vec.subtract(a, vec.scale(d, n)), n, at.VERTEX, vec.ZERO, at.FACE, vec.ZERO


@inlined
def in_world(R: Matrix, p: Vector, found: Found) -> Found:
    """Return what was found in the axes of a frame at (R, p)."""
    d, a, b, n, feature_a, direction_a, feature_b, direction_b = found
    return (
        d,
        vec.add(p, vec.apply(R, a)),
        vec.add(p, vec.apply(R, b)),
        vec.apply(R, n),
        feature_a,
        vec.apply(R, direction_a),
        feature_b,
        vec.apply(R, direction_b),
    )
