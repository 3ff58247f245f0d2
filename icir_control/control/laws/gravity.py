"""Bias compensation: the arm bears itself and stays where it is put."""

from typing import ClassVar

import numpy as np

from icir_control.control.figure import Figure
from icir_control.control.kernels.record import GRAVITY
from icir_control.control.law import Law


class Gravity(Law):
    """tau = M (-d v) + nle.

    With d = 0 this is the tutorial's, in which a moving arm never stops; the tutorial also keeps
    the last desired acceleration, which makes a moving arm speed up and is not done here.
    """

    FIGURES: ClassVar[tuple[Figure, ...]] = (
        Figure(
            'damping_rate',
            'float',
            2.0,
            '1/s',
            'rate at which motion dies away; 0 for none',
            lower=0.0,
            upper=500.0,
        ),
    )
    CODE = GRAVITY
    METRICS = ('drift',)

    def write(self, record: np.record) -> None:
        """Write the damping rate."""
        record.damping_rate_goal[:] = self.figures['damping_rate']
