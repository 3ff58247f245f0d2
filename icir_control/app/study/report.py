"""What a study has shown: quantiles, the worst runs, and a picture."""

from pathlib import Path

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

from icir_control.app.study.plan import Study
from icir_control.app.study.run import ARRIVED, METRICS

QUANTILES = (0.0, 0.5, 0.9, 0.99, 1.0)
_WORST = 3


def show(study: Study, rows: list[dict[str, str]], file: Path, console: Console) -> None:
    """Print quantiles of the runs that arrived, the others' outcomes, and the worst ones."""
    arrived = [row for row in rows if row['outcome'] == ARRIVED]
    table = Table(title=f'{len(arrived)} of {len(rows)} runs arrived')
    table.add_column('metric')
    for share in QUANTILES:
        table.add_column(f'{100.0 * share:g} %', justify='right')
    table.add_column('worst runs')
    for name, unit in METRICS.items() if arrived else ():
        values = np.array([float(row[name]) for row in arrived])
        worst = [arrived[i]['run'] for i in np.argsort(-values, kind='stable')[:_WORST]]
        cells = [f'{value:.3g}' for value in np.quantile(values, QUANTILES)]
        table.add_row(f'{name} [{unit or "-"}]'.replace('[', r'\['), *cells, ', '.join(worst))
    console.print(table)
    for row in rows:
        if row['outcome'] != ARRIVED:
            sample = ', '.join(f'{name} {float(row[name]):.4g}' for name in study.vary)
            console.print(f'run {row["run"]} ({sample}): {row["outcome"]}', markup=False)
    console.print(
        f'one of them again: icir_control study {file} --only RUN --record run.mcap',
        markup=False,
        soft_wrap=True,
    )


def draw(study: Study, rows: list[dict[str, str]], picture: Path) -> None:
    """Draw each metric over each number that varied; runs that did not arrive are crosses."""
    names, metrics = list(study.vary), list(METRICS)
    figure = Figure(figsize=(3.0 * max(len(names), 1), 2.4 * len(metrics)), layout='constrained')
    FigureCanvasAgg(figure)
    axes = figure.subplots(len(metrics), max(len(names), 1), squeeze=False, sharex='col')
    for group, marker in ((True, '.'), (False, 'x')):
        some = [row for row in rows if (row['outcome'] == ARRIVED) == group]
        for i, metric in enumerate(metrics):
            for k, name in enumerate(names):
                values = [[float(row[one]) for row in some] for one in (name, metric)]
                axes[i, k].plot(*values, marker, color='C0' if group else 'C3', markersize=4)
    for i, metric in enumerate(metrics):
        axes[i, 0].set_ylabel(f'{metric} [{METRICS[metric] or "-"}]')
        for axis in axes[i]:
            axis.set_yscale('log')
            axis.grid(alpha=0.3)
    for axis, name in zip(axes[-1], names, strict=False):
        axis.set_xlabel(name)
    figure.savefig(picture, dpi=120)
