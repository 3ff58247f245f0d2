"""The action of planners, control_msgs/action/FollowJointTrajectory.

The package is optional: this module is imported where it is installed.
"""

import math
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from control_msgs.action import FollowJointTrajectory
from rclpy.action import ActionServer, CancelResponse
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.task import Future
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from icir_control.control import Controller, Waypoints
from icir_control.errors import RefusedError
from icir_control.nodes.controller.motion_status import (
    Goal,
    MotionStatus,
    error_code_of,
)
from icir_control.nodes.transport.conversions import nanoseconds_of, stamp_of, stamp_words
from icir_control.nodes.transport.outcome import TRAJECTORY, Outcome
from icir_control.parameter import FloatArray

FEEDBACK_PERIOD = 0.05
"""[s] of wall time."""

_Result = FollowJointTrajectory.Result
_NO_TOLERANCE = -1.0
_QUANTITIES = ('position', 'velocity')


class Tolerances:
    """How far from its reference each joint may be."""

    def __init__(self, joints: tuple[str, ...], what: str, given: Iterable[Any]) -> None:
        """Read them.

        Args:
            joints: The names, in the order of v.
            what: Which tolerances these are.
            given: `JointTolerance` messages; 0, or one that is left out, sets no tolerance, and
                accelerations are not measured.

        Raises:
            RefusedError: A joint that the arm does not have, or a number that is no tolerance.
        """
        self._joints, self._what = joints, what
        self._limits = np.full((2, len(joints)), np.inf)
        for one in given:
            if one.name not in joints:
                raise RefusedError(
                    f'{what} of {one.name!r}; expected some of {", ".join(joints)}',
                    reason='invalid_joints',
                )
            for limits, quantity in zip(self._limits, _QUANTITIES, strict=True):
                value = getattr(one, quantity)
                if not (math.isfinite(value) and (value >= 0.0 or value == _NO_TOLERANCE)):
                    raise RefusedError(
                        f'{what}: {quantity} of {one.name} is {value}; expected a positive number,'
                        f' 0 for the default or {_NO_TOLERANCE:g} for none',
                        reason='invalid_trajectory',
                    )
                if value > 0.0:
                    limits[joints.index(one.name)] = value
        self._has_any = bool(np.isfinite(self._limits).any())

    def violation(self, errors: tuple[FloatArray, FloatArray]) -> str:
        """Return which joint is how far beyond its tolerance; empty where none is.

        Args:
            errors: Of position and velocity, each (nv,).
        """
        if not self._has_any:
            return ''
        share = np.abs(errors) / self._limits
        if not (share > 1.0).any():
            return ''
        k, i = np.unravel_index(int(np.argmax(share)), share.shape)
        return (
            f'{self._what} violated: {_QUANTITIES[k]} of {self._joints[i]} is'
            f' {abs(errors[k][i]):.4g} off, its tolerance is {self._limits[k][i]:.4g}'
        )


