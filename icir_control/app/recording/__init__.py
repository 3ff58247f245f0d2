"""Recordings of a run: MCAP files with the ROS 2 messages as they were on the topics."""

from pathlib import Path

from icir_control.app.environment import require


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
            written, or a library is missing.
    """
    _require('mcap', 'plotly')
    from icir_control.app.recording import report
    from icir_control.app.recording.reader import Recording

    recordings = [Recording(one) for one in (path, against) if one]
    for write, file in ((report.write_csv, csv), (report.write_npz, npz)):
        if file:
            write(recordings[0], file)
    report.write_report(recordings, output)
    return [file for file in (csv, npz, output) if file]


def film_of(path: Path, output: Path) -> None:
    """Make a film of a recording.

    Args:
        path: The recording.
        output: The film.

    Raises:
        IcirError: The recording cannot be read, nothing can be drawn here, the film cannot be
            written, or a library is missing.
    """
    _require('mcap', 'imageio_ffmpeg')
    from rich.progress import Progress

    from icir_control.app.recording.film import write_film
    from icir_control.app.recording.reader import Recording

    recording = Recording(path)
    with Progress() as progress:
        task = progress.add_task('drawing', total=1.0)
        write_film(recording, output, lambda share: progress.update(task, completed=share))


def simulate_again(path: Path) -> bool:
    """Run a recording's parameters, requests and pushes again; print whether it is the same.

    Args:
        path: The recording.

    Returns:
        Whether the trajectory is the same to the last bit.

    Raises:
        IcirError: The recording cannot be read, or does not hold a run from its start on.
    """
    _require('mcap')
    from icir_control.app.recording.reader import Recording
    from icir_control.app.recording.replay import Rerun

    recording = Recording(path)
    difference = Rerun(recording).run()
    states = len(recording.states)
    print(difference or f'identical to the last bit: {states} states, {recording.end:.3f} s')
    return difference is None


def replay(path: Path, rate: float) -> None:
    """Publish a recording until its end or a signal.

    Args:
        path: The recording.
        rate: Simulated seconds per second; 0 is as fast as possible.

    Raises:
        IcirError: The recording cannot be read, or a simulation runs on this graph.
    """
    _require('mcap')
    import rclpy

    from icir_control.app.recording.reader import Recording
    from icir_control.app.recording.replay import publish
    from icir_control.nodes.process.discovery import stay_on_this_machine
    from icir_control.nodes.process.run import end_ros, init_ros
    from icir_control.nodes.process.stop_request import StopRequest

    recording = Recording(path)
    stay_on_this_machine()
    with StopRequest() as stop:
        init_ros()
        stop.defer()
        try:
            node = rclpy.create_node('replay')
            publish(recording, node, rate, lambda: not stop)
            node.destroy_node()
        finally:
            end_ros()


def _require(*libraries: str) -> None:
    """Check that libraries of the extra `record` are installed, and ROS 2 messages."""
    require('record', *libraries)
    require('sim', 'rclpy')
