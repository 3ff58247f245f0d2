"""Draws the figures of contact.md from its own runs: `python docs/contact_plots.py`."""

import os
import re
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

IMAGES = Path(__file__).parent / 'images'
# Okabe and Ito's colours, which the colour-blind tell apart.
COLOURS, GREY = ('#0072B2', '#D55E00', '#009E73'), '#555555'
STYLE = {
    'font.size': 9,
    'axes.titlesize': 9,
    'axes.grid': True,
    'axes.spines.top': False,
    'axes.spines.right': False,
    'grid.alpha': 0.3,
    'lines.linewidth': 1.4,
    'legend.frameon': False,
    'savefig.dpi': 150,
}
FINGERS = {2: 'finger 1', 5: 'finger 2', 11: 'thumb', 0: 'wrist'}


def run_document() -> dict[str, Any]:
    """Return the variables that the Python blocks of the document leave."""
    here = Path(__file__).resolve().parent
    os.chdir(here.parent)
    text = (here / 'contact.md').read_text(encoding='utf-8')
    found: dict[str, Any] = {}
    exec('\n'.join(re.findall(r'^```python\n(.*?)^```', text, re.M | re.S)), found)
    return found


def save(figure: Figure, name: str) -> None:
    """Write a figure."""
    figure.tight_layout()
    figure.savefig(IMAGES / f'{name}.png')


def row(count: int, height: float = 2.6) -> tuple[Figure, Any]:
    """Return a figure of plots side by side."""
    figure = Figure(figsize=(8.0, height))
    return figure, np.atleast_1d(figure.subplots(1, count))


def main() -> None:
    """Run the document, and draw."""
    mpl.rcParams.update(STYLE)
    here = run_document()

    figure, axes = row(2)
    for axis, run, title in zip(
        axes, (here['free'], here['friction']), ('without torque', 'friction'), strict=True
    ):
        for joint, name in FINGERS.items():
            axis.plot(run.time, run.q[:, joint], label=name)
        axis.set(title=title, xlabel='time [s]', ylabel='joint [rad]')
    axes[0].legend()
    save(figure, 'contact_free')

    figure, axes = row(1)
    for colour, (name, error) in zip(COLOURS, here['errors'].items(), strict=True):
        time = here['runs'][name].time
        axes[0].semilogy(time, np.abs(error).max(axis=1) + 1e-9, color=colour, label=name)
    axes[0].set(ylim=(1e-6, 1.0), xlabel='time [s]', ylabel='largest error of a joint [rad]')
    axes[0].legend(ncols=3)
    save(figure, 'contact_tracking')

    figure, axes = row(1)
    for colour, (name, run) in zip(COLOURS, here['without'].items(), strict=True):
        axes[0].plot(run.time, 1e3 * run.distance[:, 1], color=colour, label=name)
    axes[0].axhline(0.0, color=GREY, linewidth=0.8)
    axes[0].set(ylim=(-8, 12), xlabel='time [s]', ylabel='distance of finger 2 [mm]')
    axes[0].legend()
    save(figure, 'contact_schemes')

    figure, axes = row(2)
    for colour, (name, run) in zip(COLOURS, here['loops'].items(), strict=True):
        axes[0].plot(run.time, 1e3 * run.distance[:, 1], color=colour, label=name)
        axes[1].plot(run.time[:-1], run.force[:, 1], color=colour, label=name)
    axes[0].set(ylim=(-1, 10), xlabel='time [s]', ylabel='distance of finger 2 [mm]')
    axes[1].set(yscale='symlog', xlabel='time [s]', ylabel='force on finger 2 [N]')
    axes[1].legend(loc='upper center')
    save(figure, 'contact_loop')


if __name__ == '__main__':
    main()