class _ActionGoal(Goal):
    """A goal of the action, from its acceptance to its result.

    Attributes:
        handle: Of the action server.
        result: Set when the motion has ended.
    """

    def __init__(self, controller: Controller, handle: Any) -> None:
        self._controller = controller
        self.handle = handle
        self.result: Future[Any] = Future()
        self._code = _Result.INVALID_GOAL
        self._begin_ns = self._now_ns = self._end_ns = -1

    def read(self) -> None:
        """Read what is asked of the motion.

        Raises:
            RefusedError: It is not valid.
        """
        request = self.handle.request
        joints = self._controller.config.arm.model.joint_names
        if request.multi_dof_trajectory.points or not request.trajectory.points:
            raise RefusedError(
                'the goal is not valid: expected points of `trajectory`, none of'
                ' `multi_dof_trajectory`',
                reason='invalid_trajectory',
            )
        self._path = Tolerances(joints, 'path tolerance', request.path_tolerance)
        self._final = Tolerances(joints, 'goal tolerance', request.goal_tolerance)
        self._time_tolerance_ns = nanoseconds_of(request.goal_time_tolerance)

    def violation(self, stamp_ns: int, *, at_end: bool) -> str:
        """Return which tolerance the arm violates; empty where none."""
        self._now_ns = stamp_ns
        if self._begin_ns < 0:
            self._begin_ns = stamp_ns
        errors = self._controller.tracking_error
        if words := self._path.violation(errors):
            self._code = _Result.PATH_TOLERANCE_VIOLATED
            return words
        if not at_end:
            return ''
        if self._end_ns < 0:
            self._end_ns = stamp_ns
        words = self._final.violation(errors)
        if words and stamp_ns - self._end_ns >= self._time_tolerance_ns:
            self._code = _Result.GOAL_TOLERANCE_VIOLATED
            return words
        return ''

    def is_reached(self) -> bool:
        """Return whether the arm is within the goal tolerance."""
        return not self._final.violation(self._controller.tracking_error)

    def ended(self, outcome: str, words: str) -> None:
        """Let the result be sent."""
        arrived = outcome == Outcome.ARRIVED
        self.finish(_Result.SUCCESSFUL if arrived else self._code, words)

    def cancel(self) -> None:
        """Note that the client wants it to end."""
        self._code = _Result.SUCCESSFUL

    def finish(self, code: int, words: str) -> None:
        """Let a result be sent."""
        self.result.set_result(_Result(error_code=code, error_string=words))

    def publish_feedback(self) -> None:
        """Publish where the arm should be and where it is, once the motion has begun."""
        if self._begin_ns < 0 or self.result.done():
            return
        controller = self._controller
        q, v = controller.position_reference, controller.velocity_reference
        error_q, error_v = controller.tracking_error
        elapsed = Duration(nanoseconds=self._now_ns - self._begin_ns).to_msg()
        feedback = FollowJointTrajectory.Feedback()
        feedback.header.stamp = stamp_of(self._now_ns)
        feedback.joint_names = list(controller.config.arm.model.joint_names)
        for name, positions, velocities in (
            ('desired', q, v),
            ('actual', q - error_q, v - error_v),
            ('error', error_q, error_v),
        ):
            point = JointTrajectoryPoint(
                positions=positions.tolist(),
                velocities=velocities.tolist(),
                time_from_start=elapsed,
            )
            setattr(feedback, name, point)
        self.handle.publish_feedback(feedback)


class FollowJointTrajectoryServer:
    """Serves `~/follow_joint_trajectory` by what serves `~/joint_trajectory`.

    A goal that is refused is accepted and aborted at once: its result has the error code and the
    reason, where a rejected goal has no result at all.
    """

    def __init__(
        self,
        node: Node,
        controller: Controller,
        status: MotionStatus,
        waypoints_of: Callable[[JointTrajectory], Waypoints | None],
    ) -> None:
        """Offer the action.

        Args:
            node: The node that serves.
            controller: Follows the trajectories.
            status: Decides the goals, and tells how they end.
            waypoints_of: Reads a trajectory, in the controller's time.
        """
        self._controller, self._status, self._waypoints_of = controller, status, waypoints_of
        self._goals: list[_ActionGoal] = []
        self._timer = node.create_timer(
            FEEDBACK_PERIOD, self._report, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._timer.cancel()
        ActionServer(
            node,
            FollowJointTrajectory,
            '~/follow_joint_trajectory',
            lambda _: _Result(),
            handle_accepted_callback=self._take,
            cancel_callback=self._cancel,
        )

    def _take(self, handle: Any) -> None:
        goal = _ActionGoal(self._controller, handle)
        trajectory = handle.request.trajectory

        def follow() -> None:
            goal.read()
            self._controller.follow(self._waypoints_of(trajectory))

        stamp = stamp_words(trajectory.header.stamp)
        error = self._status.serve(TRAJECTORY, stamp, follow, goal)
        if error is not None:
            goal.finish(error_code_of(error), str(error))
        self._goals.append(goal)
        handle.execute(partial(self._finish, goal))
        # The executor goes on with `_finish` whenever the timer wakes it.
        self._timer.reset()

    async def _finish(self, goal: _ActionGoal, handle: Any) -> Any:
        """Wait for the end of a motion, tell the client, and return the result."""
        result: Any = await goal.result
        if handle.is_cancel_requested:
            handle.canceled()
        elif result.error_code == _Result.SUCCESSFUL:
            handle.succeed()
        else:
            handle.abort()
        self._goals.remove(goal)
        return result

    def _cancel(self, handle: Any) -> CancelResponse:
        motion = self._status.motion
        for goal in self._goals:
            if goal.handle == handle and motion is not None and motion.goal is goal:
                goal.cancel()
                self._status.stop('cancelled')
                return CancelResponse.ACCEPT
        return CancelResponse.REJECT

    def _report(self) -> None:
        """Publish feedback, until there is nothing left to do."""
        for goal in self._goals:
            goal.publish_feedback()
        if not self._goals:
            self._timer.cancel()
