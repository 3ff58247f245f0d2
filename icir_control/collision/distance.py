"""Signed distances of pairs of shapes, their gradients, and their second derivatives.

Each function measures anew, at the placements that `data` holds: nothing depends on an earlier
call. What it returns is overwritten by the next call for the same pairs.
"""

from typing import Any

import numpy as np

from icir_control.collision.kernels import distances as kernels
from icir_control.collision.shapes import CollisionPairs
from icir_control.dynamics import Data, Model
from icir_control.dynamics.call import NOT_TAKEN, check_out, check_pair
from icir_control.dynamics.kernels import CheckedKernel
from icir_control.errors import InvalidValueError
from icir_control.spatial.arrays import Array


def distance(model: Model, data: Data, pairs: CollisionPairs) -> Array:
    """Return the signed distances (npairs,) [m], a view of `pairs.distance`.

    `pairs.witness_a`, `.witness_b` and `.normal` are filled, too. Exact, also where shapes
    overlap, but a lower bound of two boxes, and of a cylinder and all but a half-space.

    Args:
        model: The model.
        data: Its data, with placements (after any function that takes a configuration).
        pairs: Pairs of shapes of the model.

    Raises:
        InvalidValueError: Data or pairs are of another model, or nothing was computed.
    """
    if data.model is not model or pairs.model is not model:
        check_pair(model, data)
        if pairs.model != model:
            raise InvalidValueError('pairs', pairs, f'pairs of model {model.name!r}')
    _run(kernels.distances, data, pairs)
    return pairs.distance


def distance_jacobian(
    model: Model, data: Data, pairs: CollisionPairs, out: Array | None = None
) -> Array:
    """Return the gradients of all distances: row k is n^T (J_a - J_b) at the witness points.

    As `distance`, which it includes. Where that is a bound, this is the rate at which the witness
    points part along the normal, which is not quite the gradient of the bound.

    Args:
        model: The model.
        data: Its data.
        pairs: Pairs of shapes of the model.
        out: Where to write, (npairs, nv) float64 and contiguous; None for a fresh array.

    Returns:
        (npairs, nv) [m/rad or 1].
    """
    out = np.empty((len(pairs), model.nv)) if out is None else out
    check_out(out, (len(pairs), model.nv))
    distance(model, data, pairs)
    _run(kernels.jacobian, data, pairs, out)
    return out


def distance_bias(
    model: Model, data: Data, pairs: CollisionPairs, out: Array | None = None
) -> Array:
    """Return the second derivatives of all distances at ddq = 0, (npairs,) [m/s^2].

    This is the term dJ/dt v of d'' = J ddq + dJ/dt v, with all that the witness points slide.
    Arguments as those of `distance_jacobian`, `out` (npairs,); `data` must hold velocities, too:
    after `compute_all_terms` or `forward_kinematics` with v.
    """
    out = np.empty(len(pairs)) if out is None else out
    check_out(out, (len(pairs),))
    distance(model, data, pairs)
    _run(kernels.bias, data, pairs, out)
    return out


def tangent_jacobian(model: Model, data: Data, pairs: CollisionPairs) -> Array:
    """Return (2 npairs, nv): for each pair two rows t^T (J_a - J_b), as `distance_jacobian`.

    The tangents t are perpendicular to the normal and to each other; the point is the middle
    between the witness points.
    """
    out = np.empty((2 * len(pairs), model.nv))
    distance(model, data, pairs)
    _run(kernels.tangents, data, pairs, out)
    return out


def _run(kernel: CheckedKernel, data: Data, pairs: CollisionPairs, *out: Any) -> None:
    arguments = (data.buffer, pairs.table, pairs.indices, pairs.found, *out)
    try:
        wrong = kernel.call(*arguments)
    except NOT_TAKEN:
        wrong = kernel.run(*arguments)
    if wrong:
        expected = 'one with placements (and velocities for the bias): call compute_all_terms'
        raise InvalidValueError('data', data, expected)
