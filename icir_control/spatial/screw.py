"""Screw axes {q, s, h}: a twist seen as turning about a line while sliding along it."""

from dataclasses import dataclass
from math import inf, isnan, sqrt
from typing import Any, Self

import numpy as np

from icir_control.errors import InvalidValueError
from icir_control.spatial.arrays import checked, cross, freeze, text
from icir_control.spatial.motion import Motion
from icir_control.spatial.so3 import unit


@dataclass(frozen=True, eq=False, repr=False)
class ScrewAxis:
    """The line through `point` along `direction`, with a pitch (Lynch & Park, section 3.3.2.2).

    Attributes:
        point: q (3,) [m], any point of the line.
        direction: s (3,), a unit vector.
        pitch: h [m/rad], the slide per turn; infinite for a translation without rotation.
    """

    point: np.ndarray
    direction: np.ndarray
    pitch: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, 'point', freeze(checked('point', self.point, (3,))))
        object.__setattr__(self, 'direction', freeze(unit('direction', self.direction)))
        try:
            pitch = float(self.pitch)
        except (TypeError, ValueError):
            pitch = float('nan')
        if isnan(pitch) or pitch == -inf:
            expected = 'a number of metres per radian, or inf for a pure translation'
            raise InvalidValueError('pitch', self.pitch, expected)
        object.__setattr__(self, 'pitch', pitch)

    @property
    def motion(self) -> Motion:
        """The unit twist along the screw: (-s x q + h s, s), or (s, 0) of infinite pitch."""
        if self.pitch == inf:
            return Motion(linear=self.direction)
        slide = self.pitch * self.direction - cross(self.direction, self.point)
        return Motion(slide, self.direction)

    @classmethod
    def of(cls, motion: Motion) -> tuple[Self, float]:
        """Return the screw of a twist and the rate along it: motion = rate * screw.motion.

        The rate is that of the angle [rad/s], or [m/s] if the twist does not turn; the point is
        the one of the line nearest to the origin.

        Raises:
            InvalidValueError: The twist is zero, so that it has no axis.
        """
        v, w = motion.linear, motion.angular
        if not motion.vector.any():
            raise InvalidValueError('motion', motion, 'a twist that is not zero')
        if not w.any():
            return cls(np.zeros(3), v, inf), sqrt(v.dot(v))
        direction, rate = unit('angular', w), sqrt(w.dot(w))
        scaled = v / rate
        return cls(cross(direction, scaled), direction, float(direction.dot(scaled))), rate

    def __repr__(self) -> str:
        line = f'point={text(self.point)}, direction={text(self.direction)}'
        return f'ScrewAxis({line}, pitch={self.pitch:g})'


def screw_axis(point: Any, direction: Any, pitch: float = 0.0) -> Motion:
    """Return the unit twist S of the screw {q, s, h}: V = S dtheta/dt, and exp6(S theta)."""
    return ScrewAxis(point, direction, pitch).motion
