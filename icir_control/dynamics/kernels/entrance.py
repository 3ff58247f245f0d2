"""How Python calls a kernel that keeps the interpreter's lock.

For numba's code, Python makes a tuple of the arguments at each call, to be taken apart there. Here
it hands them over where they lie (`METH_FASTCALL`), which takes 20 ns less: a fifth of the time of
a frame's Jacobian, and a twentieth of nle's. How each is read, and the result given: `boxing`.
"""

import ctypes
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering

from icir_control.dynamics.kernels.boxing import as_it_is_read

_INT = ir.IntType(64)
_POINTER = ir.IntType(8).as_pointer()


class _CodeWithEntrance(Lower):
    """Generates a kernel's code, and the function by which Python calls it."""

    def lower(self) -> None:
        """Generate both."""
        super().lower()
        module = self.context.create_module('entrance')
        _write_entrance(self.context, module, self.fndesc)
        self.library.add_ir_module(module)


@register_pass(mutates_CFG=True, analysis_only=False)
class _GenerateWithEntrance(NativeLowering):
    _name = 'generate_with_entrance'

    @property
    def lowering_class(self) -> type[Lower]:
        return _CodeWithEntrance


class EntranceCompiler(CompilerBase):
    """numba's compiler, with an entrance of ours where `no_cpython_wrapper` leaves out its own."""

    def define_pipelines(self) -> list[Any]:
        """Return the usual passes, but for the one that generates code."""
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.passes = [
            (_GenerateWithEntrance if one is NativeLowering else one, description)
            for one, description in passes.passes
        ]
        passes.finalize()
        return [passes]


def _entrance_name(code: Any) -> str:
    return f'icir_control.entrance.{code.llvm_func_name}'


def _write_entrance(context: Any, module: Any, code: Any) -> None:
    """Generate `PyObject *entrance(PyObject *self, PyObject *const *arguments, Py_ssize_t count)`.

    Args:
        context: Of the compiler.
        module: Where to.
        code: numba's description of the kernel.
    """
    kind = ir.FunctionType(_POINTER, [_POINTER, _POINTER.as_pointer(), _INT])
    entrance = ir.Function(module, kind, name=_entrance_name(code))
    _, arguments, count = entrance.args
    builder = ir.IRBuilder(entrance.append_basic_block())
    pyapi = context.get_python_api(builder)
    expected = len(code.argtypes)
    is_wrong = builder.icmp_signed('!=', count, _INT(expected))
    with builder.if_then(is_wrong, likely=False):
        pyapi.err_set_string('PyExc_TypeError', f'{code.qualname} takes {expected} arguments')
        builder.ret(_POINTER(None))
    values = []
    for i, wanted in enumerate(code.argtypes):
        given = builder.load(cgutils.gep_inbounds(builder, arguments, i))
        read = pyapi.to_native_value(as_it_is_read(wanted), given)
        with builder.if_then(read.is_error, likely=False):
            builder.ret(_POINTER(None))
        values.append(read.value)
    convention, signature = context.call_conv, (code.restype, code.argtypes)
    kind = convention.get_function_type(*signature)
    kernel = ir.Function(module, kind, name=code.llvm_func_name)
    # Not as a part of the entrance: that would be another translation of the same.
    status, result = convention.call_function(
        builder, kernel, *signature, values, attrs=('noinline',)
    )
    with builder.if_then(status.is_ok, likely=True):
        builder.ret(pyapi.from_native_return(code.restype, result, None))
    convention.raise_error(builder, pyapi, status)
    builder.ret(_POINTER(None))


class _Method(ctypes.Structure):
    """`PyMethodDef`."""

    _fields_ = (
        ('name', ctypes.c_char_p),
        ('code', ctypes.c_void_p),
        ('flags', ctypes.c_int),
        ('doc', ctypes.c_char_p),
    )


_FASTCALL = 0x0080
_new_method = ctypes.pythonapi.PyCMethod_New
_new_method.argtypes = [ctypes.POINTER(_Method), *3 * [ctypes.py_object]]
_new_method.restype = ctypes.py_object


def entrance(function: Any, *kinds: types.Type) -> Callable[..., Any]:
    """Compile a function with `EntranceCompiler` for arguments of these types.

    Returns:
        What Python calls.
    """
    function.compile(kinds)
    compiled = function.overloads[kinds]
    address = compiled.library.get_pointer_to_function(_entrance_name(compiled.fndesc))
    method = _Method(function.__name__.encode(), address, _FASTCALL, None)
    nothing = ctypes.py_object()
    # What must live as long as the method is its `self`.
    return _new_method(ctypes.byref(method), (method, compiled.library), nothing, nothing)
