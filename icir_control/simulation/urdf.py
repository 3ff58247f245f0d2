"""URDF as MuJoCo reads it: the traps of its importer closed, its meshes found or left out."""

import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple
from xml.parsers.expat import ExpatError

from icir_control.errors import ModelError
from icir_control.share import find_mesh, read_xml
from icir_control.simulation.meshes import READ_BY_MUJOCO, converted

JOINT_TYPES = ('revolute', 'continuous', 'prismatic', 'fixed')

# What MuJoCo's importer does unless told otherwise: it drops shapes that do not collide, merges
# links behind fixed joints into their parents (the end-effector frame among them), repairs a wrong
# inertia in silence, and looks for every mesh in one folder.
_COMPILER = {
    'discardvisual': 'false',
    'fusestatic': 'false',
    'balanceinertia': 'false',
    'strippath': 'false',
    'inertiafromgeom': 'false',
}


class Mimic(NamedTuple):
    """How a joint moves with another: q = multiplier q_leader + offset."""

    leader: str
    multiplier: float
    offset: float


@dataclass(frozen=True, slots=True)
class Urdf:
    """A robot description, ready for MuJoCo.

    Attributes:
        source: Where it came from, for messages.
        xml: The text that MuJoCo is given.
        links: Names of all links.
        moving_joints: Names of the joints that move by themselves, in the order of the file.
        held: Joints that could move, and where they are instead [rad or m].
        mimics: By name, joints that move with others.
        armatures: Inertia of the rotors, as the joints feel it [kg m^2 or kg], by joint.
        assets: Bytes of the meshes, by the names that `xml` uses.
        left_out: Why meshes were left out, one entry for each.
    """

    source: str
    xml: str
    links: tuple[str, ...]
    moving_joints: tuple[str, ...]
    held: Mapping[str, float]
    mimics: Mapping[str, Mimic]
    armatures: Mapping[str, float]
    assets: dict[str, bytes] = field(default_factory=dict)
    left_out: tuple[str, ...] = ()

    @property
    def notes(self) -> tuple[str, ...]:
        """What was left out, one line for the user to read."""
        if not self.left_out:
            return ()
        shapes = f'{len(self.left_out)} shape{"s" * (len(self.left_out) > 1)}'
        return (
            f'{shapes} left out; what nothing else is drawn of is drawn by its inertia (each of '
            f'them: --verbose): {self.left_out[0]}',
        )


def read_urdf(
    path_or_xml: str | os.PathLike[str],
    *,
    held: Mapping[str, float] | None = None,
    default_effort: float | None = None,
    armature: Mapping[str, float] | None = None,
    package_dirs: Sequence[str | Path] = (),
    meshes: str = 'as they are',
) -> Urdf:
    """Read a URDF and prepare it for MuJoCo.

    Args:
        path_or_xml: A path, or the text itself (anything that begins with `<`).
        held: Joints that do not move, and where they are [rad or m]; what mimics one does not
            move either.
        default_effort: Limit of joints to which the URDF gives none, or 0 [N m or N].
        armature: Inertia of the rotors [kg m^2 or kg] by joint, in place of the URDF's.
        package_dirs: Folders that are packages or hold packages, for meshes.
        meshes: `as they are` where MuJoCo reads their format, all `converted`, or `none`.

    Returns:
        The description.

    Raises:
        ModelError: There is no such file, it is no URDF, or a joint is of a type that is not
            simulated.
    """
    text, source, folder = _read_text(path_or_xml)
    try:
        robot = read_xml(text)
    except ExpatError as error:
        raise ModelError(f'{source} is not XML: {error}') from error
    if robot.tag != 'robot':
        raise ModelError(f'{source} is no URDF: its root is <{robot.tag}>, expected <robot>')
    links = tuple(link.get('name', '') for link in robot.findall('link'))
    held, mimics = _resolve_mimics(robot, source, held or {})
    moving = _moving_joints(robot, source, held)
    moving_joints = tuple(name for name in moving if name not in mimics)
    if default_effort is not None:
        _set_effort(robot, default_effort)
    armatures = {**_armatures(robot, source), **(armature or {})}
    _drop_empty_inertials(robot)
    find = partial(find_mesh, robot=robot, folder=folder, package_dirs=package_dirs)
    assets, left_out = _settle_shapes(robot, find, meshes)
    extension = robot.find('mujoco')
    if extension is None:
        extension = ElementTree.SubElement(robot, 'mujoco')
    compiler = extension.find('compiler')
    if compiler is None:
        compiler = ElementTree.SubElement(extension, 'compiler')
    for place in ('meshdir', 'assetdir'):
        compiler.attrib.pop(place, None)  # the meshes are given by name
    compiler.attrib.update(_COMPILER)
    xml = ElementTree.tostring(robot, encoding='unicode')
    named = source, xml, links, moving_joints, held, mimics, armatures
    return Urdf(*named, assets, tuple(left_out))


