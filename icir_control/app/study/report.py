"""What a study has shown: quantiles, the worst runs, and a page with pictures."""

import html
import shlex
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from icir_control.app.html import image, page, table
from icir_control.app.measurement import Array
from icir_control.app.study.plan import Sample, Study
from icir_control.app.study.run import ARRIVED, Row
from icir_control.app.study.tune import Tuning

QUANTILES = (0.0, 0.5, 0.9, 0.99, 1.0)
FIFTH = 0.2
"""Share of the runs at each end of a parameter that the sensitivities compare."""

_SHOWN = 3  # runs that did not arrive

Rows = Sequence[Row]


def show(study: Study, rows: Rows, file: Path, console: Console) -> None:
    """Print quantiles of the runs that arrived, and the worst runs with their commands."""
    table = Table(title=_headline(rows))
    table.add_column('metric')
    for share in QUANTILES:
        table.add_column(f'{100.0 * share:g} %', justify='right')
    for name, cells in quantiles(study, rows).items():
        table.add_row(name.replace('[', r'\['), *cells)
    console.print(table)
    for words, command in worst(study, rows, file):
        console.print(f'{words}:' if command else words, markup=False, soft_wrap=True)
        if command:
            console.print(f'  {command}', markup=False, highlight=False, soft_wrap=True)


def show_gain(
    tuning: Tuning,
    chosen: Sample,
    rows: Mapping[str, tuple[list[Row], ...]],
    console: Console,
) -> None:
    """Print what a tuning gained.

    Args:
        tuning: What was asked.
        chosen: What was found.
        rows: Of the same plants with the parameters that ship and with those that were found, by
            words that say which plants.
        console: For the table.
    """
    name, shipped = tuning.minimise, tuning.shipped()
    table = Table('', 'shipped', 'found', title=label(tuning.study, name).replace('[', r'\['))
    for parameter, value in chosen.items():
        before = f'{shipped[parameter]:.6g}' if parameter in shipped else 'by default'
        table.add_row(parameter, before, f'{value:.6g}')
    for words, both in rows.items():
        arrived = [[row[name] for row in some if row['outcome'] == ARRIVED] for some in both]
        for what, of in (('median', np.median), ('worst', np.max)):
            cells = (f'{of(some):.4g}' if some else '-' for some in arrived)
            table.add_row(f'{what}, {len(both[0])} plants {words}', *cells)
        kept = (sum(max(tuning.cost([row])[1].values()) <= 0.0 for row in some) for some in both)
        table.add_row('  of which arrive within the limits', *map(str, kept))
        better = sum(
            new['outcome'] == ARRIVED and (old['outcome'] != ARRIVED or new[name] < old[name])
            for old, new in zip(*both, strict=True)
        )
        table.add_row('  of which are better', '', str(better))
    console.print(table)


def quantiles(study: Study, rows: Rows) -> dict[str, list[str]]:
    """Return the quantiles of each metric, over the runs that arrived, by name with unit."""
    arrived = _arrived(rows)
    return {
        label(study, name): [
            f'{value:.3g}' for value in np.quantile(_column(arrived, name), QUANTILES)
        ]
        for name in study.units
        if arrived
    }


def worst(study: Study, rows: Rows, file: Path) -> list[tuple[str, str]]:
    """Return a description of each of the worst runs, and the command that repeats it.

    The command makes a film and a report, too; it is empty where the arm could not even be
    built. The runs are the worst of each metric, and some that did not arrive.
    """
    arrived, why = _arrived(rows), dict[int, list[str]]()
    for name in study.units if arrived else ():
        row = arrived[int(np.argmax(_column(arrived, name)))]
        why.setdefault(row['run'], []).append(f'worst {name} {row[name]:.3g}')
    failed = [row for row in rows if row['outcome'] != ARRIVED]
    for row in failed[:_SHOWN]:
        why[row['run']] = [row['outcome']]
    by_run = {row['run']: row for row in rows}
    found = []
    for run, words in why.items():
        sample = ', '.join(f'{name} {by_run[run][name]:.4g}' for name in study.vary)
        recording = f'run_{run}.mcap'
        command = (
            f'icir_control study {shlex.quote(str(file))} --only {run} --record {recording}'
            f' && icir_control report {recording} && icir_control film {recording}'
        )
        ran = np.isfinite(by_run[run]['time'])
        found.append((f'run {run} ({sample}): {", ".join(words)}', command if ran else ''))
    return found


def write_page(study: Study, rows: Rows, file: Path, path: Path) -> None:
    """Write one HTML file: quantiles, worst runs, metrics over parameters, sensitivities."""
    head = ['metric', *(f'{100.0 * share:g} %' for share in QUANTILES)]
    lines = [(name, *cells) for name, cells in quantiles(study, rows).items()]
    parts = [table(head, lines), '<h2>Worst runs</h2>']
    parts += [
        f'<p>{html.escape(words)}<br><code>{html.escape(command)}</code></p>'
        for words, command in worst(study, rows, file)
    ]
    if study.vary and _arrived(rows):
        parts += [
            '<h2>Metrics over the varied parameters</h2>',
            '<p>Runs that did not arrive are crosses.</p>',
            _image(scatter(study, rows)),
            _pairs(study, rows),
            '<h2>Sensitivities</h2><p>Median of a metric over the fifth of the runs with the least'
            ' (blue) and the greatest (red) value of a parameter; the line is the median of'
            ' all.</p>',
            _image(tornado(study, rows)),
        ]
    path.write_text(page(f'{file.name}: {_headline(rows)}', parts), encoding='utf-8')


