"""The compiled kernels: equal to the values and to numpy, compiled or not."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import strategies as st
from spatial_samples import (
    assert_close,
    exact_exp,
    holds_for,
    rotation_vectors,
    rotations,
    twist_coordinates,
)

from icir_control import spatial
from icir_control.compiled import JIT_DISABLED
from icir_control.spatial import kernels

seeds = st.integers(0, 2**32 - 1)


def filled(kernel, *arguments, shape):
    """Call a kernel and return what it wrote into a fresh array, which starts as NaN."""
    out = np.full(shape, np.nan)
    assert kernel(*arguments, out) is None
    return out


@holds_for(phi=rotation_vectors, r=rotations)
def test_so3_kernels_equal_the_functions(phi, r):
    square = (3, 3)
    assert_close(filled(kernels.exp3, phi, shape=square), spatial.exp3(phi), 0.0)
    assert_close(filled(kernels.exp3, phi, shape=square), exact_exp(spatial.skew(phi)), 1e-15)
    assert_close(filled(kernels.log3, r, shape=3), spatial.log3(r), 0.0)
    for name in ('right_jacobian3', 'right_jacobian3_inverse'):
        kernel, function = getattr(kernels, name), getattr(spatial, name)
        assert_close(filled(kernel, phi, shape=square), function(phi), 0.0)


@holds_for(xi=twist_coordinates)
def test_se3_kernels_equal_the_functions(xi):
    rotation, translation, back = np.empty((3, 3)), np.empty(3), np.empty(6)
    kernels.exp6(xi, rotation, translation)
    assert spatial.SE3.trusted(rotation.copy(), translation.copy()) == spatial.exp6(xi)
    kernels.log6(rotation, translation, back)
    assert_close(back, spatial.log6(spatial.exp6(xi)).vector, 0.0)
    for name in ('right_jacobian6', 'right_jacobian6_inverse'):
        kernel, function = getattr(kernels, name), getattr(spatial, name)
        assert_close(filled(kernel, xi, shape=(6, 6)), function(xi), 0.0)


@holds_for(phi=rotation_vectors, other=rotation_vectors)
def test_quaternion_kernels(phi, other):
    p = filled(kernels.quaternion_exp, phi, shape=4)
    q = filled(kernels.quaternion_exp, other, shape=4)
    assert_close(np.linalg.norm(p), 1.0, 4e-16)
    rotation = filled(kernels.quaternion_to_rotation, p, shape=(3, 3))
    assert_close(rotation, spatial.exp3(phi), 2e-15)
    product = filled(kernels.quaternion_multiply, p, q, shape=4)
    turned = filled(kernels.quaternion_to_rotation, product, shape=(3, 3))
    assert_close(turned, spatial.exp3(phi) @ spatial.exp3(other), 4e-15)
    kernels.quaternion_multiply(p.copy(), q, p)  # in place as well
    assert_close(p, product, 0.0)
    for sign in (1.0, -1.0):
        back = filled(kernels.quaternion_log, sign * q, shape=3)
        half_turn = np.linalg.norm(other) > np.pi - 1e-14
        assert_close(-back if half_turn and back @ other < 0.0 else back, other, 2e-15)
    recovered = filled(kernels.rotation_to_quaternion, turned, shape=4)
    assert_close(abs(recovered @ product), 1.0, 4e-15)


@holds_for(seed=seeds)
def test_small_products(seed):
    rng = np.random.default_rng(seed)
    m, k, n = rng.integers(1, 8, size=3)
    left, right = rng.standard_normal((m, k)), rng.standard_normal((k, n))
    x, y = rng.standard_normal(k), rng.standard_normal(m)
    assert_close(filled(kernels.mat_vec, left, x, shape=m), left @ x)
    assert_close(filled(kernels.mat_t_vec, left, y, shape=k), left.T @ y)
    transposed = np.ascontiguousarray(left.T)
    assert_close(filled(kernels.mat_t_mat, transposed, right, shape=(m, n)), left @ right)
    across = np.ascontiguousarray(right.T)
    assert_close(filled(kernels.mat_mat_t, left, across, shape=(m, n)), left @ right)


@holds_for(seed=seeds)
def test_cholesky(seed):
    rng = np.random.default_rng(seed)
    n = rng.integers(1, 8)
    root = rng.standard_normal((n, n))
    A, x = root @ root.T + np.eye(n), rng.standard_normal(n)
    L, solution = A.copy(), x.copy()
    assert kernels.cholesky(L)
    factor = np.tril(L, -1) + np.diag(1.0 / np.diagonal(L))
    assert_close(factor, np.linalg.cholesky(A))
    kernels.cholesky_solve(L, solution)
    assert_close(A @ solution, x)
    assert not kernels.cholesky(-A)


@holds_for(seed=seeds)
def test_copies(seed):
    A = np.random.default_rng(seed).standard_normal((3, 5))
    assert_close(filled(kernels.copy_matrix, A, shape=A.shape), A, 0.0)
    assert_close(filled(kernels.copy, A[1], shape=5), A[1], 0.0)
    kernels.clear(A[1])
    assert not A[1].any()
    assert A[::2].all()


@holds_for(R=rotations, other=rotation_vectors)
def test_pose_error(R, other):
    way = np.array([0.3, -0.2, 0.5])
    pose = np.vstack([R, other])
    goal = np.vstack([R @ spatial.exp3(other), other + R @ way])
    error = kernels.pose_error(pose, goal)
    assert_close(error[:3], way)
    assert_close(spatial.exp3(error[3:]), spatial.exp3(other))


def test_every_kernel_is_called_here():
    text = Path(__file__).read_text(encoding='utf-8')
    called = set(re.findall(r"kernels\.(\w+)|'(\w+)'", text))
    called = {name for pair in called for name in pair}
    assert set(kernels.__all__) <= called


def test_an_unknown_kernel_is_an_attribute_error():
    with pytest.raises(AttributeError, match='no attribute'):
        kernels.exp4  # noqa: B018


def test_kernels_are_compiled_unless_that_is_switched_off():
    assert hasattr(kernels.exp3, 'py_func') != JIT_DISABLED


@pytest.mark.skipif(JIT_DISABLED, reason='is the run without compiler already')
def test_the_same_without_the_compiler():
    environment = os.environ | {'NUMBA_DISABLE_JIT': '1'}
    command = [sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', __file__]
    run = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    assert '1 skipped' in run.stdout, run.stdout
