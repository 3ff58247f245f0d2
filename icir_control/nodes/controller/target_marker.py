"""A handle in rviz: where it is let go is the next target pose of the tool.

The package interactive_markers is optional: this module is imported where it is installed.
"""

import math
import time
from collections.abc import Callable

from geometry_msgs.msg import PoseStamped, Quaternion
from interactive_markers import InteractiveMarkerServer
from rclpy.node import Node
from std_msgs.msg import ColorRGBA
from visualization_msgs.msg import (
    InteractiveMarker,
    InteractiveMarkerControl,
    InteractiveMarkerFeedback,
    Marker,
)

from icir_control.control import Controller
from icir_control.nodes.controller.markers import reach_of
from icir_control.nodes.transport.conversions import pose_of

PERIOD = 0.1  # s of wall time between two moves with the tool
HOLD = 15.0  # s of wall time for which it is held: rviz says every 10 s that it still is
SIZE = 0.2  # of the robot's reach
AXES = {'x': (1.0, 0.0, 0.0), 'y': (0.0, 0.0, 1.0), 'z': (0.0, 1.0, 0.0)}
"""Axis of a quarter turn that takes a control's x axis there, by name."""
HELD = (
    InteractiveMarkerFeedback.MOUSE_DOWN,
    InteractiveMarkerFeedback.POSE_UPDATE,
    InteractiveMarkerFeedback.KEEP_ALIVE,
)


class TargetMarker:
    """Serves `~/target_marker`: it stays at the tool, unless somebody drags it."""

    def __init__(
        self,
        node: Node,
        controller: Controller,
        send: Callable[[PoseStamped], object],
    ) -> None:
        """Offer the handle.

        Args:
            node: The node that serves.
            controller: Whose tool it is.
            send: Takes a target pose, as the topic does.
        """
        self._controller, self._send = controller, send
        self._server = InteractiveMarkerServer(node, '~/target_marker')
        self._due = 0.0
        marker = InteractiveMarker(name='target')
        config = controller.config
        marker.scale = SIZE * reach_of(config.arm.model)
        marker.header.frame_id = config.values.frame_prefix + config.arm.base_frame
        marker.description = 'target of the tool'
        for name, (x, y, z) in AXES.items():
            turn = Quaternion(x=math.sqrt(0.5) * x, y=math.sqrt(0.5) * y, z=math.sqrt(0.5) * z)
            turn.w = math.sqrt(0.5)
            for verb, kind in (
                ('move', InteractiveMarkerControl.MOVE_AXIS),
                ('turn', InteractiveMarkerControl.ROTATE_AXIS),
            ):
                marker.controls.append(
                    InteractiveMarkerControl(
                        name=f'{verb}_{name}', orientation=turn, interaction_mode=kind
                    )
                )
        ball = Marker(type=Marker.SPHERE, color=ColorRGBA(r=0.2, g=0.6, b=1.0, a=0.6))
        ball.scale.x = ball.scale.y = ball.scale.z = 0.3 * marker.scale
        marker.controls.append(
            InteractiveMarkerControl(
                name='move',
                interaction_mode=InteractiveMarkerControl.MOVE_3D,
                always_visible=True,
                markers=[ball],
            )
        )
        self._name = marker.name
        self._server.insert(marker, feedback_callback=self._take)
        self._server.applyChanges()

    def follow_tool(self, now: float) -> None:
        """Move the handle to the tool, when it is due and somebody looks.

        Args:
            now: Wall time [s, monotonic].
        """
        if now < self._due or not self._server.update_pub.get_subscription_count():
            return
        self._due = now + PERIOD
        pose = self._controller.current_pose
        self._server.setPose(self._name, pose_of(pose.translation, pose.quaternion))
        self._server.applyChanges()

    def close(self) -> None:
        """Leave the graph, before the node does."""
        self._server.shutdown()

    def _take(self, feedback: InteractiveMarkerFeedback) -> None:
        if feedback.event_type == InteractiveMarkerFeedback.MOUSE_UP:
            self._due = time.monotonic() + PERIOD
            self._send(PoseStamped(header=feedback.header, pose=feedback.pose))
        elif feedback.event_type in HELD:
            self._due = time.monotonic() + HOLD
