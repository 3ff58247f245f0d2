"""Scratch memory for kernels: small arrays on the stack, which cost nothing to make.

A numpy array of six numbers costs a kernel 40 ns, as long as it takes to compute with them. An
array from here is gone when the kernel returns: it must not be returned, nor kept.
"""

from math import prod
from typing import Any

import numpy as np

from icir_control.compiled import JIT_DISABLED

if JIT_DISABLED:
    scratch_vector: Any = np.empty
    """Returns a float64 array of a constant length, with any content."""

    def _empty_matrix(rows: int, columns: int) -> np.ndarray:
        return np.empty((rows, columns))

    scratch_matrix: Any = _empty_matrix
    """Returns a float64 array of a constant shape, with any content."""

else:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array, populate_array

    def point(builder: Any, array: Any, data: Any, shape: Any, parent: Any = None) -> None:
        """Let an array of the compiler's be the numbers, row by row, that lie at an address."""
        size = ir.IntType(64)(8)
        strides = [size]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        data = builder.bitcast(data, array.data.type)
        populate_array(array, data, shape, strides, size, meminfo=None, parent=parent)

    def _on_stack(lengths: list[int], *arguments: Any) -> Any:
        """Return an array's type and the generator of its code, as an intrinsic does."""
        kind = types.Array(types.float64, len(lengths), 'C')

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            place = cgutils.alloca_once(builder, ir.DoubleType(), size=prod(lengths))
            array = make_array(kind)(context, builder)
            point(builder, array, place, [ir.IntType(64)(length) for length in lengths])
            return array._getvalue()

        return kind(*arguments), generate

    def _vector(typing_context: Any, length: Any) -> Any:
        if not isinstance(length, types.IntegerLiteral):
            return None
        return _on_stack([length.literal_value], length)

    def _matrix(typing_context: Any, rows: Any, columns: Any) -> Any:
        if not isinstance(rows, types.IntegerLiteral):
            return None
        return _on_stack([rows.literal_value, columns.literal_value], rows, columns)

    scratch_vector = intrinsic(prefer_literal=True)(_vector)
    scratch_matrix = intrinsic(prefer_literal=True)(_matrix)
