"""The recorder as a child process, and what it tells the process that has started it."""

import os
from enum import Enum
from io import FileIO
from pathlib import Path

from icir_control.nodes.process.children import Children, OutputHandler

PROGRAM = 'icir_control.app.main'

_STOP_TIMEOUT = 10.0  # s that a recorder has to finish its file


class RecorderState(Enum):
    """How far a recorder is, as the byte that it writes to the pipe `--status-fd`."""

    WAITING = b'W'
    """It has subscribed."""

    RECORDING = b'R'
    """The first state has come."""

    PARAMETERS = b'P'
    """Both nodes have told theirs, which are the recorded start: they may change from now on."""


class RecorderProcess(Children):
    """A recorder of one file."""

    def __init__(self, path: Path, handle_line: OutputHandler, namespace: str = '') -> None:
        """Start it.

        Args:
            path: The file.
            handle_line: Called from a thread with its name and each line of its output.
            namespace: Of the nodes.
        """

        def take_line(name: str, line: str) -> None:
            handle_line(name, line)
            # Each state is told right before its line. Read with it, nobody acts on a state
            # before the line is shown.
            self._told += self._pipe.read(len(RecorderState)) or b''

        super().__init__(take_line, speaks_at_end=True, timeout=_STOP_TIMEOUT)
        self._told = b''
        reading, writing = os.pipe()
        os.set_blocking(reading, False)
        self._pipe = FileIO(reading)
        options = ('--namespace', namespace, '--status-fd', str(writing))
        try:
            self.start('recorder', 'record', [*options, '--', str(path)], PROGRAM, (writing,))
        finally:
            os.close(writing)

    def has_told(self, state: RecorderState) -> bool:
        """Return whether it has come so far."""
        return state.value in self._told

    def stop(self) -> None:
        """End it, with a whole file if that takes no longer than some seconds."""
        super().stop()
        self._pipe.close()
