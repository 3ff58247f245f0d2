"""The controller's modes as its parameters tell them, and as a table for the eye."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from rich.table import Table
from rich.text import Text

from icir_control.nodes.keyboard.keys import Row

POSE_LAWS = ('task', 'impedance')
"""Laws that take a target pose."""

SHOWN_FIGURES = 2  # of each mode at most; a law names first what matters most


@dataclass(frozen=True)
class Mode:
    """One mode of the controller.

    Attributes:
        name: Its name, and that of its service below `modes/`.
        key: The key that selects it.
        law: What it does.
        figures: Its figures by name, as they are set.
    """

    name: str
    key: str
    law: str
    figures: Mapping[str, object]


def modes_of(names: Sequence[str], values: Mapping[str, object]) -> dict[str, Mode]:
    """Return the modes by key.

    Args:
        names: The names of the modes, in the order of the table.
        values: The controller's parameters `modes.<name>.<figure>`, by full name.
    """
    modes = {}
    for name in names:
        prefix = f'modes.{name}.'
        figures = {
            full.removeprefix(prefix): value
            for full, value in values.items()
            if full.startswith(prefix)
        }
        key = str(figures.pop('key', ''))
        modes[key] = Mode(name, key, str(figures.pop('law', '')), figures)
    return modes


def takes_pose(mode: Mode) -> bool:
    """Return whether a mode takes a target pose; of a user's own law that is not known."""
    return mode.law in POSE_LAWS or ':' in mode.law


def shadowed(modes: Mapping[str, Mode], rows: Sequence[Row]) -> dict[str, str]:
    """Return what cannot be reached any more, by the key that a mode has instead.

    Args:
        modes: The modes by key.
        rows: The keyboard's own keys.
    """
    return {key: row.words for row in rows for key in row.keys if key in modes}


def table_of(modes: Mapping[str, Mode]) -> Table:
    """Return what each mode's key does.

    Args:
        modes: The modes by key.
    """
    table = Table(box=None, pad_edge=False, header_style='')
    for title in ('key', 'mode', 'law', 'figures'):
        table.add_column(title)
    for key, mode in modes.items():
        first = islice(mode.figures.items(), SHOWN_FIGURES)
        shown = [f'{name} {words}' for name, value in first if (words := _words(value))]
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
            table.add_row(Text(' '.join(free)), Text(row.words))
    return table


def _words(value: object) -> str:
    """Return a parameter's value for the eye."""
    if isinstance(value, float):
        return f'{value:g}'
    if isinstance(value, str | int):
        return str(value)
    return ' '.join(_words(entry) for entry in value) if value is not None else ''
