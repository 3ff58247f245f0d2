"""Other people's URDFs: those of the package `example-robot-data`, where it is installed."""

import sys
from pathlib import Path

import pytest

ROBOTS = Path(sys.prefix) / 'lib' / f'python3.{sys.version_info.minor}' / 'site-packages'
ROBOTS = ROBOTS / 'cmeel.prefix' / 'share' / 'example-robot-data' / 'robots'
PANDA = ROBOTS / 'panda_description' / 'urdf' / 'panda.urdf'
UR5 = ROBOTS / 'ur_description' / 'urdf' / 'ur5_robot.urdf'
XARM = ROBOTS / 'xarm_description' / 'urdf' / 'xarm7.urdf'

needs_example_robots = pytest.mark.skipif(
    not ROBOTS.is_dir(), reason='needs example-robot-data, which comes with the extra `bench`'
)
