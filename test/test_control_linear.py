"""Linear algebra of the tick, against numpy's."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from icir_control.control.kernels.linear import invert, symmetric_eigen


def spd(size: int, decades: float, seed: int) -> np.ndarray:
    """Return a symmetric, positive definite matrix whose eigenvalues span some decades."""
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(size, size)))
    return Q @ np.diag(10.0 ** rng.uniform(-decades, 0.0, size)) @ Q.T


@given(st.integers(1, 20), st.floats(0.0, 8.0), st.integers(0, 2**32 - 1))
def test_inverse_is_as_good_as_the_condition_allows(size, decades, seed):
    A, inverse = spd(size, decades, seed), np.empty((size, size))
    lower = np.tril(A) + np.triu(np.full((size, size), np.nan), 1)
    invert(lower, inverse)
    bound = 1e-15 * size * np.linalg.cond(A)
    assert np.abs(inverse @ A - np.eye(size)).max() < bound
    assert np.abs(inverse - np.linalg.inv(A)).max() < bound * np.abs(inverse).max()


@given(st.integers(1, 12), st.floats(0.0, 6.0), st.integers(0, 2**32 - 1))
def test_eigenvectors_take_a_symmetric_matrix_apart(size, decades, seed):
    A = spd(size, decades, seed)
    D, V = A.copy(), np.empty((size, size))
    symmetric_eigen(D, V)
    # It ends where what is left beside the diagonal is 1e-12 of A.
    bound = 1e-11 * np.abs(A).max()
    assert np.abs(np.sort(np.diag(D)) - np.linalg.eigvalsh(A)).max() < bound
    assert np.abs(V.T @ V - np.eye(size)).max() < 1e-13
    assert np.abs(V @ np.diag(np.diag(D)) @ V.T - A).max() < bound
