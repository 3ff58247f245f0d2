"""What the compiler knows of structs: type, reading and writing of fields, a law's call."""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import lower_getattr_generic, lower_setattr_generic
from numba.core.typing.templates import AttributeTemplate
from numba.extending import NativeValue, infer_getattr, intrinsic, register_model, unbox
from numba.np.arrayobj import make_array, populate_array

from icir_control.control.kernels.structs import JOINTS, Layout

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
def _read_field(context: Any, builder: Any, struct: StructType, address: Any, field: str) -> Any:
    kind, place, joints = _place(builder, struct, address, field)
    if not isinstance(kind, types.Array):
        return builder.load(builder.bitcast(place, context.get_value_type(kind).as_pointer()))
    shape = [
        joints if length == JOINTS else _INT(length) for length in struct.layout.shapes[field]
    ]
    size = _INT(8)
    strides = [size]
    for length in reversed(shape[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    array = make_array(kind)(context, builder)
    data = builder.bitcast(place, array.data.type)
    populate_array(array, data, shape, strides, size, meminfo=None)
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


def _call_follower(
    typing_context: Any, function: Any, dynamics: Any, memory: Any, tick: Any
) -> Any:
    """Call the compiled `follow_pose_path`, or `place_joint_path`, by its address.

    Compiled by itself it is machine code once, and not in each function that calls it.

    Args:
        typing_context: Of the compiler.
        function: int64, the address.
        dynamics: The buffer of a `Data`.
        memory: The controller's memory.
        tick: The struct of the tick.
    """
    arguments = (dynamics, memory, tick)

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kind = context.call_conv.get_function_type(types.none, arguments)
        code = builder.inttoptr(values[0], kind.as_pointer())
        context.call_conv.call_function(builder, code, types.none, arguments, values[1:])
        return context.get_dummy_value()

    return types.none(types.int64, *arguments), generate


call_law: Any = intrinsic(_call_law)
call_follower: Any = intrinsic(_call_follower)
