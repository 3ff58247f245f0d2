"""Joint space: through several postures in turn, each at its time."""

from typing import ClassVar

import numpy as np

from icir_control.control.law import Law, Plan, Start
from icir_control.control.laws.joint import Joint
from icir_control.control.waypoints import Waypoints, plan_waypoints
from icir_control.errors import ConfigurationError, RefusedError
from icir_control.parameter import FloatArray, parameter


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
