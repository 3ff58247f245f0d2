"""Bias compensation: the arm bears itself and stays where it is put."""

from typing import ClassVar

from icir_control.control.law import Law, Tick, compiled
from icir_control.parameter import FloatArray, parameter


class Gravity(Law):
    """tau = M (-d v) + nle.

    With d = 0 this is the tutorial's, in which a moving arm never stops; the tutorial also keeps
    the last desired acceleration, which makes a moving arm speed up and is not done here.
    """

    METRICS: ClassVar[tuple[str, ...]] = ('drift',)

    damping_rate: float = parameter(
        2.0,
        '1/s',
        'rate at which motion dies away, at most 1 / period; 0 for none',
        lower=0.0,
        upper=500.0,
    )

    @compiled
    def acceleration(self, tick: Tick) -> FloatArray:
        """Return ddq = -d v."""
        # Faster than within a period, motion would not die away but grow.
        return -min(self.damping_rate, 1.0 / tick.period) * tick.v
