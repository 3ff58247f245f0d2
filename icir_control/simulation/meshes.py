"""Meshes of a URDF in formats that MuJoCo does not read."""

import hashlib
import os
from operator import itemgetter
from pathlib import Path
from typing import Any

from icir_control.share import mesh_parts

READ_BY_MUJOCO = ('.stl', '.obj')
_LARGEST_STL = 200_000  # faces that MuJoCo takes from one


def converted(path: Path) -> tuple[str, bytes, str]:
    """Return a mesh of any format that trimesh reads in one that MuJoCo reads.

    The result is kept in the user's cache.

    Returns:
        Suffix and content of the file, and the mesh's colour as URDF writes it, empty for none.

    Raises:
        ValueError: It cannot be read.
    """
    content = path.read_bytes()
    # Other files may belong to the mesh, but none of them changes its shape.
    digest = hashlib.sha256(path.suffix.lower().encode() + content).hexdigest()[:24]
    home = os.environ.get('XDG_CACHE_HOME')
    cache = (Path(home) if home else Path.home() / '.cache') / 'icir_control_meshes'
    for kept in cache.glob(f'{digest}.*'):
        _, colour, suffix = kept.name.split('.')
        return f'.{suffix}', kept.read_bytes(), colour.replace('_', ' ').replace('p', '.')
    mesh, colour = read_mesh(path)
    suffix = '.stl' if len(mesh.faces) <= _LARGEST_STL else '.obj'
    exported = mesh.export(file_type=suffix[1:])
    data = exported if isinstance(exported, bytes) else exported.encode()
    try:
        cache.mkdir(parents=True, exist_ok=True)
        name = f'{digest}.{colour.replace(" ", "_").replace(".", "p")}{suffix}'
        part = cache / f'{os.getpid()}_{digest}'
        part.write_bytes(data)
        part.replace(cache / name)
    except OSError:
        pass  # a cache that cannot be written is none
    return suffix, data, colour


def read_mesh(path: Path) -> tuple[Any, str]:
    """Return a mesh in metres, all parts in one, and the colour of its largest part.

    Raises:
        ValueError: It cannot be read.
    """
    import trimesh  # late: it takes 0.7 s

    parts = mesh_parts(path)
    mesh = trimesh.util.concatenate([part for part, _ in parts])
    coloured = [(part.area, look) for part, look in parts if look.defined]
    if not coloured:
        return mesh, ''
    _, look = max(coloured, key=itemgetter(0))
    rgba = getattr(look, 'material', look).main_color / 255.0
    return mesh, ' '.join(f'{value:.3f}' for value in rgba)
