"""The resolution of what the tool should do into what the joints do, and the axes of both."""

import numpy as np

from icir_control.compiled import kernel, part
from icir_control.control.kernels.linear import (
    cholesky,
    cholesky_solve,
    clear,
    copy,
    copy_matrix,
    inverse_inertia_rows,
)
from icir_control.spatial.kernels import mat_mat_t, mat_t_mat

REST_RATE = 2.0
"""[1/s] Where the tool's motion leaves joints free, their own dies away at this rate."""


@kernel
def resolve(record: np.record, M: np.ndarray, goal: np.ndarray) -> None:
    """Replace a posture acceleration z by ddq = z + J^# (goal - J z), the task before the posture.

    J^# = W J^T (J W J^T + lambda^2 1)^-1, so that the posture acts through 1 - J^# J. A redundant
    arm takes W = M^-1, the dynamically consistent inverse (Khatib 1987); with six joints every W
    gives J^-1, and W = 1 the best conditioned. lambda is exactly 0 where the smallest singular
    value is above its threshold (Nakamura & Hanafusa 1986).

    Args:
        record: Holds J and, in `acceleration`, z; ddq out.
        M: (nv, nv) inertia [kg, kg m, kg m^2].
        goal: (6,) task acceleration less the drift; overwritten.
    """
    J, rows, A = record.jacobian, record.rows, record.square
    nv = J.shape[1]
    copy(record.acceleration, record.posture_acceleration)
    weighted = nv > 6
    if weighted:
        inverse_inertia_rows(M, J, rows, record.inertia)
    else:
        copy_matrix(J, rows)
    mat_mat_t(rows, J, A)
    ratio = record.smallest_singular_value / record.singularity
    damping = 0.0
    if ratio < 1.0:
        damping = record.singularity_damping**2 * (1.0 - ratio * ratio)
        if weighted:
            damping *= (A[0, 0] + A[1, 1] + A[2, 2]) / 3.0
    for i in range(6):
        A[i, i] += damping
    # With six joints and no damping nothing is left for the posture, not even round-off.
    if weighted or damping > 0.0:
        for i in range(6):
            for j in range(nv):
                goal[i] -= J[i, j] * record.acceleration[j]
    else:
        clear(record.acceleration)
    if not cholesky(A):
        return
    cholesky_solve(A, goal)
    for j in range(nv):
        for i in range(6):
            record.acceleration[j] += rows[i, j] * goal[i]


@part
def let_joints_rest(record: np.record, v: np.ndarray) -> None:
    """Write the posture acceleration of an arm that yields, z = -d v: no posture, but rest."""
    for i in range(v.shape[0]):
        record.acceleration[i] = -REST_RATE * v[i]


@part
def reference_in_tool_axes(record: np.record) -> None:
    """Turn the reference's motion from its own axes into those of the tool: R_tool_reference."""
    mat_t_mat(record.pose[:3], record.pose_reference[:3], record.turn)
    turn(record.turn, False, record.twist_reference)
    turn(record.turn, False, record.acceleration_reference)


@kernel
def turn(R: np.ndarray, back: bool, x: np.ndarray) -> None:
    """Replace both halves of x (6,) by R x, or by R^T x on the way back."""
    for k in range(0, 6, 3):
        a, b, c = x[k], x[k + 1], x[k + 2]
        for i in range(3):
            if back:
                x[k + i] = R[0, i] * a + R[1, i] * b + R[2, i] * c
            else:
                x[k + i] = R[i, 0] * a + R[i, 1] * b + R[i, 2] * c
