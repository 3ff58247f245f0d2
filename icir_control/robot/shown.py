"""What a `Robot` shows: a bar while it moves, and its picture in a notebook."""

import html
import time
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Self

import numpy as np

from icir_control.app.html import image
from icir_control.app.measurement import Array
from icir_control.errors import SimulationError
from icir_control.simulation import World

if TYPE_CHECKING:
    from rich.progress import Progress

LONG = 1.0
"""[s] of wall time after which a motion gets a bar."""

_SIZE = 640, 480  # pixels


class MotionBar:
    """A bar for the motion that runs as long as the context lasts; a short one gets none."""

    def __init__(self, words: str, wanted: bool | None) -> None:
        """Begin without a bar.

        Args:
            words: What moves.
            wanted: Whether there is a bar at all; None: where somebody can see it move.
        """
        self._words, self._wanted = words, wanted
        self._bar: Progress | None = None
        self._due, self._whole = time.monotonic() + LONG, 0.0

    def tell(self, left: float | None) -> None:
        """Move the bar.

        Args:
            left: Of the motion [s of the arm]; None where that is not known.
        """
        if self._wanted is False or time.monotonic() < self._due:
            self._whole = max(self._whole, left or 0.0)
            return
        if self._bar is None:
            self._bar = self._opened()
        if left is not None:
            self._whole = max(self._whole, left)
            for task in self._bar.task_ids:
                self._bar.update(task, total=self._whole, completed=self._whole - left)

    def _opened(self) -> 'Progress':
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        console = Console(stderr=True)
        seen = console.is_interactive
        if console.is_jupyter:
            seen = find_spec('ipywidgets') is not None  # with which rich draws there
        if self._wanted:
            console = Console(stderr=True, force_terminal=True)
        bar = Progress(
            TextColumn('{task.description}', markup=False),
            BarColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not (seen or self._wanted),
        )
        bar.add_task(self._words, total=None)
        bar.start()
        return bar

    def __enter__(self) -> Self:
        """Give the bar to a `with` block."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar away."""
        if self._bar is not None:
            self._bar.stop()


def picture(world: World, q: Array) -> bytes:
    """Draw an arm, and return the picture as a PNG file.

    Args:
        world: The arm; neither its state nor its time changes.
        q: (nv,) [rad or m].

    Raises:
        SimulationError: Nothing can be drawn here.
    """
    from matplotlib.image import imsave

    from icir_control.simulation.camera import Camera

    camera = Camera(world, *_SIZE)
    try:
        camera.look_at(q[None])
        pixels = camera.picture(q)
        file = BytesIO()
        imsave(file, np.ascontiguousarray(pixels), format='png')
    finally:
        camera.close()
    return file.getvalue()


def page(words: str, world: World, q: Array) -> str:
    """Return words and picture as HTML; the words alone where nothing can be drawn."""
    line = f'<p><code>{html.escape(words)}</code></p>'
    try:
        return line + image(picture(world, q))
    except SimulationError:
        return line
