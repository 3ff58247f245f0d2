"""Samples and oracles of the spatial tests: generic ones, and those near 0 and near pi."""

from collections.abc import Callable
from decimal import Decimal, localcontext
from math import factorial, pi

import numpy as np
from fuzz import EXAMPLES
from hypothesis import given, settings
from hypothesis import strategies as st

from icir_control.spatial import SE3, Force, Inertia, Motion, rotation


def holds_for(**samples: st.SearchStrategy) -> Callable:
    """Make a test a property of all samples; the same ones at every run."""
    run = settings(max_examples=EXAMPLES, deadline=None, derandomize=True, database=None)
    return lambda test: run(given(**samples)(test))


def assert_close(actual, expected, tolerance: float = 1e-14) -> None:
    """Compare relative to the largest entry, or to 1 if all are smaller."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    error = np.abs(actual - expected).max() / max(1.0, np.abs(expected).max())
    assert error <= tolerance, f'{error:.2e} > {tolerance:.0e}\n{actual}\n{expected}'


def derivative(function: Callable[[float], np.ndarray], h: float = 2e-3) -> np.ndarray:
    """Return d/dt at t = 0 by the central difference of eighth order."""
    weights = (4 / 5, -1 / 5, 4 / 105, -1 / 280)
    steps = enumerate(weights, start=1)
    return sum(w * (function(k * h) - function(-k * h)) for k, w in steps) / h


def power_series(matrix: np.ndarray, coefficient: Callable[[int], Decimal]) -> np.ndarray:
    """Return sum of coefficient(k) A^k in 60 decimal digits, rounded once at the end."""
    with localcontext() as context:
        context.prec = 60
        exact = np.array([Decimal(float(x)) for x in matrix.flat]).reshape(matrix.shape)
        power = np.array([Decimal(int(x)) for x in np.eye(len(matrix)).flat])
        power = power.reshape(matrix.shape)
        total = power * coefficient(0)
        for k in range(1, 90):
            power = power @ exact
            total = total + power * coefficient(k)
        return total.astype(float)


def exact_exp(matrix: np.ndarray) -> np.ndarray:
    """Return the matrix exponential, correctly rounded for the norms used here (up to 10)."""
    return power_series(matrix, lambda k: Decimal(1) / factorial(k))


def exact_right_jacobian(ad: np.ndarray) -> np.ndarray:
    """Return sum of (-ad)^k / (k + 1)!, the right Jacobian by its definition."""
    return power_series(ad, lambda k: Decimal((-1) ** k) / factorial(k + 1))


vectors = st.tuples(*3 * [st.floats(-3.0, 3.0)]).map(np.array)
scalars = st.floats(-3.0, 3.0)

_generic_axes = vectors.filter(lambda a: np.linalg.norm(a) > 0.1).map(
    lambda a: a / np.linalg.norm(a)
)
_coordinate_axes = st.sampled_from([s * e for e in np.eye(3) for s in (1.0, -1.0)])
axes = st.one_of(_generic_axes, _coordinate_axes)

small_angles = st.one_of(
    st.sampled_from([0.0, 5e-324, 1e-200, 1e-160]), st.floats(-17.0, -1.0).map(lambda k: 10.0**k)
)
angles_near_one = st.floats(-15.0, -1.0).flatmap(
    lambda k: st.sampled_from([1.0 - 10.0**k, 1.0 + 10.0**k])
)
angles_near_pi = st.one_of(st.just(pi), st.floats(-16.0, -1.0).map(lambda k: pi - 10.0**k))
angles = st.one_of(st.floats(0.0, pi), small_angles, angles_near_one, angles_near_pi)


def _times(pair: tuple[np.ndarray, float]) -> np.ndarray:
    return pair[0] * pair[1]


rotation_vectors = st.tuples(axes, angles).map(_times)
rotation_vectors_to_two_pi = st.tuples(axes, st.one_of(angles, st.floats(pi, 6.0))).map(_times)
rotations = st.tuples(axes, angles).map(lambda pair: rotation(*pair))
placements = st.builds(SE3, rotations, vectors)
twist_coordinates = st.tuples(vectors, rotation_vectors).map(np.concatenate)
motions = st.builds(Motion, vectors, vectors)
forces = st.builds(Force, vectors, vectors)
inertias = st.integers(0, 2**32 - 1).map(lambda seed: Inertia.random(np.random.default_rng(seed)))


def rounded_placement(rng: np.random.Generator) -> SE3:
    """Return a placement whose rotation was given with six digits, as those of files are."""
    while True:
        exact = SE3.random(rng)
        rotation = np.round(exact.rotation, 6)
        if np.abs(rotation.T @ rotation - np.eye(3)).max() < 1e-6:  # or it is refused
            return SE3(rotation, exact.translation)
