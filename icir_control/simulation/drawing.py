"""What is drawn beside a robot: a ghost of where it should be, the trail of its tool, forces."""

import itertools

import mujoco
import numpy as np
from numpy.typing import NDArray

TRAIL_STEP = 2e-3
"""Between two points of a trail [m]."""

HIDDEN_GROUP = 3
"""Of the shapes that MuJoCo's viewers do not show: 0 to 2 are seen."""

_CORNERS = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
_FILLED = 0.9  # of a picture's width or height, at most
_GHOST = np.array([0.1, 0.75, 0.3, 0.35], np.float32)
_FORCE = np.array([0.9, 0.2, 0.1, 1.0], np.float32)
_TRAIL = np.array([0.95, 0.6, 0.1, 1.0], np.float32)
_METRES_PER_NEWTON = 0.02
_WIDTH_OF_ARROW = 0.01  # m
_WIDTH_OF_TRAIL = 3.0  # pixels
_LINES = 300


def visible_corners(
    model: mujoco.MjModel, rotation: NDArray[np.float64], origin: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the corners of the boxes around all visible shapes of a robot: (n, 3) [m].

    Args:
        model: The robot.
        rotation: (..., ngeom, 9) of its shapes, as MuJoCo computes them, of any postures.
        origin: (..., ngeom, 3) of its shapes [m].
    """
    seen = (model.geom_group < HIDDEN_GROUP) & (model.geom_type != mujoco.mjtGeom.mjGEOM_PLANE)
    middle, half = model.geom_aabb[seen, None, :3], model.geom_aabb[seen, None, 3:]
    axes = rotation[..., seen, :].reshape(*rotation.shape[:-2], -1, 3, 3)
    in_world = (middle + _CORNERS * half) @ axes.swapaxes(-1, -2)
    corners = origin[..., seen, None, :] + in_world
    return np.asarray(corners.reshape(-1, 3))


def framing(
    model: mujoco.MjModel, points: NDArray[np.float64], aspect: float
) -> tuple[NDArray[np.float64], float]:
    """Return what a camera looks at (3,), and from which distance [m], so that it sees points.

    It looks the way that a model's cameras do at first.

    Args:
        model: The robot.
        points: (n, 3) [m].
        aspect: Width of the picture over its height.
    """
    view = model.vis.global_
    turn, lift = np.radians([view.azimuth, view.elevation])
    forward = np.array([np.cos(lift) * np.cos(turn), np.cos(lift) * np.sin(turn), np.sin(lift)])
    right = np.array([np.sin(turn), -np.cos(turn), 0.0])
    axes = np.array([right, np.cross(right, forward), forward])
    seen = points @ axes.T
    middle = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
    beside, depth = np.abs(seen - middle)[:, :2], (seen - middle)[:, 2]
    slope = _FILLED * np.tan(np.radians(0.5 * view.fovy))
    distance = (beside / (slope * np.array([aspect, 1.0]))).max(axis=1) - depth
    return middle @ axes, float(distance.max())


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
