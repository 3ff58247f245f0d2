"""One measured number with the bounds that it must keep."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """One measured number and the bounds that it must keep.

    Attributes:
        name: What it is, with its unit.
        value: In SI units; not a number where it could not be measured.
        upper: Greatest good value.
        lower: Least good value.
    """

    name: str
    value: float
    upper: float = math.inf
    lower: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether the value is within its bounds."""
        return bool(self.lower <= self.value <= self.upper)
