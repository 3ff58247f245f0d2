"""Compiles what every session needs, before it is needed.

`python -m icir_control.control.precompile` does so on two processors; what lies on disk already is
left as it is. A controller that finds nothing compiled has another process begin at the other end:
with the last stage of a tick, then the laws. What one process compiles the other one waits for.
"""

import os
import subprocess
import sys
import threading
from functools import partial
from typing import Self

from icir_control.collision import load_collision_shapes
from icir_control.compiled import JIT_DISABLED, is_cache_empty
from icir_control.control import Controller, ControllerConfig
from icir_control.control.workspace import compile_backwards
from icir_control.dynamics import load_urdf
from icir_control.share import DEFAULT_ROBOT, parameters_in, share_directory

FROM_THE_END = '--from-the-end'


class Helper:
    """A process that compiles stages and laws, until it is done or no longer needed."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def start(self) -> None:
        """Start the process, unless it was started."""
        if self._process is None:
            # Isolated from the current directory; the pipe tells it when this process has ended.
            command = [sys.executable, '-P', '-m', 'icir_control.control.precompile', FROM_THE_END]
            silent = subprocess.DEVNULL
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=silent, stderr=silent
            )


def shipped_controller() -> Controller:
    """Return a controller of a robot that ships; the machine code of its laws serves every arm."""
    share = share_directory()
    urdf = share / 'urdf' / f'{DEFAULT_ROBOT}.urdf'
    model = load_urdf(urdf)
    parameters = parameters_in(share / 'config' / f'{DEFAULT_ROBOT}.yaml', 'controller')
    del parameters['model']
    shapes = partial(load_collision_shapes, urdf)
    return Controller(model, ControllerConfig.from_parameters(parameters, model, shapes))


def main() -> None:
    """Compile everything, or help the process that does."""
    if JIT_DISABLED:
        return
    if FROM_THE_END in sys.argv:
        threading.Thread(target=_end_with_parent, daemon=True).start()
        compile_backwards()
        shipped_controller().compile_laws()
        return
    with Helper() as helper:
        if is_cache_empty():
            helper.start()
        shipped_controller().warm_up(_print_progress, helper.start)


def _print_progress(done: int, total: int, part: str) -> None:
    print(f'compiling, {done + 1} of {total}: {part}', flush=True)


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os._exit(1)


if __name__ == '__main__':
    main()
