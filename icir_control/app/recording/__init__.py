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


def report_on(
    path: Path, against: Path | None, output: Path, *, csv: Path | None, npz: Path | None
) -> None:
    """Write a report, and what else is wanted of a recording.

    Args:
        path: The recording.
        against: Another recording, shown beside it.
        output: The HTML file.
        csv: File for the states as text.
        npz: File for the states as arrays.

    Raises:
        IcirError: A recording cannot be read, the two are of different arms, a file cannot be
            written, or a library is missing.
    """
    require('mcap', 'plotly')
    from icir_control.app.recording import report
    from icir_control.app.recording.reader import Recording

    recordings = [Recording(one) for one in (path, against) if one]
    for write, file in ((report.write_csv, csv), (report.write_npz, npz)):
        if file:
            write(recordings[0], file)
            print(file)
    report.write_report(recordings, output)
    print(output)


def film_of(path: Path, output: Path) -> None:
    """Make a film of a recording.

    Args:
        path: The recording.
        output: The film.

    Raises:
        IcirError: The recording cannot be read, nothing can be drawn here, the film cannot be
            written, or a library is missing.
    """
    require('mcap', 'imageio_ffmpeg')
    from rich.progress import Progress

    from icir_control.app.recording.film import write_film
    from icir_control.app.recording.reader import Recording

    recording = Recording(path)
    with Progress() as progress:
        task = progress.add_task('drawing', total=1.0)
        write_film(recording, output, lambda share: progress.update(task, completed=share))
    print(output)


def require(*libraries: str) -> None:
    """Check that libraries of the extra `record` are installed.

    Raises:
        ConfigurationError: One is not; the message says how to install it.
    """
    for library in libraries:
        if find_spec(library) is None:
            raise ConfigurationError(
                f"{library} is not installed; pip install 'icir_control[record]' brings it"
            )
