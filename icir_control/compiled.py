"""The compiler of the hot path: `@kernel` turns a function of plain arrays into machine code.

With `NUMBA_DISABLE_JIT=1` a kernel stays the Python function it is, and numba is not imported.
"""

import builtins
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dis import get_instructions
from functools import cache
from importlib import import_module
from pathlib import Path
from pickle import UnpicklingError
from types import CodeType, ModuleType
from typing import Any, TypeVar, cast

import numpy as np

KEPT_VERSIONS = 8
"""Of the compiled code, on disk."""

_LONGEST_COMPILATION = 60.0
"""[s] One kernel with those that it calls, on a busy machine."""
_LOOK = 0.02  # s between two looks whether another process is done

Function = TypeVar('Function', bound=Callable[..., Any])

_UNUSABLE = (OSError, EOFError, UnpicklingError)  # what files raise that are not as they should be

JIT_DISABLED = os.environ.get('NUMBA_DISABLE_JIT', '0') not in ('', '0')


def _numba() -> Any:
    """Return the compiler; its own types know less than it does."""
    return import_module('numba')


def kernel(function: Function) -> Function:
    """Compile a function of plain arrays, at its first call, and keep the code on disk.

    A kernel trusts its arguments: shapes and finite values are the caller's business.

    numba's own disk cache looks at the file of the compiled function alone, so that a change in a
    kernel that it calls would go unnoticed. Ours lies in a folder named after the text of every
    module of the package that holds kernels, lies beside some, or names the compiler: change one,
    and all are compiled anew. A user's kernel has a folder named after all that it is made of.
    """
    return cached(function, nogil=True)


def inlined(function: Function) -> Function:
    """Compile a small function as part of each kernel that calls it; Python cannot call it.

    The compiler then keeps its tuples in registers, and may fuse a product and a sum into one
    instruction, which rounds once instead of twice. So it may in a kernel that this one calls, if
    that is compiled for the call: what must cancel exactly is called from kernels alone. Without
    an entrance for Python, it takes half the time to compile.
    """
    if JIT_DISABLED:
        return function
    numba = _numba()
    options = {'nogil': True, 'error_model': 'numpy', 'forceinline': True}
    entrances = {'no_cpython_wrapper': True, 'no_cfunc_wrapper': True}
    return numba.njit(fastmath={'contract'}, **options, **entrances)(function)


def cached(function: Function, **options: Any) -> Function:
    """Compile a function with options of numba's; the code is kept as that of a kernel."""
    if JIT_DISABLED:
        return function
    numba = _numba()
    before, folder = numba.config.CACHE_DIR, _cache_directory()
    if not _is_own(function):
        made_of = _fingerprint(function)
        if made_of is None:
            return numba.njit(error_model='numpy', no_cfunc_wrapper=True, **options)(function)
        folder /= made_of
    numba.config.CACHE_DIR = str(folder)
    try:
        compiled = numba.njit(cache=True, error_model='numpy', no_cfunc_wrapper=True, **options)(
            function
        )
    except RuntimeError:
        compiled = None
    finally:
        numba.config.CACHE_DIR = before
    # Where ours cannot be written to, numba takes a folder that does not change with the kernels.
    if compiled is None or not Path(compiled.stats.cache_path).is_relative_to(folder):
        return numba.njit(error_model='numpy', no_cfunc_wrapper=True, **options)(function)
    compiled._cache = _OptionalCache(compiled._cache, function)
    return compiled


