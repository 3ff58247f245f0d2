"""The compiler's files on disk: used where they can be, done without where they cannot."""

import os
import resource
import runpy
import subprocess
import sys
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import numba
import numpy as np
import pytest

from icir_control.compiled import JIT_DISABLED, _cache_directory

pytestmark = pytest.mark.skipif(JIT_DISABLED, reason='the compiler is switched off')

# Two kernels, one inside the other; the source is a file, since numba keeps nothing else.
SOURCE = """
import numpy as np
from icir_control.compiled import kernel


@kernel
def twice(x):
    return 2.0 * x


@kernel
def sum_of_twice(x):
    total = 0.0
    for value in x:
        total += twice(value)
    return total


if __name__ == '__main__':
    result = sum_of_twice(np.arange(4.0))
    hits = sum(sum_of_twice.stats.cache_hits.values())
    print(result, len(sum_of_twice.signatures), hits)
"""


@cache
def _ready_the_compiler() -> None:
    """Compile something here: no copy of this process has to ready the compiler anew."""
    numba.njit(lambda x: np.sum(2.0 * x))(np.ones(2))


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., str]:
    """What runs the source in a process of its own: a copy of this one, or a fresh one."""
    source = tmp_path / 'kernels_of_a_test.py'
    source.write_text(SOURCE)
    _ready_the_compiler()

    def run_copy(folder: Path, longest_file: int | None) -> tuple[int, str, str]:
        pipes = [os.pipe(), os.pipe()]  # a file would be bounded, too
        pid = os.fork()
        if not pid:
            status = 1
            try:
                for number, (_, sink) in enumerate(pipes, 1):
                    os.dup2(sink, number)
                sys.stdout, sys.stderr = sys.__stdout__, sys.__stderr__
                if longest_file is not None:
                    resource.setrlimit(resource.RLIMIT_FSIZE, (longest_file, longest_file))
                os.environ['NUMBA_CACHE_DIR'] = str(folder)
                _cache_directory.cache_clear()
                runpy.run_path(str(source), run_name='__main__')
                sys.stdout.flush()
                status = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(status)
        texts = []
        for readable, sink in pipes:
            os.close(sink)
            with open(readable) as stream:
                texts.append(stream.read())
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), *texts

    def run_fresh(folder: Path, arguments: Sequence[str]) -> tuple[int, str, str]:
        environment = os.environ | {'NUMBA_CACHE_DIR': str(folder), 'PYTHONDONTWRITEBYTECODE': '1'}
        environment.pop('NUMBA_DISABLE_JIT', None)
        command = [sys.executable, str(source), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def run(
        folder: Path,
        *,
        longest_file: int | None = None,
        fresh: bool = False,
        arguments: Sequence[str] = (),
    ) -> str:
        if fresh:
            status, output, errors = run_fresh(folder, arguments)
        else:
            status, output, errors = run_copy(folder, longest_file)
        assert status == 0, errors
        assert not errors
        return output.strip()

    return run


def files_in(folder: Path, suffix: str) -> list[Path]:
    return sorted(folder.rglob(f'*.{suffix}'))


@pytest.mark.slow
def test_code_is_kept_and_found_again(run, tmp_path):
    cache = tmp_path / 'cache'
    assert run(cache) == '12.0 1 0'
    assert len(files_in(cache, 'nbi')) == len(files_in(cache, 'nbc')) == 2
    assert run(cache) == '12.0 1 1'


# A list, which numba's runtime allocates; the second kernel is compiled after the first was read.
LATER = """
import sys
import numpy as np
from icir_control.compiled import kernel


@kernel
def odd(count):
    found = [2 * i + 1 for i in range(count)]
    return np.array(found)


@kernel
def root_of_sum(x):
    return np.sqrt(np.sum(odd(len(x)) * x))


if __name__ == '__main__':
    print(odd(4).sum(), sum(odd.stats.cache_hits.values()), 'numba.np.linalg' in sys.modules)
    if sys.argv[1:]:
        print(root_of_sum(np.ones(3)), 'numba.np.linalg' in sys.modules)
"""


@pytest.mark.slow
def test_code_that_is_found_needs_no_compiler_until_more_is_to_be_compiled(run, tmp_path):
    (tmp_path / 'kernels_of_a_test.py').write_text(LATER)
    cache = tmp_path / 'cache'
    assert run(cache, fresh=True) == '16 0 True'
    assert run(cache, fresh=True) == '16 1 False'
    assert run(cache, fresh=True, arguments=['more']) == '16 1 False\n3.0 True'


@pytest.mark.slow
def test_of_several_processes_one_compiles_and_the_others_wait(run, tmp_path):
    with ThreadPoolExecutor(3) as pool:
        results = [pool.submit(run, tmp_path / 'cache', fresh=True) for _ in range(3)]
    assert sorted(one.result() for one in results) == ['12.0 1 0', '12.0 1 1', '12.0 1 1']


# What `halt` returns is asked for while the kernel is compiled.
KILLED = """
import os
import sys
import numba
from icir_control.compiled import kernel


def halt():
    pass


@numba.extending.overload(halt)
def type_of_halt():
    if sys.argv[1:]:
        os.kill(os.getpid(), 9)
    return lambda: 1.0


@kernel
def one(x):
    return x * halt()


if __name__ == '__main__':
    print(one(1.0), sum(one.stats.cache_hits.values()))
"""


@pytest.mark.slow
def test_what_a_process_was_compiling_when_it_was_killed_is_compiled_by_the_next(run, tmp_path):
    source, cache = tmp_path / 'kernels_of_a_test.py', tmp_path / 'cache'
    source.write_text(KILLED)
    environment = os.environ | {'NUMBA_CACHE_DIR': str(cache)}
    killed = subprocess.run([sys.executable, str(source), 'killed'], env=environment)
    assert killed.returncode == -9
    assert files_in(cache, 'lock')
    assert run(cache, fresh=True) == '1.0 0'


@pytest.mark.slow
def test_a_folder_that_cannot_be_made_is_done_without(run, tmp_path):
    occupied = tmp_path / 'file'
    occupied.write_text('no folder')
    assert run(occupied) == '12.0 1 0'
    # Nor is code left beside the source, where a changed kernel would not be noticed.
    assert files_in(tmp_path, 'nb*') == []


@pytest.mark.slow
@pytest.mark.parametrize('size', [0, 64, 2000])
def test_a_disk_that_is_full_is_done_without(run, tmp_path, size):
    cache = tmp_path / 'cache'
    assert run(cache, longest_file=size) == '12.0 1 0'
    assert files_in(cache, 'nbc') == []
    # What was left there does no harm once there is room again.
    assert run(cache) == '12.0 1 0'
    assert run(cache) == '12.0 1 1'


@pytest.mark.slow
@pytest.mark.parametrize('suffix', ['nbi', 'nbc'])
@pytest.mark.parametrize('content', [b'', b'\x80'])
def test_damaged_files_are_done_without(run, tmp_path, suffix, content):
    cache = tmp_path / 'cache'
    run(cache)
    for file in files_in(cache, suffix):
        file.write_bytes(content)
    assert run(cache) == '12.0 1 0'


def test_only_the_newest_versions_are_kept(run, tmp_path):
    base = tmp_path / 'cache' / 'icir_control'
    for i in range(12):
        old = base / f'{i:016x}'
        old.mkdir(parents=True)
        os.utime(old, (i, i))
    run(tmp_path / 'cache')
    left = sorted(path.name for path in base.iterdir())
    assert len(left) == 8
    assert {f'{i:016x}' for i in range(5, 12)} < set(left)
    (used,) = set(left) - {f'{i:016x}' for i in range(12)}
    os.utime(base / used, (0, 0))
    run(tmp_path / 'cache')
    assert (base / used).stat().st_mtime > 12.0
