"""SE(3): exponential coordinates xi (6,), linear part first, placements (R, p), and Jacobians.

The result goes into the last arguments, which must not be inputs. A function of the (6, 6) matrix
ad(xi) = [[W, V], [0, W]] is the same function of the (3, 3) matrix W with its derivative along V
in the upper right block, so the blocks below are derivatives of those of SO(3).
"""

import numpy as np

from icir_control.compiled import kernel
from icir_control.scratch import scratch_matrix
from icir_control.spatial.kernels.coefficients import (
    cotangent_defect_ratio,
    cotangent_defect_ratio_slope,
    sine_defect_ratio,
    sine_defect_ratio_slope,
    versine_ratio,
    versine_ratio_slope,
)
from icir_control.spatial.kernels.matrices import mat_t_mat
from icir_control.spatial.kernels.so3 import (
    exp3,
    log3,
    rodrigues,
    squared_norm,
)


@kernel
def _rodrigues_vector(
    phi: np.ndarray, alpha: float, beta: float, vector: np.ndarray, out: np.ndarray
) -> None:
    """Write (I + alpha [phi] + beta [phi]^2) vector."""
    x, y, z = phi[0], phi[1], phi[2]
    a, b, c = vector[0], vector[1], vector[2]
    # phi x v, and phi x (phi x v)
    u0, u1, u2 = y * c - z * b, z * a - x * c, x * b - y * a
    out[0] = a + alpha * u0 + beta * (y * u2 - z * u1)
    out[1] = b + alpha * u1 + beta * (z * u0 - x * u2)
    out[2] = c + alpha * u2 + beta * (x * u1 - y * u0)


@kernel
def exp6(xi: np.ndarray, rotation: np.ndarray, translation: np.ndarray) -> None:
    """Write the placement that the twist xi reaches in unit time: R = exp(w), p = J_left(w) v."""
    phi = xi[3:]
    x = squared_norm(phi)
    exp3(phi, rotation)
    _rodrigues_vector(phi, versine_ratio(x), sine_defect_ratio(x), xi[:3], translation)


@kernel
def log6(rotation: np.ndarray, translation: np.ndarray, xi: np.ndarray) -> None:
    """Write the twist, rotating by at most pi, that reaches the placement in unit time."""
    phi = xi[3:]
    log3(rotation, phi)
    d = cotangent_defect_ratio(squared_norm(phi))
    _rodrigues_vector(phi, -0.5, d, translation, xi[:3])


@kernel
def _fill_jacobian6(
    xi: np.ndarray,
    alpha: float,
    alpha_slope: float,
    beta: float,
    beta_slope: float,
    out: np.ndarray,
) -> None:
    """Write [[A, B], [0, A]], A = I + alpha W + beta W^2 and B its derivative along V."""
    v, w = xi[:3], xi[3:]
    rate = 2.0 * (v[0] * w[0] + v[1] * w[1] + v[2] * w[2])
    rodrigues(w, alpha, beta, out[:3, :3])
    rodrigues(w, alpha, beta, out[3:, 3:])
    out[3:, :3] = 0.0
    # B = alpha V + alpha' rate W + beta (W V + V W) + beta' rate W^2, with
    # W V + V W = v w^T + w v^T - rate I  and  W^2 = w w^T - |w|^2 I
    square = squared_norm(w)
    block = out[:3, 3:]
    for i in range(3):
        for j in range(3):
            block[i, j] = beta * (v[i] * w[j] + w[i] * v[j]) + beta_slope * rate * w[i] * w[j]
        block[i, i] -= (beta + beta_slope * square) * rate
    for i in range(3):
        j, k = (i + 1) % 3, (i + 2) % 3
        turn = alpha * v[i] + alpha_slope * rate * w[i]
        block[k, j] += turn
        block[j, k] -= turn


@kernel
def right_jacobian6(xi: np.ndarray, jacobian: np.ndarray) -> None:
    """Write J (6, 6) with nu = J dxi/dt, nu the twist of exp(xi) in its own frame.

    Equally exp(xi + d) = exp(xi) exp(J d) to first order.
    """
    x = squared_norm(xi[3:])
    _fill_jacobian6(
        xi,
        -versine_ratio(x),
        -versine_ratio_slope(x),
        sine_defect_ratio(x),
        sine_defect_ratio_slope(x),
        jacobian,
    )


@kernel
def right_jacobian6_inverse(xi: np.ndarray, inverse: np.ndarray) -> None:
    """Write the inverse of the right Jacobian; it exists up to a rotation below 2 pi."""
    x = squared_norm(xi[3:])
    _fill_jacobian6(
        xi, 0.5, 0.0, cotangent_defect_ratio(x), cotangent_defect_ratio_slope(x), inverse
    )


@kernel
def pose_error(pose: np.ndarray, goal: np.ndarray) -> np.ndarray:
    """Return the error from a pose to a goal in the axes of the pose (slide "errorInSE3").

    e = (R^T (p_goal - p), log3(R^T R_goal)), (6,) [m, rad], for poses (4, 3).
    """
    error, turn = np.empty(6), scratch_matrix(3, 3)
    mat_t_mat(pose[:3], goal[:3], turn)
    for i in range(3):
        error[i] = (
            pose[0, i] * (goal[3, 0] - pose[3, 0])
            + pose[1, i] * (goal[3, 1] - pose[3, 1])
            + pose[2, i] * (goal[3, 2] - pose[3, 2])
        )
    log3(turn, error[3:])
    return error