def _read_text(path_or_xml: str | os.PathLike[str]) -> tuple[str, str, Path]:
    """Return the text, a name for it, and the folder that relative mesh paths start from."""
    if isinstance(path_or_xml, str) and path_or_xml.lstrip().startswith('<'):
        # An XML declaration is only allowed at the very start.
        return path_or_xml.lstrip(), 'the URDF text', Path.cwd()
    path = Path(path_or_xml).expanduser()
    try:
        return path.read_text(encoding='utf-8'), str(path), path.parent
    except (OSError, UnicodeDecodeError) as error:
        raise ModelError(f'cannot read the URDF {path}: {error}') from error


def _moving_joints(
    robot: ElementTree.Element, source: str, held: Mapping[str, float]
) -> tuple[str, ...]:
    """Return the names of the joints that move, once all joints are found to be valid."""
    moving = []
    for joint in robot.findall('joint'):
        name, kind = joint.get('name', ''), joint.get('type', '')
        if name in held and kind in ('planar', 'floating') and not held[name]:
            joint.set('type', kind := 'fixed')
        if kind not in JOINT_TYPES:
            valid = ', '.join(JOINT_TYPES)
            raise ModelError(
                f'{source}: joint {name!r} is of type {kind!r}; simulated are {valid}'
            )
        for tag in ('parent', 'child'):
            end = joint.find(tag)
            if end is None or not end.get('link'):
                raise ModelError(f'{source}: joint {name!r} has no <{tag} link="...">')
        if kind != 'fixed' and name not in held:
            moving.append(name)
    return tuple(moving)


def _resolve_mimics(
    robot: ElementTree.Element, source: str, held: Mapping[str, float]
) -> tuple[dict[str, float], dict[str, Mimic]]:
    """Return all joints that are held, and those that mimic others.

    A joint that mimics one that mimics is told to mimic the first of them. The couplings of joints
    that are held are taken away: MuJoCo makes constraints of them.
    """
    joints = {joint.get('name', ''): joint for joint in robot.findall('joint')}
    rest, mimics = dict(held), {}
    for name in joints:
        one, m, c, passed = name, 1.0, 0.0, {name}
        while one not in held and joints[one].get('type') != 'fixed':
            mimic = joints[one].find('mimic')
            if mimic is None:
                break
            try:
                # q = m q_one + c with q_one = multiplier q_next + offset
                m, c = (
                    m * float(mimic.get('multiplier', '1')),
                    c + m * float(mimic.get('offset', '0')),
                )
            except ValueError as error:
                raise ModelError(f'{source}: <mimic> of joint {one!r}: {error}') from None
            one = mimic.get('joint', '')
            if one not in joints or one in passed:
                raise ModelError(
                    f'{source}: joint {name!r} mimics {one!r}, which there is not, or which '
                    'mimics it'
                )
            passed.add(one)
        if one == name:
            continue
        if one in held or joints[one].get('type') == 'fixed':
            rest[name] = m * held.get(one, 0.0) + c
        else:
            mimics[name] = Mimic(one, m, c)
    for name, joint in joints.items():
        for mimic in joint.findall('mimic'):
            joint.remove(mimic)
        if name in mimics:
            leader, m, c = mimics[name]
            numbers = {'multiplier': repr(m), 'offset': repr(c)}
            ElementTree.SubElement(joint, 'mimic', {'joint': leader, **numbers})
            _leave_room(joint, joints[leader], m, c)
    return rest, mimics


def _leave_room(
    joint: ElementTree.Element, leader: ElementTree.Element, m: float, c: float
) -> None:
    """Leave out the position limits of a joint between which its leader could not move."""
    limit, other = joint.find('limit'), leader.find('limit')
    if limit is None or other is None or not m:
        return
    try:
        ends = [(float(limit.get(end, '0')) - c) / m for end in ('lower', 'upper')]
        lower, upper = (float(other.get(end, '0')) for end in ('lower', 'upper'))
    except ValueError:
        return  # no number: MuJoCo says so, with the line
    if leader.get('type') == 'continuous' or not (lower or upper):
        return  # it has none
    if not max(min(ends), lower) < min(max(ends), upper):
        limit.attrib.pop('lower', None)
        limit.attrib.pop('upper', None)


