"""What a recorder says of itself, for the process that has started it."""

from enum import StrEnum
from typing import Self


class RecorderLine(StrEnum):
    """How the lines begin that say where it is; all others say what has become of the file."""

    WAITING = 'waiting for'
    """It has subscribed."""

    RECORDING = 'recording to'
    """The first state has come."""

    PARAMETERS = 'parameters of'
    """Both nodes have told theirs, which are the recorded start: they may change from now on."""

    @classmethod
    def of(cls, line: str) -> Self | None:
        """Return what a line says; None of one that says something else."""
        return next((one for one in cls if line.startswith(one)), None)
