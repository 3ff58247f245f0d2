"""A world to look at, in MuJoCo's own window.

The window works on copies of the model and of the state: nothing that is clicked or pressed in it
(reset, sliders, physics options) reaches the simulation, except the mouse that pulls at a link.
"""

import atexit
import contextlib
import copy
import logging
import os
import queue
import sys
import threading
import warnings
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from icir_control.errors import InvalidValueError, SimulationError
from icir_control.simulation.drawing import Trail, add_ghost
from icir_control.simulation.world import World

KINDS = ('none', 'window', 'auto')

# How long a window may take to open, and to close, on a busy machine [s]. A frame is drawn to its
# end before the window closes.
_PATIENCE_OPENING = 60.0
_PATIENCE_CLOSING = 30.0

_HELP = (
    ('double click', 'choose a link'),
    ('Ctrl, right drag', 'push it'),
    ('Ctrl, left drag', 'turn it'),
    ('drag, wheel', 'move the camera'),
    ('green ghost', 'where the arm should be'),
    ('yellow line', 'path of the tool'),
)

_log = logging.getLogger(__name__)


class Viewer:
    """A window on a world, or the absence of one.

    Attributes:
        reason: Why there is no window; empty where there is or was one.
    """

    def __init__(self, world: World, *, reason: str = '') -> None:
        """Open a window, unless there is a reason not to.

        Args:
            world: What to show.
            reason: Why there shall be no window.

        Raises:
            SimulationError: The window cannot be opened.
        """
        self.reason = reason
        self._world = world
        self._handle: Any = None
        self._threads: list[threading.Thread] = []
        if not reason:
            self.open()

    @property
    def is_open(self) -> bool:
        """Whether there is a window, which its user may have closed in the meantime."""
        return self._handle is not None and self._handle.is_running()

    def sync(self, reference: NDArray[np.float64] | None = None) -> None:
        """Show the present state and take over what the mouse pulls at; for about 60 Hz.

        Costs a copy of the state; drawing happens in the window's own thread. To be called by the
        thread that steps. A window that has been closed lets go of the mouse's force.

        Args:
            reference: (nv,) where a ghost of the robot stands [rad or m]; None for no ghost.
        """
        if self._handle is None:
            return
        if not self._handle.is_running():
            self.close()
            return
        # The window's `sync` wipes the external forces of the data that it is given, and writes
        # its user's edits into it: hence the copy.
        mujoco.mj_copyData(self._data, self._world.model, self._world.data)
        with self._handle.lock():
            self._draw(self._handle.user_scn, reference)
        self._handle.sync()
        with self._handle.lock():
            mouse = copy.copy(self._handle.perturb)
        self._world.drag(mouse)

    def close(self) -> None:
        """Close the window and let go of the mouse's force; closing twice is no error."""
        handle, self._handle = self._handle, None
        if handle is None:
            return
        self._world.drag(None)
        handle.close()
        atexit.unregister(self.close)
        for thread in self._threads:
            thread.join(_PATIENCE_CLOSING)

    def open(self) -> None:
        """Open the window in a thread of its own; one that is open stays as it is.

        Raises:
            SimulationError: It cannot be opened; the message says why.
        """
        if self.is_open:
            return
        self.close()
        reason = _why_no_window()
        if reason:
            raise SimulationError(f'the viewer window cannot be opened: {reason}')
        from mujoco import viewer

        self._model = copy.copy(self._world.model)
        self._data, self._ghost = mujoco.MjData(self._model), mujoco.MjData(self._model)
        mujoco.mj_copyData(self._data, self._world.model, self._world.data)
        before = set(threading.enumerate())
        answer: queue.Queue[Any] = queue.Queue()

        def launch() -> None:
            try:
                answer.put(
                    viewer.launch_passive(
                        self._model, self._data, show_left_ui=False, show_right_ui=False
                    )
                )
            except (RuntimeError, ValueError, mujoco.FatalError) as error:
                answer.put(error)

        # MuJoCo waits for ever for a window whose thread has failed, so that we wait for MuJoCo.
        launcher = threading.Thread(target=launch, daemon=True)
        launcher.start()
        try:
            handle = answer.get(timeout=_PATIENCE_OPENING)
        except queue.Empty:
            handle = SimulationError(f'it did not appear within {_PATIENCE_OPENING:g} s')
        if isinstance(handle, Exception):
            raise SimulationError(f'the viewer window cannot be opened: {handle}') from handle
        launcher.join()
        self._threads = [thread for thread in threading.enumerate() if thread not in before]
        with handle.lock():
            mujoco.mjv_defaultFreeCamera(self._model, handle.cam)
        if hasattr(handle, 'set_texts'):  # since MuJoCo 3.3
            keys, effects = map('\n'.join, zip(*_HELP, strict=True))
            handle.set_texts(
                (mujoco.mjtFont.mjFONT_NORMAL, mujoco.mjtGridPos.mjGRID_BOTTOMLEFT, keys, effects)
            )
        self._trail = Trail(handle.user_scn)
        self._handle, self.reason = handle, ''
        # A thread inside OpenGL at the interpreter's end is a segmentation fault.
        atexit.register(self.close)

    def _draw(self, scene: mujoco.MjvScene, reference: NDArray[np.float64] | None) -> None:
        """Draw what is beside the robot."""
        tool = self._data.body(self._world.end_effector_frame).xpos
        scene.ngeom = self._trail.follow(tool)
        if reference is not None:
            self._ghost.qpos[:] = self._world.positions(reference)
            mujoco.mj_kinematics(self._model, self._ghost)
            add_ghost(self._model, self._ghost, scene)


def open_viewer(world: World, kind: str = 'auto') -> Viewer:
    """Open a window on a world.

    Args:
        world: What to show.
        kind: `none`; `window`, which must open; or `auto`, which opens where there is a display
            and else logs why it does not.

    Returns:
        The viewer; without a window, its `reason` says why.

    Raises:
        InvalidValueError: The kind is none of these.
        SimulationError: `window` was asked for and cannot be opened.
    """
    if kind not in KINDS:
        raise InvalidValueError('viewer', kind, f'one of {", ".join(KINDS)}')
    if kind == 'none':
        return Viewer(world, reason='none was asked for')
    try:
        return Viewer(world)
    except SimulationError as error:
        if kind == 'window':
            raise
        _log.info('%s', error)
        return Viewer(world, reason=str(error))


def _why_no_window() -> str:
    """Return why no window can be opened here; empty where one can."""
    if sys.platform.startswith('linux') and not (
        os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY')
    ):
        return 'there is no display (neither DISPLAY nor WAYLAND_DISPLAY is set)'
    with warnings.catch_warnings():
        # GLFW warns about what we are about to report.
        warnings.simplefilter('ignore')
        try:
            import glfw
        except ImportError as error:
            return f'the Python package glfw is missing: {error}'
        if not glfw.init():
            return _glfw_error(glfw)
        # A hidden window tells whether there is OpenGL behind the display.
        glfw.window_hint(glfw.VISIBLE, glfw.FALSE)
        window = glfw.create_window(16, 16, 'icir_control', None, None)
        reason = '' if window else _glfw_error(glfw)
        with contextlib.suppress(glfw.GLFWError):
            glfw.default_window_hints()
            if window:
                glfw.destroy_window(window)
    return reason


def _glfw_error(glfw: Any) -> str:
    _, text = glfw.get_error()
    return text.decode(errors='replace') if text else 'GLFW gives no reason'
