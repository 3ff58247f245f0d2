"""`icir_control demo`: every mode once, over real topics, unattended, and measured."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from icir_control.app.acceptance import Amount, checks
from icir_control.app.figure import Figure
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
from icir_control.nodes.process.stop_request import StopRequest

_STARTING = 'starting (compiles the first time)'


def run_demo(output: Path, report: Path | None, amount: Amount | None) -> bool:
    """Run every mode once and measure; then measure what the control laws promise.

    Args:
        output: Folder for the plots.
        report: File for the figures as JSON; None for no such file.
        amount: How much of the promises is measured; None leaves them out.

    Returns:
        Whether every figure is within its bounds.

    Raises:
        IcirError: The run did not come to its end, or a file cannot be written.
        KeyboardInterrupt: A signal asked for the end.
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
        modes = {part.phase.mode: figures_of(part) for part in parts}
        run = run_figures(recording, replay)
        files = write_plots(output, parts)
    console.print(table_of({**modes, 'run': run}, 'mode'))
    console.print(
        f'\n{recording.steps} steps of {recording.period * 1e3:g} ms, two processes over ROS 2'
        f' topics, {recording.real_time_factor:.1f} times real time\n',
        highlight=False,
    )
    promises = {} if amount is None else _measure_promises(console, amount)
    if promises:
        console.print(table_of(promises, 'promise'))
        console.print('\nin one process, with the same laws on the same arm\n')
    if report is not None:
        write_report(report, modes, run, promises, recording)
        files.append(report)
    console.print('written:')
    for path in files:
        console.print(f'  {path}', markup=False, highlight=False, soft_wrap=True)
    passed = has_passed({**modes, 'run': run}) and has_passed(promises)
    console.print('[green]passed[/]' if passed else '[bold red]a figure is out of its bounds[/]')
    return passed


def _measure_promises(console: Console, amount: Amount) -> dict[str, list[Figure]]:
    """Return the figures of every promise, by its name.

    Raises:
        KeyboardInterrupt: A signal asked for the end.
    """
    figures = {}
    columns = (TextColumn('{task.description:<18}'), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress, StopRequest() as stop:
        everything = checks(amount)
        task = progress.add_task('', total=len(everything))
        for check in everything:
            progress.update(task, description=check.name)
            try:
                figures[check.name] = list(check.figures())
            except (ImportError, RuntimeError) as error:
                # What an extension module or a compiler makes of the interruption.
                if stop.has_interrupted:
                    raise KeyboardInterrupt from error
                raise
            progress.advance(task)
    return figures


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
