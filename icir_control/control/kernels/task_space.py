"""Task space: the error of a pose, axes, and the accelerations of the joints that the tool needs.

Plain arrays in, new arrays out, so that a law's equation may name them, compiled or not.
"""

import numpy as np

from icir_control.compiled import kernel
from icir_control.control.kernels.linear import gram, inverse_inertia_rows
from icir_control.scratch import scratch_matrix, scratch_vector
from icir_control.spatial.kernels import (
    cholesky,
    cholesky_solve,
    copy,
    copy_matrix,
    mat_mat_t,
    mat_t_mat,
)
from icir_control.spatial.kernels import pose_error as pose_error

SINGULAR_SHARE = 1e-3
"""Of a mobility's trace that every axis has: the inertia of a singular one is finite."""


@kernel
def relative_rotation(pose_a: np.ndarray, pose_b: np.ndarray) -> np.ndarray:
    """Return R_ab = R_a^T R_b, (3, 3), of two poses (4, 3)."""
    R_ab = np.empty((3, 3))
    mat_t_mat(pose_a[:3], pose_b[:3], R_ab)
    return R_ab


@kernel
def rotated(R_ab: np.ndarray, x_b: np.ndarray) -> np.ndarray:
    """Return a twist, wrench or acceleration (6,) in other axes: R_ab on both of its halves."""
    x_a = np.empty(6)
    for k in range(0, 6, 3):
        for i in range(3):
            x_a[k + i] = R_ab[i, 0] * x_b[k] + R_ab[i, 1] * x_b[k + 1] + R_ab[i, 2] * x_b[k + 2]
    return x_a


@kernel
def rotated_back(R_ab: np.ndarray, x_a: np.ndarray) -> np.ndarray:
    """Return a twist, wrench or acceleration (6,) in other axes: R_ab^T on both of its halves."""
    x_b = np.empty(6)
    for k in range(0, 6, 3):
        for i in range(3):
            x_b[k + i] = R_ab[0, i] * x_a[k] + R_ab[1, i] * x_a[k + 1] + R_ab[2, i] * x_a[k + 2]
    return x_b


