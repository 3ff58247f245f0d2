"""The compiler of the hot path: `@kernel` turns a function of plain arrays into machine code.

With `NUMBA_DISABLE_JIT=1` a kernel stays the Python function it is, and numba is not imported.
"""

import hashlib
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from pickle import UnpicklingError
from typing import Any, TypeVar

KEPT_VERSIONS = 8
"""Of the compiled code, on disk."""

Function = TypeVar('Function', bound=Callable[..., Any])

_UNUSABLE = (OSError, EOFError, UnpicklingError)  # what files raise that are not as they should be

JIT_DISABLED = os.environ.get('NUMBA_DISABLE_JIT', '0') not in ('', '0')


def kernel(function: Function) -> Function:
    """Compile a function of plain arrays, at its first call, and keep the code on disk.

    A kernel trusts its arguments: shapes and finite values are the caller's business.

    numba's own disk cache looks at the file of the compiled function alone, so that a change in a
    kernel that it calls would go unnoticed. Ours lies in a folder named after the text of every
    module of the package that holds kernels, or lies beside some: change one, and all are
    compiled anew.
    """
    return cached(function, nogil=True)


def inlined(function: Function) -> Function:
    """Compile a small function as part of each kernel that calls it; Python cannot call it.

    The compiler then keeps its tuples in registers, and may fuse a product and a sum into one
    instruction, which rounds once instead of twice. Without an entrance for Python, it takes
    half the time to compile.
    """
    if JIT_DISABLED:
        return function
    import numba

    options = {'nogil': True, 'error_model': 'numpy', 'forceinline': True}
    entrances = {'no_cpython_wrapper': True, 'no_cfunc_wrapper': True}
    return numba.njit(fastmath={'contract'}, **options, **entrances)(function)


def cached(function: Function, **options: Any) -> Function:
    """Compile a function with options of numba's; the code is kept as that of a kernel."""
    if JIT_DISABLED:
        return function
    import numba

    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = str(_cache_directory())
    try:
        compiled = numba.njit(cache=True, error_model='numpy', no_cfunc_wrapper=True, **options)(
            function
        )
    except RuntimeError:
        compiled = None
    finally:
        numba.config.CACHE_DIR = before
    # Where ours cannot be written to, numba takes a folder that does not change with the kernels.
    if compiled is None or not Path(compiled.stats.cache_path).is_relative_to(_cache_directory()):
        return numba.njit(error_model='numpy', no_cfunc_wrapper=True, **options)(function)
    compiled._cache = _OptionalCache(compiled._cache)
    return compiled


class _OptionalCache:
    """The files of one kernel, given up at the first one that cannot be written or read.

    A disk may fill up, or become read-only, long after the folder was made: what is compiled then
    is used all the same, and compiled again at the next start.
    """

    def __init__(self, files: Any) -> None:
        self._files = files

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return compiled code for a signature; None where there is none to be read.

        numba's own way is to ready the compiler first, with all that it can translate: 0.4 s in a
        process. Code that lies ready was linked with numba's runtime, and needs no more than that.
        """
        from numba.core.runtime import rtsys

        try:
            rtsys.initialize(context)
            return self._files._load_overload(signature, context)
        except _UNUSABLE:
            self._files.disable()
            return None

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep compiled code, if that is possible."""
        try:
            self._files.save_overload(signature, code)
        except _UNUSABLE:
            self._files.disable()


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
    base = (Path(home) if home else Path.home() / '.cache') / 'icir_control'
    directory = base / digest.hexdigest()[:16]
    if not directory.exists():
        _forget_old(base)
    return directory


def _forget_old(base: Path) -> None:
    """Delete all but the newest folders of compiled code: each change of a kernel makes one."""
    with suppress(OSError):
        newest_first = sorted(base.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in newest_first[KEPT_VERSIONS - 1 :]:
            shutil.rmtree(old, ignore_errors=True)
