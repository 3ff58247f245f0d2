"""`icir_control study`: many simulations whose plant and parameters vary, a row for each."""

from pathlib import Path

from icir_control.app.extras import require
from icir_control.errors import ConfigurationError


def study_file(
    file: Path,
    output: Path | None,
    workers: int | None,
    scheduler: str,
    only: int | None,
    record: Path | None,
) -> None:
    """Run the study of a file, show what it shows, and write table and picture.

    Args:
        file: YAML.
        output: CSV file; None for one in `results/`, named like the study.
        workers: Processes; None for one on each processor.
        scheduler: Address of a cluster; empty for processes of this machine.
        only: The one run that is wanted; None for all.
        record: MCAP file for the log of that run.

    Raises:
        IcirError: The study is not valid, or a file cannot be written.
    """
    require('study', 'distributed', 'scipy')
    from rich.console import Console
    from rich.progress import Progress

    from icir_control.app.output import writing
    from icir_control.app.study.engine import run_study
    from icir_control.app.study.plan import Study
    from icir_control.app.study.report import draw, show
    from icir_control.app.study.run import run_one

    console = Console()
    study = Study.read(file)
    if only is not None:
        samples = study.samples()
        if only >= len(samples):
            raise ConfigurationError(f'there is no run {only}; expected 0 to {len(samples) - 1}')
        for name, value in run_one(study, only, samples[only], record).items():
            console.print(f'{name}: {value}', markup=False)
        return
    table = output or Path('results') / f'{file.stem}.csv'
    with writing(table):
        table.parent.mkdir(parents=True, exist_ok=True)
        table.touch()
    with Progress(console=console) as progress:
        bar = progress.add_task(file.stem)

        def tell(done: int, total: int) -> None:
            progress.update(bar, completed=done, total=total)

        rows = run_study(study, table, tell, workers=workers, scheduler=scheduler)
    show(study, rows, file, console)
    with writing(table):
        draw(study, rows, table.with_suffix('.png'))
    console.print(f'written: {table}, {table.with_suffix(".png")}', markup=False, soft_wrap=True)
