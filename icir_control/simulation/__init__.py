"""The plant: a MuJoCo world built from the URDF, its window, and what differs on purpose."""

from icir_control.simulation.plant import Plant
from icir_control.simulation.viewer import Viewer, open_viewer
from icir_control.simulation.world import World

__all__ = ['Plant', 'Viewer', 'World', 'open_viewer']
