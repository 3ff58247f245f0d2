"""Where the robot description is that the parameter `model` names."""

from pathlib import Path

from icir_control.errors import ConfigurationError, UnknownNameError
from icir_control.share import PACKAGE, share_directory

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
