"""Hand guiding: the end effector goes where it is pushed, its orientation is held."""

from typing import ClassVar

import numpy as np

from icir_control.control.figure import Figure
from icir_control.control.kernels.record import FLOAT
from icir_control.control.law import Law, Plan, Start
from icir_control.control.laws.common import (
    SINGULARITY,
    SINGULARITY_DAMPING,
    STOP_TIME,
    write_singularity,
)
from icir_control.trajectory import SE3Trajectory


class Float(Law):
    """The tutorial's impedance: no stiffness in translation, acceleration gains.

    Slide "Task space impedance control". The rotation gains are the task gains; the translation
    is damped at a rate of its own, by default that of the task gains, 2 sqrt(5000 1/s^2).
    """

    FIGURES: ClassVar[tuple[Figure, ...]] = (
        Figure(
            'damping_rate',
            'float',
            2.0 * np.sqrt(5000.0),
            '1/s',
            'rate at which translation dies away; the less, the lighter the arm is to guide',
            lower=0.0,
            upper=1000.0,
        ),
        STOP_TIME,
        SINGULARITY,
        SINGULARITY_DAMPING,
    )
    CODE = FLOAT
    FOLLOWS = 'pose'
    METRICS = ('hand_guiding',)

    def plan(self, start: Start) -> Plan:
        """Let the present motion decay, and hold the orientation in which it ends."""
        seconds = self.figures['stop_time']
        return Plan(SE3Trajectory.to_stop(start.time, seconds, start.pose, start.twist))

    def write(self, record: np.record) -> None:
        """Write the damping and the treatment of singularities."""
        record.damping_rate_goal[:] = self.figures['damping_rate']
        write_singularity(record, self.figures)
