"""The plots of a run: joints, end effector, and torque against its limits."""

from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import LogLocator, MultipleLocator
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from icir_control.app.figures import figures_of
from icir_control.app.parts import Part
from icir_control.control.laws import Float, Hold, Impedance, Joint, Task
from icir_control.errors import ConfigurationError

_WIDTH = 10.0  # inch
_STYLE = {
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
# Okabe and Ito's colours, which the colour-blind tell apart; their yellow is too pale for a line.
_COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#56B4E9', '#E69F00', '#555555')
_REFERENCE = {'color': 'black', 'linestyle': (0, (4, 3)), 'linewidth': 0.9}
_BOUND = {'color': '#AA0000', 'linewidth': 1.0, 'linestyle': ':'}
_SHADE = {'facecolor': '#EEEEEE', 'zorder': -10}
_PUSHED = {'facecolor': '#F6D9B0', 'alpha': 0.6, 'zorder': -9}
_ROUND_OFF = 1e-17  # the lower edge of a logarithmic axis
_NEAR = 10  # control periods to either side


def write_plots(folder: Path, parts: Sequence[Part]) -> list[Path]:
    """Draw the run.

    Args:
        folder: Where the files go; made where it is missing.
        parts: The phases of the run, in the order of time.

    Returns:
        The files that were written.

    Raises:
        ConfigurationError: The folder cannot be written to.
    """
    plots = {
        'joint_tracking.png': _joint_tracking,
        'task_tracking.png': _task_tracking,
        'torque.png': _torque,
    }
    paths = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, draw in plots.items():
            with mpl.rc_context(_STYLE):
                paths.append(_write(folder / name, draw, parts))
    except OSError as error:
        raise ConfigurationError(f'the plots cannot be written: {error}') from error
    return paths


def _write(
    path: Path, draw: Callable[[Figure, Sequence[Part]], None], parts: Sequence[Part]
) -> Path:
    figure = Figure(layout='constrained')
    FigureCanvasAgg(figure)
    draw(figure, parts)
    figure.savefig(path)
    return path


def _joint_tracking(figure: Figure, parts: Sequence[Part]) -> None:
    """Joint positions with their reference, and the error of the modes that track one."""
    figure.set_size_inches(_WIDTH, 6.5)
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    run = parts[0]
    time = run.recording.time
    for name, colour, position in zip(
        run.arm.model.joint_names, _COLOURS, run.recording.position.T, strict=False
    ):
        above.plot(time, np.rad2deg(position), color=colour, label=name)
    for part in filter(_tracks, parts):
        reference = np.rad2deg(part.position_reference)
        above.plot(part.time, reference, **_REFERENCE)
        if type(part.mode.law) in (Joint, Hold):
            error = np.max(np.abs(part.joint_error), axis=1)
            below.plot(part.time, _envelope(error), color=_COLOURS[0])
            _draw_bound(below, part, 'peak_joint_error_rad')
    above.set_ylabel('joint position [deg]')
    above.yaxis.set_major_locator(MultipleLocator(45.0))
    _error_axis(below, 'greatest joint error [rad]')
    _finish(figure, (above, below), parts)


def _task_tracking(figure: Figure, parts: Sequence[Part]) -> None:
    """The end effector with its reference, how far it is from it, and how much turned."""
    figure.set_size_inches(_WIDTH, 8.0)
    above, middle, below = figure.subplots(3, 1, sharex=True, height_ratios=(3, 2, 2))
    run = parts[0]
    time = run.recording.time
    for name, colour, position in zip('xyz', _COLOURS, run.replay.translation.T, strict=False):
        above.plot(time, position, color=colour, label=name)
    for part in filter(_has_pose_reference, parts):
        if _holds_position(part):
            above.plot(part.time, part.replay.translation_reference[part.rows], **_REFERENCE)
        distance, angle = part.pose_error
        if _holds_position(part):
            middle.plot(part.time, _envelope(distance), color=_COLOURS[0])
        below.plot(part.time, _envelope(angle), color=_COLOURS[0])
        _draw_bound(middle, part, 'peak_position_error_m')
        _draw_bound(below, part, 'peak_rotation_error_rad')
        _draw_bound(below, part, 'rotation_error_rad')
    above.set_ylabel('end effector in base frame [m]')
    _error_axis(middle, 'distance from reference [m]')
    _error_axis(below, 'rotation from reference [rad]')
    _finish(figure, (above, middle, below), parts)


def _torque(figure: Figure, parts: Sequence[Part]) -> None:
    """Applied torque of each joint between its limits."""
    run = parts[0]
    count = len(run.arm.model.joint_names)
    figure.set_size_inches(_WIDTH, 1.3 * count + 0.8)
    panels = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
    for axes, name, torque, limit in zip(
        panels,
        run.arm.model.joint_names,
        run.recording.effort.T,
        run.arm.model.effort_limit,
        strict=True,
    ):
        axes.plot(run.recording.time, torque, color=_COLOURS[0], linewidth=1.0, label='applied')
        axes.axhline(limit, label='limit', **_BOUND)
        axes.axhline(-limit, **_BOUND)
        axes.set_ylim(-1.15 * limit, 1.15 * limit)
        axes.set_ylabel(f'{name}\n[N m]')
    figure.align_ylabels(panels)
    _finish(figure, panels, parts)


def _tracks(part: Part) -> bool:
    return part.has_run and part.mode.law.TRACKS


def _has_pose_reference(part: Part) -> bool:
    return part.has_run and type(part.mode.law) in (Task, Impedance, Float)


def _holds_position(part: Part) -> bool:
    return type(part.mode.law) is not Float


def _draw_bound(axes: Axes, part: Part, name: str) -> None:
    """Draw the bound of a figure over its phase, where the phase has that figure."""
    for figure in figures_of(part):
        if figure.name == name:
            axes.hlines(figure.upper, part.phase.start, part.phase.end, **_BOUND)


def _error_axis(axes: Axes, label: str) -> None:
    """Make the axis logarithmic; what is exactly zero lies on its lower edge."""
    axes.set_yscale('log', nonpositive='clip')
    axes.set_ylabel(label)
    axes.set_ylim(bottom=_ROUND_OFF)
    axes.yaxis.set_major_locator(LogLocator(numticks=8))


def _envelope(error: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the greatest value near each one: on a logarithmic axis noise would hide its size."""
    padded = np.pad(error, _NEAR, mode='edge')
    return sliding_window_view(padded, 2 * _NEAR + 1).max(axis=1)


def _finish(figure: Figure, panels: Sequence[Axes], parts: Sequence[Part]) -> None:
    """Mark the phases and the pushes, name them above, and put the legend below the panels."""
    for axes in panels:
        axes.set_xlim(0.0, parts[-1].phase.end)
        for part in parts[1::2]:
            axes.axvspan(part.phase.start, part.phase.end, **_SHADE)
        for push in (push for part in parts for push in part.phase.pushes):
            axes.axvspan(push.start, push.end, **_PUSHED)
    for phase in (part.phase for part in parts):
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
    figure.legend(handles, labels, loc='outside lower center', ncols=10)


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
