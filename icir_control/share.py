"""Where the shared files are: URDF, configuration, launch and view files; meshes; nodes' names."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse
from xml.etree import ElementTree
from xml.parsers import expat

from icir_control.errors import ConfigurationError, UnknownNameError

PACKAGE = 'icir_control'
BRIDGE, CONTROLLER = 'mujoco_bridge', 'controller'
"""Names of the nodes, relative to their namespace."""

SCHEME = 'package://'
_PACKAGE_SCHEMES = ('package', 'model')

DEFAULT_ROBOT = 'gen3_6dof'
"""The robot that runs where none is named."""

ANY_ARM = 'any_arm'
"""Name of the parameter file for an arm that is given by its URDF alone."""


def share_directory() -> Path:
    """Return the folder that holds `urdf/`, `config/` and `launch/`.

    The same files are found from a checkout or an editable install (beside the package), from a
    wheel (`share/icir_control` of the environment) and from a colcon install (the ament index).

    Raises:
        UnknownNameError: None of the places holds them; the message lists the places.
    """
    places = _candidate_directories()
    for place in places:
        if (place / 'urdf').is_dir() and (place / 'config').is_dir():
            return place
    raise UnknownNameError('shared files of', PACKAGE, map(str, places))


def _candidate_directories() -> list[Path]:
    package = Path(__file__).resolve().parent
    places = [package.parent]
    # In every installed layout (wheel, colcon, user site) the prefix is above site-packages.
    places += [parent / 'share' / PACKAGE for parent in package.parents]
    places.append(Path(sys.prefix) / 'share' / PACKAGE)
    return places


def parameters_in(path: Path, node: str) -> dict[str, Any]:
    """Return what a parameter file gives to a node; later entries stand above earlier ones.

    Raises:
        ConfigurationError: It cannot be read.
    """
    import yaml  # late: no model needs it

    try:
        content = yaml.safe_load(path.read_text())
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(f'parameter file {path} cannot be read: {error}') from error
    except yaml.YAMLError as error:
        raise ConfigurationError(f'parameter file {path} is not YAML: {error}') from error
    parameters: dict[str, Any] = {}
    for pattern, entry in content.items() if isinstance(content, dict) else ():
        if str(pattern).rpartition('/')[2] in (node, '**') and isinstance(entry, dict):
            parameters |= entry.get('ros__parameters') or {}
    return parameters


def package_folders(
    package: str, package_dirs: Sequence[str | Path] = (), beside: Path | None = None
) -> list[Path]:
    """Return where the files of a package may be, the likeliest first.

    They are looked for above a file that names the package, in folders that are given, and in the
    ament index. What is given, or lies above, may be the package itself whatever its name: a copy
    may have another one. Where no folder has its name, that in `package.xml` counts. Our own
    package is found without a ROS installation, too.

    Args:
        package: Its name.
        package_dirs: Folders that are packages or hold packages.
        beside: Folder of the file that names the package.
    """
    above = [beside, *beside.parents] if beside else []
    given = [package_dirs] if isinstance(package_dirs, str | os.PathLike) else package_dirs
    places = [*above, *(Path(folder).expanduser() for folder in given)]
    prefixes = os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)
    shares = [Path(prefix) / 'share' / package for prefix in prefixes if prefix]
    if package == PACKAGE:
        with suppress(UnknownNameError):
            shares.insert(0, share_directory())
    named = [place / package for place in places]
    if not any(folder.is_dir() for folder in (*named, *shares)):
        files = (file for place in places for file in place.glob('*/package.xml'))
        named += [file.parent for file in files if _package_of(file) == package]
    return [*named, *places, *shares]


def _package_of(file: Path) -> str:
    """Return the name in a `package.xml`; empty for none."""
    with suppress(OSError, ValueError, expat.ExpatError):
        return (read_xml(file.read_text(encoding='utf-8')).findtext('name') or '').strip()
    return ''


def find_mesh(
    uri: str, robot: Any, folder: Path, package_dirs: Sequence[str | Path] = ()
) -> Path | None:
    """Return the file behind a mesh's URI; None where there is none.

    Where a URDF has MuJoCo's `<mujoco><compiler meshdir="...">`, it may lie in that folder, too,
    with or without the path that the URI has.

    Args:
        uri: A path, absolute or relative to `folder`, or with `package://`, `model://`, `file://`.
        robot: The root element of the URDF.
        folder: That of the URDF.
        package_dirs: Folders that are packages or hold packages; see `package_folders`.
    """
    parts = urlparse(uri)
    inside = unquote(parts.path)
    places = [folder / inside]
    if parts.scheme in _PACKAGE_SCHEMES:
        inside = inside.lstrip('/')
        folders = package_folders(parts.netloc, package_dirs, folder)
        places = [place / inside for place in folders]
    compiler = robot.find('mujoco/compiler')
    if compiler is not None:
        meshes = folder / (compiler.get('meshdir') or compiler.get('assetdir') or '')
        places += [meshes / inside.lstrip('/'), meshes / Path(inside).name]
    return next((path for path in places if path.is_file()), None)


def find_model_file(model: str, package_dirs: Sequence[str | Path] = ()) -> Path:
    """Return the file that a path or a `package://` URI names; see `package_folders`.

    Args:
        model: A path, absolute or relative to the working directory, or
            `package://<package>/<path inside its share directory>`.
        package_dirs: Folders that are packages or hold packages.

    Raises:
        ConfigurationError: There is no such package or file.
    """
    paths = [Path(model).expanduser()]
    if model.startswith(SCHEME):
        package, _, inside = model.removeprefix(SCHEME).partition('/')
        folders = package_folders(package, package_dirs)
        paths = [folder / inside for folder in folders if folder.is_dir()]
        if not paths:
            raise ConfigurationError(
                f'model = {model!r} is not valid; the package {package!r} is not installed'
            )
    for path in paths:
        if path.is_file():
            return path
    raise ConfigurationError(
        f'model = {model!r} is not valid; there is no file {paths[0]} (expected the path or the'
        f' {SCHEME} URI of a URDF)'
    )


def read_xml(text: str) -> ElementTree.Element:
    """Return the root element of a text, in which a prefix is a part of a name, declared or not.

    Raises:
        ExpatError: It is not XML.
    """
    builder, parser = ElementTree.TreeBuilder(), expat.ParserCreate()
    parser.buffer_text = True
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.Parse(text, True)
    return builder.close()


def mesh_parts(path: Path) -> list[tuple[Any, Any]]:
    """Return the parts of a mesh in a file of any format that trimesh reads.

    What trimesh does by scipy, such as a copy of a part with the colours of its faces, is not
    used: `make sim` leaves scipy out.

    Returns:
        Each part where its scene places it, in metres, and what gives its look.

    Raises:
        ValueError: It cannot be read, or has no faces.
    """
    import numpy as np  # late, as trimesh, which takes 0.7 s
    import trimesh

    formats = sorted(trimesh.available_formats())
    if path.suffix.lower().lstrip('.') not in formats:
        raise ValueError(f'no mesh format that is known; valid: {", ".join(formats)}')
    try:
        scene: Any = trimesh.load_scene(path)
        unit = trimesh.units.unit_conversion(scene.units, 'meters') if scene.units else 1.0
        parts = []
        for node in scene.graph.nodes_geometry:
            placement, name = scene.graph[node]
            part = scene.geometry[name]
            if not len(getattr(part, 'faces', ())):
                continue  # points or lines
            vertices = unit * trimesh.transform_points(part.vertices, placement)
            faces = part.faces[:, ::-1] if np.linalg.det(placement[:3, :3]) < 0.0 else part.faces
            parts.append((trimesh.Trimesh(vertices, faces, process=False), part.visual))
    except Exception as error:  # whatever a reader of some format may raise
        raise ValueError(f'{type(error).__name__}: {error}') from error
    if not parts:
        raise ValueError('it has no faces')
    return parts
