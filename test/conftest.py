"""Fixtures that several test files share, and in which order tests run."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fuzz import EXAMPLES
from hypothesis import settings

# A shell that starts the tests in the background lets them ignore these signals, and with them
# every process that they start and mean to stop by one.
for number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(number) is signal.SIG_IGN:
        handler = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
        signal.signal(number, handler)

# A first call compiles: no deadline. Seeds are printed, and CI takes the same cases every time.
settings.register_profile('icir', deadline=None, print_blob=True, max_examples=EXAMPLES)
settings.register_profile('icir-ci', parent=settings.get_profile('icir'), derandomize=True)
settings.load_profile('icir-ci' if os.environ.get('CI') else 'icir')

# Files whose tests share something expensive, such as a node, or kernels that only they compile
# where no compiled code is kept yet: each runs in one process, by `pytest -n`.
WHOLE = (
    'test_app_metrics',
    'test_dynamics_derivatives',
    'test_collision',
    'test_contact',
    'test_transport',
    'test_app_demo',
    'test_bridge',
    'test_control_clearance',
    'test_controller_node',
    'test_follow_joint_trajectory',
    'test_joint_trajectory',
    'test_panel',
)
# Files of which each test takes long.
LONG = (
    'test_soak',
    'test_session',
    'test_faults',
    'test_composed',
    'test_other_arms',
    'test_real_robot',
    'test_recording_film',
    'test_recording_replay',
    'test_recording',
    'test_recording_start',
    'test_app_sim',
    'test_bridge_any_source',
)
# The first file compiles the control kernels, for which all that needs them would wait: what needs
# none comes next. The rest has the long ones first, so that nothing long is left for the end.
WITHOUT_CONTROL = tuple(
    f'test_{name}'
    for name in ('dynamics', 'collision', 'contact', 'transport', 'spatial', 'simulation')
)
ORDER = {stem: place for place, stem in enumerate((*WHOLE, *LONG))}


def place_of(item: pytest.Item) -> tuple[bool, bool, int]:
    """Return what items are sorted by."""
    stem = item.path.stem
    later = not stem.startswith(WITHOUT_CONTROL)
    return stem != WHOLE[0], later, ORDER.get(stem, len(ORDER))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=place_of)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out tests one by one, and the files that share something as a whole."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition('::')[0]
            return file if Path(file).stem in WHOLE else nodeid

    if config.getvalue('dist') != 'load':
        return None
    config.option.loadscopereorder = False
    return Scheduling(config, log)


@pytest.fixture(autouse=True)
def warned_of_nothing() -> None:
    """Let a test hear the warnings that a test before it has heard."""
    reader = sys.modules.get('icir_control.dynamics.urdf_xml')
    if reader is not None:
        reader.warn_once.cache_clear()


@pytest.fixture
def ros_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator['RosGraph']:  # noqa: F821
    """A ROS domain of this test's own; what is started in it ends with the test."""
    from ros_processes import RosGraph  # imports rclpy: only for the tests that need it

    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    with RosGraph(tmp_path / 'ros_logs') as graph:
        yield graph


@pytest.fixture(autouse=True)
def signals_as_before():
    """A node that ends in this process ignores signals from then on; the next children would."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.getsignal(number) for number in numbers]
    yield
    for number, handler in zip(numbers, before, strict=True):
        signal.signal(number, handler)