class _OptionalCache:
    """The files of one kernel, given up at the first one that cannot be written or read.

    A disk may fill up, or become read-only, long after the folder was made: what is compiled then
    is used all the same, and compiled again at the next start.

    Of several processes that miss the same code one compiles it, and the others wait for it. Each
    may hold code that it needs for the one that it waits for, but calls go in no circles: so none
    waits for one that waits for it.
    """

    def __init__(self, files: Any, function: Callable[..., Any]) -> None:
        self._files = files
        self._name = function.__qualname__
        self._where = f'{function.__module__}.{self._name}:{function.__code__.co_firstlineno}'
        self._locks: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._files, name)

    def load_overload(self, signature: Any, context: Any) -> Any:
        """Return compiled code for a signature; None where there is none to be read.

        numba's own way is to ready the compiler first, with all that it can translate: 0.4 s in a
        process. Code that lies ready was linked with numba's runtime, and needs no more than that.
        """
        code = self._read(signature, context)
        if code is None:
            for listener in _listeners:
                listener(self._name)
            if self._lock(signature):
                code = self._read(signature, context)
                if code is not None:
                    self._unlock(signature)
        return code

    def save_overload(self, signature: Any, code: Any) -> None:
        """Keep compiled code, if that is possible."""
        try:
            self._files.save_overload(signature, code)
        except _UNUSABLE:
            self._files.disable()
        finally:
            self._unlock(signature)

    def _read(self, signature: Any, context: Any) -> Any:
        """Return what lies on disk; None where there is nothing to be read."""
        from numba.core.runtime import rtsys

        try:
            rtsys.initialize(context)
            return self._files._load_overload(signature, context)
        except _UNUSABLE:
            self._files.disable()
            return None

    def _lock(self, signature: Any) -> bool:
        """Become the one process that compiles this code; return whether that is possible.

        The lock ends with the process, whatever becomes of it.
        """
        name = hashlib.sha256(f'{self._where} {signature}'.encode()).hexdigest()[:24]
        try:
            import fcntl

            file = os.open(
                Path(self._files.cache_path) / f'{name}.lock', os.O_RDWR | os.O_CREAT, 0o666
            )
        except (ImportError, OSError):
            return False
        end = time.monotonic() + _LONGEST_COMPILATION
        while time.monotonic() < end:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep(_LOOK)
            except OSError:  # a file system without locks
                break
            else:
                self._locks[str(signature)] = file
                return True
        os.close(file)
        return False

    def _unlock(self, signature: Any) -> None:
        file = self._locks.pop(str(signature), None)
        if file is not None:
            os.close(file)


def part(function: Function) -> Function:
    """Make a function part of the text of the one kernel that calls it, before it is compiled.

    A called kernel is compiled by itself, and once more, with all that it calls, inside each of
    its callers: in a chain of calls the innermost is compiled as often as the chain is long. What
    has one caller is better part of it.
    """
    if JIT_DISABLED:
        return function
    return _numba().njit(inline='always')(function)


def bound(function: Function, *arguments: Any) -> Callable[..., Any]:
    """Return a kernel, compiled for arguments of these types, that no longer looks at types.

    To tell a structured array's type, numba hashes its description at every call, field by field:
    ten times the time of a control tick. Call the result with arguments of the same types alone.

    Args:
        function: A kernel.
        arguments: Such as it will be called with, or types of numba's.
    """
    if JIT_DISABLED:
        return function
    numba, compiled = _numba(), cast(Any, function)
    return compiled.compile(
        tuple(one if isinstance(one, numba.types.Type) else numba.typeof(one) for one in arguments)
    )


@cache
def machine_code(function: Function, *types: Any, returns: Any = None) -> int:
    """Compile a function for arguments of these types of numba's; return its address.

    The address is good as long as the process lives. The code is kept on disk, as a kernel's.

    Args:
        function: Python's; of a module of the package, or a user's.
        types: Of its arguments.
        returns: The type that it is called for; None for any.

    Raises:
        TypeError: It returns another one: what calls it would read other memory.
    """
    compiled: Any = cached(function, nogil=True, no_cpython_wrapper=True)
    compiled.compile(types)
    (code,) = compiled.overloads.values()
    if returns is not None and code.signature.return_type != returns:
        raise TypeError(f'it returns {code.signature.return_type}; expected {returns}')
    _kept.append(compiled)
    return int(code.library.get_pointer_to_function(code.fndesc.llvm_func_name))


