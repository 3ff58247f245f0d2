"""How soon the kernel lets a node run that has waited, beside programs at full load.

Linux gives each program a slice of the processor, 2.8 ms long on two processors, and from version
6.12 on one with a shorter slice may interrupt it. Without that, what has the lowest priority still
delays an answer for longer than a tick of 1 ms. No privilege is needed, unlike for a real-time
policy, under which a node that polls would stop all else.
"""

import ctypes
import os
import platform
import struct
from contextlib import suppress
from pathlib import Path

_SLICE = 100_000  # ns, the shortest that the kernel takes
_SET_ATTRIBUTES = {'x86_64': 314, 'aarch64': 274}  # number of the system call sched_setattr
_ATTRIBUTES = struct.Struct('IIQiIQQQ')  # struct sched_attr of sched_setattr(2)
_KEEP_POLICY = 0x08


def shorten_slices() -> None:
    """Ask for short slices for all threads that this process has; elsewhere nothing changes.

    Threads that they start later inherit it. Policy and priority stay as they are.
    """
    call = _SET_ATTRIBUTES.get(platform.machine())
    if platform.system() != 'Linux' or call is None:
        return
    kernel = ctypes.CDLL(None)
    for task in Path('/proc/self/task').iterdir():
        thread = int(task.name)
        with suppress(OSError):  # it has ended
            nice = os.getpriority(os.PRIO_PROCESS, thread)
            size = _ATTRIBUTES.size
            attributes = _ATTRIBUTES.pack(size, 0, _KEEP_POLICY, nice, 0, _SLICE, 0, 0)
            kernel.syscall(call, thread, attributes, 0)  # an older kernel ignores or refuses it
