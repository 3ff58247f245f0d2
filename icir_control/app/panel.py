"""The page in the browser beside `icir_control sim`: when it is shown, and that it stays."""

import math
import os
import time
from importlib.util import find_spec

from icir_control.app.environment import require
from icir_control.app.processes import ChildEndedError, Children, OutputHandler
from icir_control.app.robot import RobotFiles

ARGUMENTS = ('--ros-args', '-p')
"""What comes before a parameter of the panel on its command line."""

_REFUSED = 2
_RESTART_PERIOD = 1.0  # s between two starts


def chosen_viewer(viewer: str | None, robot: RobotFiles) -> str | None:
    """Return which viewer is meant.

    Args:
        viewer: What the user asks for; None leaves it to the parameter file.
        robot: The arm, with its parameter file.

    Returns:
        `browser`, also for `auto` where there is no display; else what was given.

    Raises:
        ConfigurationError: The browser is asked for, and its library is missing.
    """
    if viewer == 'browser':
        require('panel', 'viser')
    has_display = os.environ.get('DISPLAY') or os.environ.get('WAYLAND_DISPLAY')
    given = viewer or robot.parameters('mujoco_bridge').get('viewer', 'auto')
    if given == 'auto' and not has_display and find_spec('viser') is not None:
        return 'browser'
    return viewer


class PanelProcess:
    """The panel as a child process, started again when it ends by itself."""

    def __init__(self, host: str, handle_line: OutputHandler) -> None:
        """Start it.

        Args:
            host: Address at which the page is served.
            handle_line: Takes the lines of its output.
        """
        self._host, self._handle_line = host, handle_line
        self._due = math.inf
        self._children = Children(handle_line)
        self._start()

    def update(self) -> None:
        """Start it again if it has ended, unless it cannot run at all."""
        if time.monotonic() < self._due:
            return
        try:
            self._children.check()
        except ChildEndedError as error:
            self._due = math.inf
            if error.status != _REFUSED:
                self._start()

    def _start(self) -> None:
        self._due = time.monotonic() + _RESTART_PERIOD
        self._children = Children(self._handle_line)
        self._children.start('panel', 'panel', [*ARGUMENTS, f'host:={self._host}'])

    def close(self) -> None:
        """End it."""
        self._children.stop()
