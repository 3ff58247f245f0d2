"""How a `CheckedKernel`'s arguments are read from Python: two numba types of our own.

numba's own way of reading an array makes an object that counts references, and looks at no more
than the size of a number: the types were compared before. These types look at all that a
kernel relies on, and read an array where it lies, in a few nanoseconds. It is borrowed for the
duration of the call.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.typeconv import Conversion
from numba.extending import NativeValue, lower_cast, register_model, unbox
from numba.np.arrayobj import make_array, populate_array

_BYTE, _INT = ir.IntType(8), ir.IntType(32)
_POINTER, _LENGTHS = _BYTE.as_pointer(), ir.IntType(64).as_pointer()
_HEAD = ir.ArrayType(_BYTE, object.__basicsize__ - 8)
"""What any object begins with, up to the pointer to its type."""

# Structures that numpy's header files promise to all compiled code: `PyArrayObject_fields`, ...
_ARRAY = ir.LiteralStructType(
    [_HEAD, _POINTER, _POINTER, _INT, _LENGTHS, _LENGTHS, _POINTER, _POINTER, _INT]
)
_TYPE, DATA, _DIMENSIONS, _SHAPE, _DESCRIPTION, _FLAGS = 1, 2, 3, 4, 7, 8
# ... and `PyArray_Descr`.
_DTYPE = ir.LiteralStructType([_HEAD, _POINTER, _POINTER, _BYTE, _BYTE, _BYTE, _BYTE, _INT])
_BYTE_ORDER, _NUMBER = 5, 7
WRITABLE = 0x0400
_CARRAY = 0x0001 | 0x0100 | WRITABLE
"""Contiguous, aligned and writable."""


class PlainArray(types.Array):
    """The type of contiguous, writable float64 arrays that are exactly `np.ndarray`."""

    def __init__(self, dimensions: int) -> None:
        """Make the type of those with so many dimensions."""
        super().__init__(types.float64, dimensions, 'C', name=f'PlainArray({dimensions})')


class Index(types.Integer):
    """The type of all that Python takes for an index: int, also an IntEnum's, and numpy's."""

    def __init__(self) -> None:
        """Make the type; by its name, numpy's functions take it for what it is."""
        super().__init__('int64', bitwidth=64, signed=True)

    def can_convert_to(self, context: Any, other: types.Type) -> Conversion | None:
        """Tell the compiler that an int64 may be asked for instead."""
        return Conversion.safe if other == types.int64 else None


register_model(PlainArray)(models.ArrayModel)
register_model(Index)(models.IntegerModel)


@lower_cast(Index, types.int64)
def _to_int64(context: Any, builder: Any, given: Any, wanted: Any, value: Any) -> Any:
    return value


@unbox(Index)
def _read_index(kind: Index, value: Any, c: Any) -> NativeValue:
    # By __index__, which a float does not have.
    number = c.pyapi.long_as_longlong(value)
    return NativeValue(number, is_error=c.pyapi.c_api_error())


@unbox(PlainArray)
def _read_array(kind: PlainArray, value: Any, c: Any) -> NativeValue:
    builder = c.builder
    array = make_array(kind)(c.context, builder)
    refused = cgutils.alloca_once_value(builder, cgutils.true_bit)
    is_array = builder.icmp_unsigned('==', field(builder, value, _TYPE), _type_of_arrays(c))
    with builder.if_then(is_array), builder.if_then(_is_plain(builder, value, kind.ndim)):
        lengths = field(builder, value, _SHAPE)
        places = [cgutils.gep_inbounds(builder, lengths, axis) for axis in range(kind.ndim)]
        shape = [builder.load(place) for place in places]
        size = c.context.get_constant(types.intp, 8)
        strides = [size]
        for length in reversed(shape[1:]):
            strides.insert(0, builder.mul(strides[0], length))
        data = builder.bitcast(field(builder, value, DATA), array.data.type)
        populate_array(array, data, shape, strides, size, meminfo=None)
        builder.store(cgutils.false_bit, refused)
    is_error = builder.load(refused)
    with builder.if_then(is_error, likely=False):
        c.pyapi.err_set_string('PyExc_TypeError', 'not a contiguous, writable float64 array')
    return NativeValue(array._getvalue(), is_error=is_error)


def _is_plain(builder: Any, array: Any, dimensions: int) -> Any:
    """Generate the check of an array's fields."""
    flags = builder.and_(field(builder, array, _FLAGS), _INT(_CARRAY))
    is_plain = builder.icmp_unsigned('==', flags, _INT(_CARRAY))
    description = field(builder, array, _DESCRIPTION)
    for found, expected in (
        (field(builder, array, _DIMENSIONS), dimensions),
        (field(builder, description, _NUMBER, _DTYPE), np.dtype(np.float64).num),
        (field(builder, description, _BYTE_ORDER, _DTYPE), ord('=')),
    ):
        is_equal = builder.icmp_unsigned('==', found, found.type(expected))
        is_plain = builder.and_(is_plain, is_equal)
    return is_plain


def field(builder: Any, value: Any, index: int, struct: Any = _ARRAY) -> Any:
    """Generate the reading of a field of an array, or of another structure."""
    return builder.load(_place(builder, value, index, struct))


def clear_flag(builder: Any, array: Any, flag: int) -> None:
    """Generate what takes a flag from an array."""
    place = _place(builder, array, _FLAGS, _ARRAY)
    builder.store(builder.and_(builder.load(place), _INT(~flag)), place)


def _place(builder: Any, value: Any, index: int, struct: Any) -> Any:
    """Generate the address of a field."""
    fields = builder.bitcast(value, struct.as_pointer())
    return cgutils.gep_inbounds(builder, fields, 0, index)


def _type_of_arrays(c: Any) -> Any:
    """Generate the address of `np.ndarray`, which is looked up at the first call."""
    builder, name = c.builder, 'icir_control.ndarray'
    place = builder.module.globals.get(name)
    if place is None:
        place = cgutils.add_global_variable(builder.module, _POINTER, name)
        place.linkage = 'internal'
        place.initializer = _POINTER(None)
    with builder.if_then(cgutils.is_null(builder, builder.load(place)), likely=False):
        builder.store(c.pyapi.unserialize(c.pyapi.serialize_object(np.ndarray)), place)
    return builder.load(place)
