"""The command line `icir_control`."""

import sys
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from icir_control.app.robot import DEFAULT_ROBOT, RobotFiles, robot_names
from icir_control.errors import ConfigurationError, IcirError

REFUSED = 2
INTERRUPTED = 130

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={'help_option_names': ['-h', '--help']},
    help='Torque control of a robot arm, simulated by MuJoCo, over ROS 2 topics.',
)


Viewer = StrEnum('Viewer', ('NONE', 'WINDOW', 'BROWSER', 'AUTO'))
PANEL_HOST = typer.Option(
    help='Address at which the page is served; one that other machines reach brings a token.'
)
Acceptance = StrEnum('Acceptance', ('NONE', 'SHORT', 'FULL'))


def _of_file(text: str) -> Any:
    """Return an option that the parameter file answers where it is left out."""
    return typer.Option(help=text, show_default='of the file')


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f'icir_control {version("icir_control")}')
        raise typer.Exit


@app.callback()
def options(
    show: Annotated[
        bool,
        typer.Option('--version', callback=_show_version, is_eager=True, help='Show the version.'),
    ] = False,
) -> None:
    """Serve the options of the program itself."""


def _robot(
    robot: Annotated[
        str, typer.Option(help=f'Robot that ships with the package: {", ".join(robot_names())}.')
    ] = DEFAULT_ROBOT,
    model: Annotated[str, _of_file('URDF of a serial arm: a path or a package:// URI.')] = '',
    params_file: Annotated[
        str, typer.Option(help='Parameter file of both nodes.', show_default='of the robot')
    ] = '',
    base_frame: Annotated[str, _of_file('The link that poses are told in.')] = '',
    end_effector_frame: Annotated[str, _of_file('The frame that acts.')] = '',
    package_dir: Annotated[
        list[Path] | None,
        _of_file(
            'Folder of a package, or of packages, for package:// in the URDF; several times.'
        ),
    ] = None,
    lock: Annotated[
        list[str] | None,
        _of_file('A joint to hold, and where [rad or m]: finger_joint1=0.02; several times.'),
    ] = None,
    default_effort: Annotated[
        float | None,
        _of_file('Effort limit of joints to which the URDF gives none, or 0 [N m or N].'),
    ] = None,
    repair: Annotated[
        bool,
        typer.Option('--repair', help='Replace an inertia that no body has by the nearest one.'),
    ] = False,
) -> RobotFiles:
    """Choose an arm by options."""
    return RobotFiles.of(
        robot,
        model=model,
        params_file=params_file,
        package_dirs=package_dir or (),
        base_frame=base_frame,
        end_effector_frame=end_effector_frame,
        locked_joints=lock,
        default_effort=default_effort,
        repair=repair or None,
    )


