"""Requests to the controller by service and by topic: a mode, a target, a trajectory, a wrench."""

from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from geometry_msgs.msg import PoseStamped, WrenchStamped
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.subscription import MessageInfo
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from trajectory_msgs.msg import JointTrajectory

from icir_control.control import Controller, Waypoints
from icir_control.errors import IcirError, InvalidValueError, RefusedError
from icir_control.nodes.controller.interface import RobotClock
from icir_control.nodes.controller.motion_status import MotionStatus
from icir_control.nodes.transport.conversions import (
    placement_of,
    pose_numbers,
    seconds_of,
    stamp_words,
    wrench_numbers,
)
from icir_control.nodes.transport.messages import read_joint_state
from icir_control.nodes.transport.outcome import JOINTS, POSE, TRAJECTORY, Request
from icir_control.spatial import SE3, Force

_FIELDS = ('positions', 'velocities', 'accelerations', 'effort')


class Requests:
    """Serves, between two ticks, the services and topics that select modes and set targets.

    Every request is decided by `MotionStatus`, which logs and publishes what becomes of it; a
    service also answers whether it is accepted.
    """

    def __init__(
        self,
        node: Node,
        controller: Controller,
        status: MotionStatus,
        clock: RobotClock | None = None,
    ) -> None:
        """Offer the services and subscribe.

        Args:
            node: The node that serves.
            controller: Receives the requests.
            status: Decides them.
            clock: Of a robot whose stamps are not the controller's time.
        """
        self._clock = clock
        self._node = node
        self._controller = controller
        self._arm = controller.config.arm
        self._prefix = controller.config.values.frame_prefix
        self._joint_names = list(self._arm.model.joint_names)
        self._status = status
        for name in controller.mode_names:
            node.create_service(Trigger, f'~/modes/{name}', partial(self._answer, name))
        node.create_subscription(String, '~/select_mode', self._take_mode, 1)
        node.create_subscription(PoseStamped, '~/target_pose', self.take_pose, 1)
        node.create_subscription(JointState, '~/target_joints', self._take_joints, 1, raw=True)
        node.create_subscription(WrenchStamped, '~/measured_wrench', self._take_wrench, 1)
        node.create_subscription(JointTrajectory, '~/joint_trajectory', self._take_trajectory, 1)
        if find_spec('control_msgs') is not None:
            from icir_control.nodes.controller.follow_joint_trajectory import (
                FollowJointTrajectoryServer,
            )

            FollowJointTrajectoryServer(node, controller, status, self._waypoints_of)

    def _answer(self, name: str, _: Trigger.Request, response: Trigger.Response) -> Any:
        error = self._select(name)
        response.success = error is None
        response.message = name if error is None else str(error)
        return response

    def _select(self, name: str) -> IcirError | None:
        return self._status.serve(Request(mode=name), '', lambda: self._controller.select(name))

    def _take_mode(self, message: String) -> None:
        self._select(message.data)

    def take_pose(self, message: PoseStamped) -> None:
        """Make a pose of the tool the target; refused where it is not valid."""
        self._status.serve(
            POSE,
            stamp_words(message.header.stamp),
            lambda: self._set_pose(message),
        )

    def _take_trajectory(self, message: JointTrajectory, info: MessageInfo) -> None:
        self._status.serve(
            TRAJECTORY,
            stamp_words(message.header.stamp),
            lambda: self._controller.follow(self._waypoints_of(message)),
            sent_ns=info['source_timestamp'],
        )

    def _waypoints_of(self, message: JointTrajectory) -> Waypoints | None:
        waypoints = waypoints_of(message)
        if self._clock is None or waypoints is None or waypoints.start_time is None:
            return waypoints
        return replace(waypoints, start_time=waypoints.start_time - 1e-9 * self._clock.start_ns)

    def _take_joints(self, raw: bytes) -> None:
        self._status.serve(JOINTS, '', lambda: self._set_joints(raw))

    def _set_pose(self, message: PoseStamped) -> NDArray[np.float64]:
        self._controller.set_target_pose(self._pose_of(message))
        return pose_numbers(message.pose)

    def _set_joints(self, raw: bytes) -> NDArray[np.float64]:
        joints = self._joints_of(raw)
        self._controller.set_target_joints(joints)
        return joints

    def _take_wrench(self, message: WrenchStamped) -> None:
        """Pass the wrench of a sensor on; they come too fast to log each refusal."""
        frame = self._arm.end_effector_frame
        given, values = message.header.frame_id, wrench_numbers(message.wrench)
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
        return placement_of(message.pose)

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


def waypoints_of(message: JointTrajectory) -> Waypoints | None:
    """Return the waypoints of a trajectory; None of one without points, which asks to stop.

    Raises:
        RefusedError: Fields that do not match the joints, or that differ from point to point.
    """
    points, joints = message.points, tuple(message.joint_names)
    if not points:
        return None
    columns = {}
    for name in _FIELDS:
        rows = [getattr(point, name) for point in points]
        lengths = {len(row) for row in rows}
        if lengths not in ({0}, {len(joints)}):
            raise RefusedError(
                f'the trajectory is not valid: {name} of {sorted(lengths)} numbers; expected'
                f' {len(joints)} in every point, as there are joint names, or none',
                reason='invalid_trajectory',
            )
        columns[name] = [row.tolist() for row in rows] if lengths != {0} else None
    if columns['positions'] is None or columns.pop('effort') is not None:
        raise RefusedError(
            'the trajectory is not valid: expected positions, and no effort, in every point',
            reason='invalid_trajectory',
        )
    times = [seconds_of(point.time_from_start) for point in points]
    start_time = seconds_of(message.header.stamp) or None
    return Waypoints(joints, times, **columns, start_time=start_time)
