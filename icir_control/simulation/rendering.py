"""Pictures of a world without a window, for tests and documents."""

import importlib
import os
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from icir_control.errors import InvalidValueError, SimulationError
from icir_control.simulation.scene import CAMERA
from icir_control.simulation.world import World

# The ways to an OpenGL context without a window, best first.
_BACKENDS = ('egl', 'osmesa')


def render(
    world: World, width: int = 960, height: int = 720, *, camera: str | None = None
) -> NDArray[np.uint8]:
    """Draw the world as it is.

    Args:
        world: The world.
        width: Width of the picture [pixels], up to 1920.
        height: Height of the picture [pixels], up to 1200.
        camera: Name of a camera of the scene; by default the one that overlooks it.

    Returns:
        (height, width, 3) picture, top row first.

    Raises:
        InvalidValueError: The picture is too small or too large.
        SimulationError: The machine has no OpenGL without a window.
    """
    model, data = world.model, world.data
    buffer = model.vis.global_
    for name, size, largest in (
        ('width', width, buffer.offwidth),
        ('height', height, buffer.offheight),
    ):
        if not 1 <= size <= largest:
            raise InvalidValueError(name, size, f'1 to {largest} pixels')
    view = mujoco.MjvCamera()
    view.type = mujoco.mjtCamera.mjCAMERA_FIXED
    view.fixedcamid = model.camera(camera or CAMERA).id
    context = _open_context(width, height)
    try:
        context.make_current()
        scene = mujoco.MjvScene(model, maxgeom=10_000)
        mujoco.mjv_updateScene(
            model,
            data,
            mujoco.MjvOption(),
            mujoco.MjvPerturb(),
            view,
            mujoco.mjtCatBit.mjCAT_ALL,
            scene,
        )
        graphics = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, graphics)
        viewport = mujoco.MjrRect(0, 0, width, height)
        picture = np.empty((height, width, 3), np.uint8)
        mujoco.mjr_render(viewport, scene, graphics)
        mujoco.mjr_readPixels(picture, None, viewport, graphics)
        graphics.free()
    finally:
        context.free()
    # OpenGL's first row is the bottom.
    return picture[::-1].copy()


def _open_context(width: int, height: int) -> Any:
    """Return MuJoCo's OpenGL context of the first kind that works here."""
    chosen = os.environ.get('MUJOCO_GL', '').lower()
    backends = (chosen,) if chosen in _BACKENDS else _BACKENDS
    reasons = []
    for backend in backends:
        try:
            return importlib.import_module(f'mujoco.{backend}').GLContext(width, height)
        except (ImportError, RuntimeError, AttributeError, OSError) as error:
            # PyOpenGL without its library fails with AttributeError, deep inside.
            reasons.append(f'{backend}: {error}')
    raise SimulationError(
        'no OpenGL without a window (Debian: apt-get install libegl1 libgl1-mesa-dri); '
        + '; '.join(reasons)
    )
