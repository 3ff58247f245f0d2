"""`icir_control sim`: bridge and controller as two processes, the keyboard in this terminal."""

import os
import sys
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from icir_control.app.children import Children
from icir_control.app.robot import Robot
from icir_control.app.session import (
    BRIDGE,
    CONTROLLER,
    check_children,
    print_line,
    ros_arguments,
)
from icir_control.nodes.process.discovery import stay_on_this_machine
from icir_control.nodes.process.stop_request import StopRequest

if TYPE_CHECKING:
    from rich.console import Console

_LOOK_PERIOD = 0.1  # s between two looks at the children, where there is no keyboard


def simulate(
    robot: Robot,
    *,
    viewer: str | None = None,
    real_time_factor: float | None = None,
    free_run: bool = False,
    composed: bool = False,
) -> None:
    """Run the simulation until the user ends it.

    Args:
        robot: The arm.
        viewer: `none`, `window` or `auto`; None leaves it to the parameter file.
        real_time_factor: Simulated seconds per second; None leaves it to the parameter file.
        free_run: Whether the simulation runs on although no command answers its state.
        composed: Whether bridge and controller share one process, for batch work.

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
        Children(lambda *line: print_line(new_console(), *line)) as children,
    ):
        # Only noted: an exception raised from a signal can be lost, with two processes left over.
        stop.defer()

        def is_wanted() -> bool:
            return not stop and children.all_run()

        of_bridge = ros_arguments(BRIDGE, robot, parameters)
        of_controller = ros_arguments(CONTROLLER, robot, {})
        if composed:
            children.start('composed', 'composed', [*of_bridge, *of_controller])
        else:
            children.start(BRIDGE, 'bridge', of_bridge)
            children.start(CONTROLLER, 'controller', of_controller)
        console = new_console()
        console.print(_headline(robot), markup=False, highlight=False)
        if sys.stdin.isatty():
            _serve_keys(console, is_wanted)
        else:
            console.print('no terminal, so no keys; a signal ends the simulation')
            while is_wanted():
                time.sleep(_LOOK_PERIOD)
        check_children(children)


def _new_console() -> 'Console':
    # So late, because both nodes can start meanwhile.
    from rich.console import Console

    return Console(stderr=not sys.stdout.isatty())


def _serve_keys(console: 'Console', is_wanted: Callable[[], bool]) -> None:
    """Serve the keys until one says quit, a signal comes or nobody wants them any more."""
    import rclpy

    from icir_control.nodes.keyboard import Keyboard
    from icir_control.nodes.process.run import init_ros

    init_ros()
    node = rclpy.create_node('keyboard')
    try:
        # The log of the controller stands in the same terminal.
        Keyboard(node, sys.stdin, console, shows_refusals=False).run(is_wanted)
    finally:
        node.destroy_node()
        rclpy.shutdown()


def _headline(robot: Robot) -> str:
    domain = os.environ.get('ROS_DOMAIN_ID', '0')
    return f'{robot.model} with {robot.params_file.name}, ROS domain {domain}'
