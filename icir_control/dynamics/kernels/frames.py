"""Frames that are fixed to bodies: pose, twist, acceleration, Jacobian and its rate.

The checked kernels return 1, or raise a `TypeError` where they return an array, for a frame or
reference that does not exist, an array that does not fit, or what they need and was never
computed: NaN then.
"""

from math import isnan

import numpy as np

from icir_control.compiled import inlined, kernel
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels import spatial as sp
from icir_control.dynamics.kernels import vector as vec
from icir_control.dynamics.kernels.checked import CheckedKernel, fresh_matrix, new_motion
from icir_control.dynamics.kernels.forward import place_all
from icir_control.dynamics.kernels.vector import Matrix, Vector
from icir_control.spatial import Motion

LOCAL, WORLD, LOCAL_WORLD_ALIGNED = range(3)


@inlined
def place_frame(buffer: np.ndarray, frame: int) -> tuple[np.ndarray, int, Matrix, Vector]:
    """Return the rows, the frame's row, its rotation, and its origin from the row's origin."""
    rows, frames = at.rows_of(buffer), at.frames_of(buffer)
    row = at.integer(frames, frame, at.F_ROW)
    R_row = vec.load_matrix(rows, row, at.ROTATION)
    R = vec.multiply(R_row, vec.load_matrix(frames, frame, at.F_ROTATION))
    return rows, row, R, vec.apply(R_row, vec.load(frames, frame, at.F_POSITION))


@inlined
def _at_row(rows: np.ndarray, row: int, arm: Vector) -> Vector:
    """Return a point from the reference point, given from the row's origin."""
    return vec.add(vec.load(rows, row, at.POSITION), arm)


@inlined
def _in_world(rows: np.ndarray, row: int, arm: Vector) -> Vector:
    """Return a point from the world's origin, given from the row's origin."""
    p = vec.subtract(vec.load(rows, row, at.POSITION), vec.load(rows, 0, at.POSITION))
    return vec.add(p, arm)


@inlined
def _place_axes(
    buffer: np.ndarray, frame: int, reference: int
) -> tuple[np.ndarray, int, Matrix, Vector]:
    """Return the rows, the frame's row, and the axes and point in which its motion is given."""
    rows, row, R, arm = place_frame(buffer, frame)
    if reference == WORLD:
        return rows, row, vec.IDENTITY, vec.load(rows, 0, at.POSITION)
    p = _at_row(rows, row, arm)
    if reference == LOCAL:
        return rows, row, R, p
    return rows, row, vec.IDENTITY, p


@inlined
def _motion_at(rows: np.ndarray, row: int, column: int, R: Matrix, p: Vector) -> sp.Spatial:
    """Return the row's motion that begins at `column`, in axes R at point p."""
    return sp.motion_in(R, p, sp.load(rows, row, column))


@inlined
def _classical(rows: np.ndarray, row: int, R: Matrix, p: Vector) -> sp.Spatial:
    """Return the acceleration of the body's point p in axes R: a_spatial + omega x v."""
    a = _motion_at(rows, row, at.ACCELERATION, R, p)
    v = _motion_at(rows, row, at.TWIST, R, p)
    return vec.add(a[0], vec.cross(v[1], v[0])), a[1]


@inlined
def _write_motion(motion: sp.Spatial, out: np.ndarray) -> None:
    """Write a motion into an array of six, linear part first."""
    out[0], out[1], out[2] = motion[0]
    out[3], out[4], out[5] = motion[1]


@inlined
def _write_column(
    rows: np.ndarray, k: int, has_mimics: bool, motion: sp.Spatial, out: np.ndarray
) -> None:
    """Write a motion of row k into its column of a (6, nv) array, which is zero before.

    With mimic joints several rows share a column, and add.
    """
    column = k - 1
    if has_mimics:
        column = at.integer(rows, k, at.INDEX_V)
        before = (
            (out[0, column], out[1, column], out[2, column]),
            (out[3, column], out[4, column], out[5, column]),
        )
        motion = sp.add(before, sp.scale(rows[k, at.MULTIPLIER], motion))
    out[0, column], out[1, column], out[2, column] = motion[0]
    out[3, column], out[4, column], out[5, column] = motion[1]


@inlined
def _write_jacobian(
    buffer: np.ndarray, rows: np.ndarray, row: int, R: Matrix, p: Vector, out: np.ndarray
) -> None:
    """Write the Jacobian (6, nv) of a point p of the row's body, in axes R: X^-1 J."""
    has_mimics = buffer[at.H_MIMICS] != 0.0
    out[:] = 0.0
    k = row
    while k > 0:
        _write_column(rows, k, has_mimics, _motion_at(rows, k, at.COLUMN, R, p), out)
        k = at.integer(rows, k, at.PARENT)


