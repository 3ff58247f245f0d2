"""Recording from the page: a process of its own writes the file, in the panel's folder."""

import os
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import IO

from rclpy.node import Node

from icir_control.nodes.process.stop_request import end_with_parent

_MODULE = 'icir_control.app.recording'
_BEGIN = ('waiting for', 'recording to')  # what a recorder says before it ends
_LONGEST = 10.0  # s until a recorder that was asked to end has ended


class Recording:
    """One recording at a time, for as long as the panel runs.

    Attributes:
        sentence: What is recorded, or what became of it.
    """

    def __init__(self, node: Node) -> None:
        """Record nothing yet.

        Args:
            node: Whose namespace is recorded.
        """
        self.sentence = ''
        self._namespace = node.get_namespace()
        self._path = Path()
        self._process: subprocess.Popen[bytes] | None = None
        self._said = b''

    @property
    def is_running(self) -> bool:
        """Whether the recorder runs."""
        return self._process is not None

    def toggle(self) -> None:
        """Start, or ask the recorder to end."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            return
        self._path = Path(f'{datetime.now():%Y-%m-%d_%H-%M-%S}.mcap').absolute()
        command = [sys.executable, '-P', '-m', _MODULE, str(self._path)]
        namespace = ['--ros-args', '-r', f'__ns:={self._namespace}']
        self._said = b''
        self._process = process = subprocess.Popen(
            [*command, *namespace],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            preexec_fn=end_with_parent,
        )
        os.set_blocking(_output_of(process).fileno(), False)

    def update(self) -> None:
        """Look what the recorder does."""
        if self._process is None:
            return
        has_ended = self._process.poll() is not None
        self._said += _output_of(self._process).read() or b''
        lines = self._said.decode(errors='replace').splitlines()
        if has_ended:
            self._process = None
            self.sentence = '; '.join(line for line in lines if not line.startswith(_BEGIN))
        elif any(line.startswith(_BEGIN[-1]) for line in lines):
            size = self._path.stat().st_size * 1e-6 if self._path.exists() else 0.0
            self.sentence = f'recording {self._path}, {size:.1f} MB'
        else:
            self.sentence = 'the recorder starts'

    def close(self) -> None:
        """End what runs, with a whole file."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(_LONGEST)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()


def _output_of(process: subprocess.Popen[bytes]) -> IO[bytes]:
    assert process.stdout is not None
    return process.stdout