def _set_effort(robot: ElementTree.Element, effort: float) -> None:
    """Give a limit of effort [N m or N] to the joints that have none, or 0."""
    for joint in robot.findall('joint'):
        limit = joint.find('limit')
        if limit is None:
            limit = ElementTree.SubElement(joint, 'limit')
        if _is_zero(limit.get('effort', '0')):
            limit.set('effort', repr(effort))


def _armatures(robot: ElementTree.Element, source: str) -> dict[str, float]:
    """Return what the joints say of their rotors; MuJoCo reads that in its own format alone."""
    armatures = {}
    for joint in robot.findall('joint'):
        name, text = joint.get('name', ''), joint.find('dynamics')
        given = None if text is None else text.get('armature')
        if given is None:
            continue
        try:
            armatures[name] = float(given)
        except ValueError:
            raise ModelError(f'{source}: joint {name!r} has armature={given!r}') from None
    return armatures


def _drop_empty_inertials(robot: ElementTree.Element) -> None:
    """Take away what says that a link weighs nothing: MuJoCo accepts that only left unsaid."""
    for link in robot.findall('link'):
        inertial = link.find('inertial')
        if inertial is None:
            continue
        values = [
            text
            for part in inertial.findall('mass') + inertial.findall('inertia')
            for text in part.attrib.values()
        ]
        if all(_is_zero(text) for text in values):
            link.remove(inertial)


def _is_zero(text: str) -> bool:
    try:
        return float(text) == 0.0
    except ValueError:
        # No number: MuJoCo says so, with the line.
        return False


def _settle_shapes(
    robot: ElementTree.Element, find: Callable[[str], Path | None], meshes: str
) -> tuple[dict[str, bytes], list[str]]:
    """Embed or remove meshes, drop textures; return the meshes' bytes and why some are missing."""
    assets: dict[str, bytes] = {}
    embedded: dict[Path, tuple[str, str]] = {}
    left_out: list[str] = []
    for material in robot.iter('material'):
        for texture in material.findall('texture'):
            material.remove(texture)
    for link, shape in _shapes(robot):
        # Names of shapes may repeat in URDF, not in MuJoCo, and nothing refers to them.
        shape.attrib.pop('name', None)
        mesh = shape.find('geometry/mesh')
        if mesh is None:
            if not _has_size(shape):
                link.remove(shape)
                left_out.append(f'{shape.tag} of link {link.get("name")!r}: a size of zero')
            continue
        uri = mesh.get('filename', '')
        try:
            path = _found(find(uri), meshes)
            if path not in embedded:
                suffix, colour = path.suffix, ''
                if meshes == 'converted' or suffix.lower() not in READ_BY_MUJOCO:
                    suffix, data, colour = converted(path)
                else:
                    data = path.read_bytes()
                # Numbered, because MuJoCo takes two files of one name for the same mesh.
                name = f'{len(embedded)}_{path.stem}{suffix}'
                assets[name], embedded[path] = data, (name, colour)
        except (OSError, ValueError) as error:
            link.remove(shape)
            left_out.append(f'{shape.tag} of link {link.get("name")!r}: {uri}: {error}')
            continue
        name, colour = embedded[path]
        mesh.set('filename', name)
        if colour and shape.find('material') is None:
            paint = ElementTree.SubElement(shape, 'material', name=f'colour of {name}')
            ElementTree.SubElement(paint, 'color', rgba=colour)
    return assets, left_out


def _has_size(shape: ElementTree.Element) -> bool:
    """Tell whether no length of a shape is zero; MuJoCo says what else is wrong with it."""
    return not any(
        _is_zero(word)
        for body in shape.findall('geometry/*')
        for length in body.attrib.values()
        for word in length.split()
    )


def _found(path: Path | None, meshes: str) -> Path:
    """Return the file of a mesh.

    Raises:
        ValueError: There is none, or there is to be none.
    """
    if meshes == 'none':
        raise ValueError('MuJoCo cannot read one of the meshes')
    if path is None:
        raise ValueError(
            'no such file above the URDF, in a --package-dir, or on AMENT_PREFIX_PATH'
        )
    return path


def _shapes(
    robot: ElementTree.Element,
) -> list[tuple[ElementTree.Element, ElementTree.Element]]:
    """Return every (link, shape of the link)."""
    return [
        (link, shape)
        for link in robot.findall('link')
        for shape in link.findall('visual') + link.findall('collision')
    ]
