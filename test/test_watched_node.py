"""What keyboard and page notice of another node: real processes, real suspension."""

import signal

import pytest
from ros_processes import PATIENCE, Observer

from icir_control.nodes.transport.client import WatchedNode
from icir_control.share import share_directory

ARGUMENTS = ('--ros-args', '--params-file', str(share_directory() / 'config' / 'gen3_6dof.yaml'))


@pytest.mark.long
def test_a_process_that_was_suspended_is_known_again(ros_graph):
    """Once DDS has given it up, which takes 20 s, it comes back without its node's name."""
    observer = Observer(ros_graph.domain)
    bridge = ros_graph.start('bridge', *ARGUMENTS, '-p', 'viewer:=none')

    async def read() -> bool:
        return True

    node = WatchedNode(observer, 'mujoco_bridge', 'joint_states', read)

    def is_there() -> bool:
        node.look(0.1)
        return node.is_there

    try:
        observer.spin_until(is_there, what='the bridge')
        bridge.send(signal.SIGSTOP)
        observer.spin_until(lambda: not is_there(), 4.0 * PATIENCE, what='given up')
        bridge.send(signal.SIGCONT)
        observer.spin_until(is_there, what='the bridge again')
        observer.settle()
    finally:
        observer.close()
