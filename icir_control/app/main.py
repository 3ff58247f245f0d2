"""The command line `icir_control`."""

import sys
from collections.abc import Callable
from enum import StrEnum
from functools import wraps
from inspect import Signature, signature
from pathlib import Path
from typing import Annotated, Any

import typer

from icir_control.app.environment import check_suffix, require
from icir_control.app.robot import DEFAULT_ROBOT, RobotFiles, robot_names
from icir_control.errors import ConfigurationError, IcirError, UnknownNameError
from icir_control.nodes.process import use_one_blas_thread

REFUSED = 2
INTERRUPTED = 130


class _Commands(typer.core.TyperGroup):
    """Names the valid commands where there is no such command."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if self.get_command(ctx, args[0]) is None:
            raise UnknownNameError('command', args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)


app = typer.Typer(
    cls=_Commands,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={'help_option_names': ['-h', '--help']},
    help='Torque control of a robot arm that MuJoCo simulates, over ROS 2 topics.',
)


Viewer = StrEnum('Viewer', ('NONE', 'WINDOW', 'BROWSER', 'AUTO'))
PANEL_HOST = typer.Option(
    help='Address to serve the page at; one that other machines can reach puts a token in the URL.'
)
Acceptance = StrEnum('Acceptance', ('NONE', 'SHORT', 'FULL'))
Recorded = Annotated[Path, typer.Argument(help='Recording, an MCAP file.')]


def _of_file(text: str) -> Any:
    """Return an option whose default stands in the parameter file."""
    return typer.Option(help=text, show_default='from the parameter file')


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
        str, typer.Option(help=f'A robot of this package: {", ".join(robot_names())}.')
    ] = DEFAULT_ROBOT,
    model: Annotated[str, _of_file('URDF of any other arm: a path or a package:// URI.')] = '',
    params_file: Annotated[
        str,
        typer.Option(
            help='Parameter file of bridge and controller.', show_default='that of the robot'
        ),
    ] = '',
    base_frame: Annotated[str, _of_file('Link in whose frame poses are given.')] = '',
    end_effector_frame: Annotated[str, _of_file('Link of the end effector.')] = '',
    package_dir: Annotated[
        list[Path] | None,
        _of_file('Folder of a package, or of packages, for package:// URIs; can be repeated.'),
    ] = None,
    lock: Annotated[
        list[str] | None,
        _of_file('Joint to lock, and its position (rad or m): finger=0.02; can be repeated.'),
    ] = None,
    default_effort: Annotated[
        float | None,
        _of_file('Effort limit (N m or N) of joints for which the URDF has none, or 0.'),
    ] = None,
    armature: Annotated[
        list[str] | None,
        _of_file('Rotor inertia that a joint feels (kg m^2 or kg): joint_1=0.1; can be repeated.'),
    ] = None,
    repair: Annotated[
        bool,
        typer.Option('--repair', help='Replace impossible inertias by the nearest possible ones.'),
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
        armature=armature,
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
        _of_file("MuJoCo's window, or a page for a browser; auto: the first that works here."),
    ] = None,
    panel_host: Annotated[str, PANEL_HOST] = '127.0.0.1',
    real_time_factor: Annotated[
        float | None, _of_file('Simulated seconds per second; 0: as fast as possible.')
    ] = None,
    free_run: Annotated[
        bool,
        typer.Option(
            '--free-run',
            help='Step by the wall clock, without waiting for commands (no lockstep).',
        ),
    ] = False,
    composed: Annotated[
        bool,
        typer.Option('--composed', help='Run bridge and controller in one process, for batches.'),
    ] = False,
    verbose: Annotated[
        bool, typer.Option('--verbose', help='List the shapes of the URDF that cannot be drawn.')
    ] = False,
    record: Annotated[
        Path | None, typer.Option(help='MCAP file to record to.', show_default='none')
    ] = None,
) -> None:
    """Simulate an arm, driven by the keyboard in this terminal; q or Ctrl-C ends it."""
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
    """Serve a page for a browser that shows and drives the arm, until Ctrl-C."""
    from icir_control.app.sim import ARGUMENTS

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
    namespace: Annotated[
        str, typer.Option(help='Namespace of bridge and controller.', show_default='none')
    ] = '',
    status_fd: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Record the topics of bridge and controller to an MCAP file, until Ctrl-C."""
    require('record', 'mcap_ros2')
    require('sim', 'rclpy')
    if file is not None:
        check_suffix(file, '.mcap')
    from icir_control.app.recording.recorder import record

    if not record(file, namespace, status_fd):
        raise typer.Exit(1)


