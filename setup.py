"""Installs icir_control: one tree for ament_python (colcon) and for pip.

What package.xml says is read from there: name, version, description, licence, maintainer, URLs.
"""

import xml.etree.ElementTree as ET
from glob import glob
from pathlib import Path

from setuptools import find_packages, setup

MANIFEST = ET.parse('package.xml').getroot()
PACKAGE = MANIFEST.findtext('name')
SHARE = f'share/{PACKAGE}'

ROS = [
    'ros-rclpy[fastrtps]',
    'ros-ament-index-python',
    'ros-diagnostic-msgs',
    'ros-geometry-msgs',
    'ros-rcl-interfaces',
    'ros-rosgraph-msgs',
    'ros-sensor-msgs',
    'ros-std-msgs',
    'ros-std-srvs',
    'ros-trajectory-msgs',
    'ros-visualization-msgs',
]
PANEL = ['viser>=1.1,<2', 'websockets']
RECORD = ['imageio-ffmpeg', 'plotly']
TEST = [
    'hypothesis',
    'import-linter',
    'ipykernel',
    'mypy',
    'nbclient',
    'pandas',
    'pytest',
    'pytest-timeout',
    'pytest-xdist',
    'rosbags',
    'ruff',
    'scipy',
    'selenium',
    # Builds a wheel by itself from 70.1 on; colcon uses what 80 took away.
    'setuptools>=70.1,<80',
]
BENCH = ['example-robot-data', 'pin']
STUDY = ['dask', 'distributed', 'optuna>=5', 'pyarrow', 'scipy']
DOCS = ['furo', 'myst-parser', 'sphinx']
CI = ['build', 'colcon-common-extensions']

setup(
    name=PACKAGE,
    version=MANIFEST.findtext('version'),
    description=MANIFEST.findtext('description').strip(),
    long_description=Path('README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license=MANIFEST.findtext('license'),
    maintainer=MANIFEST.findtext('maintainer'),
    maintainer_email=MANIFEST.find('maintainer').get('email'),
    project_urls={url.get('type'): url.text for url in MANIFEST.findall('url')},
    keywords='robotics, torque control, dynamics, MuJoCo, ROS 2',
    classifiers=[
        'Development Status :: 4 - Beta',
        'Intended Audience :: Education',
        'Intended Audience :: Science/Research',
        'Operating System :: POSIX :: Linux',
        *(f'Programming Language :: Python :: 3.{minor}' for minor in (11, 12, 13, 14)),
        'Topic :: Scientific/Engineering :: Physics',
        'Typing :: Typed',
    ],
    packages=find_packages(include=[PACKAGE, f'{PACKAGE}.*']),
    package_data={PACKAGE: ['py.typed']},
    python_requires='>=3.11',
    install_requires=[
        'setuptools',
        'lxml',
        'matplotlib',
        'mcap>=1.6',
        'mcap-ros2-support',
        'mujoco>=3.2',
        'numba>=0.60',
        'numpy',
        'pyyaml',
        'quadprog',
        'rich',
        'trimesh',
        'typer',
        'yourdfpy>=0.0.56',
    ],
    extras_require={
        'ros': ROS,
        'sim': [*ROS, *PANEL],
        'panel': PANEL,
        'record': RECORD,
        'test': TEST,
        'bench': BENCH,
        'study': STUDY,
        'docs': DOCS,
        'ci': CI,
    },
    data_files=[
        ('share/ament_index/resource_index/packages', [f'resource/{PACKAGE}']),
        (SHARE, ['package.xml']),
        (f'{SHARE}/launch', glob('launch/*.launch.py')),
        (f'{SHARE}/config', glob('config/*')),
        (f'{SHARE}/urdf', glob('urdf/*')),
    ],
    entry_points={
        'console_scripts': [
            'icir_control = icir_control.app.main:main',
            'mujoco_bridge = icir_control.nodes.__main__:bridge',
            'composed = icir_control.nodes.__main__:composed',
            'controller = icir_control.nodes.__main__:controller',
            'keyboard = icir_control.nodes.__main__:keyboard',
            'panel = icir_control.nodes.__main__:panel',
        ],
    },
)
