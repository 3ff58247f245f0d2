"""Where the package's shared files are: URDF, configuration, launch and view files."""

import sys
from pathlib import Path

from icir_control.errors import UnknownNameError

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
