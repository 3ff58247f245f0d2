"""One tree, three ways to install it: what is declared agrees, and the files are found."""

import ast
import os
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml

from icir_control.app.environment import require
from icir_control.errors import ConfigurationError
from icir_control.share import share_directory

ROOT = Path(__file__).resolve().parent.parent
MANIFEST = ET.parse(ROOT / 'package.xml').getroot()

# How a library that is imported is called by rosdep, where the two names differ.
ROSDEP_KEYS = {
    'lxml': 'python3-lxml',
    'matplotlib': 'python3-matplotlib',
    'mujoco': 'python3-mujoco-pip',
    'numba': 'python3-numba',
    'numpy': 'python3-numpy',
    'rich': 'python3-rich',
    'typer': 'python3-typer',
    'yaml': 'python3-yaml',
    'trimesh': 'python3-trimesh-pip',
    'yourdfpy': 'python3-yourdfpy-pip',
}
# How it is called on PyPI, where that differs: its own name, or the wheel of a ROS 2 package.
PYPI_NAMES = {
    'imageio_ffmpeg': 'imageio-ffmpeg',
    'mcap_ros2': 'mcap-ros2-support',
    'yaml': 'pyyaml',
}
# A tool of the tests whose rosdep key is not python3- and its name.
TEST_KEYS = {'ruff': 'python3-ruff-pip'}
# Tools that `colcon test` does without: no rosdep key, many tests at a time, wheels,
# notebooks.
NOT_NEEDED = {
    'import-linter',
    'ipykernel',
    'nbclient',
    'pytest-xdist',
    'rosbags',
    'selenium',
    'setuptools',
}
# Libraries that come with one that is declared: the first is compiled with the second.
CARRIED_BY = {
    'builtin_interfaces': 'std_msgs',
    'glfw': 'mujoco',
    'llvmlite': 'numba',
    'rpyutils': 'rclpy',
    'zstandard': 'mcap',
}
# Without a rosdep key; docs/ros_workspace.md says how to install it.
NO_KEY = {'mcap', 'mcap_ros2', 'quadprog'}
# Used where it is installed, and nothing is missed where it is not.
OPTIONAL = {
    'control_msgs',
    'interactive_markers',
    'pandas',
    'simulation_interfaces',
    'visualization_msgs',
}
# Of the extra `record`, which has no rosdep keys: who needs it is told what to install.
RECORD = {'imageio_ffmpeg', 'plotly'}
# Of the extra `panel`, likewise.
PANEL = {'viser', 'websockets'}
# Of the extra `study`, likewise.
STUDY = {'dask', 'distributed', 'optuna', 'pyarrow', 'scipy'}


