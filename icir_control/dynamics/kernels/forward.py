"""From the root to the leaves: placements, columns of J, twists, accelerations.

All cosines and sines come first, in one loop that the compiler turns into vector code. The
library's two functions, one angle at a time, would take a quarter of the time of all terms of a
six-joint arm. This takes a third of theirs, and less the more angles there are.
"""

from fractions import Fraction
from math import cos, factorial, floor, pi, sin

import numpy as np

from icir_control.compiled import inlined, kernel
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels import spatial as sp
from icir_control.dynamics.kernels import vector as vec
from icir_control.dynamics.kernels.checked import CheckedKernel, is_configuration, is_velocity
from icir_control.dynamics.kernels.mimic import take_mimics, turn_mimics
from icir_control.dynamics.kernels.vector import Matrix, Vector

LARGEST_ANGLE = 1e6
"""Beyond this angle [rad] the reduction would lose digits, and the library's functions serve."""

# pi / 2 in three parts: n times the first two is exact for |n| < 2^20 (Cody & Waite).
_HALF_PI = Fraction('1.57079632679489661923132169163975144209858469968755291')
_FIRST = Fraction(round(_HALF_PI * 2**32), 2**32)
_SECOND = Fraction(round((_HALF_PI - _FIRST) * 2**65), 2**65)
FIRST, SECOND, THIRD = float(_FIRST), float(_SECOND), float(_HALF_PI - _FIRST - _SECOND)
QUARTERS_PER_RADIAN = 2.0 / pi

# Taylor series on |r| < pi / 4, where the next term is below 1e-19, highest power first.
SINE = tuple((-1.0) ** k / factorial(2 * k + 1) for k in range(8, 0, -1))
COSINE = tuple((-1.0) ** k / factorial(2 * k) for k in range(9, 0, -1))


@kernel
def cos_sin(angles: np.ndarray, out: np.ndarray) -> None:
    """Write the cosine of each angle into row 0, its sine into row 1."""
    for i in range(angles.size):
        x = angles[i]
        quarter = floor(x * QUARTERS_PER_RADIAN + 0.5)
        r = ((x - quarter * FIRST) - quarter * SECOND) - quarter * THIRD
        z = r * r
        s = SINE[0]
        for k in range(1, 8):
            s = s * z + SINE[k]
        s = r + r * (z * s)
        c = COSINE[0]
        for k in range(1, 9):
            c = c * z + COSINE[k]
        c = 1.0 + z * c
        # x = r + quarter pi / 2: the two swap on odd quarters, and change sign.
        turn = int(quarter)
        across, up = (c, s) if turn & 1 == 0 else (s, c)
        out[0, i] = across if (turn + 1) & 2 == 0 else -across
        out[1, i] = up if turn & 2 == 0 else -up


