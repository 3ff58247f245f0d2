"""Structs: named numbers and arrays in one block of memory, alike for Python and for kernels.

Python sees a numpy record, a kernel takes its address. In both, `struct.kp` is a number or a plain
float64 array. A length may be that of the arm, so one compiled kernel serves every arm, and the
compiler's name for the type is made of the fields alone: it is the same in every process.
"""

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from icir_control.compiled import JIT_DISABLED

Shape = tuple[int | str, ...]

Struct: TypeAlias = Any
"""A struct as a kernel has it."""

JOINTS = 'n'
"""As a length: one entry for each degree of freedom of the arm."""

COUNT = 'joints'
"""The first field of every struct: the degrees of freedom of the arm."""


class Layout:
    """The fields of a kind of struct, every one of them made of 64-bit numbers.

    Attributes:
        shapes: Of the float64 fields, by name; `()` for a number.
        integers: Names of the int64 fields.
        fields: Shapes of all, in the order of memory: integers, then what has the same size for
            every arm, then the rest.
        name: A short name that two layouts share only if they are the same.
    """

    def __init__(self, shapes: Mapping[str, Shape], integers: tuple[str, ...] = ()) -> None:
        """Put the fields in order."""
        fixed = {name: shape for name, shape in shapes.items() if JOINTS not in shape}
        self.shapes = fixed | {name: shape for name, shape in shapes.items() if JOINTS in shape}
        self.integers = (COUNT, *integers)
        numbers: dict[str, Shape] = dict.fromkeys(self.integers, ())
        self.fields = numbers | self.shapes
        text = f'{self.integers} {self.shapes}'
        self.name = 'Struct' + hashlib.sha256(text.encode()).hexdigest()[:24]

    def new(self, joints: int) -> Any:
        """Return a struct of zeros for an arm of so many joints: an array of one numpy record."""
        dtype = [
            (
                name,
                'i8' if name in self.integers else 'f8',
                tuple(joints if length == JOINTS else length for length in shape),
            )
            for name, shape in self.fields.items()
        ]
        array = np.zeros(1, np.dtype((np.record, dtype)))
        array[COUNT] = joints
        return array

    def place(self, field: str) -> tuple[int, int, int]:
        """Return a, b, c: a field begins a + b n + c n^2 numbers into the struct of n joints."""
        place = [0, 0, 0]
        for name, shape in self.fields.items():
            if name == field:
                break
            size = 1
            for length in shape:
                size *= 1 if length == JOINTS else int(length)
            place[shape.count(JOINTS)] += size
        return place[0], place[1], place[2]


def argument(array: Any) -> Any:
    """Return what a kernel takes for a struct: the address of its array, which must stay alive."""
    return array[0] if JIT_DISABLED else array.ctypes.data


