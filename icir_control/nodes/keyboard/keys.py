"""The keyboard's own keys, as data: what each does, and in which words the table says so."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto

CONTROL_D = '\x04'


class Action(Enum):
    """What a key does that neither selects a mode nor moves the tool."""

    AXES = auto()
    FINER = auto()
    COARSER = auto()
    SLOWER = auto()
    FASTER = auto()
    HELP = auto()
    QUIT = auto()


@dataclass(frozen=True)
class Jog:
    """One step of the tool.

    Attributes:
        axis: 0, 1, 2 along x, y, z; 3, 4, 5 about them.
        sign: 1 or -1.
    """

    axis: int
    sign: int

    @property
    def turns(self) -> bool:
        """Whether it is a rotation."""
        return self.axis >= 3

    @property
    def name(self) -> str:
        """Such as `+x`; which of both kinds of step it is, is not said."""
        return f'{"+" if self.sign > 0 else "-"}{"xyz"[self.axis % 3]}'


@dataclass(frozen=True)
class Row:
    """Keys that belong together, one line of the table.

    Attributes:
        words: What they do.
        keys: What each does.
    """

    words: str
    keys: Mapping[str, Action | Jog]


def _forth_and_back(axis: int, words: str, keys: str) -> Row:
    forth, back = keys
    return Row(words, {forth: Jog(axis, 1), back: Jog(axis, -1)})


ROWS = (
    _forth_and_back(0, 'tool along x, forth and back', 'xX'),
    _forth_and_back(1, 'tool along y', 'yY'),
    _forth_and_back(2, 'tool along z', 'zZ'),
    _forth_and_back(3, 'tool about x (roll)', 'rR'),
    _forth_and_back(4, 'tool about y (pitch)', 'pP'),
    _forth_and_back(5, 'tool about z (yaw)', 'wW'),
    Row('jog in the axes of the base or of the tool', {'t': Action.AXES}),
    Row('smaller, larger steps', {'[': Action.FINER, ']': Action.COARSER}),
    Row('slower, faster motions', {'-': Action.SLOWER, '+': Action.FASTER}),
    Row('this help', {'?': Action.HELP}),
    Row('quit', {'q': Action.QUIT, CONTROL_D: Action.QUIT}),
)
"""A mode with the same key goes before them."""
