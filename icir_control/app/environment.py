"""What a command needs of where it runs: libraries of an extra, and files that it can write."""

import os
from collections.abc import Iterable, Iterator
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


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a file to write, which takes the place of another one once it is whole.

    What was there stays as it was where the writing fails or is interrupted.

    Raises:
        ConfigurationError: The file or folder cannot be written to.
    """
    with writing(path):
        target = path.resolve()
        if target.exists() and (not target.is_file() or not os.access(target, os.W_OK)):
            # A pipe or a device is written to as it is; what is protected says so when opened.
            yield path
            return
        part = target.with_stem(f'{target.stem}.part{os.getpid()}')
        try:
            yield part
            os.replace(part, target)
        finally:
            part.unlink(missing_ok=True)


def check_suffix(path: Path, *valid: str) -> None:
    """Refuse the name of a file that says another format than is written.

    Raises:
        ConfigurationError: It does not end in one of the valid suffixes.
    """
    if path.suffix.lower() not in valid:
        raise ConfigurationError(
            f'{path} is not valid; expected a name that ends in {" or ".join(valid)}'
        )


def check_outputs(outputs: Iterable[Path], inputs: Iterable[Path]) -> None:
    """Refuse to write a file that is read, or that is written twice.

    Raises:
        ConfigurationError: An output is an input, or another output.
    """
    taken = [*inputs]
    for output in outputs:
        for other in taken:
            both_there = output.exists() and other.exists()
            if output.resolve() == other.resolve() or (both_there and output.samefile(other)):
                raise ConfigurationError(
                    f'{output} cannot be written, since it is {other}, too; expected another name'
                )
        taken.append(output)