def scatter(study: Study, rows: Rows) -> Figure:
    """Draw each metric over each number that varied; runs that did not arrive are crosses."""
    names, metrics = list(study.vary), list(study.units)
    figure = Figure(figsize=(3.0 * len(names), 2.2 * len(metrics)), layout='constrained')
    axes = figure.subplots(len(metrics), len(names), squeeze=False, sharex='col')
    for group, style in ((True, '.C0'), (False, 'xC3')):
        some = [row for row in rows if (row['outcome'] == ARRIVED) == group]
        for i, metric in enumerate(metrics):
            for k, name in enumerate(names):
                axes[i, k].plot(_column(some, name), _column(some, metric), style, markersize=4)
    for i, metric in enumerate(metrics):
        axes[i, 0].set_ylabel(label(study, metric))
        for axis in axes[i]:
            axis.set_yscale('log')
            axis.grid(alpha=0.3)
    for axis, name in zip(axes[-1], names, strict=True):
        axis.set_xlabel(name)
    return figure


def pairs(study: Study, rows: Rows) -> Figure:
    """Draw each two numbers that varied over each other, coloured by the first metric."""
    names, metric = list(study.vary), next(iter(study.units))
    arrived, size = _arrived(rows), len(names) - 1
    failed = [row for row in rows if row['outcome'] != ARRIVED]
    figure = Figure(figsize=(2.6 * size + 1.5, 2.4 * size), layout='constrained')
    axes = figure.subplots(size, size, squeeze=False, sharex='col', sharey='row')
    for (i, k), axis in np.ndenumerate(axes):
        if k > i:
            axis.set_axis_off()
            continue
        x, y = names[k], names[i + 1]
        drawn = axis.scatter(
            _column(arrived, x), _column(arrived, y), 12, _column(arrived, metric)
        )
        axis.plot(_column(failed, x), _column(failed, y), 'xC3', markersize=5)
        axis.set(xlabel=x if i == size - 1 else '', ylabel=y if k == 0 else '')
    figure.colorbar(drawn, ax=axes, label=label(study, metric))
    return figure


def sensitivities(study: Study, rows: Rows) -> dict[str, dict[str, tuple[float, float]]]:
    """Return, by metric and parameter, the metric's medians where the parameter is least and most.

    They are over a fifth of the runs that arrived each; the widest comes first.
    """
    arrived = _arrived(rows)
    found = {}
    for metric in study.units:
        values, ends = _column(arrived, metric), {}
        for name in study.vary:
            given = _column(arrived, name)
            low, high = np.quantile(given, (FIFTH, 1.0 - FIFTH))
            ends[name] = (
                float(np.median(values[given <= low])),
                float(np.median(values[given >= high])),
            )
        order = sorted(ends, key=lambda name: -abs(ends[name][1] - ends[name][0]))
        found[metric] = {name: ends[name] for name in order}
    return found


def tornado(study: Study, rows: Rows) -> Figure:
    """Draw the sensitivities: a bar from the median of all to that of each fifth."""
    found = sensitivities(study, rows)
    height = len(study.units) * (0.9 + 0.35 * len(study.vary))
    figure = Figure(figsize=(9.0, height), layout='constrained')
    for axis, (metric, ends) in zip(figure.subplots(len(found)), found.items(), strict=True):
        middle = float(np.median(_column(_arrived(rows), metric)))
        for i, pair in enumerate(ends.values()):
            for end, colour in zip(pair, ('C0', 'C3'), strict=True):
                axis.barh(i, end - middle, left=middle, color=colour, alpha=0.8)
        axis.axvline(middle, color='black', linewidth=0.8)
        axis.set_yticks(range(len(ends)), list(ends))
        axis.invert_yaxis()
        axis.set_xlabel(label(study, metric))
    return figure


def label(study: Study, metric: str) -> str:
    """Return a metric with its unit."""
    return f'{metric} [{study.units[metric] or "-"}]'


def _pairs(study: Study, rows: Rows) -> str:
    if len(study.vary) < 2:
        return ''
    return f'<h2>Pairs of varied parameters</h2>{_image(pairs(study, rows))}'


def _headline(rows: Rows) -> str:
    return f'{len(_arrived(rows))} of {len(rows)} runs arrived'


def _arrived(rows: Rows) -> list[Row]:
    return [row for row in rows if row['outcome'] == ARRIVED]


def _column(rows: Rows, name: str) -> Array:
    return np.array([row[name] for row in rows])


def _image(figure: Figure) -> str:
    FigureCanvasAgg(figure)
    data = BytesIO()
    figure.savefig(data, format='png', dpi=110)
    return image(data.getvalue())