@contextmanager
def reporting(listener: Callable[[str], None]) -> Iterator[None]:
    """Tell a listener the name of each function that is compiled in the block, before it is.

    What is read from disk is not compiled. Functions that are parts of others count, too.
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


_listeners: list[Callable[[str], None]] = []
_kept: list[Any] = []
"""What `machine_code` has compiled, and must not be freed."""


@cache
def names_in(function: Callable[..., Any]) -> set[str]:
    """Return the names in the text of a compiled function, and of the kernels that it calls."""
    return {name for one in _reached(function) for name in _names(one.__code__)}


def _reached(function: Callable[..., Any]) -> list[Any]:
    """Return a function and the kernels that it calls, directly or not, as Python has them."""
    found: list[Any] = []
    waiting: list[Any] = [function]
    while waiting:
        one = waiting.pop()
        one = getattr(one, 'py_func', one)
        if one not in found:
            found.append(one)
            waiting += [value for value in _globals_of(one) if hasattr(value, 'py_func')]
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and those of the comprehensions and functions within it."""
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _names(code: CodeType) -> list[str]:
    return [name for one in _codes(code) for name in one.co_names]


def _globals_in(code: CodeType) -> set[str]:
    return {one.argval for one in get_instructions(code) if one.opname == 'LOAD_GLOBAL'}


def _globals_of(function: Any) -> list[Any]:
    """Return what the global names of a function's text stand for, also in modules they name."""
    names = _names(function.__code__)
    spaces = [function.__globals__]
    spaces += [
        vars(value)
        for name in names
        if isinstance(value := function.__globals__.get(name), ModuleType)
    ]
    return [space[name] for space in spaces for name in names if name in space]


def _fingerprint(function: Callable[..., Any]) -> str | None:
    """Return a name that changes with the text of a user's function, and all that it is made of.

    That is the text of the kernels that it calls, and the constants that they name: numba keeps
    both in the code, and looks at the function's own file alone. None while something that it
    names is not there yet.
    """
    digest = hashlib.sha256()
    for one in _reached(function):
        if not _is_own(one):
            for code in _codes(one.__code__):
                if not _globals_in(code) <= {*one.__globals__, *vars(builtins)}:
                    return None
                constants = [one for one in code.co_consts if not isinstance(one, CodeType)]
                digest.update(code.co_code + repr((code.co_names, constants)).encode())
            for value in _globals_of(one):
                if isinstance(value, bool | int | float | complex | str | tuple | np.generic):
                    digest.update(repr(value).encode())
                elif isinstance(value, np.ndarray):
                    digest.update(repr((value.dtype, value.shape)).encode() + value.tobytes())
    return digest.hexdigest()[:16]


def _is_own(function: Callable[..., Any]) -> bool:
    """Return whether a function is the package's, whose text names the folder already."""
    return function.__module__.partition('.')[0] == __name__.partition('.')[0]


def is_cache_empty() -> bool:
    """Return whether nothing of this version has been compiled on this machine yet."""
    return not JIT_DISABLED and not any(_cache_directory().glob('**/*.nbi'))


@cache
def _cache_directory() -> Path:
    """Return a folder whose name changes with the text of any kernel of the package."""
    root = Path(__file__).resolve().parent
    digest = hashlib.sha256()
    for source in sorted(root.rglob('*.py')):
        text = source.read_bytes()
        if b'@kernel' in text or b'numba' in text or 'kernels' in source.parts:
            digest.update(str(source.relative_to(root)).encode() + b'\0' + text + b'\0')
    home = os.environ.get('NUMBA_CACHE_DIR') or os.environ.get('XDG_CACHE_HOME')
    base = (Path(home) if home else Path.home() / '.cache') / 'icir_control'
    directory = base / digest.hexdigest()[:16]
    try:
        os.utime(directory)  # in use: of several checkouts none deletes another's code
    except FileNotFoundError:
        _forget_old(base)
    except OSError:  # not ours to change
        pass
    return directory


def _forget_old(base: Path) -> None:
    """Delete the folders of compiled code that are longest out of use; each change makes one."""
    with suppress(OSError):
        newest_first = sorted(base.iterdir(), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in newest_first[KEPT_VERSIONS - 1 :]:
            shutil.rmtree(old, ignore_errors=True)
