"""The figures of a run as a table for the eye, and as JSON for a program."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.table import Table
from rich.text import Text

from icir_control.app.figure import Figure
from icir_control.app.recording import Recording
from icir_control.errors import ConfigurationError

# How a figure is shown: unit by the end of its name, and what one of it is in SI units.
_UNITS = {'rad': ('urad', 1e-6), 'm': ('mm', 1e-3), 'nm': ('N m', 1.0), 's': ('s', 1.0)}


def has_passed(figures: Mapping[str, Sequence[Figure]]) -> bool:
    """Return whether every figure is within its bounds."""
    return all(figure.passed for group in figures.values() for figure in group)


def table_of(figures: Mapping[str, Sequence[Figure]], heading: str) -> Table:
    """Return the figures, a row for each.

    Args:
        figures: By what they belong to.
        heading: What that is.
    """
    table = Table(box=None, pad_edge=False, header_style='bold')
    table.add_column(heading)
    table.add_column('figure')
    table.add_column('value', justify='right')
    table.add_column('good', justify='right')
    table.add_column('')
    for group, members in figures.items():
        for i, figure in enumerate(members):
            words, value, bound = _shown(figure)
            mark = Text('ok', style='green') if figure.passed else Text('OUT', style='bold red')
            table.add_row(group if i == 0 else '', words, value, bound, mark)
        table.add_section()
    return table


def write_report(
    path: Path,
    modes: Mapping[str, Sequence[Figure]],
    run: Sequence[Figure],
    acceptance: Mapping[str, Sequence[Figure]],
    recording: Recording,
) -> None:
    """Write the figures as JSON.

    Args:
        path: The file; folders above it are made.
        modes: By mode.
        run: Those of the whole run.
        acceptance: By promise, with spaces; empty where it was left out.
        recording: The run.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    report = {
        'passed': has_passed({**modes, 'run': run}) and has_passed(acceptance),
        'real_time_factor': recording.real_time_factor,
        'steps': recording.steps,
        'run': _values(run),
        'modes': {mode: _values(figures) for mode, figures in modes.items()},
        'acceptance': {_key(name): _values(figures) for name, figures in acceptance.items()},
        'bounds': {
            'run': _bounds(run),
            'modes': {mode: _bounds(figures) for mode, figures in modes.items()},
            'acceptance': {_key(name): _bounds(figures) for name, figures in acceptance.items()},
        },
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, indent=2) + '\n')
    except OSError as error:
        raise ConfigurationError(f'the report cannot be written: {error}') from error


def _key(name: str) -> str:
    return name.replace(' ', '_')


def _values(figures: Sequence[Figure]) -> dict[str, float | None]:
    return {figure.name: _finite(figure.value) for figure in figures}


def _bounds(figures: Sequence[Figure]) -> dict[str, list[float | None]]:
    """Return least and greatest good value by name; None where there is no greatest."""
    return {figure.name: [figure.lower, _finite(figure.upper)] for figure in figures}


def _shown(figure: Figure) -> tuple[str, str, str]:
    """Return name, value and bounds in a unit that suits the eye."""
    words, _, suffix = figure.name.rpartition('_')
    if suffix not in _UNITS:
        words, unit, scale = figure.name, '', 1.0
    else:
        unit, scale = _UNITS[suffix]
        if suffix == 'm' and figure.upper < 1e-4:
            unit, scale = 'um', 1e-6
        elif suffix == 'rad' and figure.upper > 1e-3:
            unit, scale = 'mrad', 1e-3

    def number(value: float) -> str:
        return f'{value / scale:.3g}'

    if figure.lower == figure.upper:
        bound = number(figure.upper)
    elif math.isinf(figure.upper):
        bound = f'>= {number(figure.lower)}'
    elif figure.lower > 0.0:
        bound = f'{number(figure.lower)} to {number(figure.upper)}'
    else:
        bound = f'<= {number(figure.upper)}'
    value = number(figure.value)
    return words.replace('_', ' '), f'{value} {unit}'.rstrip(), f'{bound} {unit}'.rstrip()


def _finite(value: float) -> float | None:
    """Return what JSON can say of a number."""
    return value if math.isfinite(value) else None
