"""Configurations q (nq,) and the velocities v (nv,) between them, on the model's manifold."""

from typing import Any

import numpy as np

from icir_control.dynamics.call import NOT_TAKEN, check_model, run_carefully
from icir_control.dynamics.joints import JointKind
from icir_control.dynamics.kernels import CheckedKernel, manifold
from icir_control.dynamics.model import Model
from icir_control.spatial import exp3, exp6, right_jacobian3, right_jacobian6
from icir_control.spatial.arrays import Array, checked_scalar


def integrate(model: Model, q: Any, v: Any) -> Array:
    """Return the configuration (nq,) that the constant velocity v reaches from q in unit time.

    A floating joint moves along a screw, with its twist constant in the body; a quaternion keeps
    its unit length; all other coordinates add, also the three of a planar joint. For a step of
    h seconds, pass h v.

    Args:
        model: The model.
        q: Configuration (nq,) [rad or m].
        v: Velocity (nv,), times the duration.

    Raises:
        InvalidValueError: A vector is of the wrong length, not finite, or a quaternion in it is
            far from unit length.
    """
    check_model(model)
    out = np.empty(model.nq)
    _run_on_constants(manifold.integrated, model, q, v, out)
    return out


def integrate_derivatives(model: Model, q: Any, v: Any) -> tuple[Array, Array]:
    """Return the derivatives of `integrate` by q and by v, (nv, nv) each, along the manifold.

    A change d of q, or of v, moves the result q' to integrate(q', D d) to first order, with the
    first matrix or the second.

    Args:
        model: The model.
        q: Configuration (nq,) [rad or m]; the derivatives do not depend on it.
        v: Velocity (nv,), times the duration.

    Raises:
        InvalidValueError: As for `integrate`.
    """
    integrate(model, q, v)
    by_q, by_v = np.eye(model.nv), np.eye(model.nv)
    for joint in model.joints:
        if not joint.kind.has_quaternion:
            continue
        part = slice(joint.index_v, joint.index_v + joint.nv)
        step = np.asarray(v, dtype=float)[part]
        if joint.kind is JointKind.SPHERICAL:
            by_q[part, part], by_v[part, part] = exp3(step).T, right_jacobian3(step)
        else:
            by_q[part, part] = exp6(step).inverse().action
            by_v[part, part] = right_jacobian6(step)
    return by_q, by_v


def difference(model: Model, q0: Any, q1: Any) -> Array:
    """Return the velocity (nv,) that leads from q0 to q1 in unit time: integrate's inverse.

    Quaternions turn by at most pi.

    Args:
        model: The model.
        q0: Configuration (nq,) to start from.
        q1: Configuration (nq,) to reach.

    Raises:
        InvalidValueError: As for `integrate`.
    """
    check_model(model)
    out = np.empty(model.nv)
    _run_on_constants(manifold.differenced, model, q0, q1, out)
    return out


def interpolate(model: Model, q0: Any, q1: Any, t: float) -> Array:
    """Return the configuration (nq,) on the way from q0 at t = 0 to q1 at t = 1.

    At constant velocity: integrate(q0, t difference(q0, q1)). Beyond 0 and 1 it goes on.

    Args:
        model: The model.
        q0: Configuration (nq,) at t = 0.
        q1: Configuration (nq,) at t = 1.
        t: Where between them.

    Raises:
        InvalidValueError: As for `integrate`, or t is not a finite number.
    """
    return integrate(model, q0, checked_scalar('t', t) * difference(model, q0, q1))


def distance(model: Model, q0: Any, q1: Any) -> float:
    """Return the length of `difference(model, q0, q1)`, metres and radians mixed."""
    return float(np.linalg.norm(difference(model, q0, q1)))


def _run_on_constants(kernel: CheckedKernel, model: Model, a: Any, b: Any, out: Array) -> None:
    try:
        if kernel.call(model.buffer, a, b, out) == 0:
            return
    except NOT_TAKEN:
        pass
    run_carefully(kernel, model, model.buffer, a, b, out)