@kernel
def times(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Return A x for a matrix (m, n); numba's own `@` needs SciPy."""
    y = np.empty(A.shape[0])
    for i in range(A.shape[0]):
        total = 0.0
        for j in range(A.shape[1]):
            total += A[i, j] * x[j]
        y[i] = total
    return y


@kernel
def mobility(M: np.ndarray, J: np.ndarray) -> np.ndarray:
    """Return the inverse of the inertia that the tool shows, J M^-1 J^T, (6, 6) (Khatib 1987)."""
    A, Y = np.empty((6, 6)), scratch_matrix(6, M.shape[0])
    _mobility_factor(M, J, Y)
    mat_mat_t(Y, Y, A)
    return A


@kernel
def _mobility_factor(M: np.ndarray, J: np.ndarray, Y: np.ndarray) -> None:
    """Write Y = J L^-T, (6, n), with M = L L^T: J M^-1 J^T is Y Y^T."""
    n = M.shape[0]
    L = scratch_matrix(n, n)
    copy_matrix(M, L)
    cholesky(L)
    for k in range(6):
        for i in range(n):
            total = J[k, i]
            for j in range(i):
                total -= L[i, j] * Y[k, j]
            Y[k, i] = total * L[i, i]


@kernel
def shown_wrench(M: np.ndarray, J: np.ndarray, a: np.ndarray, f: np.ndarray) -> None:
    """Write the wrench f (6,), Lambda_v a_v and Lambda_w a_w.

    Each is the inverse of its own block of the mobility: the inertia along the axes of a tool that
    may turn, and about those of one that may move.

    Args:
        M: (n, n) inertia [kg, kg m, kg m^2].
        J: (6, n) Jacobian of the tool.
        a: (6,) acceleration [m/s^2, rad/s^2].
        f: (6,) [N, N m], out.
    """
    Y, A = scratch_matrix(6, M.shape[0]), scratch_matrix(3, 3)
    _mobility_factor(M, J, Y)
    copy(a, f)
    for k in range(0, 6, 3):
        gram(Y[k : k + 3], Y[k : k + 3], A)
        trace = A[0, 0] + A[1, 1] + A[2, 2]
        for i in range(3):
            A[i, i] += SINGULAR_SHARE * trace
        cholesky(A)
        cholesky_solve(A, f[k : k + 3])


@kernel
def _moves(J: np.ndarray, first: int, i: int) -> bool:
    """Return whether a joint moves the tool, and is none of those before the first."""
    total = 0.0
    for k in range(6):
        total += abs(J[k, i])
    return i >= first and total > 0.0


@kernel
def mobility_beyond(M: np.ndarray, J: np.ndarray, first: int) -> np.ndarray:
    """Return the `mobility` (6, 6) of the joints from the first on; the others do not move."""
    M_free, J_free = M.copy(), J.copy()
    for i in range(M.shape[0]):
        if not _moves(J, first, i):
            for k in range(6):
                J_free[k, i] = 0.0
            for j in range(M.shape[0]):
                M_free[i, j] = M_free[j, i] = 0.0
            M_free[i, i] = 1.0
    return mobility(M_free, J_free)


@kernel
def hold(J: np.ndarray, first: int, held: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Return accelerations (n,): the free ones where a joint moves the tool, else the held ones.

    Args:
        J: (6, n) Jacobian of the tool.
        first: Joints before it are held.
        held: (n,) accelerations.
        free: (n,) accelerations.
    """
    ddq = held.copy()
    for i in range(held.shape[0]):
        if _moves(J, first, i):
            ddq[i] = free[i]
    return ddq


@kernel
def resolve(
    M: np.ndarray,
    J: np.ndarray,
    goal: np.ndarray,
    posture: np.ndarray,
    singular_value: float,
    threshold: float,
    damping: float,
) -> np.ndarray:
    """Return ddq = z + J^# (goal - J z): what the tool should do, then what the posture should.

    J^# = W J^T (J W J^T + lambda^2 1)^-1, so that the posture acts through 1 - J^# J. A redundant
    arm takes W = M^-1, the dynamically consistent inverse (Khatib 1987); with six joints every W
    gives J^-1, and W = 1 the best conditioned. lambda is exactly 0 where the smallest singular
    value is above its threshold (Nakamura & Hanafusa 1986).

    Args:
        M: (n, n) inertia [kg, kg m, kg m^2].
        J: (6, n) Jacobian of the tool.
        goal: (6,) acceleration of the tool less its drift [m/s^2, rad/s^2].
        posture: (n,) z [rad/s^2 or m/s^2].
        singular_value: Smallest singular value of J.
        threshold: Below it the inverse is damped.
        damping: lambda where J is singular.
    """
    nv = J.shape[1]
    weighted = nv > 6
    A, missing = scratch_matrix(6, 6), scratch_vector(6)
    rows = J
    if weighted:
        rows = scratch_matrix(6, nv)
        inverse_inertia_rows(M, J, rows)
    gram(rows, J, A)
    ratio = singular_value / threshold
    square = 0.0
    if ratio < 1.0:
        square = damping**2 * (1.0 - ratio * ratio)
        if weighted:
            square *= (A[0, 0] + A[1, 1] + A[2, 2]) / 3.0
    for i in range(6):
        A[i, i] += square
    ddq = np.zeros(nv)
    for i in range(6):
        missing[i] = goal[i]
    # With six joints and no damping nothing is left for the posture, not even round-off.
    if weighted or square > 0.0:
        for j in range(nv):
            ddq[j] = posture[j]
            for i in range(6):
                missing[i] -= J[i, j] * posture[j]
    if not cholesky(A):
        return ddq
    cholesky_solve(A, missing)
    for j in range(nv):
        for i in range(6):
            ddq[j] += rows[i, j] * missing[i]
    return ddq
