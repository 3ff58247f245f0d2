"""Hold: the joints come to rest where they are, and stay."""

from typing import ClassVar

import numpy as np

from icir_control.control.figure import Figure
from icir_control.control.kernels.record import FEED_FORWARD, JOINT
from icir_control.control.law import Law, Plan, Start
from icir_control.control.laws.common import STOP_TIME
from icir_control.trajectory import JointTrajectory, stop


class Hold(Law):
    """The joint law about the posture in which the present motion ends."""

    FIGURES: ClassVar[tuple[Figure, ...]] = (STOP_TIME,)
    CODE = JOINT
    TRACKS = True
    FOLLOWS = 'joints'
    METRICS = ('joint_error', 'drift')

    def plan(self, start: Start) -> Plan:
        """Stop, always: also where the way to a halt would leave a limit."""
        seconds = self.figures['stop_time']
        return Plan(JointTrajectory(start.time, seconds, stop(start.q, start.v, seconds)))

    def write(self, record: np.record) -> None:
        """Use all of the reference's motion."""
        record.feed_forward = FEED_FORWARD.index('matched')
