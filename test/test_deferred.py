"""A package that is imported when something of it is asked for."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from icir_control.deferred import deferred

HEAVY = """
import threading, time
runs = globals().setdefault('runs', [])
runs.append(threading.get_ident())
time.sleep(0.2)
from heavy.part import half
class Thing:
    size = 2 * half()
class sub:
    Other = Thing
"""
USER = """
from typing import Optional
import heavy
import heavy.part as part
def thing(value: heavy.Thing, other: Optional[heavy.Thing] = None) -> None | heavy.sub.Other | int:
    return heavy.Thing.size + part.half()
"""


@pytest.fixture
def heavy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yield the folder of a package `heavy`, with a module `user` that imports it."""
    (tmp_path / 'heavy').mkdir()
    (tmp_path / 'heavy' / '__init__.py').write_text(HEAVY)
    (tmp_path / 'heavy' / 'part.py').write_text('def half(): return 21\n')
    (tmp_path / 'user.py').write_text(USER)
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path
    for name in [name for name in sys.modules if name.split('.')[0] in ('heavy', 'user')]:
        del sys.modules[name]


def test_the_text_runs_when_something_is_asked_for(heavy: Path) -> None:
    with deferred('heavy'):
        import user
    assert 'runs' not in vars(sys.modules['heavy'])
    assert user.part.half() == 21
    assert user.thing(None) == 42 + 21
    import heavy as package

    assert len(package.runs) == 1
    assert package is sys.modules['heavy'] is user.heavy
    assert package.part is user.part
    with pytest.raises(AttributeError, match='nothing'):
        _ = package.nothing


def test_threads_that_ask_at_once_wait_for_the_one_run(heavy: Path) -> None:
    with deferred('heavy'):
        import user
    answers: list[int] = []
    threads = [
        threading.Thread(target=lambda: answers.append(user.heavy.Thing.size)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [42] * 4
    assert len(user.heavy.runs) == 1


@pytest.mark.parametrize('use', ['class Mine(heavy.Thing): pass', 'value = heavy.Thing()'])
def test_who_needs_the_package_at_once_is_told_and_may_try_again(heavy: Path, use: str) -> None:
    with (heavy / 'user.py').open('a') as file:
        file.write(f'{use}\n')
    with pytest.raises(ImportError, match='deferred package'), deferred('heavy'):
        import user
    assert not {'heavy', 'heavy.part', 'user'} & set(sys.modules)
    import user

    assert user.thing(None) == 63


def test_a_package_that_fails_fails_again(heavy: Path) -> None:
    (heavy / 'heavy' / '__init__.py').write_text('import a_module_that_is_missing\n')
    with deferred('heavy'):
        import user
    for _ in range(2):
        with pytest.raises(ModuleNotFoundError, match='a_module_that_is_missing'):
            user.thing(None)


def test_what_is_there_or_missing_is_left_alone(heavy: Path) -> None:
    import heavy as package

    with deferred('heavy'), deferred('a_package_that_is_missing'):
        import user
    assert user.heavy is package
    assert 'a_package_that_is_missing' not in sys.modules


def test_a_urdf_is_read_without_the_mesh_library_which_works_afterwards() -> None:
    code = """
import sys
from icir_control.dynamics import load_urdf
from icir_control.share import share_directory
path = share_directory() / 'urdf' / 'gen3_6dof.urdf'
assert load_urdf(path).nq == 6
assert not {'trimesh.base', 'networkx', 'scipy.spatial'} & set(sys.modules)
import yourdfpy
assert yourdfpy.URDF.load(str(path), load_meshes=False).scene.graph.nodes
import trimesh
assert trimesh.creation.box().volume == 1.0
"""
    subprocess.run([sys.executable, '-c', code], check=True, timeout=1200)
