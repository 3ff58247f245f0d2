"""The control period: what the times of the states tell of it."""

from typing import Any

import numpy as np

from icir_control.errors import InvalidValueError
from icir_control.spatial.arrays import checked_scalar

CONFIRMING_STEPS = 3
"""Without a gap or a shorter one, after which a step of time is sure to be the period. So many
alike in a row are another period: a shorter one, or any where none is sure."""

LONGER_STEPS = 100
"""Alike in a row that are a longer period than one that is sure: fewer may be lost states."""

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
        self.value = self._steady_since = np.nan
        self._noted_time, self._noted_step, self._alike = np.nan, np.nan, 0

    def is_sure(self, time: float) -> bool:
        """Return whether some steps in a row have confirmed the period up to a time [s].

        A first step alone may be several periods, where states are lost.
        """
        return time - self._steady_since > (CONFIRMING_STEPS - 0.5) * self.value

    def note(self, last: float, time: float) -> bool:
        """Take note of a time [s] that is not a period after the last one [s].

        The first step is the period, until a shorter one comes. One that is sure changes only
        with several steps in a row that are alike: a stamp may jitter.

        Returns:
            Whether the period is another one.
        """
        step = round((time - last) * 1e9) * 1e-9
        is_alike = last == self._noted_time and abs(step - self._noted_step) < _ALIKE
        self._alike = self._alike + 1 if is_alike else 1
        self._noted_time, self._noted_step = time, step
        if not LEAST_PERIOD <= step <= LONGEST_GAP:
            return False
        sure = self.is_sure(last)
        if step > self.value:
            enough = LONGER_STEPS if sure else CONFIRMING_STEPS
            is_new = step > 1.01 * self.value and self._alike >= enough
        else:
            is_new = not sure or (step < self.value - _ALIKE and self._alike >= CONFIRMING_STEPS)
        if is_new:
            self.value = step
        if is_new or (not sure and step > 1.5 * self.value):  # a gap confirms nothing
            self._steady_since = time
        return is_new

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