@inlined
def _write_pose(R: Matrix, p: Vector, out: np.ndarray) -> None:
    """Write a placement into a (4, 3) array: the rotation, below it the position."""
    out[0, 0], out[0, 1], out[0, 2] = R[0]
    out[1, 0], out[1, 1], out[1, 2] = R[1]
    out[2, 0], out[2, 1], out[2, 2] = R[2]
    out[3, 0], out[3, 1], out[3, 2] = p


@inlined
def write_frame_terms(
    buffer: np.ndarray,
    frame: int,
    pose: np.ndarray,
    twist: np.ndarray,
    jacobian: np.ndarray,
    drift: np.ndarray,
) -> None:
    """Do what `frame_terms` does."""
    rows, row, R, arm = place_frame(buffer, frame)
    _write_pose(R, _in_world(rows, row, arm), pose)
    p = _at_row(rows, row, arm)
    _write_motion(_motion_at(rows, row, at.TWIST, R, p), twist)
    _write_motion(_classical(rows, row, R, p), drift)
    _write_jacobian(buffer, rows, row, R, p, jacobian)


@kernel
def frame_terms(
    buffer: np.ndarray,
    frame: int,
    pose: np.ndarray,
    twist: np.ndarray,
    jacobian: np.ndarray,
    drift: np.ndarray,
) -> None:
    """After `terms`: a frame's pose, and its LOCAL twist, Jacobian and drift dJ v.

    Args:
        buffer: A `Data`'s buffer.
        frame: Index of the frame.
        pose: (4, 3), written: rotation to the world in rows 0 to 2, position in row 3.
        twist: (6,), written: linear part first.
        jacobian: (6, nv), written.
        drift: (6,), written: the classical acceleration at ddq = 0, without gravity.
    """
    write_frame_terms(buffer, frame, pose, twist, jacobian, drift)


@kernel
def placement_terms(
    buffer: np.ndarray, q: np.ndarray, frame: int, pose: np.ndarray, jacobian: np.ndarray
) -> None:
    """Forward kinematics for inverse kinematics: a frame's pose (4, 3) and LOCAL Jacobian."""
    place_all(buffer, q)
    rows, row, R, arm = place_frame(buffer, frame)
    _write_pose(R, _in_world(rows, row, arm), pose)
    _write_jacobian(buffer, rows, row, R, _at_row(rows, row, arm), jacobian)


@inlined
def _is_known(buffer: np.ndarray, frame: int, reference: int) -> bool:
    is_frame = 0 <= frame < int(buffer[at.H_FRAME_COUNT])
    return is_frame and LOCAL <= reference <= LOCAL_WORLD_ALIGNED


@inlined
def _fits(buffer: np.ndarray, jacobian: np.ndarray) -> bool:
    return jacobian.shape[0] == 6 and jacobian.shape[1] == int(buffer[at.H_NV])


@CheckedKernel
def frame_pose(
    buffer: np.ndarray, frame: int, rotation: np.ndarray, translation: np.ndarray
) -> int:
    """Write a frame's rotation (3, 3) to the world, and its position (3,)."""
    if not _is_known(buffer, frame, LOCAL):
        return 1
    rows, row, R, arm = place_frame(buffer, frame)
    p = _in_world(rows, row, arm)
    if isnan(p[0]):
        return 1
    for i in range(3):
        rotation[i, 0], rotation[i, 1], rotation[i, 2] = R[i]
        translation[i] = p[i]
    return 0


@inlined
def _place_known(
    buffer: np.ndarray, frame: int, reference: int
) -> tuple[np.ndarray, int, Matrix, Vector]:
    """Do what `_place_axes` does, if there are such a frame and reference."""
    if not _is_known(buffer, frame, reference):
        raise TypeError('no such frame')
    return _place_axes(buffer, frame, reference)


@inlined
def _checked_motion(motion: sp.Spatial) -> Motion:
    """Return what a kernel gives to Python."""
    if isnan(motion[0][0]):
        raise TypeError('never computed')
    return new_motion(motion[0], motion[1])


@CheckedKernel
def frame_velocity(buffer: np.ndarray, frame: int, reference: int) -> Motion:
    """Return a frame's twist."""
    rows, row, R, p = _place_known(buffer, frame, reference)
    return _checked_motion(_motion_at(rows, row, at.TWIST, R, p))


@CheckedKernel
def frame_acceleration(buffer: np.ndarray, frame: int, reference: int) -> Motion:
    """Return a frame's spatial acceleration."""
    rows, row, R, p = _place_known(buffer, frame, reference)
    return _checked_motion(_motion_at(rows, row, at.ACCELERATION, R, p))


@CheckedKernel
def frame_classical_acceleration(buffer: np.ndarray, frame: int, reference: int) -> Motion:
    """Return a frame's classical acceleration."""
    rows, row, R, p = _place_known(buffer, frame, reference)
    return _checked_motion(_classical(rows, row, R, p))


@CheckedKernel
def frame_jacobian(buffer: np.ndarray, frame: int, reference: int) -> np.ndarray:
    """Return a frame's Jacobian (6, nv)."""
    rows, row, R, p = _place_known(buffer, frame, reference)
    if isnan(rows[row, at.POSITION]):
        raise TypeError('never computed')
    out = fresh_matrix(6, int(buffer[at.H_NV]))
    _write_jacobian(buffer, rows, row, R, p, out)
    return out


