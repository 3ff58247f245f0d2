"""The blocks of the buffer as views; `layout` says what lies in them."""

from typing import Any

import numpy as np

from icir_control.compiled import JIT_DISABLED, inlined, kernel
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.vector import Vector

if JIT_DISABLED:

    def view(buffer: np.ndarray, start: int, height: int, width: int) -> np.ndarray:
        """Return a part of the buffer as a matrix."""
        return buffer[start : start + height * width].reshape(height, width)

    def link(rows: np.ndarray, k: int, column: int) -> int:
        """Return the whole number that lies in row k at `column`."""
        return int(rows[k, column].view(np.int64))

else:
    from numba.core import types
    from numba.extending import intrinsic
    from numba.np.arrayobj import make_array, populate_array

    @intrinsic
    def view(typing: Any, buffer: Any, start: Any, height: Any, width: Any) -> tuple[Any, Any]:
        """Return a part of the buffer as a matrix.

        A slice and `reshape` count references and call into the runtime, some 20 ns a view: as
        much as two joints' placements. This is a pointer, valid as long as the buffer lives.
        """
        matrix = types.Array(types.float64, 2, 'C')

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            whole = make_array(signature.args[0])(context, builder, arguments[0])
            size = context.get_constant(types.intp, 8)
            result = make_array(matrix)(context, builder)
            populate_array(
                result,
                data=builder.gep(whole.data, [arguments[1]]),
                shape=arguments[2:],
                strides=[builder.mul(arguments[3], size), size],
                itemsize=size,
                meminfo=None,
            )
            return result._getvalue()

        return matrix(buffer, types.intp, types.intp, types.intp), generate

    @intrinsic
    def link(typing: Any, rows: Any, k: Any, column: Any) -> tuple[Any, Any]:
        """Return the whole number that lies in row k at `column`.

        The walk from leaf to root is one such look-up after the other; as a float, each would
        cost a conversion on top.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            matrix = make_array(signature.args[0])(context, builder, arguments[0])
            width = builder.extract_value(matrix.shape, 1)
            place = builder.add(builder.mul(arguments[1], width), arguments[2])
            integers = builder.bitcast(
                matrix.data, context.get_value_type(types.intp).as_pointer()
            )
            return builder.load(builder.gep(integers, [place]))

        return types.intp(rows, types.intp, types.intp), generate


@inlined
def rows_of(buffer: np.ndarray) -> np.ndarray:
    """Return the rows as a view, (nv + 1, STRIDE)."""
    return view(buffer, at.HEADER, int(buffer[at.H_NV]) + 1, at.STRIDE)


@inlined
def frames_of(buffer: np.ndarray) -> np.ndarray:
    """Return the frames as a view, (nframes, F_STRIDE)."""
    return view(buffer, int(buffer[at.H_FRAMES]), int(buffer[at.H_FRAME_COUNT]), at.F_STRIDE)


@inlined
def matrix_of(buffer: np.ndarray, header: int, height: int, width: int) -> np.ndarray:
    """Return a block as a view (height, width); `header` says where its place is noted."""
    return view(buffer, int(buffer[header]), height, width)


@inlined
def vector_of(buffer: np.ndarray, header: int) -> np.ndarray:
    """Return a block of nv numbers as a view."""
    return view(buffer, int(buffer[header]), 1, int(buffer[at.H_NV]))[0]


@inlined
def gravity_field(buffer: np.ndarray) -> Vector:
    """Return the gravity field in world axes."""
    return buffer[at.H_GRAVITY], buffer[at.H_GRAVITY + 1], buffer[at.H_GRAVITY + 2]


@kernel
def mass_matrix_of(buffer: np.ndarray) -> np.ndarray:
    """Return M as a view, (nv, nv), symmetric."""
    nv = int(buffer[at.H_NV])
    return matrix_of(buffer, at.H_M, nv, nv)


@kernel
def nle_of(buffer: np.ndarray) -> np.ndarray:
    """Return the nonlinear effects C(q, v) v + g(q) as a view, (nv,)."""
    return vector_of(buffer, at.H_NLE)


@kernel
def gravity_of(buffer: np.ndarray) -> np.ndarray:
    """Return the gravity torque g(q) as a view, (nv,)."""
    return vector_of(buffer, at.H_G)
