"""A process that has imported what the nodes import, and becomes any of them at once.

Importing takes longer than most tests. As a program this is the server, one for all processes of
a test run; `Forked` asks it. A forked node does what a new process does from its `main` on, until
that returns: the interpreter and its libraries are not taken down, which not every library stands
that was loaded before a fork. Tests of how a process starts or ends take a fresh one.
"""

import fcntl
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
import traceback
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from selectors import EVENT_READ, DefaultSelector
from typing import NamedTuple
from uuid import uuid4

from closed_loop import ClosedLoop
from state_record import keep_states

from icir_control.nodes.__main__ import run

_NUMBER = struct.Struct('i')
_LONGEST = 1 << 17  # bytes of a request
_SLICE = 0.1  # s of one wait for an end

NOT_IMPORTED = (
    '__main__',
    'follow_joint_trajectory',
    'markers',
    'target_marker',
)
"""Modules to run, and those of ROS packages that need not be installed."""


class Server:
    """The client's side: a connection to the process, which the first client starts."""

    def __init__(self) -> None:
        run = os.environ.get('PYTEST_XDIST_TESTRUNUID') or uuid4().hex
        address = f'\0icir_control_tests_{run}'  # a name, not a file; free when the server ends
        self._socket = _new_socket()
        while True:
            with _new_socket() as listening:
                try:
                    listening.bind(address)
                except OSError:  # another client was first
                    pass
                else:
                    listening.listen()
                    _start(listening)
                # Between `bind` and `listen` of another client nobody listens.
                with suppress(ConnectionRefusedError):
                    self._socket.connect(address)
                    return
            time.sleep(0.01)

    def ask(self, request: dict, descriptors: Sequence[int]) -> None:
        socket.send_fds(self._socket, [json.dumps(request).encode()], descriptors)


def _new_socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)


def _start(listening: socket.socket) -> None:
    """Start the server on a socket that listens."""
    subprocess.Popen(
        [sys.executable, __file__, str(listening.fileno())],
        # One thread, as a process that forks should have.
        env=os.environ | {'PYTHONUNBUFFERED': '1', 'OPENBLAS_NUM_THREADS': '1'},
        pass_fds=[listening.fileno()],
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


@cache
def server() -> Server:
    """Return the one server of this process."""
    return Server()


class Forked:
    """A node that the server has become; what `subprocess.Popen` would be for a new process."""

    def __init__(
        self,
        node: str,
        arguments: Sequence[str],
        *,
        stdin: int,
        stdout: int,
        environment: dict[str, str],
        terminal: bool,
        record: Path | None = None,
    ) -> None:
        """Start `icir_control.nodes <node>` in a session of its own.

        Args:
            node: What it becomes.
            arguments: Its command line.
            stdin: A file descriptor.
            stdout: A file descriptor, of its standard error too.
            environment: All of it.
            terminal: Whether stdin is to be its controlling terminal.
            record: Where a bridge keeps its states.
        """
        request = {
            'node': node,
            'arguments': list(arguments),
            'environment': environment,
            'folder': os.getcwd(),
            'terminal': terminal,
            'record': str(record) if record else None,
        }
        self._status, theirs = os.pipe()
        server().ask(request, (stdin, stdout, theirs))
        os.close(theirs)
        self._returncode: int | None = None
        self._lock = threading.Lock()
        self.pid = self._read()

    def _read(self) -> int:
        content = os.read(self._status, _NUMBER.size)
        assert content, 'the process that forks nodes has ended'
        return _NUMBER.unpack(content)[0]

    def poll(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        return self._wait(0.0)

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end [s]; its exit status."""
        status = self._wait(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(f'node {self.pid}', timeout)
        return status

    def _wait(self, timeout: float | None) -> int | None:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            with self._lock:
                if self._returncode is None and select.select([self._status], [], [], 0.0)[0]:
                    self._returncode = self._read()
                if self._returncode is not None:
                    return self._returncode
            left = _SLICE if deadline is None else min(_SLICE, deadline - time.monotonic())
            if left <= 0.0:
                return None
            # Another thread may read it first: this one looks again after a while.
            select.select([self._status], [], [], left)

    def close(self) -> None:
        """Give back what is held of a process that has ended."""
        os.close(self._status)


class Child(NamedTuple):
    """A node that was forked: whose it is, and where its exit status is told."""

    owner: socket.socket
    status: int


def serve(listening: socket.socket) -> dict:
    """Serve until there is nobody to serve, and return only in a new process: what it is to do."""
    clients: set[socket.socket] = set()
    children: dict[int, Child] = {}
    ended, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake)
    while True:
        with DefaultSelector() as selector:
            for source in (ended, listening, *clients):
                selector.register(source, EVENT_READ)
            ready = {key.fileobj for key, _ in selector.select()}
        if ended in ready:
            os.read(ended, 4096)
            for pid in list(children):
                if (found := os.waitpid(pid, os.WNOHANG))[0]:
                    status = children.pop(pid).status
                    _tell(status, os.waitstatus_to_exitcode(found[1]))
                    os.close(status)
        if listening in ready:
            clients.add(listening.accept()[0])
        for client in clients & ready:
            content, descriptors = _request(client)
            if not content:
                # This client has ended: its nodes would run, and load the machine, for ever.
                for pid, child in children.items():
                    if child.owner is client:
                        os.kill(pid, signal.SIGKILL)
                clients.remove(client)
                client.close()
                if not clients:
                    os._exit(0)
                continue
            stdin, stdout, status = descriptors
            pid = os.fork()
            if pid:
                os.close(stdin)
                os.close(stdout)
                children[pid] = Child(client, status)
                _tell(status, pid)
                continue
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            for number, descriptor in enumerate((stdin, stdout, stdout)):
                os.dup2(descriptor, number)
            statuses = [child.status for child in children.values()]
            sockets = [one.detach() for one in (listening, *clients)]
            for descriptor in (*descriptors, ended, wake, *statuses, *sockets):
                os.close(descriptor)
            return json.loads(content)


def _request(client: socket.socket) -> tuple[bytes, list[int]]:
    """Return what a client asks for, and the descriptors with it; nothing where it has ended."""
    try:
        content, descriptors, _, _ = socket.recv_fds(client, _LONGEST, 3)
    except ConnectionResetError:
        return b'', []
    return content, descriptors


def _tell(status: int, number: int) -> None:
    with suppress(BrokenPipeError):  # nobody wants to know
        os.write(status, _NUMBER.pack(number))


def _become(request: dict) -> int:
    if request['terminal']:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.environ.clear()
    os.environ.update(request['environment'])
    os.chdir(request['folder'])
    sys.path[0] = ''
    sys.argv = ['-c', *request['arguments']]
    if request['record']:
        keep_states(Path(request['record']))
    return run(request['node'])


def _import_all() -> None:
    """Import every module of the nodes, and with them the rest, and load what is compiled."""
    nodes = import_module('icir_control.nodes')
    for module in walk_packages(nodes.__path__, f'{nodes.__name__}.'):
        if '.panel.' not in module.name and module.name.rpartition('.')[2] not in NOT_IMPORTED:
            import_module(module.name)
    ClosedLoop().controller.warm_up()


def _end(status: int) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


if __name__ == '__main__':
    _import_all()
    wish = serve(socket.socket(fileno=int(sys.argv[1])))
    try:
        _end(_become(wish))
    except SystemExit as error:
        _end(error.code if isinstance(error.code, int) else int(bool(error.code)))
    except BaseException:
        traceback.print_exc()
        _end(1)
