"""How values pass between Python and a `CheckedKernel`: numba types of our own.

**Arguments.** numba's own way of reading an array makes an object that counts references, and
looks at no more than the size of a number: the types were compared before. These types look at all
that a kernel relies on, and read an array where it lies, in a few nanoseconds. It is borrowed for
the duration of the call. Inside it is of numba's own type, so that what kernels call is compiled
once for Python's calls and for theirs.

**Results.** To allocate and free an array takes longer than a frame's Jacobian. So each kernel
keeps references to the last few results that it made, and fills one of them anew when nobody else
holds it any more: no name, no view of it, no weak reference. That needs the interpreter's lock,
which a `CheckedKernel` keeps; no other kernel may make results, and what it makes it must return.
"""

import sysconfig
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.extending import NativeValue, box, intrinsic, register_model, unbox
from numba.np.arrayobj import make_array

from icir_control.scratch import point
from icir_control.spatial import Motion

_BYTE, _INT, _LONG = ir.IntType(8), ir.IntType(32), ir.IntType(64)
_POINTER, _LENGTHS = _BYTE.as_pointer(), _LONG.as_pointer()

# Structures that the header files of Python and numpy promise to all compiled code: `PyObject`
# (in front of the pointer to the type, which is its last part), ...
_HEAD = ir.ArrayType(_BYTE, object.__basicsize__ - 8)
_COUNT_AT = object.__basicsize__ - 16
"""Where the count of references begins; its lower half is a number in all versions of Python."""
# ... `PyArrayObject_fields`, ...
_ARRAY = ir.LiteralStructType(
    [_HEAD, _POINTER, _POINTER, _INT, _LENGTHS, _LENGTHS, _POINTER, _POINTER, _INT, _POINTER]
)
_TYPE, _DATA, _DIMENSIONS, _SHAPE, _DESCRIPTION, _FLAGS, _WEAK_REFERENCES = 1, 2, 3, 4, 7, 8, 9
# ... and `PyArray_Descr`.
_DTYPE = ir.LiteralStructType([_HEAD, _POINTER, _POINTER, _BYTE, _BYTE, _BYTE, _BYTE, _INT])
_BYTE_ORDER, _NUMBER = 5, 7
_WRITABLE = 0x0400
_CARRAY = 0x0001 | 0x0100 | _WRITABLE
"""Contiguous, aligned and writable."""
_MOTION = ir.LiteralStructType([_HEAD, _POINTER, _POINTER])
_VECTOR = 2
"""The one slot of a `Motion`."""

SPARES = 0 if sysconfig.get_config_var('Py_GIL_DISABLED') else 4
"""How many results a kernel may keep."""


class PlainArray(types.Array):
    """The type of contiguous, writable float64 arrays that are exactly `np.ndarray`."""

    def __init__(self, dimensions: int) -> None:
        """Make the type of those with so many dimensions."""
        super().__init__(types.float64, dimensions, 'C', name=f'PlainArray({dimensions})')


class Index(types.Type):
    """The type of all that Python takes for an index: int, also an IntEnum's, and numpy's."""

    def __init__(self) -> None:
        """Make the type."""
        super().__init__('Index')


class MotionObject(types.Type):
    """The type of a `Motion` that a kernel made."""

    def __init__(self) -> None:
        """Make the type."""
        super().__init__('Motion')


register_model(PlainArray)(models.ArrayModel)
register_model(MotionObject)(models.OpaqueModel)


def as_it_is_read(kind: types.Type) -> types.Type:
    """Return the type by which an argument of a kernel is read that inside is of numba's own."""
    if isinstance(kind, types.Array):
        return PlainArray(kind.ndim)
    return Index() if kind == types.int64 else kind


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
    is_array = builder.icmp_unsigned(
        '==', _field(builder, value, _TYPE), _constant(builder, c.pyapi, np.ndarray)
    )
    with builder.if_then(is_array), builder.if_then(_is_plain(builder, value, kind.ndim)):
        lengths = _field(builder, value, _SHAPE)
        places = [cgutils.gep_inbounds(builder, lengths, axis) for axis in range(kind.ndim)]
        shape = [builder.load(place) for place in places]
        point(builder, array, _field(builder, value, _DATA), shape)
        builder.store(cgutils.false_bit, refused)
    is_error = builder.load(refused)
    with builder.if_then(is_error, likely=False):
        c.pyapi.err_set_string('PyExc_TypeError', 'not a contiguous, writable float64 array')
    return NativeValue(array._getvalue(), is_error=is_error)


