"""The node `mujoco_bridge`: MuJoCo as the plant, in lockstep or free-running.

`loop` owns simulation time; what it is made of (gate, pacer, pushes, housekeeping) knows nothing
of ROS.
"""

from collections.abc import Sequence
from contextlib import closing

from icir_control.nodes.process import importing, run_node
from icir_control.nodes.stop_request import StopRequest


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node as a process.

    Args:
        arguments: Command line arguments with the program's name, those of the process by default.

    Returns:
        The exit status: 0 after a request to stop, 2 after an error in what was given.
    """
    return run_node('mujoco_bridge', arguments, _run)


def _run(stop: StopRequest) -> None:
    # Late, because it takes a while, in which a request to stop must be heard.
    with importing():
        from icir_control.nodes.bridge.node import MujocoBridge

    with closing(MujocoBridge()) as node:
        node.run(stop)
