"""The scalar functions under SO(3) and SE(3): their digits, from 0 to 2 pi."""

from decimal import Decimal, localcontext
from math import factorial

import numpy as np
import pytest

from icir_control.spatial.kernels import coefficients

TERMS = 80
GRID = np.unique(
    np.concatenate(
        [
            [0.0],
            np.logspace(-12, 0, 121),
            np.linspace(0.9, 1.1, 41),
            np.linspace(0.05, 6.2, 200),
            np.pi - np.logspace(-15, -1, 15),
        ]
    )
)


def series(first: int) -> list[Decimal]:
    """Return the coefficients of x^k, (-1)^k / (2 k + first)!, of a sine's or cosine's rest."""
    return [Decimal((-1) ** k) / factorial(2 * k + first) for k in range(TERMS)]


def slope(terms: list[Decimal]) -> list[Decimal]:
    return [k * term for k, term in enumerate(terms)][1:]


def at(terms: list[Decimal], x: Decimal) -> Decimal:
    value = Decimal(0)
    for term in reversed(terms):
        value = value * x + term
    return value


def half_cotangent_defect(x: Decimal) -> Decimal:
    """(1 - h cot h) / t^2 with h = t / 2, as a quotient of series (no 0/0 at any x)."""
    quarter = x / 4
    # sin(h) - h cos(h) = h^3 sum (-1)^k (2 k + 2) h^2k / (2 k + 3)!
    rest = [(2 * k + 2) * term for k, term in enumerate(series(3))]
    return at(rest, quarter) / at(series(1), quarter) / 4


def half_cotangent_defect_slope(x: Decimal) -> Decimal:
    step = Decimal(10) ** -25
    return (half_cotangent_defect(x + step) - half_cotangent_defect(x - step)) / (2 * step)


EXACT = {
    'sine_ratio': lambda x: at(series(1), x),
    'versine_ratio': lambda x: at(series(2), x),
    'versine_ratio_slope': lambda x: at(slope(series(2)), x),
    'sine_defect_ratio': lambda x: at(series(3), x),
    'sine_defect_ratio_slope': lambda x: at(slope(series(3)), x),
    'cotangent_defect_ratio': half_cotangent_defect,
    'cotangent_defect_ratio_slope': half_cotangent_defect_slope,
}

# From one radian on the closed forms subtract. What is left there, as a fraction of what is
# subtracted, says what the last bits of the operands (three times 2.2e-16) grow to. The products
# in which the Jacobians use the result are smaller by the same fraction.
LEFT_AT_ONE_RADIAN = {
    'sine_ratio': 1.0,
    'versine_ratio': 1.0,
    'versine_ratio_slope': 0.08,  # a - 2 b, about -x / 12
    'sine_defect_ratio': 0.16,  # 1 - a, about x / 6
    'sine_defect_ratio_slope': 0.03,  # b - 3 c, about -x / 60 of 1 / 2
    'cotangent_defect_ratio': 0.08,  # 1 - g, about x / 12
    'cotangent_defect_ratio_slope': 0.0014,  # 1 / (2 b) + g - 2, about x^2 / 360 of 2
}


@pytest.mark.parametrize('name', EXACT)
def test_digits_of_the_coefficients(name):
    """The series keep every digit; above one radian a slope's closed form loses two."""
    function = getattr(coefficients, name)
    above = 3 * 2.2e-16 / LEFT_AT_ONE_RADIAN[name]
    with localcontext() as context:
        context.prec = 80
        at_zero = EXACT[name](Decimal(0))
        for t in GRID:
            x = t * t
            exact = EXACT[name](Decimal(x))
            error = (Decimal(float(function(x))) - exact) / max(abs(at_zero), abs(exact))
            bound = 4e-16 if t < 1.0 else above
            assert abs(error) < bound, f't = {t}: {float(error):.1e}'


def test_the_switch_of_branches_is_at_one_radian():
    assert coefficients.is_small_angle(np.nextafter(1.0, 0.0))
    assert not coefficients.is_small_angle(1.0)
