"""What the controller publishes besides commands: the mode, poses, references, errors, status.

It is published at a bounded rate, and after the command of the tick.
"""

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import Point, PoseStamped, TwistStamped, Vector3, WrenchStamped
from numpy.typing import ArrayLike, NDArray
from rclpy.node import Node
from std_msgs.msg import Float64, String

from icir_control.control import TERMS, Controller, pose_error
from icir_control.nodes.transport.conversions import key_values, xyz
from icir_control.nodes.transport.endpoints import JointStatePublisher, StampedPublisher
from icir_control.nodes.transport.qos import LATCHED
from icir_control.spatial import SE3, Motion

PERIOD_NS = 10_000_000  # of simulation time
WALL_PERIOD = 0.01  # s
COUNT_PERIOD = 0.1  # s of wall time between two looks for subscriptions


class Telemetry:
    """Publishes the running mode when it changes, everything else at a bounded rate.

    Nothing is computed for a topic without subscriptions.

    Attributes:
        follow_tool: Called as often, with wall time [s, monotonic]; None for nothing.
    """

    follow_tool: Callable[[float], None] | None = None

    def __init__(self, node: Node, controller: Controller) -> None:
        """Create the publishers.

        Args:
            node: The node that publishes.
            controller: What is published of.
        """
        self._controller = controller
        self._name = node.get_fully_qualified_name()
        self._arm = controller.config.arm
        self._prefix = controller.config.values.frame_prefix
        self._mode_publisher = node.create_publisher(String, '~/mode', LATCHED)
        self._mode = ''
        self._due_ns = 0
        self._due_wall = self._count_due = 0.0
        self._current: SE3 | None = None  # T_base_tool in this tick
        self._reference: SE3 | None = None
        # Each function returns position, velocity and effort, or None where there is nothing.
        of_joints: dict[str, Callable[[], tuple[Any, ...] | None]] = {
            'joint_reference': lambda: (
                controller.position_reference,
                controller.velocity_reference,
                controller.torque_unsaturated,
            ),
            'tracking_error': lambda: (
                controller.tracking_error if controller.has_joint_reference else None
            ),
            'external_torque': lambda: (None, None, controller.disturbance),
        }
        names = self._arm.model.joint_names
        self._joints = [
            (JointStatePublisher(node, f'~/{topic}', names), values)
            for topic, values in of_joints.items()
        ]
        self._terms = {
            name: JointStatePublisher(node, f'~/torque_terms/{name}', names) for name in TERMS
        }
        base, tool = (
            self._prefix + frame for frame in (self._arm.base_frame, self._arm.end_effector_frame)
        )
        of_numbers: dict[str, tuple[type, str, int, Callable[[], ArrayLike]]] = {
            'current_pose': (PoseStamped, base, 7, lambda: _numbers(self._current_pose)),
            'reference_pose': (PoseStamped, base, 7, lambda: _numbers(self._reference_pose)),
            'tool_error': (TwistStamped, base, 6, lambda: self._tool_error.vector),
            'estimated_wrench': (WrenchStamped, tool, 6, lambda: controller.disturbance_wrench),
        }
        self._numbers = [
            (StampedPublisher(node, kind, f'~/{topic}', frame_id, count), values)
            for topic, (kind, frame_id, count, values) in of_numbers.items()
        ]
        of_others: list[tuple[type, str, Callable[[], object]]] = [
            (
                Float64,
                'smallest_singular_value',
                lambda: Float64(data=controller.smallest_singular_value),
            ),
            (DiagnosticStatus, 'status', self._status),
            # Without stamps: rqt_plot takes a stamp for wall time.
            (Point, 'plot/position', lambda: xyz(Point, self._current_pose.translation)),
            (
                Point,
                'plot/position_reference',
                lambda: xyz(Point, self._reference_pose.translation),
            ),
            (Vector3, 'plot/position_error', lambda: xyz(Vector3, self._tool_error.linear)),
        ]
        if find_spec('visualization_msgs') is not None:
            from icir_control.nodes.controller.markers import MarkerArray, Markers

            markers = Markers(controller, self._prefix)
            of_others.append((MarkerArray, 'markers', markers.make))
        self._others: list[tuple[Any, Callable[[], object]]] = [
            (node.create_publisher(kind, f'~/{topic}', 1), make) for kind, topic, make in of_others
        ]
        self._count()

    def restart(self) -> None:
        """Begin anew, because time may have gone back."""
        self._due_ns = 0

    def publish_mode(self) -> None:
        """Publish the running mode if it has changed."""
        mode = self._controller.mode
        if mode != self._mode:
            self._mode = mode
            self._mode_publisher.publish(String(data=mode))

    def publish(self, stamp_ns: int, token: str) -> None:
        """Publish what is due after a tick.

        Args:
            stamp_ns: Simulation time of the tick [ns].
            token: Of the bridge's run.
        """
        self.publish_mode()
        if stamp_ns < self._due_ns:
            return
        now = time.monotonic()
        if now < self._due_wall:
            return
        self._due_ns = stamp_ns - stamp_ns % PERIOD_NS + PERIOD_NS
        # A tick that is a little late does not move the later ones.
        self._due_wall = max(self._due_wall, now - WALL_PERIOD) + WALL_PERIOD
        if now >= self._count_due:
            self._count_due = now + COUNT_PERIOD
            self._count()
        self._current = self._reference = None
        for publisher, values in self._wanted_joints:
            if (arrays := values()) is not None:
                publisher.publish(stamp_ns, token, *arrays)
        if self._wanted_terms:
            terms = self._controller.torque_terms
            for name, term in self._wanted_terms:
                term.publish(stamp_ns, token, effort=terms[name])
        for stamped, numbers in self._wanted_numbers:
            stamped.publish(stamp_ns, numbers())
        for other, make in self._wanted_others:
            other.publish(make())
        if self.follow_tool is not None:
            self.follow_tool(now)

    def _count(self) -> None:
        """Find the topics that have subscriptions: to ask takes as long as to publish little."""
        self._wanted_joints = [one for one in self._joints if one[0].subscribers]
        self._wanted_terms = [one for one in self._terms.items() if one[1].subscribers]
        self._wanted_numbers = [one for one in self._numbers if one[0].subscribers]
        self._wanted_others = [one for one in self._others if one[0].get_subscription_count() > 0]

    @property
    def _current_pose(self) -> SE3:
        """That of the controller, computed once for all topics of a tick."""
        if self._current is None:
            self._current = self._controller.current_pose
        return self._current

    @property
    def _reference_pose(self) -> SE3:
        if self._reference is None:
            self._reference = self._controller.reference_pose
        return self._reference

    @property
    def _tool_error(self) -> Motion:
        return pose_error(self._current_pose, self._reference_pose)

    def _status(self) -> DiagnosticStatus:
        """Return how the last tick went: a warning where the arm does not get the law's torque."""
        controller = self._controller
        limits = limits_of(controller)
        warnings = {
            f'saturated: {limits["saturated joints"]}': controller.saturated.any(),
            'torque held back by its rate limit': controller.rate_limited,
            'the tool lags its path, because joints are at their limits': controller.path_limited,
            'feedback is softer, since the arm could not be held': controller.bandwidth < 1.0,
        }
        active = [sentence for sentence, is_active in warnings.items() if is_active]
        status = DiagnosticStatus(level=DiagnosticStatus.WARN if active else DiagnosticStatus.OK)
        status.name = f'{self._name}: control'
        status.message = '; '.join(active) or controller.mode or 'no mode'
        status.values = key_values({'mode': controller.mode, **limits})
        return status


def limits_of(controller: Controller) -> dict[str, object]:
    """Return what limited the last tick, by key of the diagnostics."""
    names = np.array(controller.config.arm.model.joint_names)
    observer = 'cancels' if controller.cancels_disturbance else 'observes'
    return {
        'saturated joints': ', '.join(names[controller.saturated]) or 'none',
        'rate limited': 'yes' if controller.rate_limited else 'no',
        'path limited': 'yes' if controller.path_limited else 'no',
        'observer': observer if controller.config.values.observer.gain else 'off',
        'feedback bandwidth': f'{controller.bandwidth:g}',
        'speed scale': f'{controller.config.values.speed_scale:g}',
        'smallest singular value': f'{controller.smallest_singular_value:.4g}',
    }


def _numbers(placement: SE3) -> NDArray[np.float64]:
    """Return the numbers of a Pose: (7,) position and quaternion (x, y, z, w)."""
    return np.concatenate((placement.translation, placement.quaternion))
