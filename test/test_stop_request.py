"""A request to stop, in the process itself; `test_faults` asks it of the nodes."""

import ctypes
import signal
import subprocess
import sys
import weakref

from icir_control.nodes.process.stop_request import StopRequest, end_with_parent


class Thing:
    """Something that ends."""


def end_with(callback):
    thing = Thing()
    reference = weakref.ref(thing, callback)
    del thing
    return reference


def fail(_):
    raise ValueError


def test_an_interruption_where_python_could_only_report_it_is_not_reported(monkeypatch):
    reported = []
    monkeypatch.setattr(sys, 'unraisablehook', lambda lost: reported.append(lost.exc_type))
    with StopRequest() as stop:
        end_with(lambda _: signal.raise_signal(signal.SIGTERM))
        assert stop
        assert stop.has_interrupted
        assert reported == []
        end_with(fail)
    assert reported == [ValueError]
    end_with(fail)
    assert reported == [ValueError, ValueError]


INTERRUPTED = """
from icir_control.nodes.process.stop_request import StopRequest
try:
    with StopRequest(5.0):
        exec('import signal; signal.raise_signal(signal.SIGTERM)')
except KeyboardInterrupt:
    print('ends by itself')
"""


def test_an_interruption_of_exec_leaves_the_exit_status_alone():
    """As dataclasses and namedtuple use it, in whatever is imported at the time."""
    done = subprocess.run([sys.executable, '-c', INTERRUPTED], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, 'ends by itself\n'), done.stderr


def test_nothing_slow_is_imported_before_requests_are_handled():
    imported = 'import sys, icir_control.nodes.process.run; print(*sys.modules)'
    done = subprocess.run([sys.executable, '-c', imported], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert not {'numba', 'llvmlite', 'mujoco', 'lxml'} & set(done.stdout.split())


def test_a_child_loads_no_library_before_it_runs_its_program(monkeypatch):
    """Another thread may have held the loader's lock when the child was forked."""
    monkeypatch.delattr(ctypes, 'CDLL')
    assert subprocess.run([sys.executable, '-c', ''], preexec_fn=end_with_parent).returncode == 0