@inlined
def take_configuration(buffer: np.ndarray, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Prepare all joints for q; return the rows, and what `take_coordinates` returns."""
    coordinates, rows = take_coordinates(buffer, q), at.rows_of(buffer)
    if buffer[at.H_REFERENCE_ROWS] != 0.0:
        R, p = vec.IDENTITY, vec.ZERO
        for k in range(1, int(buffer[at.H_REFERENCE_ROWS]) + 1):
            R_joint, p_joint = joint_placement(rows, k, coordinates)
            p = vec.add(p, vec.apply(R, p_joint))
            R = vec.multiply(R, R_joint)
        vec.store(rows, 0, at.POSITION, vec.scale(-1.0, p))
    return rows, coordinates


@inlined
def take_coordinates(buffer: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Write cosines, sines and values of q, and return their block."""
    coordinates = at.matrix_of(buffer, at.H_COORDINATES, 3, int(buffer[at.H_WIDTH]))
    values = coordinates[at.VALUE]
    # Whole vectors only: the padding of the copy stays zero.
    largest = 0.0
    for i in range(q.size):
        values[i] = q[i]
        largest = max(largest, abs(q[i]))
    if buffer[at.H_MIMICS] != 0.0:
        largest = max(largest, take_mimics(buffer, values))
    cos_sin(values, coordinates)
    if largest > LARGEST_ANGLE:
        for i in range(values.size):
            coordinates[at.COS, i], coordinates[at.SIN, i] = cos(values[i]), sin(values[i])
    if buffer[at.H_MIMICS] != 0.0:
        turn_mimics(buffer, coordinates)
    if buffer[at.H_HAS_QUATERNIONS] != 0.0:
        _take_quaternions(at.rows_of(buffer), values)
    return coordinates


@inlined
def _take_quaternions(rows: np.ndarray, q: np.ndarray) -> None:
    """Write the placements of spherical and floating joints into the constants of their rows.

    So the loop over all rows, in `place`, has one formula for every joint and no branch.
    """
    for k in range(1, rows.shape[0]):
        motion = at.integer(rows, k, at.MOTION)
        if motion != at.SPHERICAL and motion != at.FLOATING:
            continue
        i = at.integer(rows, k, at.INDEX_Q)
        R = vec.load_matrix(rows, k, at.NEUTRAL_ROTATION)
        p = vec.load(rows, k, at.NEUTRAL_POSITION)
        if motion == at.FLOATING:
            p = vec.add(p, vec.apply(R, (q[i], q[i + 1], q[i + 2])))
            i += 3
        R = vec.multiply(R, _rotation_of(q[i], q[i + 1], q[i + 2], q[i + 3]))
        vec.store_matrix(rows, k, at.JOINT_ROTATION, R)
        vec.store(rows, k, at.JOINT_POSITION, p)


@inlined
def _rotation_of(x: float, y: float, z: float, w: float) -> Matrix:
    """Return the rotation of a quaternion, whatever its length."""
    s = 2.0 / (x * x + y * y + z * z + w * w)
    return (
        (1.0 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)),
        (s * (x * y + z * w), 1.0 - s * (x * x + z * z), s * (y * z - x * w)),
        (s * (x * z - y * w), s * (y * z + x * w), 1.0 - s * (x * x + y * y)),
    )


@inlined
def joint_placement(rows: np.ndarray, k: int, coordinates: np.ndarray) -> tuple[Matrix, Vector]:
    """Return the placement of row k in its parent row, after `take_configuration`.

    Turning and sliding are one formula, since Rodrigues' is linear in (1, cos q, sin q): what a
    row does not do has zeros for constants.
    """
    i = at.integer(rows, k, at.INDEX_Q)
    # R_0 Rot(axis, q), and R_0 for a slide
    A = vec.load_matrix(rows, k, at.JOINT_ROTATION)
    B = vec.load_matrix(rows, k, at.JOINT_ROTATION_COS)
    C = vec.load_matrix(rows, k, at.JOINT_ROTATION_SIN)
    c, s = coordinates[at.COS, i], coordinates[at.SIN, i]
    R = (
        vec.add(A[0], vec.add(vec.scale(c, B[0]), vec.scale(s, C[0]))),
        vec.add(A[1], vec.add(vec.scale(c, B[1]), vec.scale(s, C[1]))),
        vec.add(A[2], vec.add(vec.scale(c, B[2]), vec.scale(s, C[2]))),
    )
    # p_0 + R_0 axis q, and p_0 for a turn
    slide = vec.scale(coordinates[at.VALUE, i], vec.load(rows, k, at.JOINT_SLIDE))
    return R, vec.add(vec.load(rows, k, at.JOINT_POSITION), slide)


