"""The node `controller`: states in, torques out."""

from collections.abc import Callable, Sequence

from icir_control.nodes.process.run import NodeProcess, run_node


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the node as a process; see `run_node`.

    Args:
        arguments: Command line arguments with the program's name, those of the process by default.
    """
    return run_node('controller', arguments, _load)


def _load() -> Callable[[], NodeProcess]:
    from icir_control.nodes.controller.node import ControllerNode

    return ControllerNode
