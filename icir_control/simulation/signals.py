"""What lies between the controller and the arm: the delay of commands, the noise of sensors."""

import numpy as np
from numpy.typing import NDArray


class DelayLine:
    """Hands out what was put in a fixed number of steps ago."""

    def __init__(self, steps: int, size: int) -> None:
        """Make a line of zeros.

        Args:
            steps: Its length, at least 1.
            size: Numbers per entry.
        """
        self._ring = np.zeros((steps, size))
        self._oldest = 0

    def fill(self, entry: NDArray[np.float64]) -> None:
        """Let every entry that is under way be this one: (size,)."""
        self._ring[:] = entry
        self._oldest = 0

    def exchange(self, entry: NDArray[np.float64], out: NDArray[np.float64]) -> None:
        """Take the oldest entry out, put a new one in.

        Args:
            entry: (size,) the new one.
            out: (size,) filled with the oldest.
        """
        slot = self._ring[self._oldest]
        out[:] = slot
        slot[:] = entry
        self._oldest = (self._oldest + 1) % len(self._ring)


class Noise:
    """White, normally distributed noise that is the same after every restart.

    Attributes:
        values: (size,) the noise of the present step.
    """

    def __init__(self, deviation: float, seed: int, size: int) -> None:
        """Make the noise of the first step.

        Args:
            deviation: Standard deviation, in the unit of what it is added to.
            seed: Of the random numbers.
            size: Numbers per step.
        """
        self._deviation, self._seed = deviation, seed
        self.values = np.zeros(size)
        self.restart()

    def restart(self) -> None:
        """Start the same sequence again."""
        self._random = np.random.default_rng(self._seed)
        self.draw()

    def draw(self) -> None:
        """Go on to the next step."""
        self._random.standard_normal(out=self.values)
        self.values *= self._deviation
