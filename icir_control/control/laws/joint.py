"""Joint space: to a posture along a polynomial, by PD and computed torque."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from icir_control.control.arm import Arm
from icir_control.control.figure import PER_JOINT, Figure
from icir_control.control.kernels.record import FEED_FORWARD, JOINT
from icir_control.control.law import Law, Plan, Start
from icir_control.control.laws.common import DURATION, FEED_FORWARD_FIGURE, PROFILE
from icir_control.control.motion import plan_joint_motion
from icir_control.errors import ConfigurationError


class Joint(Law):
    """tau = M (a_r + kp (q_r - q) + kd (v_r - v)) + nle (slide "Joint space position control")."""

    FIGURES: ClassVar[tuple[Figure, ...]] = (
        Figure(
            'target_deg',
            'float_array',
            None,
            'deg',
            'the posture; empty for the middle of the limits, 0 where there are none',
            length=PER_JOINT,
            may_be_empty=True,
        ),
        DURATION,
        PROFILE,
        FEED_FORWARD_FIGURE,
    )
    CODE = JOINT
    TRACKS = True
    FOLLOWS = 'joints'
    METRICS = ('joint_error', 'joint_goal')

    def __init__(self, arm: Arm, figures: Mapping[str, Any]) -> None:
        """Check the target.

        Raises:
            ConfigurationError: A target outside the joint limits.
        """
        super().__init__(arm, figures)
        target = np.radians(figures['target_deg'])
        self.target = target if len(target) else _middle(arm)
        outside = arm.outside_limits(self.target)
        if outside:
            raise ConfigurationError(f'target_deg has {outside}')

    def plan(self, start: Start) -> Plan:
        """Go to the target."""
        return self.plan_joints(start, self.target)

    def plan_joints(self, start: Start, goal: NDArray[np.float64]) -> Plan:
        """Go to another posture."""
        return plan_joint_motion(
            self.arm, start, goal, self.figures['duration'], self.figures['profile']
        )

    def write(self, record: np.record) -> None:
        """Write the feed-forward."""
        record.feed_forward = FEED_FORWARD.index(self.figures['feed_forward'])


def _middle(arm: Arm) -> NDArray[np.float64]:
    """Return the middle between the position limits (nv,), 0 where one of them is missing."""
    limits = np.array([arm.model.lower_position_limit, arm.model.upper_position_limit])
    return np.where(np.isfinite(limits).all(axis=0), limits, 0.0).mean(axis=0)
