"""Recordings of a run: MCAP files with the ROS 2 messages as they were on the topics."""

from pathlib import Path

from icir_control.app.environment import check_outputs, check_suffix, require


def report_on(
    path: Path,
    output: Path,
    *,
    against: Path | None = None,
    csv: Path | None = None,
    npz: Path | None = None,
) -> list[Path]:
    """Write a report, and what else is wanted of a recording.

    Args:
        path: The recording.
        output: The HTML file.
        against: Another recording, shown beside it.
        csv: File for the states as text.
        npz: File for the states as arrays.

    Returns:
        The files that were written.

    Raises:
        IcirError: A recording cannot be read, the two are of different arms, a file cannot be
            written, is one of the recordings or is named twice, or a library is missing.
    """
    _require('mcap', 'plotly')
    from icir_control.app.recording import report
    from icir_control.app.recording.reader import Recording

    inputs, outputs = ([*filter(None, paths)] for paths in ((path, against), (csv, npz, output)))
    check_outputs(outputs, inputs)
    check_suffix(output, '.html', '.htm')
    recordings = [Recording(one) for one in inputs]
    for write, file in ((report.write_csv, csv), (report.write_npz, npz)):
        if file:
            write(recordings[0], file)
    report.write_report(recordings, output)
    return outputs


def film_of(path: Path, output: Path) -> None:
    """Make a film of a recording.

    Args:
        path: The recording.
        output: The film.

    Raises:
        IcirError: The recording cannot be read, nothing can be drawn here, the film cannot be
            written or is the recording, or a library is missing.
    """
    _require('mcap', 'imageio_ffmpeg')
    from rich.progress import Progress

    from icir_control.app.recording.film import write_film
    from icir_control.app.recording.reader import Recording

    check_outputs([output], [path])
    recording = Recording(path)
    with Progress() as progress:
        task = progress.add_task('drawing', total=1.0)
        write_film(recording, output, lambda share: progress.update(task, completed=share))


def _require(*libraries: str) -> None:
    """Check that libraries of the extra `record` are installed, and ROS 2 messages."""
    require('record', *libraries)
    require('sim', 'rclpy')
