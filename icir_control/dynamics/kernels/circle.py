"""Cosine and sine of all angles at once, in one loop that the compiler turns into vector code.

The library's two functions, one angle at a time, would take a quarter of the time of all terms of
a six-joint arm. This takes a third of theirs, and less the more angles there are.
"""

from fractions import Fraction
from math import cos, factorial, floor, pi, sin

import numpy as np

from icir_control.compiled import inlined, kernel
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.kernels.blocks import matrix_of

LARGEST = 1e6
"""Beyond this angle [rad] the reduction would lose digits, and the library's functions serve."""

# pi / 2 in three parts: n times the first two is exact for |n| < 2^20 (Cody & Waite).
_HALF_PI = Fraction('1.57079632679489661923132169163975144209858469968755291')
_FIRST = Fraction(round(_HALF_PI * 2**32), 2**32)
_SECOND = Fraction(round((_HALF_PI - _FIRST) * 2**65), 2**65)
FIRST, SECOND, THIRD = float(_FIRST), float(_SECOND), float(_HALF_PI - _FIRST - _SECOND)
TURNS_PER_RADIAN = 2.0 / pi

# Taylor series on |r| < pi / 4, where the next term is below 1e-19, highest power first.
SINE = tuple((-1.0) ** k / factorial(2 * k + 1) for k in range(8, 0, -1))
COSINE = tuple((-1.0) ** k / factorial(2 * k) for k in range(9, 0, -1))


@kernel
def fill_circle(angles: np.ndarray, circle: np.ndarray) -> None:
    """Write the cosine of each angle into row 0, its sine into row 1."""
    for i in range(angles.size):
        x = angles[i]
        quarter = floor(x * TURNS_PER_RADIAN + 0.5)
        r = ((x - quarter * FIRST) - quarter * SECOND) - quarter * THIRD
        z = r * r
        s = SINE[0]
        for k in range(1, 8):
            s = s * z + SINE[k]
        s = r + r * (z * s)
        c = COSINE[0]
        for k in range(1, 9):
            c = c * z + COSINE[k]
        c = 1.0 + z * c
        # x = r + quarter pi / 2: the two swap on odd quarters, and change sign.
        turn = int(quarter)
        across, up = (c, s) if turn & 1 == 0 else (s, c)
        circle[0, i] = across if (turn + 1) & 2 == 0 else -across
        circle[1, i] = up if turn & 2 == 0 else -up


@inlined
def circle_of(buffer: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Compute cosine and sine of every number in q, angle or not: rows 0 and 1 of the result."""
    width = int(buffer[at.H_WIDTH])
    circle = matrix_of(buffer, at.H_CIRCLE, 3, width)
    # Whole vectors only: a copy of q whose padding stays zero.
    largest = 0.0
    for i in range(q.size):
        circle[2, i] = q[i]
        largest = max(largest, abs(q[i]))
    fill_circle(circle[2], circle)
    if largest > LARGEST:
        for i in range(q.size):
            circle[0, i], circle[1, i] = cos(q[i]), sin(q[i])
    return circle
