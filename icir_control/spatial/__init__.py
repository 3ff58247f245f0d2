"""SO(3), SE(3), motions, forces and inertias as immutable values; no robot.

The values need numpy alone; the exponentials, logarithms, Jacobians and quaternions run compiled
kernels (`icir_control.spatial.kernels`), which load numba at their first call.
"""

from icir_control.spatial.inertia import Inertia
from icir_control.spatial.se3 import (
    SE3,
    exp6,
    hat,
    log6,
    right_jacobian6,
    right_jacobian6_inverse,
    vee,
)
from icir_control.spatial.so3 import (
    exp3,
    log3,
    nearest_rotation,
    quaternion_from_rotation,
    right_jacobian3,
    right_jacobian3_inverse,
    rotation,
    rotation_from_quaternion,
    rotation_from_rpy,
    rpy_from_rotation,
    skew,
    unskew,
)
from icir_control.spatial.vectors import Force, Motion, ScrewAxis, screw_axis

__all__ = [
    'SE3',
    'Force',
    'Inertia',
    'Motion',
    'ScrewAxis',
    'exp3',
    'exp6',
    'hat',
    'log3',
    'log6',
    'nearest_rotation',
    'quaternion_from_rotation',
    'right_jacobian3',
    'right_jacobian3_inverse',
    'right_jacobian6',
    'right_jacobian6_inverse',
    'rotation',
    'rotation_from_quaternion',
    'rotation_from_rpy',
    'rpy_from_rotation',
    'screw_axis',
    'skew',
    'unskew',
    'vee',
]
