"""Fixtures that several test files share."""

from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def ros_graph(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator['RosGraph']:  # noqa: F821
    """A ROS domain of this test's own; what is started in it ends with the test."""
    from ros_processes import RosGraph  # imports rclpy: only for the tests that need it

    monkeypatch.setenv('ROS_AUTOMATIC_DISCOVERY_RANGE', 'LOCALHOST')
    with RosGraph(tmp_path / 'ros_logs') as graph:
        yield graph
