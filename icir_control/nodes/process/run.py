"""A node as a process: start, end on request, exit status, and undisturbed run."""

import ctypes
import gc
import os
import platform
import resource
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Protocol

import rclpy
from rclpy.exceptions import NameValidationException, ParameterException
from rclpy.node import Node
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from icir_control.errors import ConfigurationError, IcirError
from icir_control.nodes.process.discovery import check_ports, configure_fast_dds
from icir_control.nodes.process.stop_request import StopRequest

INVALID = 2
"""Exit status of a process that was given something that it cannot run with."""

STOP_TIMEOUT = 1.5
"""How long a node's start may go on after a request to stop [s of wall time]."""

_FILES = 64  # that may be open; a running node has 22, and starting takes more
_FAST_DDS = 'fastrtps'  # part of the middleware's name

_SLICE = 100_000  # ns, the shortest that the kernel takes
_SET_ATTRIBUTES = {'x86_64': 314, 'aarch64': 274}  # number of the system call sched_setattr
_ATTRIBUTES = struct.Struct('IIQiIQQQ')  # struct sched_attr of sched_setattr(2)
_KEEP_POLICY = 0x08


class NodeProcess(Protocol):
    """What `run_node` runs."""

    def run(self, stop: StopRequest) -> None:
        """Run until `stop` is true."""

    def close(self) -> None:
        """Leave the graph."""


@contextmanager
def gc_off() -> Iterator[None]:
    """Keep Python's garbage collector from running by itself, which takes as long as many ticks.

    Objects that exist already are never examined again, so that a collection by hand is short.
    """
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        gc.unfreeze()


def shorten_slices() -> None:
    """Ask for short time slices for all threads of this process; not on Linux, nothing changes.

    Linux gives each program a slice of the processor, 2.8 ms long on two processors, and from
    version 6.12 on one with a shorter slice may interrupt it. Without that, what has the lowest
    priority still delays an answer for longer than a tick of 1 ms. No privilege is needed, unlike
    for a real-time policy, under which a node that polls would stop all else.

    Threads that are started later inherit it. Policy and priority stay as they are.
    """
    call = _SET_ATTRIBUTES.get(platform.machine())
    if platform.system() != 'Linux' or call is None:
        return
    kernel = ctypes.CDLL(None)
    for task in Path('/proc/self/task').iterdir():
        thread = int(task.name)
        with suppress(OSError):  # it has ended
            nice = os.getpriority(os.PRIO_PROCESS, thread)
            size = _ATTRIBUTES.size
            attributes = _ATTRIBUTES.pack(size, 0, _KEEP_POLICY, nice, 0, _SLICE, 0, 0)
            kernel.syscall(call, thread, attributes, 0)  # an older kernel ignores or refuses it


def schedule_as_batch() -> None:
    """Have this thread, and those that it starts, wait for their turn when they wake.

    Linux lets a thread that wakes interrupt one that runs: each message would interrupt the nodes,
    thousands of times a second. Under the policy for batch work a thread runs when a processor is
    free or its turn has come; no privilege is needed. Another policy that was given from outside
    stays, and elsewhere than on Linux nothing changes.
    """
    if hasattr(os, 'SCHED_BATCH') and os.sched_getscheduler(0) == os.SCHED_OTHER:
        with suppress(OSError):  # forbidden to programs in this container
            os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))


def run_node(name: str, node_class: str, arguments: Sequence[str]) -> int:
    """Run a node from the start of ROS to its end.

    Args:
        name: What the process calls itself in an error message.
        node_class: Module and name of the class, with a colon between; a `NodeProcess`. Imported
            after requests to stop are handled, because the imports take a second.
        arguments: Command line arguments with the program's name.

    Returns:
        The exit status: 0 after a request to stop, 2 after an error in what was given, which is
        then the last line on standard error.
    """
    stop = StopRequest(STOP_TIMEOUT)
    try:
        with stop:
            _start_ros(arguments)
            try:
                module, _, kind = node_class.partition(':')
                start: Callable[[], NodeProcess] = getattr(import_module(module), kind)
                gc.freeze()
                gc.enable()
                with closing(start()) as node:
                    node.run(stop)
            finally:
                stop.defer()
                end_ros()
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


def join_graph(name: str, namespace: str = '') -> Node:
    """Return a new node.

    Args:
        name: Its name.
        namespace: Its namespace; empty for that of the command line.

    Raises:
        ConfigurationError: The middleware cannot start, or there can be no such namespace; the
            message is ROS's own.
    """
    try:
        return Node(name, namespace=namespace)
    except (RuntimeError, ParameterException, NameValidationException) as error:
        raise ConfigurationError(f'cannot join the ROS graph: {_message_of(error)}') from error


def init_ros(arguments: Sequence[str] = ()) -> None:
    """Initialise ROS as every process of ours does.

    Args:
        arguments: Command line arguments with the program's name.
    """
    if _FAST_DDS in rclpy.get_rmw_implementation_identifier():
        configure_fast_dds()
    # Without signal handlers of ROS: a shutdown by one of them makes a wait fail half way.
    rclpy.init(
        args=[*arguments, *_log_arguments()], signal_handler_options=SignalHandlerOptions.NO
    )


def end_ros() -> None:
    """End what `init_ros` began; nothing happens where that has ended already.

    The handlers of signals stay untouched: rclpy sets them to the system's default before it sees
    that they are not its own, and a second Ctrl-C in between kills the process.
    """
    rclpy.try_shutdown(uninstall_handlers=False)


@contextmanager
def ros_node(name: str, namespace: str = '') -> Iterator[Node]:
    """Have ROS and a node for as long as the context lasts; see `join_graph`."""
    init_ros()
    try:
        node = join_graph(name, namespace)
        yield node
        node.destroy_node()
    finally:
        end_ros()


def _log_arguments() -> list[str]:
    """Return the arguments that switch log files off where they cannot be written.

    ROS would not start.
    """
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


def _start_ros(arguments: Sequence[str]) -> None:
    """Initialise ROS without signal handlers of its own.

    Raises:
        ConfigurationError: ROS does not understand the arguments, or would ignore some, or this
            process may not open what it needs, or the domain has no room for it.
    """
    # It imports the dynamics: only now, after requests to stop are handled.
    from icir_control.nodes.parameters import readable_parameters

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
            init_ros(readable)
        except (RuntimeError, ValueError) as error:
            message = _message_of(error)
            for given, written in zip(arguments, readable, strict=True):
                message = message.replace(written, given) if Path(written).is_file() else message
            raise ConfigurationError(message) from error
    if _FAST_DDS in rclpy.get_rmw_implementation_identifier():
        check_ports(rclpy.get_default_context().get_domain_id())


def _message_of(error: Exception) -> str:
    """Return the message of an error of ROS, without the source line that follows it."""
    return str(error).partition(', at /')[0]
