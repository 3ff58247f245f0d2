"""Laws that docs, tests and benchmarks compare with the shipped ones.

Each is the law `joint` or `task` with less feed-forward, in plain Python. The velocity and the
acceleration of the reference are derivatives of the planned path. The gains are the tutorial's.

A configuration names one as `comparison_laws:TaskWithVelocity`; this folder must be importable.
"""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from icir_control.control import Plan, Start, Tick
from icir_control.control.laws import Joint, Task
from icir_control.spatial import SE3, log3
from icir_control.trajectory import JointTrajectory, SE3Trajectory

Array = NDArray[np.float64]

JOINT_KP, JOINT_KD = 40000.0, 400.0  # 1/s^2, 1/s
TASK_KP = np.array([5000.0] * 3 + [50000.0] * 3)  # 1/s^2, linear part first
TASK_KD = 2.0 * np.sqrt(TASK_KP)


class TutorialJoint(Joint):
    """The tutorial's joint law: the velocity is a difference, there is no acceleration."""

    def acceleration(self, tick: Tick) -> Array:
        """Return ddq = kp (q_r - q) + kd (v_r - v), v_r = (q_r(t) - q_r(t - h)) / h."""
        error = tick.position_reference - tick.q
        return JOINT_KP * error + JOINT_KD * (tick.velocity_reference - tick.v)


class JointWithoutFeedForward(Joint):
    """Feed-forward of neither velocity nor acceleration."""

    VELOCITY: ClassVar[float] = 0.0
    ACCELERATION: ClassVar[float] = 0.0
    path: JointTrajectory

    def plan_joints(self, start: Start, goal: Array) -> Plan:
        """Plan as `joint`, and keep the path."""
        plan = super().plan_joints(start, goal)
        self.path = plan.path
        return plan

    def acceleration(self, tick: Tick) -> Array:
        """Return ddq = a_r + kp (q_r - q) + kd (v_r - v) with the derivatives of the path."""
        q_r, v_r, a_r = self.path.sample(tick.time)
        velocity = self.VELOCITY * v_r - tick.v
        return self.ACCELERATION * a_r + JOINT_KP * (q_r - tick.q) + JOINT_KD * velocity


class JointWithVelocity(JointWithoutFeedForward):
    """Feed-forward of the velocity."""

    VELOCITY = 1.0


class JointWithAcceleration(JointWithVelocity):
    """Feed-forward of velocity and acceleration."""

    ACCELERATION = 1.0


class TutorialTask(Task):
    """The tutorial's task-space law: nu_r and alpha_r are not used."""

    VELOCITY: ClassVar[float] = 0.0
    ACCELERATION: ClassVar[float] = 0.0

    def acceleration(self, tick: Tick) -> Array:
        """Return ddq = J^+ (alpha_r + Kp e + Kd (nu_r - nu) - dJ v), all in the tool's axes."""
        R, p = tick.pose[:3], tick.pose[3]
        R_r, p_r = tick.pose_reference[:3], tick.pose_reference[3]
        turn = R.T @ R_r
        e = np.concatenate([R.T @ (p_r - p), log3(turn)])
        nu_r = self.VELOCITY * _turned(turn, tick.twist_reference)
        alpha_r = self.ACCELERATION * _turned(turn, tick.frame_acceleration_reference)
        J = tick.jacobian
        wanted = alpha_r + TASK_KP * e + TASK_KD * (nu_r - J @ tick.v) - tick.drift
        return np.linalg.pinv(J) @ wanted


class TaskWithVelocity(TutorialTask):
    """Feed-forward of the twist."""

    VELOCITY = 1.0


class TaskWithAcceleration(TaskWithVelocity):
    """Feed-forward of twist and acceleration."""

    ACCELERATION = 1.0


class TaskWithoutLimiter(TaskWithAcceleration):
    """The same, planned blindly: a motion of 2 s that is not rehearsed and not slowed down."""

    def plan_pose(self, start: Start, goal: SE3) -> Plan:
        """Go to a pose in two seconds."""
        return Plan(SE3Trajectory.to_rest(start.time, 2.0, start.pose, start.twist, goal))


def _turned(R: Array, twist: Array) -> Array:
    """Return a twist or an acceleration (6,) in the axes that R (3, 3) leads to."""
    return np.concatenate([R @ twist[:3], R @ twist[3:]])
