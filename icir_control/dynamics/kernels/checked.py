"""Kernels that Python calls: they check types, lengths and values themselves.

To find out the types of its arguments, numba's own wrapper takes 0.1 us for two arrays, as long as
placing the bodies of an arm. Here they are known, and checked as they are read; see `boxing`.

A checked kernel returns 0, or a number above 0 when an argument is wrong: where a quaternion is
not of unit length, the place of its configuration behind the buffer. It asks for one vector after
the other: with one function for all of them, a call for a six-joint arm took 20 ns more.
"""

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from icir_control.compiled import JIT_DISABLED, cached, inlined
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.vector import Vector
from icir_control.spatial import Motion

if JIT_DISABLED:

    def fresh_matrix(height: int, width: int) -> np.ndarray:
        """Return an array (height, width) that is the caller's alone."""
        return np.empty((height, width))

    def new_motion(linear: Vector, angular: Vector) -> Motion:
        """Return a `Motion` of two vectors."""
        return Motion.trusted(np.array((*linear, *angular)))
else:
    from icir_control.dynamics.kernels import boxing
    from icir_control.dynamics.kernels.entrance import EntranceCompiler

    fresh_matrix = boxing.fresh_matrix  # type: ignore[assignment]
    new_motion = boxing.new_motion  # type: ignore[assignment]

LARGEST = 1e100
"""The sum of the magnitudes of a vector is below: squares of larger numbers are infinite."""


def with_entrance(function: Callable[..., int]) -> Callable[..., int]:
    """Compile a kernel that keeps the interpreter's lock, for `entrance` to let Python in.

    Without the compiler it is the function that it was.
    """
    if JIT_DISABLED:
        return function
    return cached(function, pipeline_class=EntranceCompiler, no_cpython_wrapper=True)


class CheckedKernel:
    """A kernel that Python calls, of float64 arrays and integers.

    It returns an integer, or what `fresh_matrix` or `new_motion` made.

    It keeps the interpreter's lock, since giving it away and back costs as much as the dynamics
    of an arm.

    Attributes:
        call: The kernel. Raises a `TypeError` for all but integers where it takes them, and
            contiguous, writable float64 arrays of the right number of dimensions; for anything
            as long as it is not compiled, since that takes seconds. An `OverflowError` for a
            number beyond 64 bits.
        names: The names of its parameters.
    """

    __slots__ = ('_function', 'call', 'names')

    def __init__(self, function: Callable[..., Any]) -> None:
        """Compile nothing yet."""
        code = function.__code__
        self.names = code.co_varnames[: code.co_argcount]
        self._function = with_entrance(function)
        self.call: Callable[..., Any] = _refuse

    def run(self, *arguments: Any) -> Any:
        """Call the kernel, compiled for arguments like these if it is not compiled yet."""
        if self.call is _refuse:
            dimensions = tuple(_dimensions(argument) for argument in arguments)
            prepare = _plain if JIT_DISABLED else _compiled
            self.call = prepare(self._function, dimensions)
        return self.call(*arguments)


def _refuse(*arguments: Any) -> Any:
    raise TypeError('not compiled yet')


def _dimensions(argument: Any) -> int | None:
    """Return how many dimensions an array has; None for an integer."""
    if type(argument) is not np.ndarray:
        index(argument)
        return None
    if argument.dtype != np.float64 or not argument.flags.carray:
        raise TypeError(f'not a contiguous, writable float64 array: {argument!r}')
    return argument.ndim


def _compiled(function: Any, dimensions: tuple[int | None, ...]) -> Callable[..., Any]:
    # Not imported without the compiler.
    from numba import types

    from icir_control.dynamics.kernels.entrance import entrance

    def kind(n: int | None) -> types.Type:
        return types.int64 if n is None else types.Array(types.float64, n, 'C')

    return entrance(function, *map(kind, dimensions))


def _plain(function: Any, dimensions: tuple[int | None, ...]) -> Callable[..., Any]:
    """Return a Python function that refuses what its compiled form refuses."""

    def strict(*arguments: Any) -> Any:
        if tuple(map(_dimensions, arguments)) != dimensions:
            raise TypeError('an array of other dimensions than expected')
        return function(*arguments)

    return strict


@inlined
def is_vector(x: np.ndarray, size: int) -> bool:
    """Tell whether x has the given length, and numbers that can be squared."""
    total = 0.0
    for value in x:
        total += abs(value)
    # Infinite or not a number as soon as one of them is.
    return x.size == size and total < LARGEST


@inlined
def is_configuration(buffer: np.ndarray, q: np.ndarray) -> bool:
    """Tell whether q is finite, long enough, and its quaternions are about unit ones."""
    if not is_vector(q, int(buffer[at.H_NQ])):
        return False
    if buffer[at.H_HAS_QUATERNIONS] == 0.0:
        return True
    rows = at.rows_of(buffer)
    for k in range(1, rows.shape[0]):
        motion = at.integer(rows, k, at.MOTION)
        if motion == at.SPHERICAL or motion == at.FLOATING:
            i = at.integer(rows, k, at.INDEX_Q)
            if motion == at.FLOATING:
                i += 3
            square = q[i] ** 2 + q[i + 1] ** 2 + q[i + 2] ** 2 + q[i + 3] ** 2
            if not 0.99 < square < 1.01:
                return False
    return True


@inlined
def is_velocity(buffer: np.ndarray, v: np.ndarray) -> bool:
    """Tell whether v, an acceleration or a torque, is finite and has nv numbers."""
    return is_vector(v, int(buffer[at.H_NV]))
