"""Both nodes ask the kernel for short slices of the processor, and for nothing else."""

import ctypes
import os
import platform
import struct
from pathlib import Path

import pytest
from wall_time import Stopwatch

_GET_ATTRIBUTES = {'x86_64': 315, 'aarch64': 275}  # number of the system call sched_getattr
_VERSION = tuple(int(''.join(filter(str.isdigit, n))) for n in platform.release().split('.')[:2])
_PATIENCE = 60.0  # s


def _attributes(thread: int) -> tuple[int, int, int] | None:
    """Return policy, nice value and slice [ns] of a thread; None where it has ended."""
    layout = struct.Struct('IIQiIQQQ')
    memory = ctypes.create_string_buffer(layout.size)
    number = _GET_ATTRIBUTES[platform.machine()]
    if ctypes.CDLL(None).syscall(number, thread, memory, layout.size, 0) != 0:
        return None
    _, policy, _, nice, _, time_slice, _, _ = layout.unpack(memory.raw)
    return policy, nice, time_slice


@pytest.mark.slow
@pytest.mark.skipif(
    platform.machine() not in _GET_ATTRIBUTES,
    reason='slices are asked for on x86-64 and ARM64 alone',
)
@pytest.mark.skipif(_VERSION < (6, 12), reason='Linux has slices from version 6.12 on')
def test_every_thread_of_both_nodes_has_a_short_slice(ros_graph):
    usual = _attributes(os.getpid())
    assert usual[2] > 100_000
    bridge = ros_graph.start('bridge', '--ros-args', '-p', 'viewer:=none')
    controller = ros_graph.start('controller')
    bridge.wait_for('time stands still')
    controller.wait_for('ready')
    for node in (bridge, controller):
        watch, found = Stopwatch(), set()
        while found != {(*usual[:2], 100_000)} and not watch.is_over(_PATIENCE):
            tasks = [int(task.name) for task in Path(f'/proc/{node.pid}/task').iterdir()]
            assert len(tasks) > 3
            found = {_attributes(task) for task in tasks} - {None}
        assert found == {(*usual[:2], 100_000)}
