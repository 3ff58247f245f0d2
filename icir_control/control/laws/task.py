"""Task space: the end effector along a straight path, by PD and computed torque."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from icir_control.control.arm import Arm
from icir_control.control.figure import PER_JOINT, Figure
from icir_control.control.kernels.record import FEED_FORWARD, TASK
from icir_control.control.law import Law, Plan, Start
from icir_control.control.laws.common import (
    DURATION,
    FEED_FORWARD_FIGURE,
    PROFILE,
    SINGULARITY,
    SINGULARITY_DAMPING,
    plan_to_pose,
    write_singularity,
)
from icir_control.errors import ConfigurationError
from icir_control.spatial import SE3


class Task(Law):
    """tau = M ddq + nle, ddq = J^+ (a_r + Kp e + Kd (nu_r - nu) - Jdot v).

    The error is taken in the tool's axes, with log3 for rotation (slide "Task space position
    control").
    """

    FIGURES: ClassVar[tuple[Figure, ...]] = (
        Figure(
            'translation',
            'float_array',
            [0.0, 0.0, 0.0],
            'm',
            'way of the end effector from where it is, in base axes',
            length=3,
        ),
        Figure(
            'posture_deg',
            'float_array',
            [],
            'deg',
            'where the joints of a redundant arm go as far as the tool lets them; empty for where '
            'they are',
            length=PER_JOINT,
            may_be_empty=True,
        ),
        Figure('posture_rate', 'float', 1.0, '1/s', 'how fast', lower=0.0, upper=20.0),
        DURATION,
        PROFILE,
        FEED_FORWARD_FIGURE,
        SINGULARITY,
        SINGULARITY_DAMPING,
    )
    CODE = TASK
    TRACKS = True
    FOLLOWS = 'pose'
    METRICS = ('pose_error', 'pose_goal')

    def __init__(self, arm: Arm, figures: Mapping[str, Any]) -> None:
        """Check the posture.

        Raises:
            ConfigurationError: A posture outside the joint limits, or for an arm without a null
                space.
        """
        super().__init__(arm, figures)
        self.posture = np.radians(figures['posture_deg'])
        if len(self.posture):
            if arm.nv <= 6:
                raise ConfigurationError(
                    f'posture_deg is given, but {arm.nv} joints leave the tool no null space; '
                    'expected none'
                )
            outside = arm.outside_limits(self.posture)
            if outside:
                raise ConfigurationError(f'posture_deg has {outside}')

    def plan(self, start: Start) -> Plan:
        """Go by the translation."""
        T_world_tool = start.pose
        way = self.arm.T_world_base.rotation @ self.figures['translation']
        return self.plan_pose(start, SE3(T_world_tool.rotation, T_world_tool.translation + way))

    def plan_pose(self, start: Start, goal: SE3) -> Plan:
        """Go to a pose."""
        return plan_to_pose(self, start, goal)

    def write(self, record: np.record) -> None:
        """Write the feed-forward and the treatment of singularities."""
        figures = self.figures
        record.feed_forward = FEED_FORWARD.index(figures['feed_forward'])
        record.posture_rate = figures['posture_rate'] if len(self.posture) else 0.0
        if len(self.posture):
            record.posture[:] = self.posture
        write_singularity(record, figures)
