"""The controller as a process."""

from collections.abc import Sequence
from contextlib import closing

from icir_control.nodes.process import importing, run_node
from icir_control.nodes.stop_request import StopRequest


def main(args: Sequence[str] | None = None) -> int:
    """Run the controller until it is asked to stop.

    Args:
        args: Command line arguments with the program's name, those of the process by default.

    Returns:
        The exit status: 0 after a request to stop, 2 after an error in what was given.
    """
    return run_node('controller', args, _run)


def _run(stop: StopRequest) -> None:
    # Imported here, because it takes a second in which a request to stop is to be heard.
    with importing():
        from icir_control.nodes.controller.node import ControllerNode

    with closing(ControllerNode()) as node:
        node.run(stop)
