"""Where the text of a robot description comes from: a path, a package, or the text itself."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from icir_control.errors import IcirError, ModelError
from icir_control.share import PACKAGE, share_directory

MAX_BYTES = 20_000_000
"""The largest known descriptions of humanoids take a twentieth of this."""
_SCHEME = 'package://'


def read_source(path_or_xml: str | Path, package_dirs: Sequence[str | Path]) -> tuple[str, bytes]:
    """Return a label for messages, and the text.

    Args:
        path_or_xml: A path, a `package://name/path`, or XML text (which begins with `<`).
        package_dirs: Folders that are packages, or hold packages.

    Raises:
        ModelError: There is no such file or package, it cannot be read, or it is too large.
    """
    if not isinstance(path_or_xml, str | os.PathLike):
        kind = type(path_or_xml).__name__
        raise ModelError(f'a robot description is a path or XML text, not {kind}')
    if isinstance(path_or_xml, str) and path_or_xml.lstrip('\ufeff \t\r\n').startswith('<'):
        text = path_or_xml.lstrip('\ufeff \t\r\n').encode('utf-8', errors='replace')
        _check_size('the robot description', len(text))
        return 'the robot description', text
    name = os.fspath(path_or_xml)
    path = resolve_package(name, package_dirs) if name.startswith(_SCHEME) else Path(name)
    return str(path), _read(path)


def _read(path: Path) -> bytes:
    try:
        if not path.is_file():
            what = 'is not a regular file' if path.exists() else 'does not exist'
            raise ModelError(f'robot description {str(path)!r} {what}; give the path of a URDF')
        with path.open('rb') as file:
            text = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ModelError(f'robot description {str(path)!r} cannot be read: {error}') from None
    _check_size(str(path), len(text))
    return text


def _check_size(label: str, size: int) -> None:
    if size > MAX_BYTES:
        raise ModelError(f'{label} is longer than {MAX_BYTES // 1_000_000} MB; no URDF needs that')


def resolve_package(uri: str, package_dirs: Sequence[str | Path]) -> Path:
    """Return the path of a `package://name/path`.

    Looked for in `package_dirs`, in the ament index, and for this package in its own share folder.

    Raises:
        ModelError: No place holds it; the message lists the places.
    """
    package, _, inside = uri.removeprefix(_SCHEME).partition('/')
    if not package or not inside:
        raise ModelError(f'{uri!r} is not valid; expected {_SCHEME}<package>/<path of a file>')
    places = list(_folders_of(package, package_dirs))
    for folder in places:
        if (folder / inside).is_file():
            return folder / inside
    looked = ', '.join(map(str, places)) or '(none)'
    raise ModelError(f'{uri!r} is in none of the folders of package {package!r}: {looked}')


def _folders_of(package: str, package_dirs: Sequence[str | Path]) -> Iterator[Path]:
    if isinstance(package_dirs, str | os.PathLike):
        package_dirs = [package_dirs]
    for folder in map(Path, package_dirs):
        yield folder / package
        if folder.name == package:
            yield folder
    # The ament index is this variable: a list of prefixes.
    for prefix in filter(None, os.environ.get('AMENT_PREFIX_PATH', '').split(os.pathsep)):
        yield Path(prefix) / 'share' / package
    if package == PACKAGE:
        try:
            yield share_directory()
        except IcirError:
            return
