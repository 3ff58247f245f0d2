"""The blocks of the buffer as views; `layout` says what lies in them."""

import numpy as np

from icir_control.compiled import inlined, kernel
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.vector import Vector


@inlined
def rows_of(buffer: np.ndarray) -> np.ndarray:
    """Return the rows as a view, (nv + 1, STRIDE)."""
    n = int(buffer[at.H_NV]) + 1
    return buffer[at.HEADER : at.HEADER + n * at.STRIDE].reshape(n, at.STRIDE)


@inlined
def frames_of(buffer: np.ndarray) -> np.ndarray:
    """Return the frames as a view, (nframes, F_STRIDE)."""
    start = int(buffer[at.H_FRAMES])
    n = int(buffer[at.H_FRAME_COUNT])
    return buffer[start : start + n * at.F_STRIDE].reshape(n, at.F_STRIDE)


@inlined
def vector_of(buffer: np.ndarray, header: int) -> np.ndarray:
    """Return a block of nv numbers as a view; `header` says where its place is noted."""
    start = int(buffer[header])
    return buffer[start : start + int(buffer[at.H_NV])]


@inlined
def matrix_of(buffer: np.ndarray, header: int, height: int, width: int) -> np.ndarray:
    """Return a block of so many rows and columns as a view."""
    start = int(buffer[header])
    return buffer[start : start + height * width].reshape(height, width)


@inlined
def gravity_field(buffer: np.ndarray) -> Vector:
    """Return the gravity field in world axes."""
    return buffer[at.H_GRAVITY], buffer[at.H_GRAVITY + 1], buffer[at.H_GRAVITY + 2]


@kernel
def mass_matrix_of(buffer: np.ndarray) -> np.ndarray:
    """Return M as a view, (nv, nv), symmetric."""
    nv = int(buffer[at.H_NV])
    return matrix_of(buffer, at.H_M, nv, nv)


@kernel
def nle_of(buffer: np.ndarray) -> np.ndarray:
    """Return the nonlinear effects C(q, v) v + g(q) as a view, (nv,)."""
    return vector_of(buffer, at.H_NLE)


@kernel
def gravity_of(buffer: np.ndarray) -> np.ndarray:
    """Return the gravity torque g(q) as a view, (nv,)."""
    return vector_of(buffer, at.H_G)