@app.command('report')
def report_command(
    file: Recorded,
    against: Annotated[
        Path | None, typer.Option(help='Second recording, to compare.', show_default='none')
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(help='HTML file to write.', show_default='named as the recording'),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(help='CSV file for the joint states.', show_default='none')
    ] = None,
    npz: Annotated[
        Path | None, typer.Option(help='NumPy file for the joint states.', show_default='none')
    ] = None,
) -> None:
    """Write a report about a recording: one HTML page of metrics, plots and parameters."""
    from icir_control.app.recording import report_on

    output = output or Path(f'{file.parent / file.stem}.html')
    for written in report_on(file, output, against=against, csv=csv, npz=npz):
        typer.echo(written)


@app.command('film')
def film_command(
    file: Recorded,
    output: Annotated[
        Path | None,
        typer.Option(
            '--output',
            '-o',
            help='Video file; .webp for a small animation.',
            show_default='named as the recording',
        ),
    ] = None,
) -> None:
    """Render a recording as a video, with the reference as a ghost; needs no display."""
    from icir_control.app.recording import film_of

    output = output or Path(f'{file.parent / file.stem}.mp4')
    film_of(file, output)
    typer.echo(output)


@app.command('replay')
def replay_command(
    file: Recorded,
    rate: Annotated[
        float, typer.Option(min=0.0, help='Simulated seconds per second; 0: as fast as possible.')
    ] = 1.0,
    simulate: Annotated[
        bool,
        typer.Option('--simulate', help='Simulate again, and check that all bits are the same.'),
    ] = False,
) -> None:
    """Publish a recording's states and poses again, as for rviz, or simulate it again."""
    require('record', 'mcap')
    require('sim', 'rclpy')
    from icir_control.app.recording.reader import Recording
    from icir_control.app.recording.replay import Rerun, publish

    recording = Recording(file)
    if not simulate:
        publish(recording, rate)
        return
    if difference := Rerun(recording).run():
        typer.echo(difference)
        raise typer.Exit(1)
    states = len(recording.states)
    typer.echo(f'identical to the last bit: {states} states, {recording.end:.3f} s')


@app.command()
@with_robot
def demo(
    robot: RobotFiles,
    output: Annotated[
        Path, typer.Option(help='Folder for recording, video, report and plots.')
    ] = Path('results'),
    report: Annotated[
        Path | None, typer.Option(help='JSON file for the metrics.', show_default='none')
    ] = None,
    acceptance: Annotated[
        Acceptance | None,
        typer.Option(
            help='Acceptance tests of the control laws: about a minute (short) or several (full).',
            show_default='short; none for another arm, or without the compiler',
        ),
    ] = None,
) -> None:
    """Run every mode once, unattended, and measure: table, plots, video and report."""
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
    int | None,
    typer.Option(min=1, help='Number of processes.', show_default='one per processor'),
]
Scheduler = Annotated[
    str,
    typer.Option(
        help='Address of a cluster of dask.distributed to use: tcp://host:8786.',
        show_default='none',
    ),
]


@app.command('study')
def study_command(
    file: Annotated[Path, typer.Argument(help='YAML file; docs/studies.md describes it.')],
    output: Annotated[
        Path | None,
        typer.Option(help='Parquet file for the rows.', show_default='results/NAME.parquet'),
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = '',
    only: Annotated[
        int | None, typer.Option(min=0, help='Number of the only run to do.', show_default='all')
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help='MCAP file for that only run.', show_default='none')
    ] = None,
) -> None:
    """Run many simulations that vary plant and parameters; resume where it was interrupted."""
    from icir_control.app.study import study_file

    study_file(file, output, workers, scheduler, only, record)


@app.command('tune')
def tune_command(
    file: Annotated[Path, typer.Argument(help='YAML file; docs/studies.md describes it.')],
    output: Annotated[
        Path | None,
        typer.Option(help='Parameter file to write.', show_default='results/NAME.yaml'),
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = '',
) -> None:
    """Optimise parameters for the worst of varied plants; resume where it was interrupted."""
    from icir_control.app.study import tune_file

    tune_file(file, output, workers, scheduler)


def main() -> None:
    """Run the command line of this process; an error of ours becomes a sentence and a status."""
    use_one_blas_thread()
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


if __name__ == '__main__':
    main()
