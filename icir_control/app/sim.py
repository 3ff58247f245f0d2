"""`icir_control sim`: bridge and controller as two processes, the keyboard in this terminal."""

import os
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from icir_control.app.processes import BRIDGE, CONTROLLER, Children, ros_arguments
from icir_control.app.robot import Robot
from icir_control.nodes.process.discovery import stay_on_this_machine
from icir_control.nodes.process.stop_request import StopRequest

if TYPE_CHECKING:
    from rich.console import Console

_POLL_PERIOD = 0.1  # s between two checks of the children, where there is no keyboard


def simulate(
    robot: Robot,
    *,
    viewer: str | None = None,
    real_time_factor: float | None = None,
    free_run: bool = False,
    composed: bool = False,
    verbose: bool = False,
) -> None:
    """Run the simulation until the user ends it.

    Args:
        robot: The arm.
        viewer: `none`, `window` or `auto`; None leaves it to the parameter file.
        real_time_factor: Simulated seconds per second; None leaves it to the parameter file.
        free_run: Whether the simulation runs on although no command answers its state.
        composed: Whether bridge and controller share one process, for batch work.
        verbose: Whether the bridge names each shape that it had to leave out.

    Raises:
        ChildEndedError: Bridge or controller ended by itself.
    """
    parameters: dict[str, object] = {}
    if viewer is not None:
        parameters['viewer'] = viewer
    if real_time_factor is not None:
        parameters['real_time_factor'] = float(real_time_factor)
    if free_run:
        parameters['lockstep'] = False
    stay_on_this_machine()
    new_console = cache(_new_console)
    with (
        StopRequest() as stop,
        Children(lambda *line: _print_line(new_console(), *line)) as children,
    ):
        # From now on a signal is only noted: an exception raised from it could be lost, and the
        # two processes would stay.
        stop.defer()

        def is_wanted() -> bool:
            return not stop and children.all_run()

        bridge_arguments = ros_arguments(BRIDGE, robot, parameters)
        if verbose:
            bridge_arguments += ['--log-level', f'{BRIDGE}:=debug']
        controller_arguments = ros_arguments(CONTROLLER, robot, {})
        if composed:
            children.start('composed', 'composed', [*bridge_arguments, *controller_arguments])
        else:
            children.start(BRIDGE, 'bridge', bridge_arguments)
            children.start(CONTROLLER, 'controller', controller_arguments)
        console = new_console()
        console.print(_headline(robot), markup=False, highlight=False)
        if sys.stdin.isatty():
            _serve_keys(console, is_wanted)
        else:
            console.print('no terminal, so no keys; a signal ends the simulation')
            while is_wanted():
                time.sleep(_POLL_PERIOD)
        children.check()


def _new_console() -> 'Console':
    # Imported only now: the nodes start meanwhile.
    from rich.console import Console

    return Console(stderr=not sys.stdout.isatty())


def _print_line(console: 'Console', name: str, line: str) -> None:
    """Print a line of a node's output after the node's name."""
    from rich.text import Text

    text = Text.assemble((f'{name:<13} ', 'dim'), Text.from_ansi(line))
    console.print(text, highlight=False, soft_wrap=True)


def _serve_keys(console: 'Console', is_wanted: Callable[[], bool]) -> None:
    """Serve the keys until the quit key is pressed or `is_wanted` returns False."""
    import rclpy

    from icir_control.nodes.keyboard.keyboard import Keyboard
    from icir_control.nodes.process.run import init_ros

    init_ros()
    node = rclpy.create_node('keyboard')
    try:
        # The controller logs its refusals to the same terminal.
        Keyboard(node, sys.stdin, console, shows_refusals=False).run(is_wanted)
    finally:
        node.destroy_node()
        rclpy.shutdown()


def _headline(robot: Robot) -> str:
    domain = os.environ.get('ROS_DOMAIN_ID', '0')
    return f'{robot.model} with {robot.params_file.name}, ROS domain {domain}'
