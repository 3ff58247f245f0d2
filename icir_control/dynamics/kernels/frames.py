"""What a controller asks of a frame that is fixed to a body: pose, twist, Jacobian, drift."""

import numpy as np

from icir_control.compiled import inlined, kernel
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.blocks import frames_of, link, rows_of
from icir_control.dynamics.kernels.forward import place, prepare
from icir_control.dynamics.kernels.vector import (
    Matrix,
    Vector,
    add,
    apply,
    apply_transposed,
    cross,
    load,
    load_matrix,
    multiply,
)

LOCAL, WORLD, LOCAL_WORLD_ALIGNED = range(3)
IDENTITY = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
ORIGIN = (0.0, 0.0, 0.0)


@inlined
def place_frame(rows: np.ndarray, frames: np.ndarray, frame: int) -> tuple[int, Matrix, Vector]:
    """Return the frame's row, and its placement: oM_f = oM_row M_f."""
    row = link(frames, frame, at.F_ROW)
    R_row = load_matrix(rows, row, at.ROTATION)
    R = multiply(R_row, load_matrix(frames, frame, at.F_ROTATION))
    p = apply(R_row, load(frames, frame, at.F_POSITION))
    return row, R, add(load(rows, row, at.POSITION), p)


@inlined
def seen_from(reference: int, R: Matrix, p: Vector) -> tuple[Matrix, Vector]:
    """Return the axes and the point in which a motion of the frame (R, p) is to be given."""
    if reference == LOCAL:
        return R, p
    if reference == WORLD:
        return IDENTITY, ORIGIN
    return IDENTITY, p


@inlined
def motion_seen(R: Matrix, p: Vector, linear: Vector, angular: Vector) -> tuple[Vector, Vector]:
    """Return a motion, given in world axes at the origin, in axes R at point p: X^-1 v."""
    return (
        apply_transposed(R, add(linear, cross(angular, p))),
        apply_transposed(R, angular),
    )


@inlined
def motion_at(
    rows: np.ndarray, row: int, column: int, R: Matrix, p: Vector
) -> tuple[Vector, Vector]:
    """Return the row's motion that begins at `column`, in axes R at point p."""
    return motion_seen(R, p, load(rows, row, column), load(rows, row, column + 3))


@inlined
def write_motion(linear: Vector, angular: Vector, out: np.ndarray) -> None:
    """Write a motion into an array of six, linear part first."""
    out[0], out[1], out[2] = linear
    out[3], out[4], out[5] = angular


@inlined
def write_column(linear: Vector, angular: Vector, column: int, out: np.ndarray) -> None:
    """Write a motion into a column of a (6, nv) array."""
    out[0, column], out[1, column], out[2, column] = linear
    out[3, column], out[4, column], out[5, column] = angular


@inlined
def write_jacobian(rows: np.ndarray, row: int, R: Matrix, p: Vector, out: np.ndarray) -> None:
    """Write the Jacobian (6, nv) of a point p of the row's body, in axes R: X^-1 J.

    Only the columns of what moves the body; the others must be zero already.
    """
    k = row
    while k > 0:
        linear, angular = motion_at(rows, k, at.COLUMN, R, p)
        write_column(linear, angular, k - 1, out)
        k = link(rows, k, at.PARENT)


@inlined
def write_pose(R: Matrix, p: Vector, out: np.ndarray) -> None:
    """Write a placement into a (4, 3) array: the rotation, below it the position."""
    out[0, 0], out[0, 1], out[0, 2] = R[0]
    out[1, 0], out[1, 1], out[1, 2] = R[1]
    out[2, 0], out[2, 1], out[2, 2] = R[2]
    out[3, 0], out[3, 1], out[3, 2] = p


@inlined
def classical(rows: np.ndarray, row: int, R: Matrix, p: Vector) -> tuple[Vector, Vector]:
    """Return the acceleration of the body's point p in axes R: a_spatial + omega x v."""
    linear, angular = motion_at(rows, row, at.ACCELERATION, R, p)
    v_linear, v_angular = motion_at(rows, row, at.TWIST, R, p)
    return add(linear, cross(v_angular, v_linear)), angular


@inlined
def write_frame_terms(
    buffer: np.ndarray,
    frame: int,
    pose: np.ndarray,
    twist: np.ndarray,
    jacobian: np.ndarray,
    drift: np.ndarray,
) -> None:
    """Do what `frame_terms` does, with a Jacobian whose other columns are zero already."""
    rows = rows_of(buffer)
    row, R, p = place_frame(rows, frames_of(buffer), frame)
    write_pose(R, p, pose)
    linear, angular = motion_at(rows, row, at.TWIST, R, p)
    write_motion(linear, angular, twist)
    linear, angular = classical(rows, row, R, p)
    write_motion(linear, angular, drift)
    write_jacobian(rows, row, R, p, jacobian)


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
    jacobian[:] = 0.0
    write_frame_terms(buffer, frame, pose, twist, jacobian, drift)


@kernel
def placement_terms(
    buffer: np.ndarray, q: np.ndarray, frame: int, pose: np.ndarray, jacobian: np.ndarray
) -> None:
    """Forward kinematics for inverse kinematics: a frame's pose (4, 3) and LOCAL Jacobian."""
    rows, circle = rows_of(buffer), prepare(buffer, q)
    for k in range(1, rows.shape[0]):
        place(rows, k, q, circle)
    row, R, p = place_frame(rows, frames_of(buffer), frame)
    write_pose(R, p, pose)
    jacobian[:] = 0.0
    write_jacobian(rows, row, R, p, jacobian)
