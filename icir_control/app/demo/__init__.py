"""`icir_control demo`: every mode once, over real topics, unattended, and measured."""

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from icir_control.app.closed_loop import ClosedLoop
from icir_control.app.demo.metrics import phase_metrics, replay, run_metrics, split
from icir_control.app.demo.plan import CONTROLLER_CHANGES, PHASES, DemoPlan
from icir_control.app.demo.plots import write_plots
from icir_control.app.demo.rehearsal import rehearsed
from icir_control.app.demo.run import Run, record_run
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
    if report is not None:
        with writing(report):
            report.parent.mkdir(parents=True, exist_ok=True)
    recording = output / 'run.mcap'
    with console.status('trying each mode (compiles the first time)'), _interruptible():
        if robot == RobotFiles.of():
            plan = DemoPlan(PHASES, CONTROLLER_CHANGES)
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
                with suppress(OSError):
                    file.unlink()  # that of an earlier run shows another recording
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
def _progress(console: Console, plan: DemoPlan) -> Iterator[Callable[[float], None]]:
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


MetricGroups = Mapping[str, Sequence[Metric]]


def table_of(
    metrics: MetricGroups, heading: str, notes: Mapping[str, str] = MappingProxyType({})
) -> Table:
    """Return the metrics, a row for each.

    Args:
        metrics: By what they belong to.
        heading: What that is.
        notes: What else is to be said, by the same.
    """
    table = Table(box=None, pad_edge=False, header_style='bold')
    table.add_column(heading)
    table.add_column('metric')
    table.add_column('value', justify='right')
    table.add_column('bound', justify='right')
    table.add_column('')
    for group in [*metrics, *(name for name in notes if name not in metrics)]:
        rows = [(Text(notes[group]), '', '', Text())] if group in notes else []
        for metric in metrics.get(group, ()):
            name = Text(metric.name.replace('_', ' '))
            rows.append((name, *_value_and_bound(metric), _mark(metric)))
        for i, row in enumerate(rows):
            table.add_row(group if i == 0 else '', *row)
        table.add_section()
    return table


def _mark(metric: Metric) -> Text:
    if not metric.passed:
        return Text('OUT', style='bold red')
    return Text('ok', style='green') if metric.has_bounds else Text('')


def write_report(
    path: Path,
    modes: MetricGroups,
    run_metrics: Sequence[Metric],
    promises: MetricGroups,
    run: Run,
    notes: Mapping[str, str],
) -> None:
    """Write the metrics as JSON.

    Args:
        path: The file; folders above it are made.
        modes: By mode.
        run_metrics: Those of the whole run.
        promises: By promise, with spaces; empty where they were left out.
        run: The run.
        notes: What else is to be said of a mode.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    acceptance = {name.replace(' ', '_'): metrics for name, metrics in promises.items()}
    report = {
        'passed': have_passed({**modes, 'run': run_metrics}) and have_passed(promises),
        'real_time_factor': run.real_time_factor,
        'steps': run.steps,
        'run': _values(run_metrics),
        'modes': {mode: _values(metrics) for mode, metrics in modes.items()},
        'notes': dict(notes),
        'acceptance': {name: _values(metrics) for name, metrics in acceptance.items()},
        'bounds': {
            'run': _bounds(run_metrics),
            'modes': {mode: _bounds(metrics) for mode, metrics in modes.items()},
            'acceptance': {name: _bounds(metrics) for name, metrics in acceptance.items()},
        },
    }
    with writing(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(report, indent=2) + '\n')


def _values(metrics: Sequence[Metric]) -> dict[str, float | None]:
    return {metric.key: _finite(metric.value) for metric in metrics}


def _bounds(metrics: Sequence[Metric]) -> dict[str, list[float | None]]:
    """Return least and greatest good value by key; None where there is no greatest."""
    return {metric.key: [metric.lower, _finite(metric.upper)] for metric in metrics}


def _value_and_bound(metric: Metric) -> tuple[str, str]:
    """Return value and bounds in a unit that gives short numbers."""
    unit, scale = metric.unit, 1.0
    if unit == 'm':
        unit, scale = ('um', 1e-6) if metric.upper < 1e-4 else ('mm', 1e-3)
    elif unit == 'rad':
        unit, scale = ('mrad', 1e-3) if metric.upper > 1e-3 else ('urad', 1e-6)
    value, lower, upper = (f'{x / scale:.3g}' for x in (metric.value, metric.lower, metric.upper))
    if not metric.has_bounds:
        return f'{value} {unit}'.rstrip(), ''
    if metric.lower == metric.upper:
        bound = upper
    elif math.isinf(metric.upper):
        bound = f'>= {lower}'
    else:
        bound = f'{lower} to {upper}' if metric.lower > 0.0 else f'<= {upper}'
    return f'{value} {unit}'.rstrip(), f'{bound} {unit}'.rstrip()


def _finite(value: float) -> float | None:
    """Return the number, or None where JSON cannot express it."""
    return value if math.isfinite(value) else None
