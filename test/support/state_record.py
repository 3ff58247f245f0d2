"""Every state of a bridge, kept in its own process: a watcher on a busy machine would lose some.

As a program: `state_record.py FILE NODE ARGUMENTS...` runs a node that keeps its states.
"""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from icir_control.nodes.__main__ import run

NANOSECONDS = 1_000_000_000
PERIOD = 1_000_000  # ns, of control as it is shipped


class States(NamedTuple):
    """States in the order of time, each once."""

    stamp: np.ndarray
    """(n,) of simulation time [ns]"""
    position: np.ndarray
    """(n, nv) [rad]"""
    velocity: np.ndarray
    """(n, nv) [rad/s]"""
    effort: np.ndarray
    """(n, nv) [N m]"""

    def until(self, end: float) -> 'States':
        """The states up to a simulation time [s]."""
        return States(*(field[self.stamp <= round(end * NANOSECONDS)] for field in self))

    def since(self, begin: float) -> 'States':
        """The states from a simulation time on [s]."""
        return States(*(field[self.stamp >= round(begin * NANOSECONDS)] for field in self))


def keep_states(file: Path) -> None:
    """Have this process write each state that its world gives out to the end of a file."""
    from icir_control.simulation import World

    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    read: Callable[..., None] = World.read

    def read_and_keep(self, *arrays) -> None:
        read(self, *arrays)
        time = np.array([self.time_ns]).tobytes()
        os.write(descriptor, b''.join([time, *(array.tobytes() for array in arrays)]))

    World.read = read_and_keep


def kept_states(file: Path, joints: int) -> States:
    """Read what has been kept so far, of an arm with so many joints."""
    size = 8 * (1 + 3 * joints)
    content = file.read_bytes() if file.exists() else b''
    rows = np.frombuffer(content[: len(content) // size * size]).reshape(-1, 1 + 3 * joints)
    stamps = rows[:, 0].copy().view(np.int64)
    # A state that was given out twice is the same, but after a reset: the last one counts.
    _, last = np.unique(stamps[::-1], return_index=True)
    rows = rows[::-1][last]
    return States(np.unique(stamps), *np.split(rows[:, 1:], 3, axis=1))


def expect_same(one: States, other: States, until: float) -> States:
    """Check that two runs went the same way to the last bit, each state of them; the states."""
    one, other = one.until(until), other.until(until)
    for states in (one, other):
        # None is missing.
        np.testing.assert_array_equal(states.stamp, np.arange(0, until * NANOSECONDS + 1, PERIOD))
    for ours, theirs in zip(one, other, strict=True):
        assert np.array_equal(ours, theirs)
    return one


if __name__ == '__main__':
    kept, node, *arguments = sys.argv[1:]
    sys.argv = ['-c', *arguments]
    keep_states(Path(kept))
    sys.exit(run(node))
