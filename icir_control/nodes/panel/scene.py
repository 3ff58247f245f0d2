"""The arm in three dimensions: where it is, a ghost where it should be, trail, force, camera."""

from collections.abc import Sequence

import numpy as np
import viser

from icir_control.dynamics import Data, Model, forward_kinematics, frame_placement
from icir_control.dynamics.joints import FrameType
from icir_control.nodes.ghost import ghost_of
from icir_control.nodes.panel.shapes import Shape
from icir_control.spatial import SE3
from icir_control.spatial.arrays import Array

BASE = '/base'
"""Name of the base frame in the scene."""

_GHOST, _GHOST_OPACITY = (0.1, 0.75, 0.3), 0.4
_HOT = np.array([0.95, 0.1, 0.05])  # of a joint whose torque is at its limit
_SHADES = 10  # a colour changes in so many steps
_LABELLED = 5  # shades, from which the share is written beside the link, too
_VISIBLE = 1e-4  # m, or rad: a link that has moved less is not drawn anew, which costs a picture
_TRAIL = 300  # lines
# Lengths, each by the reach: nothing may cover a hand, or be lost beside a crane.
_TRAIL_STEP, _TRAIL_THICKNESS = 2e-3, 3e-3
_FORCE_PER_NEWTON, _FORCE_THICKNESS = 0.01, 0.012
_AXES_LENGTH, _AXES_RADIUS = 0.1, 0.003
_GRID = (190, 190, 190)
_GRID_LINES, _GRID_SPACING, _GRID_THICKNESS = 17, 0.5, 0.005  # in each direction; by the reach
_AMBIENT = 1.2  # intensity of the light on what faces away from the others
_FIELD_OF_VIEW = np.radians(45.0)
_SAMPLES = 200  # configurations that tell how far the arm reaches


class Scene:
    """Everything that is drawn.

    Attributes:
        reach: How far the links get from the middle of all that they can reach [m].
    """

    def __init__(
        self,
        server: viser.ViserServer,
        model: Model,
        shapes: Sequence[Shape],
        base: str,
        tool: str,
    ) -> None:
        """Draw the arm at its neutral configuration.

        Args:
            server: Shows it.
            model: The arm.
            shapes: What it looks like.
            base: Name of the base frame.
            tool: Name of the end effector's frame.
        """
        self._model, self._tool = model, tool
        self._data, self._ghost_data = model.create_data(), model.create_data()
        scene = server.scene
        scene.set_up_direction('+z')
        # Without a graphics card shadows take half of the time to draw, and light from an
        # environment map half of what is left.
        scene.configure_default_lights(cast_shadow=False)
        scene.configure_environment_map(None)
        scene.add_light_ambient('/light', intensity=_AMBIENT)
        self.reach = reach = self._look(server)
        forward_kinematics(model, self._data, model.neutral())
        self._arm = _Robot(server, '/arm', model, shapes)
        self._arm.place(self._data)
        self._ghost = _Robot(server, '/ghost', model, shapes, ghost=True)
        self.T_world_base = frame_placement(model, self._data, base)
        wxyz, position = _pose(self.T_world_base)
        scene.add_frame(
            BASE,
            axes_length=_AXES_LENGTH * reach,
            axes_radius=_AXES_RADIUS * reach,
            wxyz=wxyz,
            position=position,
        )
        self._trail = scene.add_line_segments(
            '/trail',
            np.zeros((_TRAIL, 2, 3), np.float32),
            (240, 160, 30),
            thickness=_TRAIL_THICKNESS * reach,
        )
        self._force = scene.add_line_segments(
            '/force',
            np.zeros((1, 2, 3), np.float32),
            (230, 50, 30),
            thickness=_FORCE_THICKNESS * reach,
        )
        self._trail_end: Array | None = None

    def _look(self, server: viser.ViserServer) -> float:
        """Let the camera see all that the links can reach; return its radius [m]."""
        rng = np.random.default_rng(0)
        points = []
        for _ in range(_SAMPLES):
            forward_kinematics(self._model, self._data, self._model.random_configuration(rng))
            points += [self.placement(f.name).translation for f in self._model.frames]
        lower, upper = np.min(points, axis=0), np.max(points, axis=0)
        centre = 0.5 * (lower + upper)
        radius = float(np.linalg.norm(points - centre, axis=1).max())
        server.scene.add_line_segments(
            '/floor',
            (radius * _floor()).astype(np.float32),
            _GRID,
            thickness=_GRID_THICKNESS * radius,
        )
        camera = server.initial_camera
        camera.fov = _FIELD_OF_VIEW
        camera.look_at = centre
        way = np.array([0.85, -0.6, 0.35]) * 0.8
        camera.position = centre + way * radius / np.sin(0.5 * _FIELD_OF_VIEW)
        return radius

    def placement(self, frame: str) -> SE3:
        """Return where a frame is in the world at the configuration that is shown."""
        return frame_placement(self._model, self._data, frame)

    def distance_to(self, T_base_tool: SE3) -> float:
        """Return how far the tool is from a placement [m] at the configuration that is shown."""
        way = (self.T_world_base @ T_base_tool).translation
        return float(np.linalg.norm(way - self.placement(self._tool).translation))

    def show(self, position: Array, shares: Array) -> None:
        """Draw the arm.

        Args:
            position: (nv,) [rad or m].
            shares: (nv,) torque, of its limit.
        """
        forward_kinematics(self._model, self._data, position)
        self._arm.place(self._data)
        self._arm.colour(shares)
        point = self.placement(self._tool).translation
        if self._trail_end is None:
            self._trail_end = point
            self._trail.points = np.tile(point.astype(np.float32), (_TRAIL, 2, 1))
        elif np.linalg.norm(point - self._trail_end) > _TRAIL_STEP * self.reach:
            line = np.array([[self._trail_end, point]], np.float32)
            self._trail.points = np.concatenate([self._trail.points[1:], line])
            self._trail_end = point

    def show_reference(self, position: Array, reference: Array, tool: SE3 | None) -> None:
        """Draw the ghost where it is apart from the arm.

        Args:
            position: (nv,) of the arm [rad or m].
            reference: (nv,) where the joints should be; as `position` in a mode that leaves them
                free.
            tool: Where the tool should be, in the base frame.
        """
        T_world_tool = self.placement(self._tool) if tool is None else self.T_world_base @ tool
        ghost = ghost_of(
            self._model, self._ghost_data, self._tool, position, reference, T_world_tool
        )
        if ghost is not None:
            forward_kinematics(self._model, self._ghost_data, ghost)
            self._ghost.place(self._ghost_data)
        self._ghost.frame.visible = ghost is not None

    def show_force(self, link: str, force: Array) -> None:
        """Draw a force that acts on a link's origin; of zero nothing can be seen.

        Args:
            link: Its name.
            force: (3,) in the link's axes [N].
        """
        placement = self.placement(link)
        tip = placement.act(_FORCE_PER_NEWTON * self.reach * force)
        self._force.points = np.array([[placement.translation, tip]], np.float32)


