"""Collision shapes as a URDF describes them."""

import logging
from collections.abc import Callable, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from icir_control.collision.shapes import (
    Box,
    Capsule,
    CollisionShape,
    Cylinder,
    Shape,
    Sphere,
)
from icir_control.dynamics.urdf_xml import children_of, parse_xml, read_source, tag_of
from icir_control.errors import InvalidValueError, ModelError
from icir_control.share import find_mesh, mesh_parts
from icir_control.spatial import SE3
from icir_control.spatial.arrays import Array

_log = logging.getLogger(__name__)


def load_collision_shapes(
    path_or_xml: str | Path, *, package_dirs: Sequence[str | Path] = ()
) -> tuple[CollisionShape, ...]:
    """Return the shapes of all `<collision>` elements of a URDF.

    A shape has the element's name, or else that of its link; one that is taken, with a colon and
    a number. A mesh becomes the smaller of the capsule and the box around it along its principal
    axes; the log says which.

    Args:
        path_or_xml: A path, a `package://name/path`, or XML text.
        package_dirs: Folders that are packages or hold packages.

    Raises:
        ModelError: The description or a mesh cannot be read, or a shape has no valid size; the
            message names the link.
    """
    label, text, encoding = read_source(path_or_xml, package_dirs)
    root = parse_xml(label, text, encoding)
    found, rounded, taken = [], [], set()
    find = partial(find_mesh, robot=root, folder=Path(label).parent, package_dirs=package_dirs)
    for link in children_of(root, 'link'):
        link_name = link.get('name') or ''
        for collision in children_of(link, 'collision'):
            given = collision.get('name') or link_name
            repeats = count(2)
            name = given
            while name in taken:
                name = f'{given}:{next(repeats)}'
            taken.add(name)
            try:
                shape, placement, note = _shape(collision, find)
                placement = _placement(next(children_of(collision, 'origin'), None)) @ placement
                found.append(CollisionShape(name, link_name, shape, placement))
            except (InvalidValueError, ValueError, OSError, ModelError) as error:
                raise ModelError(
                    f'{label}: collision shape of link {link_name!r}: {error}'
                ) from None
            if note:
                rounded.append(f'{name} ({note})')
    if rounded:
        _log.info('%s: shapes that stand for meshes within them: %s', label, ', '.join(rounded))
    return tuple(found)


def _numbers(text: str | None, count: int) -> list[float]:
    numbers = [float(word) for word in (text or '').split()]
    if len(numbers) != count or not np.isfinite(numbers).all():
        raise ValueError(f'{text!r} is not valid; expected {count} finite numbers')
    return numbers


def _placement(origin: Any) -> SE3:
    if origin is None:
        return SE3.identity()
    xyz, rpy = (_numbers(origin.get(name, '0 0 0'), 3) for name in ('xyz', 'rpy'))
    return SE3.from_xyz_rpy(xyz, rpy)


def _shape(collision: Any, find: Callable[[str], Path | None]) -> tuple[Shape, SE3, str]:
    """Return a shape, its placement in the element's origin, and what it stands for."""
    geometries = [child for part in children_of(collision, 'geometry') for child in part]
    if len(geometries) != 1:
        raise ValueError(f'{len(geometries)} geometries; expected one')
    (geometry,) = geometries
    kind, identity = tag_of(geometry), SE3.identity()
    if kind == 'sphere':
        return Sphere(_numbers(geometry.get('radius'), 1)[0]), identity, ''
    if kind == 'box':
        x, y, z = _numbers(geometry.get('size'), 3)
        return Box((x, y, z)), identity, ''
    if kind in ('capsule', 'cylinder'):
        radius, length = (_numbers(geometry.get(name), 1)[0] for name in ('radius', 'length'))
        solid = Capsule if kind == 'capsule' else Cylinder
        return solid(radius, length), identity, ''
    if kind == 'mesh':
        vertices = _vertices(geometry.get('filename') or '', find)
        scale = np.array(_numbers(geometry.get('scale', '1 1 1'), 3))
        return *fitted(vertices * scale), 'mesh'
    raise ValueError(f'geometry {kind}; valid: sphere, box, capsule, cylinder, mesh')


def _vertices(filename: str, find: Callable[[str], Path | None]) -> Array:
    """Return the corners (n, 3) of a mesh.

    Raises:
        ModelError: It cannot be read.
    """
    path = find(filename)
    if path is None:
        raise ModelError(f'mesh {filename!r} cannot be read: no such file, nor one in a package')
    try:
        vertices = np.concatenate([part.vertices for part, _ in mesh_parts(path)])
    except ValueError as error:
        raise ModelError(f'mesh {filename!r} cannot be read: {error}') from None
    if len(vertices) < 3:
        raise ModelError(f'mesh {filename!r} has {len(vertices)} vertices; expected 3 or more')
    return vertices


def fitted(vertices: Array) -> tuple[Capsule | Box, SE3]:
    """Return the smaller of the capsule and the box around points (n, 3) along principal axes."""
    _, _, axes = np.linalg.svd(vertices - vertices.mean(axis=0), full_matrices=True)
    rotation = axes[::-1].T  # the longest axis is z
    rotation = rotation * [np.linalg.det(rotation), 1.0, 1.0]
    points = vertices @ rotation
    low, high = points.min(axis=0), points.max(axis=0)
    middle = 0.5 * (low + high)
    size = np.maximum(high - low, 1e-6)
    points = points - middle
    across = np.linalg.norm(points[:, :2], axis=1)
    radius = float(across.max()) * (1.0 + 1e-12)
    # Each point must lie within the radius of the segment: |z| - half <= sqrt(r^2 - across^2).
    half = max(0.0, float((np.abs(points[:, 2]) - np.sqrt(radius**2 - across**2)).max()))
    placement = SE3(rotation, rotation @ middle)
    capsule_volume = np.pi * radius**2 * (2.0 * half + 4.0 / 3.0 * radius)
    if capsule_volume < size.prod():
        return Capsule(radius, 2.0 * half), placement
    return Box((float(size[0]), float(size[1]), float(size[2]))), placement
