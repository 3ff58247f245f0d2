"""A node as a process: how it starts, how it is asked to end, and with which exit status."""

import gc
import os
import resource
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import rclpy
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from icir_control.errors import ConfigurationError, IcirError
from icir_control.nodes.parameter_files import readable_parameters
from icir_control.nodes.ports import check_ports

INVALID = 2
"""Exit status of a process that was given something that it cannot run with."""

PATIENCE = 1.5
"""How long a node's start may go on after a request to stop [s of wall time]."""

_FILES = 64  # that may be open; a running node has 22, and starting takes more
_OWN_PORTS = 'fastrtps'  # the middleware that goes on without a port, deaf


class StopRequest:
    """Whether somebody asked this process to end: Ctrl-C, SIGTERM, a closed terminal.

    A context manager, for the main thread. While the process starts, a request interrupts
    whatever it does; once `defer` was called, it is only noted, so that a loop ends at a point of
    its own choice, with its ROS entities still valid.

    Attributes:
        has_interrupted: Whether a request came while the process started.
    """

    _SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self, patience: float | None = None) -> None:
        """Nothing was asked for yet.

        Args:
            patience: How long a start may go on after a request [s], because a compiler lost the
                interruption; then the process ends at once, with status 0. None is for ever.
        """
        self.has_interrupted = False
        self._patience = patience
        self._is_made = False
        self._interrupts = True
        self._handlers: dict[signal.Signals, object] = {}
        self._report: Callable[[sys.UnraisableHookArgs], object] = sys.unraisablehook

    def __bool__(self) -> bool:
        """Return whether the process was asked to end."""
        return self._is_made

    def __enter__(self) -> 'StopRequest':
        """Listen to the signals."""
        for number in self._SIGNALS:
            self._handlers[number] = signal.signal(number, self._take)
        self._report = sys.unraisablehook
        sys.unraisablehook = self._pass_over
        return self

    def __exit__(self, *_: object) -> None:
        """Give the signals back."""
        self.defer()
        sys.unraisablehook = self._report
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def defer(self) -> None:
        """From now on only note a request."""
        self._interrupts = False
        if self.has_interrupted and self._patience is not None:
            signal.setitimer(signal.ITIMER_REAL, 0.0)

    def _pass_over(self, lost: 'sys.UnraisableHookArgs') -> None:
        """Say nothing of an interruption in a callback, where Python could only report it."""
        if not (self.has_interrupted and issubclass(lost.exc_type, KeyboardInterrupt)):
            self._report(lost)

    def _take(self, number: int, frame: FrameType | None) -> None:
        self._is_made = True
        if self._interrupts:
            self.has_interrupted = True
            if self._patience is not None:
                signal.signal(signal.SIGALRM, lambda number, frame: os._exit(0))
                signal.setitimer(signal.ITIMER_REAL, self._patience)
            raise KeyboardInterrupt


@contextmanager
def collector_off() -> Iterator[None]:
    """Keep Python's garbage collector from running by itself, which takes as long as many ticks.

    What is there already is never looked at again, so that a collection by hand is short.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def run_node(
    name: str, arguments: Sequence[str] | None, body: Callable[[StopRequest], None]
) -> int:
    """Run a node's body between the start and the end of ROS.

    Args:
        name: What the process calls itself in an error message.
        arguments: Command line arguments with the program's name, those of the process by default.
        body: Runs the node until its argument is true.

    Returns:
        The exit status: 0 after a request to stop, 2 after an error in what was given, which is
        then the last line on standard error.
    """
    given = list(sys.argv if arguments is None else arguments)
    stop = StopRequest(PATIENCE)
    try:
        with stop:
            _start_ros(given)
            try:
                body(stop)
            finally:
                stop.defer()
                rclpy.try_shutdown()
    except KeyboardInterrupt:
        return 0
    except (ImportError, RuntimeError):
        # What an extension module or a compiler makes of the interruption.
        if not stop.has_interrupted:
            raise
        return 0
    except IcirError as error:
        if stop.has_interrupted:
            return 0
        print(f'{name}: {" ".join(str(error).split())}', file=sys.stderr, flush=True)
        return INVALID
    return 0


def join_graph(name: str) -> Node:
    """Return a new node.

    Args:
        name: Its name.

    Raises:
        ConfigurationError: The middleware cannot start; the message is its own.
    """
    try:
        return Node(name)
    except RuntimeError as error:
        raise ConfigurationError(f'cannot join the ROS graph: {_words_of(error)}') from error


def log_arguments() -> list[str]:
    """Return what keeps ROS from writing log files, where it could not, and would not start."""
    home = os.environ.get('ROS_HOME') or '~/.ros'
    folder = Path(os.environ.get('ROS_LOG_DIR') or f'{home}/log').expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_writable = os.access(folder, os.W_OK)
    except OSError:
        is_writable = False
    if is_writable:
        return []
    print(f'no log files: {folder} cannot be written to', file=sys.stderr, flush=True)
    return ['--ros-args', '--disable-external-lib-logs']


def _start_ros(arguments: list[str]) -> None:
    """Initialise ROS without signal handlers of its own.

    Raises:
        ConfigurationError: ROS does not understand the arguments, or would ignore some, or this
            process may not open what it needs, or the domain has no room for it.
    """
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= files < _FILES:  # negative: no limit
        raise ConfigurationError(
            f'only {files} files and sockets may be open; a node needs {_FILES} (see ulimit -n)'
        )
    with readable_parameters(arguments) as readable:
        try:
            ignored = remove_ros_args(readable)[1:]
            if ignored:
                raise ConfigurationError(
                    f'unknown arguments {" ".join(ignored)}; expected --ros-args and what ROS'
                    ' takes after it, such as --params-file FILE or -p NAME:=VALUE'
                )
            # The wait of a process that ROS shuts down from a signal handler fails in its middle.
            given = [*readable, *log_arguments()]
            rclpy.init(args=given, signal_handler_options=SignalHandlerOptions.NO)
        except (RuntimeError, ValueError) as error:
            raise ConfigurationError(_words_of(error)) from error
    if _OWN_PORTS in rclpy.get_rmw_implementation_identifier():
        check_ports(rclpy.get_default_context().get_domain_id())


def _words_of(error: Exception) -> str:
    """Return what ROS says of an error, without the place in its own source that follows."""
    return str(error).partition(', at /')[0]