class _Robot:
    """The shapes of all links, below one node of the scene."""

    def __init__(
        self,
        server: viser.ViserServer,
        name: str,
        model: Model,
        shapes: Sequence[Shape],
        *,
        ghost: bool = False,
    ) -> None:
        self._model = model
        self.frame = server.scene.add_frame(name, show_axes=False, visible=not ghost)
        links = {
            frame.name: i for i, frame in enumerate(model.frames) if frame.type is FrameType.BODY
        }
        if ghost:  # what never moves would cover the arm
            shapes = [shape for shape in shapes if model.frames[links[shape.link]].parent != 0]
        self._frames = {
            links[link]: server.scene.add_frame(f'{name}/{link}', show_axes=False)
            for link in {shape.link: None for shape in shapes}
        }
        self._meshes = []
        self._labels: dict[int, viser.LabelHandle] = {}  # by the first coordinate of a joint
        for i, shape in enumerate(shapes):
            mesh = server.scene.add_mesh_simple(
                f'{name}/{shape.link}/{i}',
                shape.vertices,
                shape.faces,
                color=_GHOST if ghost else shape.colour,
                opacity=_GHOST_OPACITY if ghost else None,
            )
            joint = model.joints[model.frames[links[shape.link]].parent]
            self._meshes.append((mesh, np.array(shape.colour), joint))
            # A label that begins as an empty text would stay too narrow.
            if not ghost and joint.kind.nv and joint.index_v not in self._labels:
                self._labels[joint.index_v] = server.scene.add_label(
                    f'{name}/{shape.link}/share', '100 %', visible=False
                )
        self._shades: dict[int, int] = {}
        self._drawn: dict[int, Array] = {}

    def place(self, data: Data) -> None:
        """Move all links to where forward kinematics has them."""
        for link, node in self._frames.items():
            wxyz, place = _pose(frame_placement(self._model, data, link))
            pose = np.concatenate([wxyz, place])
            if link not in self._drawn or np.abs(pose - self._drawn[link]).max() > _VISIBLE:
                self._drawn[link] = pose
                node.wxyz, node.position = wxyz, place

    def colour(self, shares: Array) -> None:
        """Colour each link by the share that the torque of its joint has of the limit."""
        for i, (mesh, own, joint) in enumerate(self._meshes):
            own_shares = shares[joint.index_v : joint.index_v + joint.kind.nv]
            share = np.abs(own_shares).max(initial=0.0)
            shade = round(_SHADES * min(float(share), 1.0))
            if self._shades.get(i, 0) != shade:
                self._shades[i] = shade
                red = shade / _SHADES
                shown = np.rint(255.0 * ((1.0 - red) * own + red * _HOT)).astype(int)
                mesh.color = tuple(shown.tolist())
                label = self._labels[joint.index_v]
                label.text, label.visible = f'{100 * shade // _SHADES} %', shade >= _LABELLED


def _floor() -> Array:
    """Return the lines of the floor's grid, (n, 2, 3).

    viser's grid decides on each pixel of the floor, which without a graphics card takes longer
    than to draw the arm.
    """
    offsets = _GRID_SPACING * (np.arange(_GRID_LINES) - 0.5 * (_GRID_LINES - 1))
    ends = np.array([offsets[0], offsets[-1]])
    lines = np.zeros((2, _GRID_LINES, 2, 3))
    for along, lines_of_axis in enumerate(lines):
        lines_of_axis[:, :, along] = ends
        lines_of_axis[:, :, 1 - along] = offsets[:, None]
    return lines.reshape(-1, 2, 3)


def _pose(placement: SE3) -> tuple[Array, Array]:
    """Return a placement as viser has it: quaternion (w, x, y, z), and position [m]."""
    x, y, z, w = placement.quaternion
    return np.array([w, x, y, z]), placement.translation
