"""What the public functions ask about one frame; each returns 0, or 1 if an argument is wrong."""

import numpy as np

from icir_control.compiled import inlined
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.blocks import frames_of, link, rows_of
from icir_control.dynamics.kernels.entrance import Entry
from icir_control.dynamics.kernels.frames import (
    LOCAL,
    LOCAL_WORLD_ALIGNED,
    classical,
    motion_at,
    motion_seen,
    place_frame,
    seen_from,
    write_column,
    write_jacobian,
    write_motion,
)
from icir_control.dynamics.kernels.vector import Matrix, Vector, add, cross, load, subtract


@inlined
def _is_known(buffer: np.ndarray, frame: int, reference: int) -> bool:
    is_frame = 0 <= frame < int(buffer[at.H_FRAME_COUNT])
    return is_frame and LOCAL <= reference <= LOCAL_WORLD_ALIGNED


@inlined
def _fits(buffer: np.ndarray, jacobian: np.ndarray) -> bool:
    return jacobian.shape[0] == 6 and jacobian.shape[1] == int(buffer[at.H_NV])


@Entry
def frame_pose(
    buffer: np.ndarray, frame: int, rotation: np.ndarray, translation: np.ndarray
) -> int:
    """Write a frame's rotation (3, 3) to the world, and its position (3,)."""
    if not _is_known(buffer, frame, LOCAL):
        return 1
    _, R, p = place_frame(rows_of(buffer), frames_of(buffer), frame)
    for i in range(3):
        rotation[i, 0], rotation[i, 1], rotation[i, 2] = R[i]
        translation[i] = p[i]
    return 0


@inlined
def _seen(
    buffer: np.ndarray, frame: int, reference: int
) -> tuple[np.ndarray, int, Matrix, Vector]:
    """Return the rows, the frame's row, and the axes and point in which it is to be seen."""
    rows = rows_of(buffer)
    row, R, p = place_frame(rows, frames_of(buffer), frame)
    R, p = seen_from(reference, R, p)
    return rows, row, R, p


@inlined
def _write_row_motion(
    buffer: np.ndarray, frame: int, reference: int, out: np.ndarray, column: int
) -> int:
    """Write the motion that the rows hold at `column`, as seen from the frame."""
    if not _is_known(buffer, frame, reference):
        return 1
    rows, row, R, p = _seen(buffer, frame, reference)
    linear, angular = motion_at(rows, row, column, R, p)
    write_motion(linear, angular, out)
    return 0


@Entry
def frame_velocity(buffer: np.ndarray, frame: int, reference: int, out: np.ndarray) -> int:
    """Write a frame's twist (6,)."""
    return _write_row_motion(buffer, frame, reference, out, at.TWIST)


@Entry
def frame_acceleration(buffer: np.ndarray, frame: int, reference: int, out: np.ndarray) -> int:
    """Write a frame's spatial acceleration (6,)."""
    return _write_row_motion(buffer, frame, reference, out, at.ACCELERATION)


@Entry
def frame_classical_acceleration(
    buffer: np.ndarray, frame: int, reference: int, out: np.ndarray
) -> int:
    """Write a frame's classical acceleration (6,)."""
    if not _is_known(buffer, frame, reference):
        return 1
    rows, row, R, p = _seen(buffer, frame, reference)
    linear, angular = classical(rows, row, R, p)
    write_motion(linear, angular, out)
    return 0


@Entry
def frame_jacobian(buffer: np.ndarray, frame: int, reference: int, out: np.ndarray) -> int:
    """Write a frame's Jacobian (6, nv)."""
    if not _is_known(buffer, frame, reference) or not _fits(buffer, out):
        return 1
    rows, row, R, p = _seen(buffer, frame, reference)
    out[:] = 0.0
    write_jacobian(rows, row, R, p, out)
    return 0


@inlined
def _rate_of_axes(rows: np.ndarray, row: int, reference: int, p: Vector) -> tuple[Vector, Vector]:
    """Return the twist, in world axes at the origin, of the axes that the Jacobian is given in."""
    zero = (0.0, 0.0, 0.0)
    linear, angular = load(rows, row, at.TWIST), load(rows, row, at.TWIST + 3)
    if reference == LOCAL:
        return linear, angular
    if reference == LOCAL_WORLD_ALIGNED:
        return add(linear, cross(angular, p)), zero
    return zero, zero


@Entry
def frame_jacobian_rate(buffer: np.ndarray, frame: int, reference: int, out: np.ndarray) -> int:
    """Write the time derivative of a frame's Jacobian (6, nv)."""
    if not _is_known(buffer, frame, reference) or not _fits(buffer, out):
        return 1
    rows = rows_of(buffer)
    row, R, p = place_frame(rows, frames_of(buffer), frame)
    axes_linear, axes_angular = _rate_of_axes(rows, row, reference, p)
    R, p = seen_from(reference, R, p)
    out[:] = 0.0
    k = row
    while k > 0:
        # d(X^-1 J_k) = X^-1 (v_RATE - v_axes) x J_k
        rate = link(rows, k, at.RATE)
        linear = subtract(load(rows, rate, at.TWIST), axes_linear)
        angular = subtract(load(rows, rate, at.TWIST + 3), axes_angular)
        j_linear, j_angular = load(rows, k, at.COLUMN), load(rows, k, at.COLUMN + 3)
        d_linear = add(cross(angular, j_linear), cross(linear, j_angular))
        d_linear, d_angular = motion_seen(R, p, d_linear, cross(angular, j_angular))
        write_column(d_linear, d_angular, k - 1, out)
        k = link(rows, k, at.PARENT)
    return 0
