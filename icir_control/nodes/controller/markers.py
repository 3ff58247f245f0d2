"""Markers for rviz: the force that the arm feels, and where the tool has been.

The package visualization_msgs is optional: this module is imported where it is installed.
"""

from collections import deque

import numpy as np
from geometry_msgs.msg import Point
from visualization_msgs.msg import Marker, MarkerArray

from icir_control.control import Controller

SCALE = 0.01
"""[m/N] Length of the arrow."""
LEAST_FORCE = 0.5
"""[N] Below which there is no arrow."""
STEP, POINTS = 2e-3, 300
"""[m] between two points of the trail, and how many it has at most."""


class Markers:
    """Makes the markers of `~/markers`."""

    def __init__(self, controller: Controller, prefix: str) -> None:
        """Begin without a trail.

        Args:
            controller: Whose arm is shown.
            prefix: What stands before the names of frames.
        """
        self._controller = controller
        arm = controller.config.arm
        self._base, self._tool = prefix + arm.base_frame, prefix + arm.end_effector_frame
        self._trail: deque[Point] = deque(maxlen=POINTS)
        self._last = np.full(3, np.inf)

    def make(self) -> MarkerArray:
        """Return the estimated force as an arrow at the tool, and the tool's trail."""
        place = self._controller.current_pose.translation
        if not np.linalg.norm(place - self._last) < STEP:
            self._last = place.copy()
            self._trail.append(_point(place))
        force = self._controller.disturbance_wrench[:3]
        arrow = self._marker(self._tool, 'force', Marker.ARROW)
        arrow.points = [Point(), _point(SCALE * force)]
        arrow.scale.x, arrow.scale.y = 0.01, 0.02  # shaft and head, diameters [m]
        arrow.color.r = 1.0
        if np.linalg.norm(force) < LEAST_FORCE:
            arrow.action = Marker.DELETE
        trail = self._marker(self._base, 'trail', Marker.LINE_STRIP)
        trail.points = list(self._trail)
        trail.scale.x = 0.003  # width [m]
        trail.color.b = 1.0
        return MarkerArray(markers=[arrow, trail])

    def _marker(self, frame: str, name: str, kind: int) -> Marker:
        marker = Marker(ns=name, type=kind)
        # Without a stamp rviz takes the newest transform; that of this tick comes later.
        marker.header.frame_id = frame
        marker.color.a = 1.0
        return marker


def _point(place: np.ndarray) -> Point:
    x, y, z = place.tolist()
    return Point(x=x, y=y, z=z)
