"""Recording from the page: a process of its own writes the file, in the panel's folder."""

import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path

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
        self._process = subprocess.Popen(
            [*command, *namespace],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,  # some lines, which it holds until they are read
            stderr=subprocess.STDOUT,
            preexec_fn=end_with_parent,
        )

    def update(self) -> None:
        """Look what the recorder does."""
        if self._process is None:
            return
        if self._process.poll() is None:
            size = self._path.stat().st_size * 1e-6 if self._path.exists() else 0.0
            self.sentence = f'recording {self._path}, {size:.1f} MB'
            return
        lines = self._process.communicate()[0].decode(errors='replace').splitlines()
        self._process = None
        self.sentence = '; '.join(line for line in lines if not line.startswith(_BEGIN))

    def close(self) -> None:
        """End what runs, with a whole file."""
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(_LONGEST)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