def with_robot(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `_robot`, and the arm that they choose as `robot`."""
    own = dict(signature(command).parameters)
    del own['robot']
    chosen = signature(_robot).parameters

    @wraps(command)
    def run(**given: Any) -> None:
        robot = _robot(**{name: given.pop(name) for name in chosen})
        command(robot=robot, **given)

    parameters = [*chosen.values(), *own.values()]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    return run


@app.command()
@with_robot
def sim(
    robot: RobotFiles,
    viewer: Annotated[
        Viewer | None,
        _of_file("MuJoCo's window; a page in the browser; the first that there can be."),
    ] = None,
    panel_host: Annotated[str, PANEL_HOST] = '127.0.0.1',
    real_time_factor: Annotated[
        float | None, _of_file('Simulated seconds per second; 0: as fast as possible.')
    ] = None,
    free_run: Annotated[
        bool,
        typer.Option(
            '--free-run', help='Step on the wall clock, also where no command answers the state.'
        ),
    ] = False,
    composed: Annotated[
        bool,
        typer.Option('--composed', help='Bridge and controller in one process, for batch work.'),
    ] = False,
    verbose: Annotated[
        bool, typer.Option('--verbose', help='Name each shape that cannot be drawn.')
    ] = False,
    record: Annotated[
        Path | None, typer.Option(help='MCAP file to record to.', show_default='none')
    ] = None,
) -> None:
    """Run the simulation, with the keyboard in this terminal; q or Ctrl-C ends it."""
    from icir_control.app.sim import simulate

    simulate(
        robot,
        viewer=viewer.value if viewer else None,
        panel_host=panel_host,
        real_time_factor=real_time_factor,
        free_run=free_run,
        composed=composed,
        verbose=verbose,
        record=record,
    )


@app.command('panel')
def panel_command(panel_host: Annotated[str, PANEL_HOST] = '127.0.0.1') -> None:
    """Show the arm on a page in the browser, and serve what is done there, until a signal."""
    from icir_control.app.environment import require
    from icir_control.app.panel import ARGUMENTS

    require('panel', 'viser')
    require('sim', 'rclpy')
    from icir_control.nodes.__main__ import panel
    from icir_control.nodes.process.discovery import stay_on_this_machine

    stay_on_this_machine()
    raise typer.Exit(panel(['panel', *ARGUMENTS, f'host:={panel_host}']))


@app.command('record')
def record_command(
    file: Annotated[
        Path | None, typer.Argument(help='MCAP file.', show_default='named by date and time')
    ] = None,
) -> None:
    """Record what bridge and controller say, until a signal; any MCAP tool opens the file."""
    from icir_control.app.recording import record_here

    if not record_here(file):
        raise typer.Exit(1)


@app.command('report')
def report_command(
    file: Annotated[Path, typer.Argument(help='Recording.')],
    against: Annotated[
        Path | None, typer.Option(help='A second recording, beside it.', show_default='none')
    ] = None,
    output: Annotated[
        Path | None, typer.Option(help='HTML file.', show_default='named as the recording')
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help='File for the states as text.', show_default='none')
    ] = None,
    npz: Annotated[
        Path | None, typer.Option(help='File for the states as arrays.', show_default='none')
    ] = None,
) -> None:
    """Write a recording's metrics, plots and parameters as one page that needs no network."""
    from icir_control.app.recording import report_on

    output = output or Path(f'{file.parent / file.stem}.html')
    for written in report_on(file, output, against=against, csv=csv, npz=npz):
        typer.echo(written)


@app.command('film')
def film_command(
    file: Annotated[Path, typer.Argument(help='Recording.')],
    output: Annotated[
        Path | None,
        typer.Option(
            '--output',
            '-o',
            help='The film; .webp for a small one.',
            show_default='named as the recording',
        ),
    ] = None,
) -> None:
    """Draw a recording as a film, with the reference as a ghost; needs no display."""
    from icir_control.app.recording import film_of

    output = output or Path(f'{file.parent / file.stem}.mp4')
    film_of(file, output)
    typer.echo(output)


@app.command('replay')
def replay_command(
    file: Annotated[Path, typer.Argument(help='Recording.')],
    rate: Annotated[
        float, typer.Option(min=0.0, help='Simulated seconds per second; 0: as fast as possible.')
    ] = 1.0,
    simulate: Annotated[
        bool,
        typer.Option('--simulate', help='Run it again, and tell whether the trajectory is same.'),
    ] = False,
) -> None:
    """Publish a recording's states and poses, for rviz; or simulate it once more."""
    from icir_control.app.recording import replay, simulate_again

    if not simulate:
        replay(file, rate)
    elif not simulate_again(file):
        raise typer.Exit(1)


@app.command()
@with_robot
def demo(
    robot: RobotFiles,
    output: Annotated[
        Path, typer.Option(help='Folder for recording, film, report and plots.')
    ] = Path('results'),
    report: Annotated[
        Path | None, typer.Option(help='File for the metrics, as JSON.', show_default='none')
    ] = None,
    acceptance: Annotated[
        Acceptance | None,
        typer.Option(
            help='How much of what the control laws promise is measured: half a minute, or three.',
            show_default='short; none without the compiler, or for another arm',
        ),
    ] = None,
) -> None:
    """Run every mode once, by itself, and measure: a table, plots, a film and a report."""
    from icir_control.app.environment import require

    require('sim', 'rclpy')
    require('record', 'mcap_ros2')
    from icir_control.app.demo import run_demo
    from icir_control.app.promises import AMOUNTS
    from icir_control.compiled import JIT_DISABLED

    is_default = robot == RobotFiles.of()
    if acceptance is None:
        acceptance = Acceptance.SHORT if is_default and not JIT_DISABLED else Acceptance.NONE
    amount = AMOUNTS[acceptance.value]
    if amount is not None and not is_default:
        raise ConfigurationError(
            f'--acceptance {acceptance}: what the control laws promise is measured on '
            f'{DEFAULT_ROBOT} as it ships; expected none for another arm or parameter file'
        )
    if not run_demo(robot, output, report, amount):
        raise typer.Exit(1)


Workers = Annotated[
    int | None, typer.Option(min=1, help='Processes.', show_default='one a processor')
]
Scheduler = Annotated[
    str, typer.Option(help='Cluster of dask.distributed, tcp://host:8786.', show_default='none')
]


@app.command('study')
def study_command(
    file: Annotated[Path, typer.Argument(help='YAML file: robot, run, vary, number, ...')],
    output: Annotated[
        Path | None, typer.Option(help='Parquet file.', show_default='results/NAME.parquet')
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = '',
    only: Annotated[
        int | None, typer.Option(min=0, help='Run this one alone.', show_default='all')
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help='MCAP file, of a run alone.', show_default='none')
    ] = None,
) -> None:
    """Run many simulations whose plant and parameters vary; go on where it was interrupted."""
    from icir_control.app.study import study_file

    study_file(file, output, workers, scheduler, only, record)


@app.command('tune')
def tune_command(
    file: Annotated[Path, typer.Argument(help='YAML file: as a study, and tune, minimise, ...')],
    output: Annotated[
        Path | None, typer.Option(help='Parameter file.', show_default='results/NAME.yaml')
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = '',
) -> None:
    """Find the parameters that do best on the worst of varied plants; go on where interrupted."""
    from icir_control.app.study import tune_file

    tune_file(file, output, workers, scheduler)


def main() -> None:
    """Run the command line of this process; an error of ours becomes a sentence and a status."""
    try:
        app()
    except IcirError as error:
        from rich.console import Console

        Console(stderr=True).print(
            f'icir_control: {error}', markup=False, highlight=False, soft_wrap=True
        )
        sys.exit(REFUSED)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
