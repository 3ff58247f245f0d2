"""Pictures of a world without a window: drawn off screen, by a processor or a graphics card."""

import importlib
import os
import subprocess
import sys
from functools import cache
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from icir_control.errors import SimulationError
from icir_control.simulation.drawing import add_force, add_ghost, framing, visible_corners
from icir_control.simulation.world import World

BACKENDS = ('egl', 'osmesa')
_APART = 2e-3  # rad or m, from which a ghost can be seen
_MOST_SHAPES = 20_000
_MOST_LOOKED_AT = 100


class Camera:
    """Draws a robot at joint positions, with a ghost of where it should be, forces and words."""

    def __init__(self, world: World, width: int, height: int) -> None:
        """Open a graphics context and look at the whole robot.

        Args:
            world: The robot; its state is neither read nor changed.
            width: Of the pictures [pixels].
            height: Of the pictures [pixels].

        Raises:
            SimulationError: Neither EGL nor OSMesa works here.
        """
        self._model, self._positions = world.model, world.positions
        # The buffer for pictures is as large as the model says.
        self._model.vis.global_.offwidth, self._model.vis.global_.offheight = width, height
        self._model.vis.quality.offsamples = 0  # smooth edges take half of the time
        backend = importlib.import_module(f'mujoco.{_working_backend()}')
        self._gl: Any = backend.GLContext(width, height)
        self._gl.make_current()
        self._context = mujoco.MjrContext(self._model, mujoco.mjtFontScale.mjFONTSCALE_150)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN, self._context)
        self._data, self._ghost = mujoco.MjData(self._model), mujoco.MjData(self._model)
        self._scene = mujoco.MjvScene(self._model, _MOST_SHAPES)
        self._scene.flags[mujoco.mjtRndFlag.mjRND_REFLECTION] = 0  # half of the time
        self._options, self._nothing = mujoco.MjvOption(), mujoco.MjvPerturb()
        self._view = mujoco.MjvCamera()
        mujoco.mjv_defaultFreeCamera(self._model, self._view)
        self._rectangle = mujoco.MjrRect(0, 0, width, height)
        self._pixels = np.empty((height, width, 3), np.uint8)

    def look_at(self, positions: NDArray[np.float64]) -> None:
        """Move the camera so that it sees the robot at all of some joint positions.

        Args:
            positions: (n, nv) [rad or m].
        """
        step = -(-len(positions) // _MOST_LOOKED_AT)
        data, corners = self._data, []
        for position in positions[::step]:
            self._place(data, position)
            corners.append(visible_corners(self._model, data.geom_xmat, data.geom_xpos))
        aspect = self._rectangle.width / self._rectangle.height
        self._view.lookat[:], self._view.distance = framing(
            self._model, np.concatenate(corners), aspect
        )

    def picture(
        self,
        position: NDArray[np.float64],
        *,
        reference: NDArray[np.float64] | None = None,
        forces: dict[str, NDArray[np.float64]] | None = None,
        caption: str = '',
    ) -> NDArray[np.uint8]:
        """Draw the robot.

        Args:
            position: (nv,) [rad or m].
            reference: (nv,) where a ghost of it stands [rad or m], unless it would hide the robot;
                None for no ghost.
            forces: (3,) by link, at its origin in its axes [N].
            caption: Words in the upper left corner.

        Returns:
            (height, width, 3), valid until the next call.
        """
        self._place(self._data, position)
        scene, every = self._scene, mujoco.mjtCatBit.mjCAT_ALL
        mujoco.mjv_updateScene(
            self._model, self._data, self._options, self._nothing, self._view, every, scene
        )
        if reference is not None and np.abs(reference - position).max() > _APART:
            self._place(self._ghost, reference)
            add_ghost(self._model, self._ghost, scene)
        for link, force in (forces or {}).items():
            body = self._data.body(link)
            add_force(scene, body.xpos, body.xmat.reshape(3, 3) @ force)
        mujoco.mjr_render(self._rectangle, scene, self._context)
        if caption:
            font, corner = mujoco.mjtFont.mjFONT_NORMAL, mujoco.mjtGridPos.mjGRID_TOPLEFT
            mujoco.mjr_overlay(font, corner, self._rectangle, caption, '', self._context)
        mujoco.mjr_readPixels(self._pixels, None, self._rectangle, self._context)
        return self._pixels[::-1]

    def close(self) -> None:
        """Give the graphics context back."""
        self._context.free()
        self._gl.free()

    def _place(self, data: mujoco.MjData, position: NDArray[np.float64]) -> None:
        data.qpos[:] = self._positions(position)
        mujoco.mj_forward(self._model, data)


@cache
def _working_backend() -> str:
    """Return which way of drawing works here.

    It is tried in a process of its own: one that fails can leave this one unable to draw.

    Raises:
        SimulationError: None does.
    """
    reasons = []
    for backend in BACKENDS:
        code = f'from mujoco.{backend} import GLContext as C; c = C(16, 16); c.make_current()'
        run = subprocess.run(
            [sys.executable, '-P', '-c', code],
            env={**os.environ, 'MUJOCO_GL': backend},
            capture_output=True,
            text=True,
        )
        if run.returncode == 0:
            return backend
        reasons.append(
            f'{backend}: {(run.stderr.strip().splitlines() or ["no reason given"])[-1]}'
        )
    raise SimulationError(
        'no picture can be drawn without a window here; on Debian and Ubuntu: sudo apt install'
        f' libegl1 libgl1-mesa-dri ({"; ".join(reasons)})'
    )