def _is_plain(builder: Any, array: Any, dimensions: int, flags: int = _CARRAY) -> Any:
    """Generate the check of an array's fields."""
    found = builder.and_(_field(builder, array, _FLAGS), _INT(flags))
    is_plain = builder.icmp_unsigned('==', found, _INT(flags))
    description = _field(builder, array, _DESCRIPTION)
    for found, expected in (
        (_field(builder, array, _DIMENSIONS), dimensions),
        (_field(builder, description, _NUMBER, _DTYPE), np.dtype(np.float64).num),
        (_field(builder, description, _BYTE_ORDER, _DTYPE), ord('=')),
    ):
        is_equal = builder.icmp_unsigned('==', found, found.type(expected))
        is_plain = builder.and_(is_plain, is_equal)
    return is_plain


def _field(builder: Any, value: Any, index: int, struct: Any = _ARRAY) -> Any:
    """Generate the reading of a field of an array, or of another structure."""
    return builder.load(_place(builder, value, index, struct))


def _place(builder: Any, value: Any, index: int, struct: Any = _ARRAY) -> Any:
    """Generate the address of a field."""
    fields = builder.bitcast(value, struct.as_pointer())
    return cgutils.gep_inbounds(builder, fields, 0, index)


def _constant(builder: Any, pyapi: Any, value: Any) -> Any:
    """Generate the address of an object that modules hold; it is looked up at the first call."""
    name = f'icir_control.{value.__name__}'
    place = builder.module.globals.get(name)
    if place is None:
        place = _global(builder, name, _POINTER)
    with builder.if_then(cgutils.is_null(builder, builder.load(place)), likely=False):
        builder.store(pyapi.unserialize(pyapi.serialize_object(value)), place)
    return builder.load(place)


def _global(builder: Any, name: str, kind: Any) -> Any:
    """Generate a variable of this kernel's own, zero at the beginning."""
    place = cgutils.add_global_variable(builder.module, kind, name)
    place.linkage = 'internal'
    place.initializer = kind(None)
    return place


@box(PlainArray)
def _give_array(kind: PlainArray, value: Any, c: Any) -> Any:
    """Hand numpy's object to Python, which becomes its owner."""
    return make_array(kind)(c.context, c.builder, value).parent


@box(MotionObject)
def _give_motion(kind: MotionObject, value: Any, c: Any) -> Any:
    return value


@intrinsic
def fresh_matrix(typing: Any, height: Any, width: Any) -> tuple[Any, Any]:
    """Return an array (height, width) that is the caller's alone; what it holds is undefined."""
    kind = PlainArray(2)

    def generate(context: Any, builder: Any, signature: Any, lengths: Any) -> Any:
        made = _spare(
            context,
            builder,
            'matrices',
            lambda one: _is_free(builder, one, lengths),
            lambda: _new_array(context, builder, lengths),
        )
        _set_writable(builder, made, True)
        result = make_array(kind)(context, builder)
        point(builder, result, _field(builder, made, _DATA), lengths, parent=made)
        return result._getvalue()

    return kind(types.intp, types.intp), generate


