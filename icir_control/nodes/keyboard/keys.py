"""What the keys do: the controller's modes, the keyboard's own keys, and both as tables."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from itertools import islice
from typing import Any

from rich.table import Table
from rich.text import Text

CONTROL_D = '\x04'
SHOWN_PARAMETERS = 2  # of each mode at most; a law names the most important ones first


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
        """Sign and axis, such as `+x`."""
        return f'{"+" if self.sign > 0 else "-"}{"xyz"[self.axis % 3]}'


@dataclass(frozen=True)
class Row:
    """Keys that belong together, one line of the table.

    Attributes:
        text: What they do.
        keys: What each does.
    """

    text: str
    keys: Mapping[str, Action | Jog]


def _axis_row(axis: int, text: str, forward: str) -> Row:
    return Row(text, {forward: Jog(axis, 1), forward.upper(): Jog(axis, -1)})


ROWS = (
    _axis_row(0, 'tool along x, forth and back', 'x'),
    _axis_row(1, 'tool along y', 'y'),
    _axis_row(2, 'tool along z', 'z'),
    _axis_row(3, 'tool about x (roll)', 'r'),
    _axis_row(4, 'tool about y (pitch)', 'p'),
    _axis_row(5, 'tool about z (yaw)', 'w'),
    Row('jog in the axes of the base or of the tool', {'t': Action.AXES}),
    Row('smaller, larger steps', {'[': Action.FINER, ']': Action.COARSER}),
    Row('slower, faster motions', {'-': Action.SLOWER, '+': Action.FASTER}),
    Row('this help', {'?': Action.HELP}),
    Row('quit', {'q': Action.QUIT, CONTROL_D: Action.QUIT}),
)
"""A mode with the same key has precedence."""


@dataclass(frozen=True)
class Mode:
    """One mode of the controller.

    Attributes:
        name: Its name, and that of its service below `modes/`.
        key: The key that selects it.
        law: What it does.
        takes_pose: Whether it takes target poses.
        parameters: Its parameters by name.
    """

    name: str
    key: str
    law: str
    takes_pose: bool
    parameters: Mapping[str, Any]


def modes_of(
    names: Sequence[str], takes_pose: Collection[str], values: Mapping[str, Any]
) -> dict[str, Mode]:
    """Return the modes by key.

    Args:
        names: The names of the modes, in the order of the table.
        takes_pose: The names of those that take target poses.
        values: The controller's parameters `modes.<name>.<parameter>`, by full name.
    """
    modes = {}
    for name in names:
        prefix = f'modes.{name}.'
        own = {
            full.removeprefix(prefix): value
            for full, value in values.items()
            if full.startswith(prefix)
        }
        key = str(own.pop('key', ''))
        modes[key] = Mode(name, key, str(own.pop('law', '')), name in takes_pose, own)
    return modes


def shadowed(modes: Mapping[str, Mode], rows: Sequence[Row]) -> dict[str, str]:
    """Return which of the keyboard's own actions a mode hides, by key.

    Args:
        modes: The modes by key.
        rows: The keyboard's own keys.
    """
    return {key: row.text for row in rows for key in row.keys if key in modes}


def table_of(modes: Mapping[str, Mode]) -> Table:
    """Return what each mode's key does.

    Args:
        modes: The modes by key.
    """
    table = Table(box=None, pad_edge=False, header_style='')
    for title in ('key', 'mode', 'law', 'parameters'):
        table.add_column(title)
    for key, mode in modes.items():
        first = islice(mode.parameters.items(), SHOWN_PARAMETERS)
        shown = [f'{name} {text}' for name, value in first if (text := _text(value))]
        table.add_row(*map(Text, (key, mode.name, mode.law, ', '.join(shown))))
    return table


def help_of(modes: Mapping[str, Mode], rows: Sequence[Row]) -> Table:
    """Return what the keyboard's own keys do, without those that a mode has.

    Args:
        modes: The modes by key.
        rows: The keyboard's own keys.
    """
    table = Table(box=None, pad_edge=False, show_header=False)
    for row in rows:
        free = [key for key in row.keys if key not in modes and key.isprintable()]
        if free:
            table.add_row(Text(' '.join(free)), Text(row.text))
    return table


def _text(value: Any) -> str:
    """Return the value of a parameter as it is shown."""
    if isinstance(value, float):
        return f'{value:g}'
    if isinstance(value, str | int):
        return str(value)
    return ' '.join(_text(entry) for entry in value) if value is not None else ''