if not JIT_DISABLED:
    from llvmlite import ir
    from numba.core import cgutils, types
    from numba.core.datamodel import models
    from numba.core.imputils import lower_getattr_generic, lower_setattr_generic
    from numba.core.typing.templates import AttributeTemplate
    from numba.extending import NativeValue, infer_getattr, intrinsic, register_model, unbox
    from numba.np.arrayobj import make_array

    from icir_control.scratch import point

    ACCELERATION = types.Array(types.float64, 1, 'C')
    """What a law returns."""

    _INT = ir.IntType(64)

    class StructType(types.Type):
        """The type of structs of one layout; a pointer in machine code."""

        def __init__(self, layout: Layout) -> None:
            """Name the type after the layout."""
            super().__init__(layout.name)
            self.layout = layout

        def field_type(self, field: str) -> types.Type | None:
            """Return the type of a field; None if there is none of that name."""
            if field in self.layout.integers:
                return types.int64
            shape = self.layout.shapes.get(field)
            if shape is None:
                return None
            return types.Array(types.float64, len(shape), 'C') if shape else types.float64

    @register_model(StructType)
    class _StructModel(models.PrimitiveModel):
        def __init__(self, manager: Any, struct: StructType) -> None:
            super().__init__(manager, struct, cgutils.voidptr_t)

    @unbox(StructType)
    def _from_address(struct: StructType, value: Any, c: Any) -> NativeValue:
        address = c.pyapi.long_as_voidptr(value)
        return NativeValue(address, is_error=c.pyapi.c_api_error())

    @infer_getattr
    class _StructFields(AttributeTemplate):
        key = StructType

        def generic_resolve(self, struct: Any, field: str) -> Any:  # type: ignore[override]
            return struct.field_type(field)

    @lower_getattr_generic(StructType)
    def _read_field(
        context: Any, builder: Any, struct: StructType, address: Any, field: str
    ) -> Any:
        kind, place, joints = _place(builder, struct, address, field)
        if not isinstance(kind, types.Array):
            return builder.load(builder.bitcast(place, context.get_value_type(kind).as_pointer()))
        shape = [
            joints if length == JOINTS else _INT(length) for length in struct.layout.shapes[field]
        ]
        array = make_array(kind)(context, builder)
        point(builder, array, place, shape)
        return array._getvalue()

    @lower_setattr_generic(StructType)
    def _write_field(context: Any, builder: Any, signature: Any, values: Any, field: str) -> None:
        struct, given = signature.args
        kind, place, _ = _place(builder, struct, values[0], field)
        value = context.cast(builder, values[1], given, kind)
        builder.store(value, builder.bitcast(place, value.type.as_pointer()))

    def _place(builder: Any, struct: StructType, address: Any, field: str) -> tuple[Any, Any, Any]:
        """Return the type of a field, its address, and the number of joints."""
        joints = builder.load(builder.bitcast(address, _INT.as_pointer()))
        # The number never changes: the compiler need not read it again after each store.
        joints.set_metadata('invariant.load', builder.module.add_metadata([]))
        a, b, c = struct.layout.place(field)
        index = builder.add(_INT(8 * a), builder.mul(_INT(8 * b), joints))
        if c:
            index = builder.add(index, builder.mul(_INT(8 * c), builder.mul(joints, joints)))
        return struct.field_type(field), builder.gep(address, [index]), joints

    def _call_law(typing_context: Any, function: Any, law: Any, tick: Any) -> Any:
        """Call a law's compiled acceleration by its address.

        Args:
            typing_context: Of the compiler.
            function: int64, the address of machine code for (a struct of the law, tick).
            law: int64, the address of the law's struct.
            tick: The struct of the tick.
        """
        arguments = (types.voidptr, tick)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            kind = context.call_conv.get_function_type(ACCELERATION, arguments)
            code = builder.inttoptr(values[0], kind.as_pointer())
            struct = builder.inttoptr(values[1], cgutils.voidptr_t)
            status, ddq = context.call_conv.call_function(
                builder, code, ACCELERATION, arguments, [struct, values[2]]
            )
            with cgutils.if_unlikely(builder, status.is_error):
                context.call_conv.return_status_propagate(builder, status)
            return ddq

        return ACCELERATION(types.int64, types.int64, tick), generate

    call_law: Any = intrinsic(_call_law)


def separate(function: Callable[..., None], field: str) -> Any:
    """Return what calls a function of (dynamics, memory, tick) that is compiled by itself.

    Its machine code is made once, and not again inside each kernel that calls it. With the
    compiler switched off it is the function itself.

    Args:
        function: Takes the buffer of a `Data`, and the structs of memory and tick.
        field: Of the memory, where the address of its machine code stands.
    """
    if JIT_DISABLED:
        return function

    def call(typing_context: Any, dynamics: Any, memory: Any, tick: Any) -> Any:
        arguments = (dynamics, memory, tick)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            kind = context.call_conv.get_function_type(types.none, arguments)
            place = _place(builder, memory, values[1], field)[1]
            address = builder.load(builder.bitcast(place, _INT.as_pointer()))
            code = builder.inttoptr(address, kind.as_pointer())
            context.call_conv.call_function(builder, code, types.none, arguments, values)
            return context.get_dummy_value()

        return types.none(*arguments), generate

    return intrinsic(call)
