"""`icir_control demo`: every mode once, over real topics, unattended, and measured."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from icir_control.app.closed_loop import ClosedLoop
from icir_control.app.demo.metrics import phase_metrics, replay, run_metrics, split
from icir_control.app.demo.plan import CONTROLLER_CHANGES, PHASES, Plan
from icir_control.app.demo.plots import write_plots
from icir_control.app.demo.rehearsal import rehearsed
from icir_control.app.demo.report import table_of, write_report
from icir_control.app.demo.run import record_run
from icir_control.app.environment import writing
from icir_control.app.measurement import Metric, have_passed
from icir_control.app.promises import Amount, measured, promises
from icir_control.app.recording import film_of, report_on
from icir_control.app.robot import RobotFiles
from icir_control.control import Controller
from icir_control.errors import IcirError
from icir_control.nodes.process.stop_request import StopRequest

_STARTING = 'starting (compiles the first time)'


def run_demo(robot: RobotFiles, output: Path, report: Path | None, amount: Amount | None) -> bool:
    """Run every mode once and measure; then measure what the control laws promise.

    Args:
        robot: The arm.
        output: Folder for the recording, its film and report, and the plots.
        report: File for the metrics as JSON; None for no such file.
        amount: How much of the promises, which are of the default robot, is measured; None leaves
            them out.

    Returns:
        Whether every metric is within its bounds.

    Raises:
        IcirError: The run did not come to its end, or a file cannot be written.
        KeyboardInterrupt: A signal asked for the end.
    """
    console = Console()
    with writing(output):  # now, so that it does not fail after the run
        output.mkdir(parents=True, exist_ok=True)
    recording = output / 'run.mcap'
    with console.status('trying each mode (compiles the first time)'), _interruptible():
        if robot == RobotFiles.of():
            plan = Plan(PHASES, CONTROLLER_CHANGES)
        else:
            plan = rehearsed(ClosedLoop(robot))
        loop = ClosedLoop(robot, changes=plan.parameters)
    with _progress(console, plan) as show_time:
        run = record_run(robot, plan, loop.tool, recording, show_time)
    with console.status('measuring and drawing'):
        config = loop.controller.config
        series = replay(run.states, Controller(loop.model, config))
        parts = split(series, plan.phases, config)
        modes = {mode: phase_metrics(part) for mode, part in parts.items()}
        whole = run_metrics(run, series, parts, config, loop.world)
        with writing(output):
            files = write_plots(output, [*parts.values()], modes)
    console.print(table_of({**modes, 'run': whole}, 'mode', plan.notes))
    console.print(
        f'\n{run.steps} steps of {run.period * 1e3:g} ms, two processes over ROS 2'
        f' topics, {run.real_time_factor:.1f} times real time\n',
        highlight=False,
    )
    promised = {} if amount is None else _measure_promises(console, amount)
    if promised:
        console.print(table_of(promised, 'acceptance test'))
        console.print('\nin one process, with the same laws on the same arm\n')
    if report is not None:
        write_report(report, modes, whole, promised, run, plan.notes)
        files.append(report)
    files += [recording, *_show(console, recording)]
    console.print('written:')
    for path in files:
        console.print(f'  {path}', markup=False, highlight=False, soft_wrap=True)
    passed = have_passed({**modes, 'run': whole}) and have_passed(promised)
    console.print('[green]passed[/]' if passed else '[bold red]a metric is out of its bounds[/]')
    return passed


def _show(console: Console, recording: Path) -> list[Path]:
    """Make film and report of a recording, or say why there can be none; return what was made.

    Raises:
        KeyboardInterrupt: A signal asked for the end.
    """
    film, report = recording.with_suffix('.mp4'), recording.with_suffix('.html')
    files = []
    with StopRequest():
        for name, make, file in (('film', film_of, film), ('report', report_on, report)):
            try:
                make(recording, file)
                files.append(file)
            except IcirError as error:
                console.print(f'no {name}: {error}', markup=False, highlight=False)
    return files


def _measure_promises(console: Console, amount: Amount) -> dict[str, list[Metric]]:
    """Return the metrics of every promise, by its name.

    Raises:
        KeyboardInterrupt: A signal asked for the end.
    """
    metrics = {}
    columns = (TextColumn('{task.description:<18}'), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console) as progress, _interruptible():
        everything = promises(amount)
        task = progress.add_task('', total=len(everything))
        for name, promise in everything.items():
            progress.update(task, description=name)
            metrics[name] = list(measured(promise))
            progress.advance(task)
    return metrics


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let a signal end what is compiled and computed.

    Raises:
        KeyboardInterrupt: A signal asked for the end.
    """
    with StopRequest() as stop:
        try:
            yield
        except (ImportError, RuntimeError) as error:
            # A compiler or an extension module can turn the interruption into these.
            if stop.has_interrupted:
                raise KeyboardInterrupt from error
            raise


@contextmanager
def _progress(console: Console, plan: Plan) -> Iterator[Callable[[float], None]]:
    """Show how far the run is; the context's function takes the simulation time [s]."""
    columns = (
        TextColumn('{task.description:<10}'),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn('{task.completed:4.1f} s simulated'),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task(_STARTING, total=plan.end)

        def show_time(time: float) -> None:
            running = [phase.mode for phase in plan.phases if phase.start <= time]
            words = running[-1] if time > 0.0 else _STARTING
            progress.update(task, completed=min(time, plan.end), description=words)

        yield show_time
