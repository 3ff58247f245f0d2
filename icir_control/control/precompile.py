"""Compiles what every session needs, before it is needed.

`python -m icir_control.control.precompile` does so on two processors; what lies on disk already is
left as it is. A controller that finds nothing compiled has another process begin at the other end:
with the last stage of a tick, then the laws. What one process compiles the other one waits for.
"""

import gc
import os
import subprocess
import sys
import threading
from functools import partial
from typing import Self

import numpy as np

from icir_control.collision import load_collision_shapes
from icir_control.compiled import JIT_DISABLED, is_cache_empty
from icir_control.control import Arm, Controller, ControllerConfig
from icir_control.control.workspace import compile_backwards
from icir_control.dynamics import gravity_torque, load_urdf, rnea
from icir_control.share import DEFAULT_ROBOT, parameters_in, share_directory

FROM_THE_END = '--from-the-end'

_NEW_OBJECTS = 200_000
"""More than are gone, after which Python looks for those that refer to each other alone.

After 700, as usual, it takes an eighth of the time of compiling, and finds next to none.
"""


class Helper:
    """A process that compiles stages and laws, until it is done or no longer needed."""

    def __init__(self) -> None:
        """Start nothing yet."""
        self._process: subprocess.Popen[bytes] | None = None
        self._threshold = gc.get_threshold()

    def __enter__(self) -> Self:
        gc.set_threshold(_NEW_OBJECTS)
        return self

    def __exit__(self, *_: object) -> None:
        gc.set_threshold(*self._threshold)
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def start(self) -> None:
        """Start the process, unless it was started."""
        if self._process is None:
            # Isolated from the current directory; the pipe tells it when this process has ended.
            command = [sys.executable, '-P', '-m', 'icir_control.control.precompile', FROM_THE_END]
            discard = subprocess.DEVNULL
            self._process = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=discard, stderr=discard
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


def _compile_checks(arm: Arm) -> None:
    """Compile what checks a plan: the torque that it asks for, and the distances on its way."""
    q, still = arm.model.neutral(), np.zeros(arm.nv)
    data = arm.model.create_data()
    gravity_torque(arm.model, data, q)
    rnea(arm.model, data, q, still, still)
    if arm.clearance is not None:
        arm.clearance.check('the path', [q, q])


def main() -> None:
    """Compile everything, or help the process that does."""
    if JIT_DISABLED:
        return
    if FROM_THE_END in sys.argv:
        threading.Thread(target=_end_with_parent, daemon=True).start()
        gc.set_threshold(_NEW_OBJECTS)
        compile_backwards()
        controller = shipped_controller()
        _compile_checks(controller.config.arm)
        controller.compile_laws()
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
