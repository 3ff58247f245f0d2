"""What the controller has to say between two ticks."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Event:
    """Something that the user should hear of.

    Attributes:
        level: `info`, `warning` or `error`.
        text: One sentence.
    """

    level: str
    text: str
