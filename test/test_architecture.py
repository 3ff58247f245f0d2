"""The house rules that a tool can check: who imports whom, and style."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def run(*arguments, folder=ROOT):
    return subprocess.run(arguments, cwd=folder, capture_output=True, text=True, timeout=1200)


def lint_imports(folder):
    """Check the import contracts of the tree in `folder`."""
    pytest.importorskip(
        'importlinter', reason='import-linter has no rosdep key; `make test` installs it'
    )
    command = 'from importlinter.cli import lint_imports as f; raise SystemExit(f(no_cache=True))'
    return run(sys.executable, '-c', command, folder=folder)


def test_imports_keep_to_their_layers():
    result = lint_imports(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ('module', 'line'),
    [
        ('spatial', 'import icir_control.dynamics'),
        ('control', 'import rclpy'),
        ('dynamics', 'import icir_control.simulation'),
        ('simulation', 'import icir_control.dynamics'),
        ('nodes', 'import mujoco'),
        ('control', 'import yourdfpy'),
    ],
)
def test_an_import_that_breaks_a_contract_is_seen(tmp_path, module, line):
    shutil.copy(ROOT / 'pyproject.toml', tmp_path)
    shutil.copytree(ROOT / 'icir_control', tmp_path / 'icir_control')
    init = tmp_path / 'icir_control' / module / '__init__.py'
    init.write_text(init.read_text() + f'\n{line}\n')
    result = lint_imports(tmp_path)
    assert result.returncode != 0
    assert 'BROKEN' in result.stdout


@pytest.mark.parametrize('command', [('check',), ('format', '--check')])
def test_style(command):
    result = run(sys.executable, '-m', 'ruff', *command, '.')
    assert result.returncode == 0, result.stdout + result.stderr
