"""The compiler of the hot path: `@kernel` turns a function of plain arrays into machine code.

With `NUMBA_DISABLE_JIT=1` a kernel stays the Python function it is, and numba is not imported.
"""

import hashlib
import os
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

Function = TypeVar('Function', bound=Callable[..., Any])

JIT_DISABLED = os.environ.get('NUMBA_DISABLE_JIT', '0') not in ('', '0')


def kernel(function: Function) -> Function:
    """Compile a function of plain arrays, at its first call, and keep the code on disk.

    A kernel trusts its arguments: shapes and finite values are the caller's business.

    numba's own disk cache looks at the file of the compiled function alone, so that a change in a
    kernel that it calls would go unnoticed. Ours lies in a folder named after the text of every
    module of the package that holds kernels, or lies beside some: change one, and all are
    compiled anew.
    """
    return _compile(function, nogil=True)


def entry(function: Function) -> Function:
    """Compile a kernel that Python calls in a hurry; other kernels cannot call it.

    It refuses arguments of other types than those it is compiled for with a `TypeError`, also as
    long as it is not compiled at all: a plain kernel would compile anew, for seconds, whenever it
    meets a list, a strided array or integers. `ready` compiles it. It keeps the interpreter's
    lock, since giving it away and back costs as much as the dynamics of an arm.
    """
    compiled = _compile(function)
    if not JIT_DISABLED:
        # What numba's `disable_compile` sets; that one insists on a first signature.
        compiled._can_compile = False
    return compiled


def ready(function: Function, arguments: Sequence[Any]) -> Function:
    """Return an entry kernel, compiled for the types of the given arguments if for none yet."""
    if not JIT_DISABLED and not function.signatures:
        from numba import typeof

        function.disable_compile(False)
        function.compile(tuple(typeof(argument) for argument in arguments))
        function.disable_compile()
    return function


def inlined(function: Function) -> Function:
    """Compile a small function as part of each kernel that calls it.

    The compiler then keeps its tuples in registers, and may fuse a product and a sum into one
    instruction, which rounds once instead of twice.
    """
    if JIT_DISABLED:
        return function
    import numba

    options = {'nogil': True, 'error_model': 'numpy', 'forceinline': True}
    return numba.njit(fastmath={'contract'}, **options)(function)


def _compile(function: Function, **options: Any) -> Function:
    if JIT_DISABLED:
        return function
    import numba

    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_cache_directory())
    try:
        return numba.njit(cache=True, error_model='numpy', **options)(function)
    except RuntimeError:
        # No place to write to (a read-only home, say): compile at every start instead.
        return numba.njit(error_model='numpy', **options)(function)
    finally:
        numba.config.CACHE_DIR = before


def part(function: Function) -> Function:
    """Make a function part of the text of the one kernel that calls it, before it is compiled.

    A called kernel is compiled by itself, and once more, with all that it calls, inside each of
    its callers: in a chain of calls the innermost is compiled as often as the chain is long. What
    has one caller is better part of it.
    """
    if JIT_DISABLED:
        return function
    import numba

    return numba.njit(inline='always')(function)


def bound(function: Function, *arguments: Any) -> Callable[..., Any]:
    """Return a kernel, compiled for arguments of these types, that no longer looks at types.

    To tell a structured array's type, numba hashes its description at every call, field by field:
    ten times the time of a control tick. Call the result with arrays of the same types alone.

    Args:
        function: A kernel.
        arguments: Such as it will be called with.
    """
    if JIT_DISABLED:
        return function
    import numba

    return function.compile(tuple(numba.typeof(argument) for argument in arguments))


@cache
def _cache_directory() -> Path:
    """Return a folder whose name changes with the text of any kernel of the package."""
    root = Path(__file__).resolve().parent
    digest = hashlib.sha256()
    for source in sorted(root.rglob('*.py')):
        text = source.read_bytes()
        if b'@kernel' in text or 'kernels' in source.parts:
            digest.update(str(source.relative_to(root)).encode() + b'\0' + text + b'\0')
    home = os.environ.get('NUMBA_CACHE_DIR') or os.environ.get('XDG_CACHE_HOME')
    base = Path(home) if home else Path.home() / '.cache'
    return base / 'icir_control' / digest.hexdigest()[:16]
