"""Fixtures that several test files share."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A first call compiles: no deadline. Seeds are printed, and CI takes the same cases every time.
settings.register_profile('icir', deadline=None, print_blob=True)
settings.register_profile('icir-ci', parent=settings.get_profile('icir'), derandomize=True)
settings.load_profile('icir-ci' if os.environ.get('CI') else 'icir')


@pytest.fixture
def ros_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator['RosGraph']:  # noqa: F821
    """A ROS domain of this test's own; what is started in it ends with the test."""
    from ros_processes import RosGraph  # imports rclpy: only for the tests that need it

    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    with RosGraph(tmp_path / 'ros_logs') as graph:
        yield graph
