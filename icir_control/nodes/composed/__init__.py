"""Both nodes, `mujoco_bridge` and `controller`, as one process."""

from collections.abc import Sequence
from contextlib import closing

from icir_control.nodes.process import importing, run_node
from icir_control.nodes.stop_request import StopRequest


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both nodes as one process.

    Parameters are best given with the name of their node (`-p mujoco_bridge:viewer:=none`): one
    without goes to both, and a node refuses what it does not know.

    Args:
        arguments: Command line arguments with the program's name, those of the process by default.

    Returns:
        The exit status: 0 after a request to stop, 2 after an error in what was given.
    """
    return run_node('composed', arguments, _run)


def _run(stop: StopRequest) -> None:
    # Late, because it takes a while, in which a request to stop must be heard.
    with importing():
        from icir_control.nodes.composed.nodes import ComposedNodes

    with closing(ComposedNodes()) as nodes:
        nodes.run(stop)
