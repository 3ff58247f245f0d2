"""Recordings of a run: MCAP files with the ROS 2 messages as they were on the topics."""

import sys
from datetime import datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from icir_control.errors import ConfigurationError

PACKAGE: Final = __name__
WAITING: Final = 'waiting for'
"""How the recorder says that it has subscribed."""
RECORDING: Final = 'recording to'
"""How it says that the first state has come."""


def record_here(path: Path | None) -> bool:
    """Record in this process until a signal asks for the end.

    Args:
        path: The file; None has it named by date and time.

    Returns:
        Whether all was written.

    Raises:
        ConfigurationError: The file exists, or cannot be created; or a library is missing.
    """
    require('mcap_ros2')
    from icir_control.app.recording.recorder import record
    from icir_control.nodes.process.discovery import stay_on_this_machine

    stay_on_this_machine()
    path = path or Path(f'{datetime.now():%Y-%m-%d_%H-%M-%S}.mcap')
    return record(path, lambda line: print(line, file=sys.stderr, flush=True))


def require(library: str) -> None:
    """Check that a library of the extra `record` is installed.

    Raises:
        ConfigurationError: It is not; the message says how to install it.
    """
    if find_spec(library) is None:
        raise ConfigurationError(
            f"{library} is not installed; pip install 'icir_control[record]' brings it"
        )
