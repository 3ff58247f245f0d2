"""The terminal of `icir_control sim`: its keys, and a line that says what the arm does."""

import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final
from xml.parsers.expat import ExpatError

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, TwistStamped
from rclpy.node import Node
from rich.console import Console
from rich.live import Live
from rich.text import Text
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from icir_control.app.robot import RobotFiles
from icir_control.nodes.keyboard.keyboard import Keyboard
from icir_control.nodes.process.run import end_ros, init_ros
from icir_control.nodes.transport.conversions import Pace, seconds_of
from icir_control.nodes.transport.endpoints import Newest, has_native_parts
from icir_control.nodes.transport.outcome import Outcome
from icir_control.nodes.transport.qos import LATCHED, SUBSCRIBED
from icir_control.share import CONTROLLER, read_xml

_AT_REST: Final = 1e-6  # rad/s or m/s
_REFUSAL_SHOWN = 4.0  # s of wall time
_STATUS_PERIOD = 0.25  # s between two looks at what the arm does


def serve_keys(console: Console, robot: RobotFiles, is_wanted: Callable[[], bool]) -> None:
    """Serve the keys until the quit key is pressed or `is_wanted` returns False."""
    init_ros()
    node = rclpy.create_node('keyboard')
    try:
        status = SimStatus(node, robot.description()) if has_native_parts() else None
        due = 0.0
        # Nothing can be shown on a terminal that was closed.
        with suppress(OSError), Live(console=console, auto_refresh=False, transient=True) as live:

            def is_wanted_still() -> bool:
                nonlocal due
                if status is not None and time.monotonic() >= due:
                    due = time.monotonic() + _STATUS_PERIOD
                    live.update(status.text(), refresh=True)
                return is_wanted()

            # The controller logs its refusals to the same terminal.
            Keyboard(node, sys.stdin, console, shows_refusals=False).run(is_wanted_still)
    finally:
        node.destroy_node()
        end_ros()


class SimStatus:
    """Reads the newest message of a few topics whenever it is asked; all others cost nothing."""

    def __init__(self, node: Node, urdf: str) -> None:
        """Subscribe.

        Args:
            node: The node to subscribe through.
            urdf: Of the robot, as text; its effort limits are read.
        """
        self._topics = {
            topic: Newest(node, kind, f'{CONTROLLER}/{topic}', qos)
            for topic, kind, qos in (
                ('mode', String, LATCHED),
                ('motion_status', DiagnosticStatus, LATCHED),
                ('current_pose', PoseStamped, SUBSCRIBED),
                ('tool_error', TwistStamped, SUBSCRIBED),
                ('joint_reference', JointState, SUBSCRIBED),
            )
        }
        self._limits = _effort_limits(urdf)
        self._refused_until = 0.0
        self._pace = Pace()

    def text(self) -> Text:
        """Return the line; empty before the controller runs."""
        messages = {topic: newest.message() for topic, newest in self._topics.items()}
        mode, pose, error = (messages[t] for t in ('mode', 'current_pose', 'tool_error'))
        joints = messages['joint_reference']
        if mode is None or pose is None or joints is None:
            return Text()
        parts = [f'{mode.data}, {self._motion(messages["motion_status"], joints)}']
        p = pose.pose.position
        parts.append(f'tool {p.x:.3f} {p.y:.3f} {p.z:.3f} m')
        if error is not None:
            e = error.twist.linear
            parts.append(f'error {np.linalg.norm([e.x, e.y, e.z]):.1e} m')
        shares = [
            abs(effort) / self._limits[name]
            for name, effort in zip(joints.name, joints.effort, strict=True)
            if self._limits.get(name)
        ]
        if shares:
            parts.append(f'torque {max(shares):.0%}')
        self._pace.update(seconds_of(pose.header.stamp))
        if np.isfinite(self._pace.value):
            parts.append(f'{self._pace.value:.2f} x real time')
        return Text(' | '.join(parts), style='reverse', no_wrap=True, overflow='ellipsis')

    def _motion(self, status: DiagnosticStatus | None, joints: JointState) -> str:
        """Return what the arm does."""
        now = time.monotonic()
        if status is not None and self._topics['motion_status'].is_new:
            outcome = Outcome.of(status)
            self._refused_until = now + _REFUSAL_SHOWN if outcome.kind == Outcome.REFUSED else 0.0
        if status is not None and now < self._refused_until:
            return f'{Outcome.of(status).request} was refused'
        moves = np.abs(joints.velocity).max(initial=0.0) > _AT_REST
        return 'moving' if moves else 'arrived'


def _effort_limits(urdf: str) -> dict[str | None, float]:
    """Return the effort limits of a URDF by joint [N m or N]; none of one that is not valid."""
    try:
        return {
            joint.get('name'): float(limit.get('effort', 0.0))
            for joint in read_xml(urdf).iter('joint')
            if (limit := joint.find('limit')) is not None
        }
    except (ExpatError, ValueError):  # the nodes say what is wrong with it
        return {}
