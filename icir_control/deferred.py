"""A package that is imported when something of it is asked for, and not before.

Some libraries import a large package for the sake of a few of their functions. Who calls none of
those need not wait for it.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import NoReturn


@contextmanager
def deferred(package: str) -> Iterator[None]:
    """Let what is imported in the block import a package without running the package's own text.

    Modules of the package can be imported from within the block, and names of the package can
    stand in annotations. The text runs when the first attribute is asked for after the block. A
    package that was imported before, or that is missing, is left alone.

    Args:
        package: Its name, without dots.
    """
    spec = None if package in sys.modules else find_spec(package)
    if spec is None or spec.loader is None:
        yield
        return
    module = module_from_spec(spec)
    module.__class__ = _Deferred
    module.__dict__[_LOADER] = spec.loader
    sys.modules[package] = module
    with ExitStack() as when_it_fails:
        when_it_fails.callback(_forget, package)
        yield
        when_it_fails.pop_all()
    module.__dict__[_IS_OPEN] = True


def _forget(package: str) -> None:
    """Let who imports again get the package itself, with modules of its own."""
    for name in [name for name in sys.modules if f'{name}.'.startswith(f'{package}.')]:
        del sys.modules[name]


_IS_OPEN = '__deferred_is_open__'
_LOADER = '__deferred_loader__'
_running = RLock()


class _Deferred(ModuleType):
    """A module whose text has not run yet."""

    def __getattr__(self, name: str) -> object:
        if name.startswith('__'):
            raise AttributeError(name)
        if _IS_OPEN not in self.__dict__:
            return _Annotation()
        with _running:
            if self.__dict__.get(_IS_OPEN):
                self.__dict__[_IS_OPEN] = False
                self._run()
        # Not by `getattr`: while the text runs, what is not there yet must not lead here again.
        return ModuleType.__getattribute__(self, name)

    def _run(self) -> None:
        with ExitStack() as when_it_fails:
            when_it_fails.callback(self.__dict__.__setitem__, _IS_OPEN, True)
            self.__dict__[_LOADER].exec_module(self)
            when_it_fails.pop_all()
        object.__setattr__(self, '__class__', ModuleType)


class _Annotation:
    """What a name stands for while it is good for annotations alone."""

    def __getattr__(self, name: str) -> object:
        if name.startswith('__'):
            raise AttributeError(name)
        return self

    def __or__(self, _: object) -> object:
        return self

    __ror__ = __or__

    def __call__(self, *_: object, **__: object) -> NoReturn:
        raise ImportError('this name of a deferred package was called during an import')

    def __mro_entries__(self, _: tuple[object, ...]) -> NoReturn:
        raise ImportError('a class was derived from a deferred package during an import')
