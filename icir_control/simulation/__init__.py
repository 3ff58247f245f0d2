"""The plant: a MuJoCo world built from the URDF, its window, and what differs on purpose."""

import importlib
import os

from icir_control.errors import ConfigurationError

try:
    # Before our own modules: it looks for OpenGL as soon as it is imported.
    importlib.import_module('mujoco')
except Exception as error:  # what is raised depends on how OpenGL is missing
    if 'MUJOCO_GL' not in os.environ:
        raise
    raise ConfigurationError(
        f'MuJoCo does not start with MUJOCO_GL={os.environ["MUJOCO_GL"]}: {error}; expected egl, '
        'osmesa or glfw, one that is installed, or to have it unset'
    ) from error

from icir_control.simulation.plant import Plant
from icir_control.simulation.viewer import Viewer, open_viewer
from icir_control.simulation.world import World

__all__ = ['Plant', 'Viewer', 'World', 'open_viewer']
