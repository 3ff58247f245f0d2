"""What a command needs of where it runs: libraries of an extra, and files that it can write."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from icir_control.errors import ConfigurationError


def require(extra: str, *libraries: str) -> None:
    """Refuse where a library is missing.

    Args:
        extra: Of the package, that brings it.
        libraries: What is imported.

    Raises:
        ConfigurationError: One is missing; the message says how to install it.
    """
    for library in libraries:
        if find_spec(library) is None:
            raise ConfigurationError(
                f"{library} is not installed; pip install 'icir_control[{extra}]' brings it"
            )


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what the file system refuses into an error that names the path.

    Raises:
        ConfigurationError: The file or folder cannot be written to.
    """
    try:
        yield
    except OSError as error:
        raise ConfigurationError(f'{path} cannot be written to: {error}') from error
