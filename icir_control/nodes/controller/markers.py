"""Markers for rviz: the force on the arm, the tool's trail, joints at limits, nearest distances.

The package visualization_msgs is optional: this module is imported where it is installed.
"""

from collections import deque
from collections.abc import Iterator

import numpy as np
from geometry_msgs.msg import Point
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import Marker, MarkerArray

from icir_control.collision import CollisionPairs, distance
from icir_control.control import Controller
from icir_control.dynamics import FrameType, Model, forward_kinematics, root_link
from icir_control.nodes.transport.conversions import xyz

SCALE = 0.01
"""[m/N] Length of the arrow."""
LEAST_FORCE = 0.5
"""[N] Below which there is no arrow."""
STEP, POINTS = 2e-3, 300
"""[m] between two points of the trail, and how many it has at most."""
RED, YELLOW = ColorRGBA(r=1.0, a=0.5), ColorRGBA(r=1.0, g=0.8, a=0.5)
BALL = 0.1
"""Diameter of the balls, of the robot's reach."""
NEAR = 2.0
"""Times the clearance, within which a distance is shown."""


def reach_of(model: Model) -> float:
    """Return the longest way from the world to a frame along the joints [m]."""
    ways = np.zeros(model.njoints)
    for k, joint in enumerate(model.joints[1:], start=1):
        ways[k] = ways[joint.parent] + np.linalg.norm(joint.placement.translation)
    return max(
        float(ways[frame.parent] + np.linalg.norm(frame.placement.translation))
        for frame in model.frames
    )


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
        model = arm.model
        self._ball = BALL * reach_of(model)
        self._root = prefix + root_link(model)
        # The first link behind each joint, whose frame is the joint's.
        self._links = [
            prefix
            + next(
                frame.name
                for frame in model.frames
                if frame.type is FrameType.BODY and frame.parent == joint
            )
            for joint in range(1, model.njoints)
            if model.joints[joint].mimic is None
        ]
        self._data = model.create_data()
        self._pairs: CollisionPairs | None = None
        if arm.clearance is not None:
            pairs = arm.clearance.pairs
            self._pairs = CollisionPairs(model, pairs.shapes, pairs.names)

    def make(self) -> MarkerArray:
        """Return all markers, each with its own namespace."""
        return MarkerArray(
            markers=[self._force(), self._trail_line(), self._distances(), *self._limits()]
        )

    def _force(self) -> Marker:
        """Return the estimated force, an arrow at the tool."""
        force = self._controller.disturbance_wrench[:3]
        arrow = self._marker(self._tool, 'force', Marker.ARROW)
        arrow.points = [Point(), xyz(Point, SCALE * force)]
        arrow.scale.x, arrow.scale.y = 0.01, 0.02  # shaft and head, diameters [m]
        arrow.color.r = 1.0
        if np.linalg.norm(force) < LEAST_FORCE:
            arrow.action = Marker.DELETE
        return arrow

    def _trail_line(self) -> Marker:
        """Return where the tool has been."""
        place = self._controller.current_pose.translation
        if not np.linalg.norm(place - self._last) < STEP:
            self._last = place.copy()
            self._trail.append(xyz(Point, place))
        trail = self._marker(self._base, 'trail', Marker.LINE_STRIP)
        trail.points = list(self._trail)
        trail.scale.x = 0.003  # width [m]
        trail.color.b = 1.0
        return trail

    def _distances(self) -> Marker:
        """Return lines as long as the distances of near links: red within the clearance."""
        lines = self._marker(self._root, 'distances', Marker.LINE_LIST)
        lines.scale.x = 0.004  # width [m]
        arm, pairs = self._controller.config.arm, self._pairs
        if pairs is not None and arm.clearance is not None and arm.clearance.least:
            forward_kinematics(arm.model, self._data, self._controller.position)
            found = distance(arm.model, self._data, pairs) / arm.clearance.least
            for k in np.flatnonzero(found < NEAR):
                end = pairs.witness_a[k]
                # Boxes are bounded from below: not their nearest points are known, but the way.
                way = pairs.distance[k] * pairs.normal[k]
                lines.points += [xyz(Point, end), xyz(Point, end - way)]
                lines.colors += [RED if found[k] < 1.0 else YELLOW] * 2
        if not lines.points:
            lines.action = Marker.DELETE
        return lines

    def _limits(self) -> Iterator[Marker]:
        """Yield a ball at each joint: red at its effort limit, yellow near a position limit."""
        controller = self._controller
        model, q = controller.config.arm.model, controller.position
        margin = controller.config.position_margin
        room = np.minimum(q - model.lower_position_limit, model.upper_position_limit - q)
        for k, (frame, beyond) in enumerate(zip(self._links, controller.saturated, strict=True)):
            ball = self._marker(frame, 'limits', Marker.SPHERE)
            ball.id = k
            ball.scale.x = ball.scale.y = ball.scale.z = self._ball
            ball.color = RED if beyond else YELLOW
            if not beyond and room[k] >= margin[k]:
                ball.action = Marker.DELETE
            yield ball

    def _marker(self, frame: str, name: str, kind: int) -> Marker:
        marker = Marker(ns=name, type=kind)
        # Without a stamp rviz takes the newest transform; that of this tick comes later.
        marker.header.frame_id = frame
        marker.color.a = 1.0
        return marker
