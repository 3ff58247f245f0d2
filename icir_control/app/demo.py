"""`icir_control demo`: every mode once, over real topics, unattended, and measured."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from icir_control.app.figures import figures_of, run_figures
from icir_control.app.parts import parts_of
from icir_control.app.plan import PHASES, schedule_of
from icir_control.app.plots import write_plots
from icir_control.app.replay import Replay
from icir_control.app.report import has_passed, table_of, write_report
from icir_control.app.robot import Robot
from icir_control.app.run import record_run
from icir_control.app.session import CONTROLLER
from icir_control.control import Controller, ControllerConfig
from icir_control.dynamics import load_urdf
from icir_control.errors import ConfigurationError
from icir_control.nodes.model_file import find_model_file

_STARTING = 'starting (compiles the first time)'


def run_demo(output: Path, report: Path | None) -> bool:
    """Run every mode once and measure.

    Args:
        output: Folder for the plots.
        report: File for the figures as JSON; None for no such file.

    Returns:
        Whether every figure is within its bounds.

    Raises:
        IcirError: The run did not come to its end, or a file cannot be written.
    """
    console = Console()
    _make_folder(output)
    robot = Robot.of()
    model = load_urdf(find_model_file(robot.model))
    parameters = robot.parameters(CONTROLLER)
    parameters.pop('model', None)
    parameters['schedule'] = schedule_of(PHASES)
    config = ControllerConfig.from_parameters(parameters, model)
    with _progress(console) as tell:
        recording = record_run(
            robot, PHASES, model.joint_names, parameters['end_effector_frame'], tell
        )
    with console.status('measuring and drawing'):
        replay = Replay.of(recording, Controller(model, config))
        parts = parts_of(PHASES, config, recording, replay)
        figures = {part.phase.mode: figures_of(part) for part in parts}
        figures['run'] = run_figures(recording, replay)
        files = write_plots(output, parts)
        if report is not None:
            write_report(report, figures, recording)
            files.append(report)

    console.print(table_of(figures))
    console.print(
        f'\n{recording.steps} steps of {recording.period * 1e3:g} ms, two processes over ROS 2'
        f' topics, {recording.real_time_factor:.1f} times real time; written:',
        highlight=False,
    )
    for path in files:
        console.print(f'  {path}', markup=False, highlight=False, soft_wrap=True)
    passed = has_passed(figures)
    console.print('[green]passed[/]' if passed else '[bold red]a figure is out of its bounds[/]')
    return passed


def _make_folder(folder: Path) -> None:
    """Make the folder of the plots now: after the run it would be a pity."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f'{folder} cannot be written to: {error}') from error


@contextmanager
def _progress(console: Console) -> Iterator[Callable[[float], None]]:
    """Show how far the run is; the context's function takes the simulation time [s]."""
    columns = (
        TextColumn('{task.description:<10}'),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn('{task.completed:4.1f} s simulated'),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(_STARTING, total=PHASES[-1].end)

        def tell(time: float) -> None:
            running = [phase.mode for phase in PHASES if phase.start <= time]
            words = running[-1] if time > 0.0 else _STARTING
            progress.update(task, completed=min(time, PHASES[-1].end), description=words)

        yield tell
