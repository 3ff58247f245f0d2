"""Metrics as a table for the terminal, and as JSON for a program."""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from rich.table import Table
from rich.text import Text

from icir_control.app.demo.run import Run
from icir_control.app.environment import writing
from icir_control.app.measurement import Metric, have_passed

MetricGroups = Mapping[str, Sequence[Metric]]


def table_of(
    metrics: MetricGroups, heading: str, notes: Mapping[str, str] = MappingProxyType({})
) -> Table:
    """Return the metrics, a row for each.

    Args:
        metrics: By what they belong to.
        heading: What that is.
        notes: What else is to be said, by the same.
    """
    table = Table(box=None, pad_edge=False, header_style='bold')
    table.add_column(heading)
    table.add_column('metric')
    table.add_column('value', justify='right')
    table.add_column('bound', justify='right')
    table.add_column('')
    for group in [*metrics, *(name for name in notes if name not in metrics)]:
        rows = [(Text(notes[group]), '', '', Text())] if group in notes else []
        for metric in metrics.get(group, ()):
            name = Text(metric.name.replace('_', ' '))
            rows.append((name, *_value_and_bound(metric), _mark(metric)))
        for i, row in enumerate(rows):
            table.add_row(group if i == 0 else '', *row)
        table.add_section()
    return table


def _mark(metric: Metric) -> Text:
    if not metric.passed:
        return Text('OUT', style='bold red')
    return Text('ok', style='green') if metric.has_bounds else Text('')


def write_report(
    path: Path,
    modes: MetricGroups,
    run_metrics: Sequence[Metric],
    promises: MetricGroups,
    run: Run,
    notes: Mapping[str, str],
) -> None:
    """Write the metrics as JSON.

    Args:
        path: The file; folders above it are made.
        modes: By mode.
        run_metrics: Those of the whole run.
        promises: By promise, with spaces; empty where they were left out.
        run: The run.
        notes: What else is to be said of a mode.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    acceptance = {name.replace(' ', '_'): metrics for name, metrics in promises.items()}
    report = {
        'passed': have_passed({**modes, 'run': run_metrics}) and have_passed(promises),
        'real_time_factor': run.real_time_factor,
        'steps': run.steps,
        'run': _values(run_metrics),
        'modes': {mode: _values(metrics) for mode, metrics in modes.items()},
        'notes': dict(notes),
        'acceptance': {name: _values(metrics) for name, metrics in acceptance.items()},
        'bounds': {
            'run': _bounds(run_metrics),
            'modes': {mode: _bounds(metrics) for mode, metrics in modes.items()},
            'acceptance': {name: _bounds(metrics) for name, metrics in acceptance.items()},
        },
    }
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, indent=2) + '\n')


def _values(metrics: Sequence[Metric]) -> dict[str, float | None]:
    return {metric.key: _finite(metric.value) for metric in metrics}


def _bounds(metrics: Sequence[Metric]) -> dict[str, list[float | None]]:
    """Return least and greatest good value by key; None where there is no greatest."""
    return {metric.key: [metric.lower, _finite(metric.upper)] for metric in metrics}


def _value_and_bound(metric: Metric) -> tuple[str, str]:
    """Return value and bounds in a unit that gives short numbers."""
    unit, scale = metric.unit, 1.0
    if unit == 'm':
        unit, scale = ('um', 1e-6) if metric.upper < 1e-4 else ('mm', 1e-3)
    elif unit == 'rad':
        unit, scale = ('mrad', 1e-3) if metric.upper > 1e-3 else ('urad', 1e-6)
    value, lower, upper = (f'{x / scale:.3g}' for x in (metric.value, metric.lower, metric.upper))
    if not metric.has_bounds:
        return f'{value} {unit}'.rstrip(), ''
    if metric.lower == metric.upper:
        bound = upper
    elif math.isinf(metric.upper):
        bound = f'>= {lower}'
    else:
        bound = f'{lower} to {upper}' if metric.lower > 0.0 else f'<= {upper}'
    return f'{value} {unit}'.rstrip(), f'{bound} {unit}'.rstrip()


def _finite(value: float) -> float | None:
    """Return the number, or None where JSON cannot express it."""
    return value if math.isfinite(value) else None
