"""The way from Python into a kernel: as short as can be, and still safe.

To find out the types of its arguments, the compiler's own entrance takes 0.1 us for two arrays, as
long as placing the bodies of an arm. Here they are known, and whoever reads an argument checks it.
"""

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from icir_control.compiled import JIT_DISABLED, cached


class Entry:
    """A kernel for Python alone: of float64 arrays and whole numbers, returning one.

    It keeps the interpreter's lock, since giving it away and back costs as much as the dynamics
    of an arm.

    Attributes:
        call: The kernel. Raises a `TypeError` for all but whole numbers where it takes them, and
            contiguous, writable float64 arrays of the right number of dimensions; for anything
            as long as it is not compiled, since that takes seconds. An `OverflowError` for a
            number beyond 64 bits.
        names: The names of its parameters.
    """

    __slots__ = ('_function', 'call', 'names')

    def __init__(self, function: Callable[..., int]) -> None:
        """Compile nothing yet."""
        code = function.__code__
        self.names = code.co_varnames[: code.co_argcount]
        self._function = function if JIT_DISABLED else cached(function)
        self.call: Callable[..., int] = _refuse

    def run(self, *arguments: Any) -> int:
        """Call the kernel, compiled for arguments like these if it is not compiled yet."""
        if self.call is _refuse:
            dimensions = tuple(_dimensions(argument) for argument in arguments)
            prepare = _plain if JIT_DISABLED else _compiled
            self.call = prepare(self._function, dimensions)
        return self.call(*arguments)


def _refuse(*arguments: Any) -> int:
    raise TypeError('not compiled yet')


def _dimensions(argument: Any) -> int | None:
    """Return how many dimensions an array has; None for a whole number."""
    if type(argument) is not np.ndarray:
        index(argument)
        return None
    if argument.dtype != np.float64 or not argument.flags.carray:
        raise TypeError(f'not a contiguous, writable float64 array: {argument!r}')
    return argument.ndim


def _compiled(function: Any, dimensions: tuple[int | None, ...]) -> Callable[..., int]:
    # Not imported without the compiler.
    from icir_control.dynamics.kernels.arguments import PlainArray, Whole

    return function.compile(tuple(Whole() if n is None else PlainArray(n) for n in dimensions))


def _plain(function: Any, dimensions: tuple[int | None, ...]) -> Callable[..., int]:
    """Return a Python function that refuses what its compiled form refuses."""

    def strict(*arguments: Any) -> int:
        if tuple(map(_dimensions, arguments)) != dimensions:
            raise TypeError('an array of other dimensions than expected')
        return function(*arguments)

    return strict
