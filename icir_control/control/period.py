"""The control period: what the times of the states tell of it."""

from statistics import fmean, median
from typing import Any

import numpy as np

from icir_control.errors import InvalidValueError
from icir_control.spatial.arrays import checked_scalar

CONFIRMING_STEPS = 3
"""Without a gap or a shorter one, after which a step of time is sure to be the period. So many
that are alike and shorter are another one."""

MANY_STEPS = 100
"""In a row, none of them the period, of which the mean is without gaps and states that are early:
fewer that are longer may be lost states."""

SAME = 0.01
"""Of the period, by which such a mean is off at least."""

GAP = 1.5
"""Periods, from which on states were lost."""

LEAST_PERIOD = 5e-6
"""[s] Less is no period; the bridge takes 10 us at the least."""

EARLY_SHARE = 0.45
"""Of the period, before which a state is the last one again; half of it may be the period."""

LONGEST_GAP = 0.5
"""[s] Without a state, after which the next one is a new start. By then a plant that runs freely
has braked the arm."""

LATEST_TIME = 1e12
"""[s] Of either sign. Floats resolve 0.1 ms there; the time since 1970 is 1.8e9 s."""

_ALIKE = 1.5e-9  # s, between two steps that stamps have rounded


class Period:
    """The period between the states that are answered, found from their times.

    Attributes:
        value: [s]; not a number until the second state of a start.
    """

    def __init__(self) -> None:
        """Know nothing yet."""
        self.begin()

    def begin(self) -> None:
        """Forget what was found before a new start."""
        self.value = self._steady_since = self._noted = np.nan
        self._steps: list[float] = []

    def is_sure(self, time: float) -> bool:
        """Return whether some steps in a row have confirmed the period up to a time [s].

        A first step alone may be several periods, where states are lost.
        """
        return time - self._steady_since > (CONFIRMING_STEPS - 0.5) * self.value

    def note(self, last: float, time: float) -> bool:
        """Take note of a time [s] that is not a period after the last one [s].

        Returns:
            Whether the period is another one.
        """
        step = round((time - last) * 1e9) * 1e-9
        if last != self._noted or len(self._steps) == MANY_STEPS:
            self._steps.clear()  # of those in a row
        self._noted = np.nan
        if not LEAST_PERIOD <= step <= LONGEST_GAP:
            return False
        self._noted = time
        self._steps.append(step)
        sure = self.is_sure(last)
        other = self._other(step, sure)
        if not sure and (other or step > GAP * self.value):  # a gap confirms nothing
            self._steady_since = time
        self.value = other or self.value
        return other > 0.0

    def _other(self, step: float, sure: bool) -> float:
        """Return what the last steps, of which none is the period, tell of another one; or 0.

        The first step is the period, until a shorter one comes, or gaps alone: it was early. One
        that is sure changes only with several steps that are alike, since a stamp may jitter, and
        to the mean where all stamps do.
        """
        steps, period = self._steps, self.value
        few = steps[-CONFIRMING_STEPS:]
        are_few = len(few) == CONFIRMING_STEPS
        if not sure:
            if not step >= period:  # also while there is none
                return step
            return min(few) if are_few and min(few) > GAP * period else 0.0
        if are_few and step < period - _ALIKE and max(few) - min(few) < _ALIKE:
            return step
        if len(steps) < MANY_STEPS:
            return 0.0
        middle = median(steps)
        mean = fmean([x for x in steps if abs(x - middle) < 0.5 * middle] or steps)
        return mean if abs(mean - period) > SAME * period else 0.0

    def is_early(self, elapsed: float) -> bool:
        """Return whether a state so much after the last one [s] is that one again.

        Of two that are much less than a period apart the plant has taken one step at most.
        """
        return abs(elapsed) < EARLY_SHARE * self.value or abs(elapsed) < LEAST_PERIOD


def checked_time(time: Any) -> float:
    """Return a simulation time [s] as a float.

    Raises:
        InvalidValueError: It is no number, or none that a clock shows.
    """
    expected = f'seconds, within {LATEST_TIME:g} of 0'
    number = checked_scalar('time', time, expected)
    if abs(number) > LATEST_TIME:
        raise InvalidValueError('time', time, expected)
    return number
