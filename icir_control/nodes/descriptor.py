"""Figures as ROS parameters: the type, the value and the description that tools show."""

import math
import sys
from typing import Any

import numpy as np
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from rclpy.parameter import Parameter

from icir_control.control.figure import Figure

TYPES = {
    'bool': Parameter.Type.BOOL,
    'int': Parameter.Type.INTEGER,
    'float': Parameter.Type.DOUBLE,
    'string': Parameter.Type.STRING,
    'float_array': Parameter.Type.DOUBLE_ARRAY,
    'string_array': Parameter.Type.STRING_ARRAY,
}
"""The parameter's type for each kind of figure."""

_INTEGERS = (-(2**63), 2**63 - 1)


def descriptor_of(figure: Figure, name: str, nv: int) -> ParameterDescriptor:
    """Return what `ros2 param describe` and rqt show of a figure.

    What may be set while the node runs is typed dynamically, so that a wrong type reaches our own
    check and is refused with the name and what would be valid.

    Args:
        figure: The figure.
        name: Full name of the parameter.
        nv: Degrees of freedom of the arm.
    """
    unit = f' [{figure.unit}]' if figure.unit else ''
    fixed = '' if figure.running else '; fixed once the node runs'
    descriptor = ParameterDescriptor(
        name=name,
        type=TYPES[figure.kind].value,
        description=figure.description + unit + fixed,
        additional_constraints=figure.expected(nv),
        read_only=not figure.running,
        dynamic_typing=figure.running,
    )
    bounds = (figure.lower, figure.upper)
    if not any(map(math.isfinite, bounds)):
        return descriptor
    if figure.kind == 'float':
        least, most = np.clip(bounds, -sys.float_info.max, sys.float_info.max).tolist()
        descriptor.floating_point_range = [FloatingPointRange(from_value=least, to_value=most)]
    elif figure.kind == 'int':
        least, most = (
            int(bound) if math.isfinite(bound) else extreme
            for bound, extreme in zip(bounds, _INTEGERS, strict=True)
        )
        descriptor.integer_range = [IntegerRange(from_value=least, to_value=most)]
    return descriptor


def ros_value(value: Any) -> Any:
    """Return a figure's value as ROS parameters hold it: arrays and tuples become lists."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return list(value) if isinstance(value, tuple) else value
