"""A pytest plugin that collects as `launch_testing` does, where that is not installed.

The plugin of ROS 2 (Jazzy, with pytest 7.4) imports each module to look for a launch description,
before pytest collects it. A module that skips itself while it is imported ends the collection:
no test runs, and the result is no failure.
"""

from pathlib import Path

import pytest
from _pytest.pathlib import import_path


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    """Import a module, and only then collect it."""
    import_path(module_path, root=parent.config.rootpath)
    return pytest.Module.from_parent(parent, path=module_path)
