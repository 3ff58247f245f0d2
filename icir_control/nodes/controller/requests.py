"""Requests to the controller by service and by topic: a mode, a posture, a pose, a wrench."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped, WrenchStamped
from numpy.typing import NDArray
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header, String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from icir_control.control import TRAJECTORY, Controller, Waypoints
from icir_control.errors import IcirError, InvalidValueError
from icir_control.nodes.controller.interface import RobotClock
from icir_control.nodes.controller.telemetry import LATCHED, key_values
from icir_control.nodes.controller.trajectories import waypoints_of
from icir_control.nodes.transport.messages import read_joint_state
from icir_control.spatial import SE3, Force


class Requests:
    """Serves, between two ticks, the services and topics that select modes and set targets.

    Every request is decided in `_serve`, and its outcome is logged and published on
    `~/motion_status`; a service also answers it. So is, later, how a trajectory ends.

    Attributes:
        trajectory: The stamp of the trajectory that is under way; None where none is.
    """

    def __init__(
        self,
        node: Node,
        controller: Controller,
        done: Callable[[], None],
        clock: RobotClock | None = None,
    ) -> None:
        """Offer the services and subscribe.

        Args:
            node: The node that serves.
            controller: Receives the requests.
            done: Called after an accepted request.
            clock: Of a robot whose stamps are not the controller's time.
        """
        self._clock = clock
        self._node = node
        self._controller = controller
        self._arm = controller.config.arm
        self._prefix = controller.config.values.frame_prefix
        self._joint_names = list(self._arm.model.joint_names)
        self._done = done
        self.trajectory: str | None = None
        self._outcome = node.create_publisher(DiagnosticStatus, '~/motion_status', LATCHED)
        for name in controller.mode_names:
            node.create_service(Trigger, f'~/modes/{name}', partial(self._answer, name))
        node.create_subscription(String, '~/select_mode', self._take_mode, 1)
        node.create_subscription(PoseStamped, '~/target_pose', self._take_pose, 1)
        node.create_subscription(JointState, '~/target_joints', self._take_joints, 1, raw=True)
        node.create_subscription(WrenchStamped, '~/measured_wrench', self._take_wrench, 1)
        node.create_subscription(JointTrajectory, '~/joint_trajectory', self._take_trajectory, 1)

    def _answer(self, name: str, _: Trigger.Request, response: Trigger.Response) -> Any:
        reason = self._select(name)
        response.success = not reason
        response.message = reason or name
        return response

    def _select(self, name: str) -> str:
        return self._serve(f'mode {name}', '', lambda: self._controller.select(name))

    def _take_mode(self, message: String) -> None:
        self._select(message.data)

    def _take_pose(self, message: PoseStamped) -> None:
        self._serve(
            'target pose',
            _words_of(message.header),
            lambda: self._controller.set_target_pose(self._pose_of(message)),
        )

    def _take_trajectory(self, message: JointTrajectory) -> None:
        stamp = _words_of(message.header)
        reason = self._serve(
            'joint trajectory', stamp, lambda: self._controller.follow(self._waypoints_of(message))
        )
        if not reason:
            self.trajectory = stamp

    def _waypoints_of(self, message: JointTrajectory) -> Waypoints | None:
        waypoints = waypoints_of(message)
        if self._clock is None or waypoints is None or waypoints.start_time is None:
            return waypoints
        return replace(waypoints, start_time=waypoints.start_time - 1e-9 * self._clock.start_ns)

    def watch_trajectory(self) -> None:
        """Report the end of the trajectory that is under way, if it has one now."""
        if self._controller.mode != TRAJECTORY:
            self._end_trajectory('aborted', f'mode {self._controller.mode} runs instead')
        elif self._controller.motion_left == 0.0:
            self._end_trajectory('arrived', 'arrived')

    def _end_trajectory(self, outcome: str, words: str) -> None:
        stamp, self.trajectory = self.trajectory or '', None
        self._node.get_logger().info(f'joint trajectory {outcome}: {words}')
        self._report('joint trajectory', stamp, outcome, words, {})

    def _take_joints(self, raw: bytes) -> None:
        self._serve(
            'target joints', '', lambda: self._controller.set_target_joints(self._joints_of(raw))
        )

    def _serve(self, request: str, stamp: str, act: Callable[[], None]) -> str:
        """Decide a request and report its outcome.

        Args:
            request: What is requested, for the log.
            stamp: That of the request, if it has one: it identifies the request.
            act: Does it; an `IcirError` refuses it.

        Returns:
            Why it is refused, a sentence; empty when it is accepted.
        """
        reason, data = '', {}
        try:
            act()
        except IcirError as error:
            reason = str(error)
            data = {name: value for name, value in vars(error).items() if value is not None}
            self._node.get_logger().warning(f'{request} refused: {reason}')
        else:
            self._node.get_logger().info(request)
            if self.trajectory is not None:
                self._end_trajectory('aborted', f'replaced by {request}')
        self._report(
            request, stamp, 'refused' if reason else 'accepted', reason or 'accepted', data
        )
        if not reason:
            self._done()
        return reason

    def _report(
        self, request: str, stamp: str, outcome: str, words: str, data: dict[str, Any]
    ) -> None:
        """Publish what became of a request; see `_serve`."""
        values = {
            'request': request,
            'stamp': stamp,
            'outcome': outcome,
            'mode': self._controller.mode,
            **data,
        }
        is_good = outcome in ('accepted', 'arrived')
        status = DiagnosticStatus(level=DiagnosticStatus.OK if is_good else DiagnosticStatus.WARN)
        status.name = f'{self._node.get_fully_qualified_name()}: motion'
        status.message = words
        status.values = key_values(values)
        self._outcome.publish(status)

    def _take_wrench(self, message: WrenchStamped) -> None:
        """Pass the wrench of a sensor on; they come too fast to log each refusal."""
        frame = self._arm.end_effector_frame
        given, force, torque = message.header.frame_id, message.wrench.force, message.wrench.torque
        values = np.array([force.x, force.y, force.z, torque.x, torque.y, torque.z])
        if given in ('', frame, self._prefix + frame) and np.isfinite(values).all():
            self._controller.set_measured_wrench(Force.from_vector(values))
            return
        self._node.get_logger().warning(
            f'measured wrench {values.tolist()} in {given!r} refused; expected six finite'
            f' numbers in {frame!r}',
            throttle_duration_sec=5.0,
        )

    def _pose_of(self, message: PoseStamped) -> SE3:
        """Return T_base_tool of a message.

        Raises:
            InvalidValueError: Another frame, no quaternion, or a number that is not finite.
        """
        frame, base = message.header.frame_id, self._arm.base_frame
        if frame not in ('', base, self._prefix + base):
            raise InvalidValueError('header.frame_id', frame, f'{base!r} or an empty one')
        position, orientation = message.pose.position, message.pose.orientation
        return SE3.from_quaternion(
            (orientation.x, orientation.y, orientation.z, orientation.w),
            (position.x, position.y, position.z),
        )

    def _joints_of(self, raw: bytes) -> NDArray[np.float64]:
        """Return the positions (nv,) of a serialised JointState, in the order of v.

        Raises:
            InvalidValueError: Not each joint of the arm once, or not one position for each.
        """
        message = read_joint_state(raw)
        if sorted(message.name) != sorted(self._joint_names):
            raise InvalidValueError(
                'name', list(message.name), f'each of {", ".join(self._joint_names)} once'
            )
        if len(message.position) != len(message.name):
            raise InvalidValueError(
                'position', list(message.position), f'{len(message.name)} numbers, one per name'
            )
        return np.array([message.position[message.name.index(one)] for one in self._joint_names])


def _words_of(header: Header) -> str:
    """Return the stamp of a request, by which its sender recognises the answer."""
    return f'{header.stamp.sec}.{header.stamp.nanosec:09d}'
