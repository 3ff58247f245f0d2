"""Libraries that only some commands need: the extras of the package."""

from importlib.util import find_spec

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
