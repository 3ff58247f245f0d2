"""Logs compilation as it begins: all of it at the first start on a machine, later nothing."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rclpy.impl.rcutils_logger import RcutilsLogger

from icir_control.compiled import JIT_DISABLED

Progress = Callable[[int, int, str], None]
"""Called before a unit is compiled, with how many are done, how many there are, and its name."""

_PACKAGE = 'icir_control.'


@contextmanager
def log_compilation(log: RcutilsLogger) -> Iterator[Progress]:
    """Log each function that the block compiles, before it does, and how long the block took.

    Code that is read from the cache is not compiled. A block that knows its units may call the
    function that it gets; they are logged from then on instead of the functions.

    Args:
        log: The node's logger.
    """
    begin = time.monotonic()
    count = depth = 0
    has_units = False

    def progress(done: int, total: int, name: str) -> None:
        nonlocal has_units
        has_units = True
        log.info(f'compiling the control laws, {done + 1} of {total}: {name}')

    if JIT_DISABLED:
        yield progress
        return
    # Here, because numba is not imported where it is disabled.
    from numba.core import event

    class Listener(event.Listener):
        """Notified of each compilation; one within another is part of it."""

        def on_start(self, event: Any) -> None:
            nonlocal count, depth
            if not depth:
                count += 1
                function = event.data['dispatcher'].py_func
                name = f'{function.__module__}.{function.__qualname__}'.removeprefix(_PACKAGE)
                if not has_units:
                    log.info(f'compiling {name} (first start on this machine only)')
            depth += 1

        def on_end(self, event: Any) -> None:
            nonlocal depth
            depth -= 1

    with event.install_listener('numba:compile', Listener()):
        yield progress
    if count:
        log.info(f'compiled {count} functions; the start took {time.monotonic() - begin:.1f} s')
