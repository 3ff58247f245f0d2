"""The robot that the page shows: its model, and the shapes of its links as triangles."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self
from xml.etree import ElementTree

import numpy as np
import trimesh

from icir_control.dynamics import KinematicTree, Model, load_urdf, root_link, tip_link
from icir_control.dynamics.joints import FrameType
from icir_control.errors import ConfigurationError
from icir_control.nodes.panel.remote import RemoteNode
from icir_control.nodes.robot import RobotParameters
from icir_control.share import find_mesh, find_model_file, read_xml
from icir_control.simulation.inertia import ellipsoid_axes
from icir_control.simulation.meshes import read_mesh
from icir_control.spatial import SE3
from icir_control.spatial.arrays import Array

_GREY = (0.75, 0.75, 0.75)
Colour = tuple[float, float, float]


@dataclass(frozen=True)
class Shape:
    """All that a link has of one colour.

    Attributes:
        link: Its name.
        colour: Red, green, blue, each 0 to 1.
        vertices: (n, 3) in the link's axes [m].
        faces: (m, 3) indices of vertices.
    """

    link: str
    colour: Colour
    vertices: Array
    faces: Array


@dataclass(frozen=True)
class ShownRobot:
    """What the page shows.

    Attributes:
        model: The arm; joints beyond it are held.
        shapes: Of its links.
        base: Name of the base frame.
        tool: Name of the end effector's frame.
    """

    model: Model
    shapes: list[Shape]
    base: str
    tool: str

    @classmethod
    def of(cls, remote: RemoteNode, description: str) -> Self:
        """Return the robot that a node's parameters name.

        Args:
            remote: The controller or the bridge.
            description: URDF of the topic `robot_description`; empty where nobody publishes it,
                and the file is read that the node has read.

        Raises:
            IcirError: There is no such file here, or the description is not valid.
        """
        values = remote.values
        own = RobotParameters.of(values)
        try:
            path = find_model_file(own.model, own.package_dirs)
            description = description or path.read_text()
        except ConfigurationError:
            if not description:
                raise
            path = Path()
        base, tool = values.get('base_frame') or '', values.get('end_effector_frame') or ''
        tree = KinematicTree(description)
        chain = tree.chain(base, tool, own.locked, whole_tree=own.whole_tree)
        model = load_urdf(description, **own.options(chain.held))
        return cls(
            model,
            shapes_of(description, path.parent, model, own.package_dirs),
            base or root_link(model),
            chain.end_effector_frame or tip_link(model),
        )


def unit_of(model: Model) -> str:
    """Return the unit of the joints' positions."""
    are_lengths = {k < joint.kind.lengths for joint in model.joints for k in range(joint.nv)}
    return ', '.join('m' if is_length else 'rad' for is_length in sorted(are_lengths))


def shapes_of(
    urdf: str, folder: Path, model: Model, package_dirs: Sequence[str] = ()
) -> list[Shape]:
    """Return what a robot looks like.

    A link of which nothing can be seen, since it has no visuals or their meshes are not there, is
    drawn as what of it may collide. Where there is none of it, either, in all that moves with a
    joint, its ellipsoid of inertia is drawn.

    Args:
        urdf: The text.
        folder: That of the URDF, from which meshes may be named.
        model: The arm.
        package_dirs: Folders that are packages or hold packages, for meshes.
    """
    robot = read_xml(urdf)
    colours = {one.get('name'): one.find('color') for one in robot.iterfind('material')}
    find = partial(find_mesh, robot=robot, folder=folder, package_dirs=package_dirs)
    shapes = []
    for link in robot.iterfind('link'):
        for kind in ('visual', 'collision'):
            parts: dict[Colour, list[Any]] = defaultdict(list)
            for element in link.findall(kind):
                colour = _colour(element, colours)
                parts[colour] += _meshes(element, find)
            found = {colour: meshes for colour, meshes in parts.items() if meshes}
            for colour, meshes in found.items():
                whole: Any = trimesh.util.concatenate(meshes)
                name = link.get('name') or ''
                shapes.append(Shape(name, colour, np.array(whole.vertices), np.array(whole.faces)))
            if found:
                break
    return [*shapes, *_inertias_of(model, {shape.link for shape in shapes})]


def _inertias_of(model: Model, drawn: Set[str]) -> Iterator[Shape]:
    """Give the ellipsoids of inertia of what moves without a link that is drawn."""
    bodies = [frame for frame in model.frames if frame.type is FrameType.BODY]
    seen = {frame.parent for frame in bodies if frame.name in drawn}
    lengths = [0.0]
    for joint in model.joints[1:]:
        length = float(np.linalg.norm(joint.placement.translation)) if joint.parent else 0.0
        lengths.append(lengths[joint.parent] + length)
    for i, inertia in enumerate(model.inertias):
        if i == 0 or i in seen or inertia.mass <= 0.0:
            continue
        moments, axes = np.linalg.eigh(inertia.rotational)
        axes[:, 0] *= np.linalg.det(axes)
        next_ones = [joint.placement.translation for joint in model.joints if joint.parent == i]
        semi_axes = ellipsoid_axes(inertia.mass, moments, [inertia.com, *next_ones], max(lengths))
        frame = next(frame for frame in bodies if frame.parent == i)
        placement = frame.placement.inverse() @ SE3(axes, inertia.com)
        ball = trimesh.creation.icosphere(3, 1.0)
        ball.apply_scale(semi_axes)
        ball.apply_transform(placement.matrix)
        yield Shape(frame.name, _GREY, np.array(ball.vertices), np.array(ball.faces))


def _colour(element: Any, known: Mapping[str | None, Any]) -> Colour:
    """Return the colour of a `visual`; grey where the URDF gives none."""
    material = element.find('material')
    if material is None:
        return _GREY
    colour = material.find('color')
    colour = known.get(material.get('name')) if colour is None else colour
    if colour is None:
        return _GREY
    red, green, blue, *_ = _numbers(colour, 'rgba', '1 1 1 1')
    return red, green, blue


def _meshes(element: Any, find: Callable[[str], Path | None]) -> Iterator[Any]:
    """Give the triangles of a `visual` or `collision`, in the link's axes."""
    origin = element.find('origin')
    origin = ElementTree.Element('origin') if origin is None else origin
    placement = SE3.from_xyz_rpy(_numbers(origin, 'xyz'), _numbers(origin, 'rpy'))
    for shape in element.iterfind('geometry/*'):
        mesh = _mesh(shape, find)
        if mesh is not None:
            mesh.apply_transform(placement.matrix)
            yield mesh


def _mesh(shape: Any, find: Callable[[str], Path | None]) -> Any:
    """Return a shape's triangles; None where there are none."""
    radius, length = (_numbers(shape, name, '0')[0] for name in ('radius', 'length'))
    if shape.tag == 'box':
        return trimesh.creation.box(_numbers(shape, 'size'))
    if shape.tag == 'sphere':
        return trimesh.creation.icosphere(2, radius)
    if shape.tag == 'cylinder':
        return trimesh.creation.cylinder(radius, length, sections=32)
    if shape.tag == 'capsule':
        return trimesh.creation.capsule(length, radius, count=(16, 16))
    path = find(shape.get('filename', ''))
    if path is None:
        return None
    try:
        mesh, _ = read_mesh(path)
    except ValueError:
        return None
    mesh.apply_scale(_numbers(shape, 'scale', '1 1 1'))
    return mesh


def _numbers(element: Any, name: str, default: str = '0 0 0') -> list[float]:
    return [float(word) for word in element.get(name, default).split()]
