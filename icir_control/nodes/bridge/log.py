"""Where a loop says what happens."""

from typing import Protocol


class Log(Protocol):
    """Where a loop says what a user should know."""

    def info(self, message: str) -> object:
        """Say what is as it should be."""

    def warning(self, message: str) -> object:
        """Say what a user may have to do something about."""

    def error(self, message: str) -> object:
        """Say what went wrong."""
