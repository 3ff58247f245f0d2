"""The scalar functions of the squared angle x = t^2 on which SO(3) and SE(3) rest.

Each has two branches, chosen by `is_small_angle`: below one radian its Taylor series, which keeps
every digit where the closed form would subtract equal numbers (and has no 0/0), and above it the
closed form. A `*_slope` is the derivative with respect to x.
"""

from math import cos, factorial, sin, sqrt

from icir_control.compiled import kernel

SMALL_ANGLE_SQUARED = 1.0
"""Below this x [rad^2] the series is taken; its terms reach the last bit."""

_TERMS = range(11)
_VERSINE = tuple((-1.0) ** k / factorial(2 * k + 2) for k in _TERMS)
_SINE_DEFECT = tuple((-1.0) ** k / factorial(2 * k + 3) for k in _TERMS)
_BERNOULLI = (
    *(1 / 6, 1 / 30, 1 / 42, 1 / 30, 5 / 66, 691 / 2730, 7 / 6),
    *(3617 / 510, 43867 / 798, 174611 / 330, 854513 / 138, 236364091 / 2730),
)
_COTANGENT_DEFECT = tuple(b / factorial(2 * k + 2) for k, b in enumerate(_BERNOULLI))

_VERSINE_SLOPE = tuple(k * c for k, c in enumerate(_VERSINE))[1:]
_SINE_DEFECT_SLOPE = tuple(k * c for k, c in enumerate(_SINE_DEFECT))[1:]
_COTANGENT_DEFECT_SLOPE = tuple(k * c for k, c in enumerate(_COTANGENT_DEFECT))[1:]


@kernel
def is_small_angle(x: float) -> bool:
    """Tell whether the angle whose square is x takes the series."""
    return x < SMALL_ANGLE_SQUARED


@kernel
def _polynomial(coefficients: tuple[float, ...], x: float) -> float:
    """Evaluate a polynomial, lowest power first, by Horner's rule."""
    value = 0.0
    for k in range(len(coefficients) - 1, -1, -1):
        value = value * x + coefficients[k]
    return value


@kernel
def sine_ratio(x: float) -> float:
    """Return sin(t) / t, the factor of [phi] in the rotation."""
    t = sqrt(x)
    return sin(t) / t if t > 0.0 else 1.0


@kernel
def versine_ratio(x: float) -> float:
    """Return (1 - cos(t)) / t^2, the factor of [phi]^2 in the rotation.

    As half the square of sin(h) / h with h = t / 2 it loses no digits, so it needs no series.
    """
    half_sine = sine_ratio(0.25 * x)
    return 0.5 * half_sine * half_sine


@kernel
def versine_ratio_slope(x: float) -> float:
    """Return the derivative of `versine_ratio`."""
    if is_small_angle(x):
        return _polynomial(_VERSINE_SLOPE, x)
    return (sine_ratio(x) - 2.0 * versine_ratio(x)) / (2.0 * x)


@kernel
def sine_defect_ratio(x: float) -> float:
    """Return (t - sin(t)) / t^3, the factor of [phi]^2 in the Jacobians."""
    if is_small_angle(x):
        return _polynomial(_SINE_DEFECT, x)
    return (1.0 - sine_ratio(x)) / x


@kernel
def sine_defect_ratio_slope(x: float) -> float:
    """Return the derivative of `sine_defect_ratio`."""
    if is_small_angle(x):
        return _polynomial(_SINE_DEFECT_SLOPE, x)
    return (versine_ratio(x) - 3.0 * sine_defect_ratio(x)) / (2.0 * x)


@kernel
def half_cotangent(x: float) -> float:
    """Return h cot(h) with h = t / 2; singular at t = 2 pi, exact at pi."""
    h = 0.5 * sqrt(x)
    return cos(h) / sine_ratio(0.25 * x)


@kernel
def cotangent_defect_ratio(x: float) -> float:
    """Return (1 - h cot(h)) / t^2 with h = t / 2, the factor in the inverse Jacobians."""
    if is_small_angle(x):
        return _polynomial(_COTANGENT_DEFECT, x)
    return (1.0 - half_cotangent(x)) / x


@kernel
def cotangent_defect_ratio_slope(x: float) -> float:
    """Return the derivative of `cotangent_defect_ratio`."""
    if is_small_angle(x):
        return _polynomial(_COTANGENT_DEFECT_SLOPE, x)
    return (0.5 / versine_ratio(x) + half_cotangent(x) - 2.0) / (2.0 * x * x)