@intrinsic
def new_motion(typing: Any, linear: Any, angular: Any) -> tuple[Any, Any]:
    """Return a `Motion` of two vectors."""

    def generate(context: Any, builder: Any, signature: Any, parts: Any) -> Any:
        lengths = [_LONG(6)]

        def is_free(motion: Any) -> Any:
            vector = _field(builder, motion, _VECTOR, _MOTION)
            return builder.and_(_is_single(builder, vector), _is_free(builder, vector, lengths))

        def make() -> Any:
            pyapi = context.get_python_api(builder)
            vector = _new_array(context, builder, lengths)
            allocate = cgutils.get_or_insert_function(
                builder.module, ir.FunctionType(_POINTER, [_POINTER, _LONG]), 'PyType_GenericAlloc'
            )
            motion = builder.call(allocate, [_constant(builder, pyapi, Motion), _LONG(0)])
            _check_room(context, builder, motion)
            builder.store(vector, _place(builder, motion, _VECTOR, _MOTION))
            return motion

        motion = _spare(context, builder, 'motions', is_free, make)
        vector = _field(builder, motion, _VECTOR, _MOTION)
        _set_writable(builder, vector, False)
        numbers = builder.bitcast(_field(builder, vector, _DATA), ir.DoubleType().as_pointer())
        for i in range(6):
            number = builder.extract_value(parts[i // 3], i % 3)
            builder.store(number, cgutils.gep_inbounds(builder, numbers, i))
        return motion

    vector = types.UniTuple(types.float64, 3)
    return MotionObject()(vector, vector), generate


def _spare(
    context: Any,
    builder: Any,
    name: str,
    is_free: Callable[[Any], Any],
    make: Callable[[], Any],
) -> Any:
    """Generate the choice of a result that nobody holds any more, or else the making of one.

    Args:
        context: Of the compiler.
        builder: Of the code.
        name: Of the variable that keeps results.
        is_free: Generates the check of a result that no one but the kernel refers to.
        make: Generates the making of a result.
    """
    pyapi = context.get_python_api(builder)
    if not SPARES:
        return make()
    kept = builder.module.globals.get(f'icir_control.{name}')
    if kept is None:
        kept = _global(builder, f'icir_control.{name}', ir.ArrayType(_POINTER, SPARES))
    places = [cgutils.gep_inbounds(builder, kept, 0, i) for i in range(SPARES)]
    chosen, end = cgutils.alloca_once(builder, _POINTER), builder.append_basic_block()
    for place in places:
        one = builder.load(place)
        with (
            builder.if_then(cgutils.is_not_null(builder, one)),
            builder.if_then(_is_single(builder, one)),
            builder.if_then(is_free(one)),
        ):
            pyapi.incref(one)
            builder.store(one, chosen)
            builder.branch(end)
    made, oldest = make(), builder.load(places[-1])
    for place, before in zip(places[:0:-1], places[-2::-1], strict=True):
        builder.store(builder.load(before), place)
    builder.store(made, places[0])
    builder.store(made, chosen)
    pyapi.incref(made)
    # Last, since a weak reference to it may call Python, which may call this kernel.
    pyapi.decref(oldest)
    builder.branch(end)
    builder.position_at_end(end)
    return builder.load(chosen)


def _is_single(builder: Any, one: Any) -> Any:
    """Generate the check that one reference to an object is left."""
    count = builder.bitcast(cgutils.gep_inbounds(builder, one, _COUNT_AT), _INT.as_pointer())
    return builder.icmp_unsigned('==', builder.load(count), _INT(1))


def _is_free(builder: Any, array: Any, lengths: Any) -> Any:
    """Generate the check that an array, which one reference is left to, is as it was made."""
    is_free = _is_plain(builder, array, len(lengths), _CARRAY & ~_WRITABLE)
    weak = _field(builder, array, _WEAK_REFERENCES)
    is_free = builder.and_(is_free, cgutils.is_null(builder, weak))
    shape = _field(builder, array, _SHAPE)
    for axis, length in enumerate(lengths):
        found = builder.load(cgutils.gep_inbounds(builder, shape, axis))
        is_free = builder.and_(is_free, builder.icmp_unsigned('==', found, length))
    return is_free


def _set_writable(builder: Any, array: Any, writable: bool) -> None:
    """Generate the change of an array's flag."""
    place = _place(builder, array, _FLAGS)
    others = builder.and_(builder.load(place), _INT(~_WRITABLE))
    builder.store(builder.or_(others, _INT(_WRITABLE if writable else 0)), place)


def _new_array(context: Any, builder: Any, lengths: Any) -> Any:
    """Generate the making of an array by numba's binding of `PyArray_New`."""
    strides = [_LONG(8)]
    for length in reversed(lengths[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    places = [
        builder.bitcast(
            cgutils.alloca_once_value(builder, cgutils.pack_array(builder, numbers)), _LENGTHS
        )
        for numbers in (lengths, strides)
    ]
    signature = ir.FunctionType(_POINTER, [_INT, _LENGTHS, _LENGTHS, _POINTER, _INT, _INT])
    new = cgutils.get_or_insert_function(builder.module, signature, 'numba_ndarray_new')
    # The strides are given too: without them numpy would order memory it makes by columns.
    kind_of_number = _INT(np.dtype(np.float64).num)
    made = builder.call(
        new, [_INT(len(lengths)), *places, _POINTER(None), kind_of_number, _INT(0)]
    )
    _check_room(context, builder, made)
    return made


def _check_room(context: Any, builder: Any, made: Any) -> None:
    """Generate the error where nothing could be made."""
    with builder.if_then(cgutils.is_null(builder, made), likely=False):
        context.call_conv.return_user_exc(builder, MemoryError, ('no room for a result',))