def setup_answers(*options):
    """Return what setup.py answers to `--name` and the like."""
    run = subprocess.run(
        (sys.executable, 'setup.py', *options), cwd=ROOT, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr
    return run.stdout.splitlines()[-len(options) :]


def imported_libraries(folder):
    """Return the top-level names, neither ours nor Python's, that the modules below import."""
    names = set()
    for path in folder.rglob('*.py'):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.partition('.')[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names.add(node.module.partition('.')[0])
    foreign = names - sys.stdlib_module_names - OPTIONAL - {'icir_control'}
    return {CARRIED_BY.get(name, name) for name in foreign}


def installed_files(kind):
    """Return the names of the checkout's files that every installation must hold."""
    return sorted(path.name for path in (ROOT / kind).iterdir() if path.is_file())


def run_clean(python, *arguments):
    """Run an interpreter away from the checkout, with no path that leads back to it."""
    keep = {key: value for key, value in os.environ.items() if key != 'PYTHONPATH'}
    return subprocess.run(
        [python, *arguments], cwd='/', env=keep, capture_output=True, text=True, timeout=1200
    )


def test_pip_reads_what_package_xml_says():
    assert setup_answers('--name', '--version', '--license') == [
        *(MANIFEST.findtext(tag) for tag in ('name', 'version', 'license')),
    ]
    assert MANIFEST.findtext('license') == 'MIT'
    assert 'MIT License' in (ROOT / 'LICENSE').read_text()


def test_the_version_stands_in_one_place_and_the_placeholder_too():
    told = (ROOT / 'setup.py', ROOT / 'CITATION.cff', ROOT / 'pyproject.toml')
    for path in told:
        assert MANIFEST.findtext('version') not in path.read_text(), path
        assert '.example' not in path.read_text(), path
    assert {url.get('type') for url in MANIFEST.findall('url')} >= {'repository', 'bugtracker'}


def test_the_citation_file_has_what_the_format_asks_for():
    citation = yaml.safe_load((ROOT / 'CITATION.cff').read_text())
    assert {'cff-version', 'message', 'title', 'authors'} <= set(citation)
    assert citation['license'] == MANIFEST.findtext('license')


def test_package_xml_is_of_format_3_and_declares_nothing_twice():
    assert MANIFEST.get('format') == '3'
    for tag in ('exec_depend', 'test_depend'):
        keys = [element.text for element in MANIFEST.findall(tag)]
        assert len(keys) == len(set(keys))


def test_every_imported_library_is_declared_for_rosdep():
    declared = {element.text for element in MANIFEST.findall('exec_depend')}
    imported = imported_libraries(ROOT / 'icir_control') | imported_libraries(ROOT / 'launch')
    needed = {ROSDEP_KEYS.get(name, name) for name in imported - NO_KEY}
    assert needed <= declared | RECORD | PANEL | STUDY


def test_every_imported_library_is_declared_for_pip():
    tree = ast.parse((ROOT / 'setup.py').read_text())
    words = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    declared = {str(word).partition('>')[0].partition('[')[0] for word in words}
    for name in imported_libraries(ROOT / 'icir_control'):
        on_pypi = {PYPI_NAMES.get(name, name), 'ros-' + name.replace('_', '-')}
        assert on_pypi & declared, name


def test_every_tool_of_the_tests_is_declared_for_rosdep():
    tree = ast.parse((ROOT / 'setup.py').read_text())
    (tools,) = (
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == 'TEST'
    )
    names = {tool.partition('>')[0] for tool in tools}
    keys = {TEST_KEYS.get(name, f'python3-{name}') for name in names - NOT_NEEDED}
    assert keys == {element.text for element in MANIFEST.findall('test_depend')}


def test_what_is_missing_is_said_with_the_command_that_installs_it():
    require('study', 'numpy')
    with pytest.raises(
        ConfigurationError, match=r"^nothing is not installed; pip install 'icir_control\[study\]'"
    ):
        require('study', 'numpy', 'nothing')


@pytest.mark.parametrize('kind', ['urdf', 'config', 'launch'])
def test_a_checkout_finds_its_own_files(kind):
    names = installed_files(kind)
    assert names
    assert share_directory() == ROOT
    assert all((share_directory() / kind / name).is_file() for name in names)


def test_every_executable_can_be_imported():
    scripts = entry_points(group='console_scripts')
    ours = [entry for entry in scripts if entry.module.startswith('icir_control.')]
    assert {entry.name for entry in ours} == {
        'composed',
        'controller',
        'icir_control',
        'keyboard',
        'mujoco_bridge',
        'panel',
    }
    assert all(callable(entry.load()) for entry in ours)


@pytest.mark.slow
def test_a_wheel_carries_every_shared_file_and_finds_it(tmp_path):
    pip = (sys.executable, '-m', 'pip', '--quiet', '--disable-pip-version-check')
    build = (*pip, 'wheel', '--no-deps', '--no-build-isolation', '--wheel-dir', str(tmp_path))
    # Built from a copy: setuptools leaves its scratch folder beside the sources.
    sources = tmp_path / 'sources'
    left_out = shutil.ignore_patterns('.*', '__pycache__', 'build', 'install', 'log')
    shutil.copytree(ROOT, sources, ignore=left_out)
    built = run_clean(*build, str(sources))
    assert built.returncode == 0, built.stderr
    (wheel,) = tmp_path.glob('icir_control-*.whl')

    environment = tmp_path / 'environment'
    subprocess.run([sys.executable, '-m', 'venv', '--without-pip', environment], check=True)
    python = str(environment / 'bin' / 'python')
    installed = run_clean(
        *pip, '--python', python, 'install', '--no-deps', '--no-index', str(wheel)
    )
    assert installed.returncode == 0, installed.stderr

    found = run_clean(
        python, '-c', 'from icir_control.share import share_directory as s; print(s())'
    )
    assert found.returncode == 0, found.stderr
    share = Path(found.stdout.strip())
    assert share == environment / 'share' / 'icir_control'
    for kind in ('urdf', 'config', 'launch'):
        # pip compiles launch files too.
        installed_names = {path.name for path in (share / kind).iterdir()} - {'__pycache__'}
        assert installed_names == set(installed_files(kind))
    assert (share / 'package.xml').is_file()
    marker = environment / 'share/ament_index/resource_index/packages/icir_control'
    assert marker.is_file()
    assert (environment / 'bin' / 'icir_control').is_file()