@CheckedKernel
def write_frame_jacobian(buffer: np.ndarray, frame: int, reference: int, out: np.ndarray) -> int:
    """Write a frame's Jacobian (6, nv)."""
    if not _is_known(buffer, frame, reference) or not _fits(buffer, out):
        return 1
    rows, row, R, p = _place_axes(buffer, frame, reference)
    _write_jacobian(buffer, rows, row, R, p, out)
    return 1 if isnan(rows[row, at.POSITION]) else 0


@inlined
def _twist_of_axes(v: sp.Spatial, reference: int, p: Vector) -> sp.Spatial:
    """Return the twist of the axes of a frame whose body has the twist v."""
    if reference == LOCAL:
        return v
    if reference == LOCAL_WORLD_ALIGNED:
        return vec.add(v[0], vec.cross(v[1], p)), vec.ZERO
    return vec.ZERO, vec.ZERO


@CheckedKernel
def frame_jacobian_rate(buffer: np.ndarray, frame: int, reference: int, out: np.ndarray) -> int:
    """Write the time derivative of a frame's Jacobian (6, nv)."""
    if not _is_known(buffer, frame, reference) or not _fits(buffer, out):
        return 1
    rows, row, R, p = _place_axes(buffer, frame, reference)
    v_axes = _twist_of_axes(sp.load(rows, row, at.TWIST), reference, p)
    has_mimics = buffer[at.H_MIMICS] != 0.0
    out[:] = 0.0
    k = row
    while k > 0:
        # d(X^-1 J_k) = X^-1 (v_RATE - v_axes) x J_k
        v = sp.load(rows, at.integer(rows, k, at.RATE), at.TWIST)
        rate = sp.cross_motion(sp.subtract(v, v_axes), sp.load(rows, k, at.COLUMN))
        _write_column(rows, k, has_mimics, sp.motion_in(R, p, rate), out)
        k = at.integer(rows, k, at.PARENT)
    return 1 if isnan(rows[row, at.TWIST]) else 0


@CheckedKernel
def frame_derivatives(buffer: np.ndarray, frame: int, reference: int, out: np.ndarray) -> int:
    """Write the derivatives of a frame's twist by q, and of its acceleration by q, v and a.

    Four blocks (6, nv), one after the other. A change d of row k displaces all beyond it by J_k d,
    as what carries the row (c) sees it. So, with r = v - v_c of the frame's body,

        dv/dq_k = J_k x r      da/dq_k = J_k x (a - a_c) + (v_c x J_k) x r
        da/dv_k = J'_k + J_k x r      da/da_k = dv/dv_k = J_k

    in axes that rest. Axes that move with row k by A_k see A_k x v and A_k x a less.
    """
    nv = int(buffer[at.H_NV])
    if not _is_known(buffer, frame, reference) or out.size != 24 * nv:
        return 1
    rows, row, R, p = _place_axes(buffer, frame, reference)
    v, a = sp.load(rows, row, at.TWIST), sp.load(rows, row, at.ACCELERATION)
    out[:] = 0.0
    has_mimics = buffer[at.H_MIMICS] != 0.0
    v_by_q, a_by_q = at.block(out, 0, 6, nv), at.block(out, 6 * nv, 6, nv)
    a_by_v, a_by_a = at.block(out, 12 * nv, 6, nv), at.block(out, 18 * nv, 6, nv)
    k = row
    while k > 0:
        J, carrier = sp.load(rows, k, at.COLUMN), at.integer(rows, k, at.BIAS)
        v_c, a_c = sp.load(rows, carrier, at.TWIST), sp.load(rows, carrier, at.ACCELERATION)
        axes, r = _twist_of_axes(J, reference, p), sp.subtract(v, v_c)
        moved = sp.cross_motion(J, r)
        rate = sp.cross_motion(sp.load(rows, at.integer(rows, k, at.RATE), at.TWIST), J)
        turned = sp.cross_motion(sp.cross_motion(v_c, J), r)
        turned = sp.add(turned, sp.cross_motion(J, sp.subtract(a, a_c)))
        turned = sp.subtract(turned, sp.cross_motion(axes, a))
        by_q = sp.subtract(moved, sp.cross_motion(axes, v))
        _write_column(rows, k, has_mimics, sp.motion_in(R, p, by_q), v_by_q)
        _write_column(rows, k, has_mimics, sp.motion_in(R, p, turned), a_by_q)
        _write_column(rows, k, has_mimics, sp.motion_in(R, p, sp.add(rate, moved)), a_by_v)
        _write_column(rows, k, has_mimics, sp.motion_in(R, p, J), a_by_a)
        k = at.integer(rows, k, at.PARENT)
    return 1 if isnan(rows[row, at.ACCELERATION]) else 0
