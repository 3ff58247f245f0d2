"""What a URDF says of the shapes of links, as triangles."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import trimesh

from icir_control.simulation.meshes import find_mesh, read_mesh
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


def shapes_of(urdf: str, folder: Path) -> list[Shape]:
    """Return what a robot looks like; of links without visuals what may collide.

    Meshes that are not there, or that cannot be read, are left out.

    Args:
        urdf: The text.
        folder: That of the URDF, from which meshes may be named.
    """
    robot = ElementTree.fromstring(urdf)
    colours = {one.get('name'): one.find('color') for one in robot.iterfind('material')}
    shapes = []
    for link in robot.iterfind('link'):
        parts: dict[Colour, list[Any]] = defaultdict(list)
        for element in link.findall('visual') or link.findall('collision'):
            material = element.find('material')
            colour = None
            if material is not None:
                colour = material.find('color')
                colour = colours.get(material.get('name')) if colour is None else colour
            red, green, blue, *_ = _GREY if colour is None else _numbers(colour, 'rgba', '1 1 1 1')
            parts[red, green, blue] += _meshes(element, folder)
        for rgb, meshes in parts.items():
            if meshes:
                whole: Any = trimesh.util.concatenate(meshes)
                name = link.get('name') or ''
                shapes.append(Shape(name, rgb, np.array(whole.vertices), np.array(whole.faces)))
    return shapes


def _meshes(element: Any, folder: Path) -> Iterator[Any]:
    """Give the triangles of a `visual` or `collision`, in the link's axes."""
    origin = element.find('origin')
    origin = ElementTree.Element('origin') if origin is None else origin
    placement = SE3.from_xyz_rpy(_numbers(origin, 'xyz'), _numbers(origin, 'rpy'))
    for shape in element.iterfind('geometry/*'):
        mesh = _mesh(shape, folder)
        if mesh is not None:
            mesh.apply_transform(placement.matrix)
            yield mesh


def _mesh(shape: Any, folder: Path) -> Any:
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
    path = find_mesh(shape.get('filename', ''), folder)
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
