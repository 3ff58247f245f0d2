"""Joint space, by PD and computed torque: to a posture, through several, or to a halt."""

from typing import ClassVar

import numpy as np

from icir_control.control.law import Law, Plan, Start, Tick, compiled
from icir_control.control.motion import DURATION, PROFILE, STOP_TIME, plan_joint_motion, plan_stop
from icir_control.control.waypoints import Waypoints, plan_waypoints
from icir_control.errors import ConfigurationError, PositionLimitError, RefusedError
from icir_control.parameter import PER_JOINT, FloatArray, parameter


class Joint(Law):
    """tau = M (a_r + kp (q_r - q) + kd (v_r - v)) + nle (slide "Joint space position control").

    v_r and a_r are the differences of the path that the plant's integrator makes.
    """

    TRACKS: ClassVar[bool] = True
    FOLLOWS: ClassVar[str] = 'joints'
    METRICS: ClassVar[tuple[str, ...]] = ('joint_error', 'joint_goal', 'command_difference')

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

    @property
    def unset(self) -> dict[str, str]:
        """The target, where it is not given."""
        return {} if len(self.target_deg) else {'posture': 'target_deg'}

    def plan(self, start: Start) -> Plan:
        """Go to the target."""
        return self.plan_joints(start, self.target)

    def plan_joints(self, start: Start, goal: FloatArray) -> Plan:
        """Go to another posture."""
        return plan_joint_motion(self.arm, start, goal, self.duration, self.profile)

    @compiled
    def acceleration(self, tick: Tick) -> FloatArray:
        """Return ddq = a_r + kp (q_r - q) + kd (v_r - v)."""
        # One expression: compiled, each array that has a name costs as much as the equation.
        return (
            tick.acceleration_reference
            + tick.joint_kp * (tick.position_reference - tick.q)
            + tick.joint_kd * (tick.velocity_reference - tick.v)
        )


class Hold(Law):
    """tau = M (a_r + kp (q_r - q) + kd (v_r - v)) + nle, q_r the way to a halt."""

    TRACKS: ClassVar[bool] = True
    FOLLOWS: ClassVar[str] = 'joints'
    HALTS: ClassVar[bool] = True
    METRICS: ClassVar[tuple[str, ...]] = ('joint_error', 'drift')

    stop_time: float = STOP_TIME

    def plan(self, start: Start) -> Plan:
        """Stop, always: also where the way to a halt would leave a limit."""
        return plan_stop(start, self.stop_time)

    acceleration = Joint.acceleration


class Sequence(Law):
    """tau = M (a_r + kp (q_r - q) + kd (v_r - v)) + nle, q_r a spline through the postures."""

    TRACKS: ClassVar[bool] = True
    FOLLOWS: ClassVar[str] = 'joints'
    METRICS: ClassVar[tuple[str, ...]] = ('joint_error', 'joint_goal')

    targets_deg: FloatArray = parameter(
        None, 'deg', 'the postures, one after the other, a number for each joint'
    )
    times: FloatArray = parameter(
        None, 's', 'of each posture, from where the mode is entered on, increasing', lower=0.0
    )

    def __post_init__(self) -> None:
        """Check the postures.

        Raises:
            ConfigurationError: Not a posture for each time, times that do not increase, or a
                posture outside the joint limits.
        """
        shape = len(self.times), self.arm.nv
        if len(self.targets_deg) != shape[0] * shape[1]:
            raise ConfigurationError(
                f'targets_deg has {len(self.targets_deg)} numbers; expected {shape[1]} for each '
                f'of {shape[0]} times'
            )
        targets = np.radians(self.targets_deg).reshape(shape)
        try:
            self._waypoints = Waypoints(self.arm.model.joint_names, self.times, targets)
            for time, target in zip(self.times, targets, strict=True):
                self.arm.check_limits(f'targets_deg at {time:g} s', target)
        except RefusedError as error:
            raise ConfigurationError(str(error)) from error

    @property
    def target(self) -> FloatArray:
        """(nv,) the last posture [rad or m]."""
        return np.radians(self.targets_deg[-self.arm.nv :])

    def plan(self, start: Start) -> Plan:
        """Go through the postures, from where the joints are."""
        return plan_waypoints(self.arm, start, self._waypoints)

    acceleration = Joint.acceleration
