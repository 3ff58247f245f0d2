"""Files that the command line writes."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from icir_control.errors import ConfigurationError


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
