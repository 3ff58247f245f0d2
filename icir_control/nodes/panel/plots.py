"""Live plots of the last seconds: errors, torque, and pace."""

import time
from collections import deque
from collections.abc import Sequence

import numpy as np
import viser
from viser import uplot

from icir_control.spatial.arrays import Array

SPAN = 10.0
"""How long a value stays on a plot [s of wall time]."""

_PERIOD = 0.5  # s between two updates: without a graphics card a browser draws slowly
_TITLE_PERIOD = 1.0  # s, for a number that can be read
_LEAST = 1e-12  # on a logarithmic scale
_COLOURS = ('#1f77b4', '#ff7f0e', '#2ca02c', '#d62728', '#9467bd', '#8c564b', '#17becf')


class PlotsTab:
    """The plots, which share their time."""

    def __init__(self, gui: viser.GuiApi, joints: Sequence[str]) -> None:
        """Show them.

        Args:
            gui: Where they go.
            joints: Names of the joints.
        """
        self._pause = gui.add_checkbox('pause', False)
        self._log = gui.add_checkbox('log scale', False)
        self._plots = [
            _Plot(gui, 'joint error [rad, m]', joints),
            _Plot(gui, 'tool error [m]', ['distance']),
            _Plot(gui, 'torque / limit', joints),
            _Plot(gui, 'real-time factor; command age [steps]', ['factor', 'age']),
        ]
        self._start = time.monotonic()
        self._due = 0.0

    def update(self, *values: Array) -> None:
        """Add what is newest, and draw it from time to time.

        Args:
            values: One array for each plot, in their order; NaN where there is nothing.
        """
        now = time.monotonic()
        for plot, row in zip(self._plots, values, strict=True):
            plot.add(now - self._start, row)
        if now >= self._due and not self._pause.value:
            self._due = now + _PERIOD
            for plot in self._plots:
                plot.draw(is_log=self._log.value)


class _Plot:
    """One plot."""

    def __init__(self, gui: viser.GuiApi, title: str, names: Sequence[str]) -> None:
        self._title, self._title_due = title, 0.0
        self._rows: deque[Array] = deque()
        series = [uplot.Series(label='t [s]')]
        for i, name in enumerate(names):
            series.append(uplot.Series(label=name, stroke=_COLOURS[i % len(_COLOURS)], width=1.5))
        empty = tuple(np.array([0.0, 1.0]) for _ in series)
        self._handle = gui.add_uplot(
            empty, tuple(series), title=title, scales={'x': {'time': False}}, aspect=1.8
        )
        self._is_log = False

    def add(self, moment: float, row: Array) -> None:
        self._rows.append(np.concatenate([[moment], row]))
        while self._rows[0][0] < moment - SPAN:
            self._rows.popleft()

    def draw(self, *, is_log: bool) -> None:
        rows = np.array(self._rows).T
        if is_log:
            rows[1:] = np.maximum(np.abs(rows[1:]), _LEAST)
        if is_log != self._is_log:
            self._is_log = is_log
            scale: uplot.Scale = {'distr': 3, 'log': 10} if is_log else {}
            self._handle.scales = {'x': {'time': False}, 'y': scale}
        self._handle.data = tuple(rows.copy())
        if rows[0, -1] >= self._title_due and not np.isnan(rows[1:, -1]).all():
            self._title_due = rows[0, -1] + _TITLE_PERIOD
            self._handle.title = f'{self._title}: {np.nanmax(np.abs(rows[1:, -1])):.2g}'
