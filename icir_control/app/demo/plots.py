"""The plots of a run: joints, end effector, and torque against its limits."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, MultipleLocator
from numpy.lib.stride_tricks import sliding_window_view

from icir_control.app.demo.metrics import PhaseData
from icir_control.app.html import COLOURS
from icir_control.app.measurement import Array, Metric

_Metrics = Mapping[str, Sequence[Metric]]

_WIDTH = 10.0  # inch
_STYLE: dict[Any, Any] = {
    'font.size': 9,
    'axes.titlesize': 10,
    'axes.grid': True,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'axes.axisbelow': True,
    'grid.alpha': 0.3,
    'lines.linewidth': 1.4,
    'legend.frameon': False,
    'savefig.dpi': 150,
}
_REFERENCE: dict[str, Any] = {'color': 'black', 'linestyle': (0, (4, 3)), 'linewidth': 0.9}
_BOUND: dict[str, Any] = {'color': '#AA0000', 'linewidth': 1.0, 'linestyle': ':'}
_SHADE: dict[str, Any] = {'facecolor': '#EEEEEE', 'zorder': -10}
_PUSHED: dict[str, Any] = {'facecolor': '#F6D9B0', 'alpha': 0.6, 'zorder': -9}
_ROUND_OFF = 1e-17  # the lower edge of a logarithmic axis
_LINE, _HANDLE = 130, 7  # characters of a legend's line, and what an entry takes beside its name
_NEAR = 10  # control periods to either side


def write_plots(folder: Path, parts: Sequence[PhaseData], metrics: _Metrics) -> list[Path]:
    """Draw a run.

    Args:
        folder: Where the files go.
        parts: Of the run, as `metrics.split` returns them.
        metrics: By mode; their bounds are drawn.

    Returns:
        The files that were written.
    """
    paths = []
    for draw in (_joint_tracking, _task_tracking, _torque):
        with mpl.rc_context(_STYLE):
            figure = Figure(layout='constrained')
            FigureCanvasAgg(figure)
            draw(figure, parts, metrics)
            paths.append(folder / f'{draw.__name__.lstrip("_")}.png')
            figure.savefig(paths[-1])
    return paths


def _draw_bound(axes: Axes, part: PhaseData, metrics: _Metrics, name: str) -> None:
    """Draw the bound of a metric over a phase that has that metric."""
    for metric in metrics[part.phase.mode]:
        if metric.name == name:
            axes.hlines(metric.upper, part.phase.start, part.phase.end, **_BOUND)


def _joint_tracking(figure: Figure, parts: Sequence[PhaseData], metrics: _Metrics) -> None:
    """Joint positions with their reference, and the error of the modes that follow it."""
    figure.set_size_inches(_WIDTH, 6.5)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    run, arm = parts[0].run, parts[0].law.arm
    scale = np.where(arm.translates, 100.0, np.rad2deg(1.0))
    for name, colour, position in zip(
        arm.model.joint_names, cycle(COLOURS), (scale * run['position']).T, strict=False
    ):
        above.plot(run.time, position, color=colour, label=name)
    for part in filter(PhaseData.has_run, parts):
        law, rows = part.law, part.rows
        if law.TRACKS:
            above.plot(rows.time, scale * rows['position_reference'], **_REFERENCE)
        if law.TRACKS and law.FOLLOWS == 'joints':
            error = np.abs(rows['position'] - rows['position_reference']).max(axis=1)
            below.plot(rows.time, _envelope(error), color=COLOURS[0])
            _draw_bound(below, part, metrics, 'peak_joint_error')
    slides = arm.translates.any()
    above.set_ylabel('joint position [deg, cm]' if slides else 'joint position [deg]')
    if 90.0 < np.ptp(above.get_ylim()) < 720.0:
        above.yaxis.set_major_locator(MultipleLocator(45.0))
    _error_axis(below, f'greatest joint error [rad{", m" if slides else ""}]')
    _finish(figure, (above, below), parts)


def _task_tracking(figure: Figure, parts: Sequence[PhaseData], metrics: _Metrics) -> None:
    """The end effector with its reference, how far it is from it, and how much turned."""
    figure.set_size_inches(_WIDTH, 8.0)
    above, middle, below = figure.subplots(3, 1, sharex=True, height_ratios=(3, 2, 2))
    run = parts[0].run
    for name, colour, position in zip('xyz', COLOURS, run['translation'].T, strict=False):
        above.plot(run.time, position, color=colour, label=name)
    for part in filter(PhaseData.has_run, parts):
        law, rows = part.law, part.rows
        if law.FOLLOWS != 'pose':
            continue
        if not law.GUIDED:
            above.plot(rows.time, rows['translation_reference'], **_REFERENCE)
            middle.plot(rows.time, _envelope(rows['position_error']), color=COLOURS[0])
        below.plot(rows.time, _envelope(rows['rotation_error']), color=COLOURS[0])
        _draw_bound(middle, part, metrics, 'peak_position_error')
        _draw_bound(below, part, metrics, 'peak_rotation_error')
        _draw_bound(below, part, metrics, 'rotation_error')
    above.set_ylabel('end effector in base frame [m]')
    _error_axis(middle, 'distance from reference [m]')
    _error_axis(below, 'rotation from reference [rad]')
    _finish(figure, (above, middle, below), parts)


def _torque(figure: Figure, parts: Sequence[PhaseData], metrics: _Metrics) -> None:
    """Applied torque of each joint between its limits."""
    run, arm = parts[0].run, parts[0].law.arm
    count, model = arm.nv, arm.model
    figure.set_size_inches(_WIDTH, 1.3 * count + 0.8)
    panels = list(figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0])
    units = np.where(arm.translates, 'N', 'N m')
    for axes, name, unit, torque, limit in zip(
        panels, model.joint_names, units, run['effort'].T, model.effort_limit, strict=True
    ):
        axes.plot(run.time, torque, color=COLOURS[0], linewidth=1.0, label='applied')
        axes.axhline(limit, label='limit', **_BOUND)
        axes.axhline(-limit, **_BOUND)
        axes.set_ylim(-1.15 * limit, 1.15 * limit)
        axes.set_ylabel(f'{name}\n[{unit}]')
    figure.align_ylabels(panels)
    _finish(figure, panels, parts)


def _error_axis(axes: Axes, label: str) -> None:
    """Make the axis logarithmic; what is exactly zero lies on its lower edge."""
    axes.set_yscale('log', nonpositive='clip')
    axes.set_ylabel(label)
    axes.set_ylim(bottom=_ROUND_OFF)
    axes.yaxis.set_major_locator(LogLocator(numticks=8))


def _envelope(error: Array) -> Array:
    """Return the greatest value near each one: on a logarithmic axis noise would hide its size."""
    padded = np.pad(error, _NEAR, mode='edge')
    return sliding_window_view(padded, 2 * _NEAR + 1).max(axis=1)


def _finish(figure: Figure, panels: Sequence[Axes], parts: Sequence[PhaseData]) -> None:
    """Mark the phases and the pushes, name them above, and put the legend below the panels."""
    phases = [part.phase for part in parts]
    for axes in panels:
        axes.set_xlim(0.0, phases[-1].end)
        for phase in phases[1::2]:
            axes.axvspan(phase.start, phase.end, **_SHADE)
        for push in (push for phase in phases for push in phase.pushes):
            axes.axvspan(push.start, push.end, **_PUSHED)
    for phase in phases:
        _write_above(panels[0], phase.start, phase.end, phase.mode, height=12, fontsize=9)
        for push in phase.pushes:
            words = f'{push.force:g} N tool {"xyz"[push.axis]}'
            _write_above(panels[0], push.start, push.end, words, height=2, fontsize=7)
    panels[-1].set_xlabel('simulation time [s]')
    handles, labels = panels[0].get_legend_handles_labels()
    if 'limit' not in labels:
        handles += [Line2D([], [], **_REFERENCE), Line2D([], [], **_BOUND)]
        labels += ['reference', 'bound']
    handles.append(Patch(**_PUSHED))
    labels.append('pushed')
    figure.legend(handles, labels, loc='outside lower center', ncols=_columns(labels))


def _columns(labels: Sequence[str]) -> int:
    """Return how many entries of a legend there is room for side by side."""
    return max(1, int(_LINE / (max(map(len, labels)) + _HANDLE)))


def _write_above(
    axes: Axes, start: float, end: float, words: str, *, height: float, fontsize: float
) -> None:
    """Write words above a span of time, some points above the panel."""
    axes.annotate(
        words,
        ((start + end) / 2.0, 1.0),
        xytext=(0.0, height),
        xycoords=axes.get_xaxis_transform(),
        textcoords='offset points',
        ha='center',
        va='bottom',
        fontsize=fontsize,
    )
