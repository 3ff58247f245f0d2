"""Installs icir_control: one tree for ament_python (colcon) and for pip."""

from glob import glob

from setuptools import find_packages, setup

PACKAGE = 'icir_control'
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
RECORD = ['imageio-ffmpeg', 'mcap>=1.6', 'mcap-ros2-support', 'plotly']
TEST = [
    'hypothesis',
    'import-linter',
    'mypy',
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
STUDY = ['dask', 'distributed', 'scipy']
DOCS = ['furo', 'myst-parser', 'sphinx']
CI = ['colcon-common-extensions']

setup(
    name=PACKAGE,
    version='0.1.0',
    description='Torque control of robot arms: ROS 2 nodes, MuJoCo the plant, own dynamics',
    license='MIT',
    maintainer='The icir_control authors',
    maintainer_email='maintainers@icir-control.example',
    packages=find_packages(include=[PACKAGE, f'{PACKAGE}.*']),
    package_data={PACKAGE: ['py.typed']},
    python_requires='>=3.11',
    install_requires=[
        'setuptools',
        'lxml',
        'matplotlib',
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
