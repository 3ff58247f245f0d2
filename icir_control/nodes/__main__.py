"""A node as a process: `python -P -m icir_control.nodes controller --ros-args ...`."""

import gc
import sys
from collections.abc import Sequence
from functools import partial

from icir_control.nodes.process import use_one_blas_thread
from icir_control.nodes.process.stop_request import StopRequest
from icir_control.share import BRIDGE, CONTROLLER

NODES = {
    'bridge': (BRIDGE, 'icir_control.nodes.bridge.node:MujocoBridge'),
    'controller': (CONTROLLER, 'icir_control.nodes.controller.node:ControllerNode'),
    'composed': ('composed', 'icir_control.nodes.composed:ComposedNodes'),
    'keyboard': ('keyboard', 'icir_control.nodes.keyboard.keyboard:KeyboardNode'),
    'panel': ('panel', 'icir_control.nodes.panel.node:PanelNode'),
}
"""What each calls itself in an error message, and its class."""


def run(node: str, arguments: Sequence[str] | None = None) -> int:
    """Run a node until it is asked to stop; return the exit status, see `run_node`.

    Both nodes as one process (`composed`) take parameters best with the name of their node
    (`-p mujoco_bridge:viewer:=none`): one without goes to both, and a node refuses an unknown one.

    Args:
        node: Which of `NODES`.
        arguments: Command line arguments with the program's name, those of the process by default.
    """
    given = sys.argv if arguments is None else arguments
    if {'-h', '--help'} & {*given[1:]}:
        print(f'usage: {NODES[node][0]} [--ros-args --params-file FILE -p NAME:=VALUE ...]')
        return 0
    # Imports leave next to no garbage: without collections they take a tenth less.
    gc.disable()
    use_one_blas_thread()
    with StopRequest() as stop:  # `run_node` takes over from it
        try:
            from icir_control.nodes.process.run import run_node
        except (KeyboardInterrupt, ImportError, RuntimeError):
            if not stop.has_interrupted:
                raise
            return 0  # an extension module turns the interruption into something else
    return run_node(*NODES[node], given)


bridge, controller, composed, keyboard, panel = (partial(run, node) for node in NODES)

if __name__ == '__main__':
    sys.exit(run(sys.argv.pop(1)))
