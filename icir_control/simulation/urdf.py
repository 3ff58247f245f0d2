"""URDF as MuJoCo reads it: the traps of its importer closed, its meshes found or left out."""

import os
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import unquote, urlparse

from icir_control.errors import ModelError
from icir_control.share import package_folders

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

# The mesh formats that MuJoCo decodes.
_MESH_SUFFIXES = ('.stl', '.obj')


@dataclass(frozen=True, slots=True)
class Urdf:
    """A robot description, ready for MuJoCo.

    Attributes:
        source: Where it came from, for messages.
        xml: The text that MuJoCo is given.
        links: Names of all links.
        moving_joints: Names of the joints that move, in the order of the file.
        assets: Bytes of the meshes, by the names that `xml` uses.
        notes: What was left out, and why.
    """

    source: str
    xml: str
    links: tuple[str, ...]
    moving_joints: tuple[str, ...]
    assets: dict[str, bytes] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def without_meshes(self, reason: str) -> 'Urdf':
        """Return the description with every shape left out that is a mesh."""
        robot = ElementTree.fromstring(self.xml)
        for link, shape in _shapes(robot):
            if shape.find('geometry/mesh') is not None:
                link.remove(shape)
        xml = ElementTree.tostring(robot, encoding='unicode')
        notes = (*self.notes, f'all meshes left out: {reason}')
        return replace(self, xml=xml, assets={}, notes=notes)


def read_urdf(path_or_xml: str | os.PathLike[str]) -> Urdf:
    """Read a URDF and prepare it for MuJoCo.

    Args:
        path_or_xml: A path, or the text itself (anything that begins with `<`).

    Returns:
        The description.

    Raises:
        ModelError: There is no such file, it is no URDF, or a joint is of a type that is not
            simulated.
    """
    text, source, folder = _read_text(path_or_xml)
    try:
        robot = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ModelError(f'{source} is not XML: {error}') from error
    if robot.tag != 'robot':
        raise ModelError(f'{source} is no URDF: its root is <{robot.tag}>, expected <robot>')
    links = tuple(link.get('name', '') for link in robot.findall('link'))
    moving_joints = _moving_joints(robot, source)
    _drop_empty_inertials(robot)
    assets, notes = _settle_shapes(robot, folder)
    extension = robot.find('mujoco')
    if extension is None:
        extension = ElementTree.SubElement(robot, 'mujoco')
    compiler = extension.find('compiler')
    if compiler is None:
        compiler = ElementTree.SubElement(extension, 'compiler')
    compiler.attrib.update(_COMPILER)
    xml = ElementTree.tostring(robot, encoding='unicode')
    return Urdf(source, xml, links, moving_joints, assets, tuple(notes))


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


def _moving_joints(robot: ElementTree.Element, source: str) -> tuple[str, ...]:
    """Return the names of the joints that move, once all joints are found to be valid."""
    moving = []
    for joint in robot.findall('joint'):
        name, kind = joint.get('name', ''), joint.get('type', '')
        if kind not in JOINT_TYPES:
            valid = ', '.join(JOINT_TYPES)
            raise ModelError(
                f'{source}: joint {name!r} is of type {kind!r}; simulated are {valid}'
            )
        for tag in ('parent', 'child'):
            end = joint.find(tag)
            if end is None or not end.get('link'):
                raise ModelError(f'{source}: joint {name!r} has no <{tag} link="...">')
        if kind != 'fixed':
            moving.append(name)
    return tuple(moving)


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


def _settle_shapes(robot: ElementTree.Element, folder: Path) -> tuple[dict[str, bytes], list[str]]:
    """Embed or remove meshes, drop textures; return the meshes' bytes and notes."""
    assets: dict[str, bytes] = {}
    names: dict[Path, str] = {}
    notes: list[str] = []
    for material in robot.iter('material'):
        for texture in material.findall('texture'):
            material.remove(texture)
    for link, shape in _shapes(robot):
        # Names of shapes may repeat in URDF, not in MuJoCo, and nothing refers to them.
        shape.attrib.pop('name', None)
        mesh = shape.find('geometry/mesh')
        if mesh is None:
            continue
        uri = mesh.get('filename', '')
        found = _find_mesh(uri, folder)
        if isinstance(found, str):
            link.remove(shape)
            notes.append(f'{shape.tag} of link {link.get("name")!r} left out: {uri}: {found}')
            continue
        if found not in names:
            # Numbered, because MuJoCo takes two files of one name for the same mesh.
            names[found] = f'{len(names)}_{found.name}'
            assets[names[found]] = found.read_bytes()
        mesh.set('filename', names[found])
    return assets, notes


def _shapes(
    robot: ElementTree.Element,
) -> list[tuple[ElementTree.Element, ElementTree.Element]]:
    """Return every (link, shape of the link)."""
    return [
        (link, shape)
        for link in robot.findall('link')
        for shape in link.findall('visual') + link.findall('collision')
    ]


def _find_mesh(uri: str, folder: Path) -> Path | str:
    """Return the file behind a mesh's URI, or the reason why there is none."""
    parts = urlparse(uri)
    inside = unquote(parts.path)
    if Path(parts.path).suffix.lower() not in _MESH_SUFFIXES:
        return f'MuJoCo reads {" and ".join(_MESH_SUFFIXES)} alone'
    if parts.scheme == 'package':
        candidates = [share / inside.lstrip('/') for share in package_folders(parts.netloc)]
        missing = f'package {parts.netloc!r} is not on AMENT_PREFIX_PATH, or lacks the file'
    else:
        candidates = [folder / inside]
        missing = 'no such file'
    return next((path.resolve() for path in candidates if path.is_file()), missing)
