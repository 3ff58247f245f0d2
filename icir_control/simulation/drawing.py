"""What is drawn beside a robot: a ghost of where it should be, the trail of its tool, forces."""

import mujoco
import numpy as np
from numpy.typing import NDArray

TRAIL_STEP = 2e-3
"""Between two points of a trail [m]."""

_GHOST = np.array([0.1, 0.75, 0.3, 0.35], np.float32)
_FORCE = np.array([0.9, 0.2, 0.1, 1.0], np.float32)
_TRAIL = np.array([0.95, 0.6, 0.1, 1.0], np.float32)
_METRES_PER_NEWTON = 0.02
_WIDTH_OF_ARROW = 0.01  # m
_WIDTH_OF_TRAIL = 3.0  # pixels
_LINES = 300


def add_ghost(model: mujoco.MjModel, data: mujoco.MjData, scene: mujoco.MjvScene) -> None:
    """Add the links that move to a scene, green and translucent.

    Args:
        model: The robot.
        data: Where it should be, with its poses computed.
        scene: What they are added to.
    """
    first, moving = scene.ngeom, mujoco.mjtCatBit.mjCAT_DYNAMIC
    mujoco.mjv_addGeoms(model, data, mujoco.MjvOption(), mujoco.MjvPerturb(), moving, scene)
    for shape in scene.geoms[first : scene.ngeom]:
        shape.rgba[:] = _GHOST


def add_force(
    scene: mujoco.MjvScene, origin: NDArray[np.float64], force: NDArray[np.float64]
) -> None:
    """Add the arrow of a force to a scene.

    Args:
        scene: What it is added to.
        origin: (3,) where the force acts [m].
        force: (3,) in world axes [N].
    """
    kind, tip = mujoco.mjtGeom.mjGEOM_ARROW, origin + _METRES_PER_NEWTON * force
    _connect(scene.geoms[scene.ngeom], kind, _WIDTH_OF_ARROW, origin, tip, _FORCE)
    scene.ngeom += 1


class Trail:
    """The newest part of a point's path, in the first shapes of a scene."""

    def __init__(self, scene: mujoco.MjvScene) -> None:
        """Begin without a point.

        Args:
            scene: Of which nothing else may use the first shapes.
        """
        self._shapes = scene.geoms[:_LINES]
        self._count = 0
        self._end: NDArray[np.float64] | None = None

    def follow(self, point: NDArray[np.float64]) -> int:
        """Go on to a point (3,) [m], if it is far enough; return the number of lines."""
        if self._end is None:
            self._end = point.copy()
        elif np.linalg.norm(point - self._end) > TRAIL_STEP:
            shape, kind = self._shapes[self._count % _LINES], mujoco.mjtGeom.mjGEOM_LINE
            _connect(shape, kind, _WIDTH_OF_TRAIL, self._end, point, _TRAIL)
            self._end = point.copy()
            self._count += 1
        return min(self._count, _LINES)


def _connect(
    shape: mujoco.MjvGeom,
    kind: mujoco.mjtGeom,
    width: float,
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    color: NDArray[np.float32],
) -> None:
    mujoco.mjv_initGeom(shape, kind, np.zeros(3), np.zeros(3), np.eye(3).ravel(), color)
    mujoco.mjv_connector(shape, kind, width, start, end)
