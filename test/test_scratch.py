"""Scratch memory of kernels: on the stack where it is small, and never lost."""

import resource

import pytest

from icir_control.compiled import JIT_DISABLED, kernel
from icir_control.scratch import scratch_matrix, scratch_vector


@kernel
def _sum_of_scratch(n):
    """Sum what two arrays of the arm's size hold beside one of a constant size, thrice."""
    total = 0.0
    for k in range(3):
        matrix, vector, fixed = scratch_matrix(n, n), scratch_vector(n), scratch_matrix(2, 2)
        for i in range(n):
            vector[i] = k
            for j in range(n):
                matrix[i, j] = i - j + k
        for i in range(2):
            for j in range(2):
                fixed[i, j] = 1.0
        for i in range(n):
            total += vector[i]
            for j in range(n):
                total += matrix[i, j]
        total += fixed[0, 0] + fixed[1, 1]
    return total


@pytest.mark.parametrize('n', [1, 6, 16, 17, 100])
def test_scratch_memory_of_any_size_holds_its_numbers(n):
    assert _sum_of_scratch(n) == 3.0 * (n + n * n) + 6.0


@pytest.mark.skipif(JIT_DISABLED, reason='the compiler is switched off')
def test_scratch_memory_that_is_too_large_for_the_stack_is_freed():
    _sum_of_scratch(200)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(400):  # 400 MB, if none were
        _sum_of_scratch(200)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000  # kB
