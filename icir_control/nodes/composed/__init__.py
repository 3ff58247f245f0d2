"""The nodes `mujoco_bridge` and `controller` as one process."""

from collections.abc import Callable, Sequence

from icir_control.nodes.process.run import NodeProcess, run_node


def main(arguments: Sequence[str] | None = None) -> int:
    """Run both nodes as one process; see `run_node`.

    Parameters are best given with the name of their node (`-p mujoco_bridge:viewer:=none`): one
    without goes to both, and a node refuses an unknown one.

    Args:
        arguments: Command line arguments with the program's name, those of the process by default.
    """
    return run_node('composed', arguments, _load)


def _load() -> Callable[[], NodeProcess]:
    from icir_control.nodes.composed.nodes import ComposedNodes

    return ComposedNodes
