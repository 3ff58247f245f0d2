"""Where the package's shared files are: URDF, configuration, launch and view files."""

import sys
from pathlib import Path

from icir_control.errors import ConfigurationError, UnknownNameError

PACKAGE = 'icir_control'

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


_SCHEME = 'package://'


def find_model_file(model: str) -> Path:
    """Return the file that a path or a `package://` URI names.

    Our own package is found without a ROS installation, every other one in the ament index.

    Args:
        model: A path, absolute or relative to the working directory, or
            `package://<package>/<path inside its share directory>`.

    Raises:
        ConfigurationError: There is no such package or file.
    """
    if model.startswith(_SCHEME):
        package, _, inside = model.removeprefix(_SCHEME).partition('/')
        path = _package_share(package, model) / inside
    else:
        path = Path(model).expanduser()
    if not path.is_file():
        raise ConfigurationError(
            f'model = {model!r} is not valid; there is no file {path} (expected the path or the'
            f' {_SCHEME} URI of a URDF)'
        )
    return path


def _package_share(package: str, model: str) -> Path:
    if package == PACKAGE:
        try:
            return share_directory()
        except UnknownNameError as error:
            raise ConfigurationError(f'model = {model!r}: {error}') from error
    from ament_index_python.packages import get_package_share_directory

    try:
        return Path(get_package_share_directory(package))
    except (LookupError, ValueError, OSError) as error:  # OSError: no index on this machine
        raise ConfigurationError(
            f'model = {model!r} is not valid; the package {package!r} is not installed'
        ) from error
