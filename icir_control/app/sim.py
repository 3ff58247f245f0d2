"""`icir_control sim`: bridge and controller as processes, the keyboard here, a page beside it."""

import math
import os
import sys
import time
from collections.abc import Callable
from contextlib import closing, nullcontext
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from icir_control.app.environment import check_suffix, require
from icir_control.app.robot import RobotFiles, ros_arguments
from icir_control.nodes.process.children import (
    ChildEndedError,
    Children,
    OutputHandler,
    RecorderProcess,
    RecorderState,
)
from icir_control.nodes.process.discovery import stay_on_this_machine
from icir_control.nodes.process.stop_request import StopRequest
from icir_control.share import BRIDGE, CONTROLLER

if TYPE_CHECKING:
    from rich.console import Console

ARGUMENTS = ('--ros-args', '-p')
"""What comes before a parameter of the panel on its command line."""

_REFUSED = 2
_RESTART_PERIOD = 1.0  # s between two starts

_POLL_PERIOD = 0.1  # s between two checks of the children, where there is no keyboard


def simulate(
    robot: RobotFiles,
    *,
    viewer: str | None = None,
    panel_host: str = '127.0.0.1',
    real_time_factor: float | None = None,
    free_run: bool = False,
    composed: bool = False,
    verbose: bool = False,
    record: Path | None = None,
) -> None:
    """Run the simulation until the user ends it.

    Args:
        robot: The arm.
        viewer: `none`, `window`, `browser` or `auto`; None leaves it to the parameter file.
        panel_host: Address at which the page for the browser is served.
        real_time_factor: Simulated seconds per second; None leaves it to the parameter file.
        free_run: Whether the simulation runs on although no command answers its state.
        composed: Whether bridge and controller share one process, for batch work.
        verbose: Whether the bridge names each shape that it had to leave out.
        record: File to which a recorder writes. Keys are served once it holds the parameters of
            both nodes; after that its end does not end the simulation.

    Raises:
        ChildEndedError: Bridge or controller ended by itself, or the recorder before that.
        ConfigurationError: A library is missing, or the name of the recording is of another file.
    """
    require('sim', 'rclpy')
    if record is not None:
        require('record', 'mcap_ros2')
        check_suffix(record, '.mcap')
    parameters: dict[str, object] = {}
    viewer = chosen_viewer(viewer, robot)
    in_browser = viewer == 'browser'
    if in_browser:
        parameters['viewer'] = 'none'
    elif viewer is not None:
        parameters['viewer'] = viewer
    if real_time_factor is not None:
        parameters['real_time_factor'] = float(real_time_factor)
    if free_run:
        parameters['lockstep'] = False
    stay_on_this_machine()
    new_console = cache(_new_console)

    def print_line(name: str, line: str) -> None:
        _print_line(new_console(), name, line)

    with (
        StopRequest() as stop,
        RecorderProcess(record, print_line) if record else nullcontext() as recorder,
        Children(print_line) as children,
        closing(PanelProcess(panel_host, print_line)) if in_browser else nullcontext() as panel,
    ):
        # From now on a signal is only noted: an exception raised from it could be lost, and the
        # two processes would stay.
        stop.defer()

        def is_wanted() -> bool:
            if panel is not None:
                panel.update()
            return not stop and children.all_run()

        def wait_for_recorder(state: RecorderState) -> bool:
            """Wait until it has come so far, if there is one; False if the end is asked for."""
            while recorder is not None and not recorder.has_reported(state):
                recorder.check()
                if not is_wanted():
                    return False
                time.sleep(_POLL_PERIOD)
            return True

        bridge_arguments = ros_arguments(BRIDGE, robot, parameters)
        if verbose:
            bridge_arguments += ['--log-level', f'{BRIDGE}:=debug']
        controller_arguments = ros_arguments(CONTROLLER, robot, {})
        if composed:
            if wait_for_recorder(RecorderState.WAITING):
                children.start('composed', 'composed', [*bridge_arguments, *controller_arguments])
        else:
            children.start(BRIDGE, 'bridge', bridge_arguments)
            # Time stands still until the controller answers: no state is missed.
            if wait_for_recorder(RecorderState.RECORDING):
                children.start(CONTROLLER, 'controller', controller_arguments)
        console = new_console()
        console.print(_headline(robot), markup=False, highlight=False)
        # A parameter that a key changed before that would be recorded as if the run had begun so.
        if wait_for_recorder(RecorderState.PARAMETERS):
            _serve(console, robot, is_wanted)
        children.check()


def _serve(console: 'Console', robot: RobotFiles, is_wanted: Callable[[], bool]) -> None:
    """Serve the keys, where there is a terminal, until `is_wanted` returns False."""
    if sys.stdin.isatty():
        # Late, as the console: the nodes start meanwhile.
        from icir_control.app.terminal import serve_keys

        serve_keys(console, robot, is_wanted)
    else:
        console.print('no terminal, so no keys; a signal ends the simulation')
        while is_wanted():
            time.sleep(_POLL_PERIOD)


def _new_console() -> 'Console':
    # Imported only now: the nodes start meanwhile.
    from rich.console import Console

    return Console(stderr=not sys.stdout.isatty())


def _print_line(console: 'Console', name: str, line: str) -> None:
    """Print a line of a node's output after the node's name."""
    from rich.text import Text

    text = Text.assemble((f'{name:<13} ', 'dim'), Text.from_ansi(line))
    console.print(text, highlight=False, soft_wrap=True)


def _headline(robot: RobotFiles) -> str:
    domain = os.environ.get('ROS_DOMAIN_ID', '0')
    return f'{robot.model} with {robot.params_file.name}, ROS domain {domain}'


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
