"""Joint space: to a posture along a polynomial, or to a halt, by PD and computed torque."""

from typing import ClassVar

import numpy as np

from icir_control.control.law import Law, Plan, Start, Tick, compiled
from icir_control.control.motion import DURATION, PROFILE, STOP_TIME, plan_joint_motion
from icir_control.errors import ConfigurationError, PositionLimitError
from icir_control.parameter import PER_JOINT, FloatArray, parameter
from icir_control.trajectory import JointTrajectory, stop


class Joint(Law):
    """tau = M (a_r + kp (q_r - q) + kd (v_r - v)) + nle (slide "Joint space position control").

    v_r and a_r are the differences of the path that the plant's integrator makes.
    """

    TRACKS: ClassVar[bool] = True
    FOLLOWS: ClassVar[str] = 'joints'
    METRICS: ClassVar[tuple[str, ...]] = ('joint_error', 'joint_goal')

    target_deg: FloatArray = parameter(
        None,
        'deg',
        'the posture; empty for the middle of the limits, 0 where there are none, or where that '
        'is near a singularity for a posture that is not',
        length=PER_JOINT,
        may_be_empty=True,
    )
    duration: float = DURATION
    profile: str = PROFILE

    def __post_init__(self) -> None:
        """Check the target.

        Raises:
            ConfigurationError: A target outside the joint limits.
        """
        try:
            if len(self.target_deg):
                self.arm.check_limits('target_deg', np.radians(self.target_deg))
        except PositionLimitError as error:
            raise ConfigurationError(str(error)) from error

    @property
    def target(self) -> FloatArray:
        """(nv,) the posture [rad or m]; late, because one that is not given takes some time."""
        return np.radians(self.target_deg) if len(self.target_deg) else self.arm.rest_posture

    def plan(self, start: Start) -> Plan:
        """Go to the target."""
        return self.plan_joints(start, self.target)

    def plan_joints(self, start: Start, goal: FloatArray) -> Plan:
        """Go to another posture."""
        return plan_joint_motion(self.arm, start, goal, self.duration, self.profile)

    @compiled
    def acceleration(self, tick: Tick) -> FloatArray:
        """Return ddq = a_r + kp (q_r - q) + kd (v_r - v)."""
        error = tick.position_reference - tick.q
        error_rate = tick.velocity_reference - tick.v
        return tick.acceleration_reference + tick.joint_kp * error + tick.joint_kd * error_rate


class Hold(Law):
    """tau = M (a_r + kp (q_r - q) + kd (v_r - v)) + nle, q_r the way to a halt."""

    TRACKS: ClassVar[bool] = True
    FOLLOWS: ClassVar[str] = 'joints'
    METRICS: ClassVar[tuple[str, ...]] = ('joint_error', 'drift')

    stop_time: float = STOP_TIME

    def plan(self, start: Start) -> Plan:
        """Stop, always: also where the way to a halt would leave a limit."""
        path = JointTrajectory(start.time, self.stop_time, stop(start.q, start.v, self.stop_time))
        return Plan(path, self.stop_time)

    acceleration = Joint.acceleration
