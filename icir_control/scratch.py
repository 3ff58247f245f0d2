"""Scratch memory for kernels: small arrays on the stack, which cost nothing to make.

A numpy array of six numbers costs a kernel 40 ns, as long as it takes to compute with them. An
array from here is gone when the kernel returns: it must not be returned, nor kept. Made anew in a
loop, it is the same memory each time.
"""

from math import prod
from typing import Any

import numpy as np

from icir_control.compiled import JIT_DISABLED

LARGEST_ON_STACK = 256
"""Numbers of an array whose length is that of the arm: a larger one is made as numpy's are."""

if JIT_DISABLED:
    scratch_vector: Any = np.empty
    """Returns a float64 array (length,), with any content."""

    def _empty_matrix(rows: int, columns: int) -> np.ndarray:
        return np.empty((rows, columns))

    scratch_matrix: Any = _empty_matrix
    """Returns a float64 array (rows, columns), with any content."""

else:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array, populate_array

    def point(
        builder: Any, array: Any, data: Any, shape: Any, parent: Any = None, meminfo: Any = None
    ) -> None:
        """Let an array of the compiler's be the numbers, row by row, that lie at an address."""
        size = _INT(8)
        strides = [size]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        data = builder.bitcast(data, array.data.type)
        populate_array(array, data, shape, strides, size, meminfo=meminfo, parent=parent)

    def _scratch(*lengths: Any) -> Any:
        """Return an array's type and the generator of its code, as an intrinsic does."""
        kind = types.Array(types.float64, len(lengths), 'C')

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            array = make_array(kind)(context, builder)
            if all(isinstance(length, types.IntegerLiteral) for length in lengths):
                shape = [length.literal_value for length in lengths]
                place = cgutils.alloca_once(builder, ir.DoubleType(), size=prod(shape))
                point(builder, array, place, [_INT(length) for length in shape])
            else:
                place, meminfo = _stack_or_heap(context, builder, values)
                point(builder, array, place, values, meminfo=meminfo)
            return array._getvalue()

        return kind(*lengths), generate  # literal lengths have code of their own

    def _stack_or_heap(context: Any, builder: Any, shape: Any) -> tuple[Any, Any]:
        """Return an address for so many numbers, and what frees it when the array is gone."""
        stack = cgutils.alloca_once(builder, ir.DoubleType(), size=LARGEST_ON_STACK)
        place = cgutils.alloca_once_value(builder, stack)
        owner = cgutils.alloca_once(builder, cgutils.voidptr_t)
        builder.store(cgutils.voidptr_t(None), owner)
        builder.store(stack, place)
        count = shape[0]
        for length in shape[1:]:
            count = builder.mul(count, length)
        is_large = builder.icmp_signed('>', count, _INT(LARGEST_ON_STACK))
        with builder.if_then(is_large, likely=False):
            meminfo = context.nrt.meminfo_alloc(builder, builder.mul(count, _INT(8)))
            data = context.nrt.meminfo_data(builder, meminfo)
            builder.store(builder.bitcast(data, stack.type), place)
            builder.store(meminfo, owner)
        return builder.load(place), builder.load(owner)

    def _vector(typing_context: Any, length: Any) -> Any:
        return _scratch(length)

    def _matrix(typing_context: Any, rows: Any, columns: Any) -> Any:
        return _scratch(rows, columns)

    _INT = ir.IntType(64)
    scratch_vector = intrinsic(prefer_literal=True)(_vector)
    scratch_matrix = intrinsic(prefer_literal=True)(_matrix)
