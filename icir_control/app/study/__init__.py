"""`icir_control study` and `tune`: simulations whose plant and parameters vary, a row for each."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from icir_control.app.environment import check_suffix, replacing, require, writing
from icir_control.errors import ConfigurationError

if TYPE_CHECKING:
    from rich.console import Console


def study_file(
    file: Path,
    output: Path | None,
    workers: int | None,
    scheduler: str,
    only: int | None,
    record: Path | None,
) -> None:
    """Run the study of a file, show what it shows, and write table and page.

    Args:
        file: YAML.
        output: Parquet file; None for one in `results/`, named like the study.
        workers: Processes; None for one on each processor.
        scheduler: Address of a cluster; empty for processes of this machine.
        only: The one run that is wanted; None for all.
        record: MCAP file for the log of that run.

    Raises:
        IcirError: The study is not valid, a file cannot be written, or no run arrived.
    """
    require('study', 'distributed', 'pyarrow', 'scipy')
    from rich.console import Console

    from icir_control.app.study.engine import run_study
    from icir_control.app.study.plan import Study
    from icir_control.app.study.report import show, write_page
    from icir_control.app.study.run import ARRIVED, run_one

    console = Console()
    study = Study.read(file)
    if record is not None and only is None:
        raise ConfigurationError(f'--record {record} is of one run: give its number by --only')
    if record is not None:
        check_suffix(record, '.mcap')
    if only is not None:
        if record is not None and record.exists():
            raise ConfigurationError(f'{record} exists; expected the name of a new recording')
        samples = study.samples()
        if only >= len(samples):
            raise ConfigurationError(f'there is no run {only}; expected 0 to {len(samples) - 1}')
        row = run_one(study, only, samples[only], record)
        for name, value in row.items():
            console.print(f'{name}: {value}', markup=False)
        if row['outcome'] != ARRIVED:
            raise ConfigurationError(f'run {only} did not arrive: {row["outcome"]}')
        return
    table = output or Path('results') / f'{file.stem}.parquet'
    check_suffix(table, '.parquet')
    with writing(table):
        table.parent.mkdir(parents=True, exist_ok=True)
    with progress(console, file.stem, 'runs') as tell:
        rows = run_study(study, table, tell, workers=workers, scheduler=scheduler)
    show(study, rows, file, console)
    page = table.with_suffix('.html')
    with replacing(page) as part:
        write_page(study, rows, file, part)
    console.print(f'written: {table}, {page}', markup=False, soft_wrap=True)
    if all(row['outcome'] != ARRIVED for row in rows):
        raise ConfigurationError(f'no run arrived; the first: {rows[0]["outcome"]}')


def tune_file(file: Path, output: Path | None, workers: int | None, scheduler: str) -> None:
    """Find the parameters of a file's tuning, write them, and show what they gain.

    Args:
        file: YAML.
        output: Parameter file; None for one in `results/`, named like the tuning. The trials are
            beside it.
        workers: Processes; None for one on each processor.
        scheduler: Address of a cluster; empty for processes of this machine.

    Raises:
        IcirError: The file is not valid, cannot be written, or no trial keeps the limits.
    """
    require('study', 'distributed', 'optuna', 'scipy')
    from rich.console import Console

    from icir_control.app.study import tune
    from icir_control.app.study.engine import cluster
    from icir_control.app.study.report import show_gain

    console = Console()
    tuning = tune.Tuning.read(file)
    parameters = output or Path('results') / f'{file.stem}.yaml'
    if parameters.absolute() == file.absolute():
        raise ConfigurationError(f'{parameters} is the tuning itself; name another by --output')
    with writing(parameters):
        parameters.parent.mkdir(parents=True, exist_ok=True)
    with cluster(workers, scheduler) as client:
        with progress(console, file.stem, 'trials') as tell:
            chosen = tune.search(tuning, client, parameters.with_suffix('.db'), tell)
        with replacing(parameters) as part:
            tune.write_parameters(tuning, chosen, part)
        plants = {'tuned on': tuning.study.samples(), 'unseen': tune.unseen(tuning)}
        rows = {
            words: tuple(tune.run_on(tuning, client, some, one) for one in ({}, chosen))
            for words, some in plants.items()
        }
    show_gain(tuning, chosen, rows, console)
    robot = tuning.study.robot
    console.print(
        f'written: {parameters}; icir_control sim --robot {robot} --params-file {parameters}',
        markup=False,
        soft_wrap=True,
    )


@contextmanager
def progress(console: 'Console', name: str, unit: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar with rate and time left; give the function that is told how many are done."""
    from rich.progress import MofNCompleteColumn, Progress, Task, TextColumn
    from rich.text import Text

    class Rate(TextColumn):
        def render(self, task: Task) -> Text:
            return Text(f'{task.speed:.1f} {unit}/s' if task.speed else '')

    columns = Progress.get_default_columns()
    with Progress(*columns, MofNCompleteColumn(), Rate(''), console=console) as bar:
        task = bar.add_task(name, total=None)

        def tell(done: int, total: int) -> None:
            if bar.tasks[task].total is None:
                bar.reset(task, completed=done, total=total)  # those of before have no rate
            else:
                bar.update(task, completed=done)

        yield tell