@inlined
def place(rows: np.ndarray, k: int, coordinates: np.ndarray) -> tuple[Matrix, Vector]:
    """Place row k in the world and write its column of J, the parent being placed."""
    parent = at.integer(rows, k, at.PARENT)
    R_parent = vec.load_matrix(rows, parent, at.ROTATION)
    R_joint, p_joint = joint_placement(rows, k, coordinates)
    # oM_k = oM_parent M_joint(q)
    R = vec.multiply(R_parent, R_joint)
    p = vec.add(vec.load(rows, parent, at.POSITION), vec.apply(R_parent, p_joint))
    vec.store_matrix(rows, k, at.ROTATION, R)
    vec.store(rows, k, at.POSITION, p)
    # J_k = oX_k S_k
    axis = vec.apply(R, vec.load(rows, k, at.AXIS))
    if rows[k, at.LINEAR] != 0.0:
        sp.store(rows, k, at.COLUMN, (axis, vec.ZERO))
    else:
        sp.store(rows, k, at.COLUMN, (vec.cross(p, axis), axis))
    return R, p


@inlined
def move(rows: np.ndarray, k: int, rate: float) -> tuple[sp.Spatial, sp.Spatial]:
    """Write the twist of row k and its acceleration at ddq = 0, and return both.

    Without gravity; the parent has moved, and row k is placed. `rate` is the speed of this degree
    of freedom. Equations: the cheat sheet's forward loop, in world axes.
    """
    parent, bias = at.integer(rows, k, at.PARENT), at.integer(rows, k, at.BIAS)
    # v_J = J_k qd_k
    v_joint = sp.scale(rate, sp.load(rows, k, at.COLUMN))
    # v_k = v_parent + v_J
    v = sp.add(sp.load(rows, parent, at.TWIST), v_joint)
    # a_k = a_parent + v_bias x v_J, where v_bias x S qd holds c_J too
    a_bias = sp.cross_motion(sp.load(rows, bias, at.TWIST), v_joint)
    a = sp.add(sp.load(rows, parent, at.ACCELERATION), a_bias)
    sp.store(rows, k, at.TWIST, v)
    sp.store(rows, k, at.ACCELERATION, a)
    return v, a


@inlined
def accelerate(rows: np.ndarray, k: int, ddq: float) -> sp.Spatial:
    """Add J_k ddq_k to the acceleration of row k, which `move` wrote, and return the sum."""
    a_joint = sp.scale(ddq, sp.load(rows, k, at.COLUMN))
    a = sp.add(sp.load(rows, k, at.ACCELERATION), a_joint)
    sp.store(rows, k, at.ACCELERATION, a)
    return a


@inlined
def place_all(buffer: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Fill placements and columns of J, and return the rows."""
    rows, coordinates = take_configuration(buffer, q)
    for k in range(1, rows.shape[0]):
        place(rows, k, coordinates)
    return rows


@CheckedKernel
def placements(buffer: np.ndarray, q: np.ndarray) -> int:
    """Check q, then fill placements and columns of J."""
    if not is_configuration(buffer, q):
        return 1
    place_all(buffer, q)
    return 0


@inlined
def _move_all(
    buffer: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray, has_a: bool
) -> None:
    """Fill placements, columns of J, twists and accelerations, at ddq = 0 unless there is one."""
    rows, coordinates = take_configuration(buffer, q)
    for k in range(1, rows.shape[0]):
        place(rows, k, coordinates)
        move(rows, k, at.rate_of(rows, k, v))
        if has_a:
            accelerate(rows, k, at.rate_of(rows, k, a))


@CheckedKernel
def velocities(buffer: np.ndarray, q: np.ndarray, v: np.ndarray) -> int:
    """Check q and v, then fill placements, columns of J, twists, accelerations at ddq = 0."""
    if not (is_configuration(buffer, q) and is_velocity(buffer, v)):
        return 1
    _move_all(buffer, q, v, v, False)
    return 0


@CheckedKernel
def accelerations(buffer: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray) -> int:
    """Check q, v and a, then fill placements, columns of J, twists and accelerations."""
    if not (is_configuration(buffer, q) and is_velocity(buffer, v) and is_velocity(buffer, a)):
        return 1
    _move_all(buffer, q, v, a, True)
    return 0
