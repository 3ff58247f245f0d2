"""The controller's modes as its parameters tell them, and as a table for the eye."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from rich.table import Table

SHOWN_FIGURES = 2  # of each mode; a law names first what matters most


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


def table_of(modes: Mapping[str, Mode], commands: Mapping[str, str]) -> Table:
    """Return what each key does.

    Args:
        modes: The modes by key.
        commands: What the keyboard's own keys do, by key.
    """
    table = Table(box=None, pad_edge=False, header_style='')
    for title in ('key', 'mode', 'law', 'figures'):
        table.add_column(title)
    for key, mode in modes.items():
        shown = islice(mode.figures.items(), SHOWN_FIGURES)
        figures = ', '.join(f'{name} {_words(value)}' for name, value in shown)
        table.add_row(key, mode.name, mode.law, figures)
    for key, meaning in commands.items():
        if key not in modes and key.isprintable():
            table.add_row(key, meaning)
    return table


def _words(value: object) -> str:
    """Return a parameter's value for the eye."""
    if isinstance(value, float):
        return f'{value:g}'
    if isinstance(value, str | int):
        return str(value)
    return ' '.join(_words(entry) for entry in value) if value is not None else ''
