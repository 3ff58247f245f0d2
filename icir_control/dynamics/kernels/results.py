"""Arrays that a `CheckedKernel` makes for Python, instead of writing into one that it is given.

`numpy.empty`, called from Python, takes as long as a frame's Jacobian. Here the kernel asks numpy
for the array in compiled code. It needs the interpreter's lock, which a `CheckedKernel` keeps;
no other kernel may ask. What a kernel makes must be what it returns.
"""

from typing import Any

import numpy as np

from icir_control.compiled import JIT_DISABLED

if JIT_DISABLED:

    def fresh_vector(size: int) -> np.ndarray:
        """Return a new array (size,)."""
        return np.empty(size)

    def fresh_matrix(height: int, width: int) -> np.ndarray:
        """Return a new array (height, width)."""
        return np.empty((height, width))

    def frozen(array: np.ndarray) -> np.ndarray:
        """Return a new array, read-only."""
        array.setflags(write=False)
        return array

else:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.extending import box, intrinsic
    from numba.np.arrayobj import make_array, populate_array

    from icir_control.dynamics.kernels import arguments

    @box(arguments.PlainArray)
    def _give(kind: arguments.PlainArray, value: Any, c: Any) -> Any:
        """Hand numpy's object to Python, which becomes its owner."""
        return make_array(kind)(c.context, c.builder, value).parent

    def _make(context: Any, builder: Any, kind: arguments.PlainArray, lengths: Any) -> Any:
        """Generate the making of an array by numba's binding of `PyArray_New`."""
        strides = [context.get_constant(types.intp, 8)]
        for length in reversed(lengths[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        number, pointer = ir.IntType(32), ir.IntType(64).as_pointer()
        places = [
            builder.bitcast(
                cgutils.alloca_once_value(builder, cgutils.pack_array(builder, numbers)), pointer
            )
            for numbers in (lengths, strides)
        ]
        python_object = context.get_value_type(types.pyobject)
        no_data = ir.IntType(8).as_pointer()(None)
        signature = ir.FunctionType(
            python_object, [number, pointer, pointer, no_data.type, number, number]
        )
        new = cgutils.get_or_insert_function(builder.module, signature, 'numba_ndarray_new')
        # The strides are given too: without them numpy would order memory it makes by columns.
        kind_of_number = number(np.dtype(np.float64).num)
        made = builder.call(new, [number(kind.ndim), *places, no_data, kind_of_number, number(0)])
        with builder.if_then(cgutils.is_null(builder, made), likely=False):
            context.call_conv.return_user_exc(builder, MemoryError, ('no room for a result',))
        result = make_array(kind)(context, builder)
        data = arguments.field(builder, made, arguments.DATA)
        data, size = builder.bitcast(data, result.data.type), strides[-1]
        populate_array(result, data, lengths, strides, size, meminfo=None, parent=made)
        return result._getvalue()

    @intrinsic
    def fresh_vector(typing: Any, size: Any) -> tuple[Any, Any]:
        """Return a new array (size,)."""
        kind = arguments.PlainArray(1)

        def generate(context: Any, builder: Any, signature: Any, lengths: Any) -> Any:
            return _make(context, builder, kind, lengths)

        return kind(types.intp), generate

    @intrinsic
    def fresh_matrix(typing: Any, height: Any, width: Any) -> tuple[Any, Any]:
        """Return a new array (height, width)."""
        kind = arguments.PlainArray(2)

        def generate(context: Any, builder: Any, signature: Any, lengths: Any) -> Any:
            return _make(context, builder, kind, lengths)

        return kind(types.intp, types.intp), generate

    @intrinsic
    def frozen(typing: Any, array: Any) -> tuple[Any, Any]:
        """Return a new array, read-only."""

        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            made = make_array(array)(context, builder, given[0]).parent
            arguments.clear_flag(builder, made, arguments.WRITABLE)
            return given[0]

        return array(array), generate
