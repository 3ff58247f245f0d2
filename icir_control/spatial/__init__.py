"""SO(3), SE(3), motions, forces and inertias as immutable values; no robot.

The values need numpy alone; the exponentials, logarithms, Jacobians and quaternions run compiled
kernels (`icir_control.spatial.kernels`), which load numba at their first call.
"""

from icir_control.spatial.inertia import Inertia as Inertia
from icir_control.spatial.se3 import SE3 as SE3
from icir_control.spatial.se3 import exp6 as exp6
from icir_control.spatial.se3 import hat as hat
from icir_control.spatial.se3 import log6 as log6
from icir_control.spatial.se3 import right_jacobian6 as right_jacobian6
from icir_control.spatial.se3 import right_jacobian6_inverse as right_jacobian6_inverse
from icir_control.spatial.se3 import vee as vee
from icir_control.spatial.so3 import exp3 as exp3
from icir_control.spatial.so3 import log3 as log3
from icir_control.spatial.so3 import nearest_rotation as nearest_rotation
from icir_control.spatial.so3 import quaternion_from_rotation as quaternion_from_rotation
from icir_control.spatial.so3 import right_jacobian3 as right_jacobian3
from icir_control.spatial.so3 import right_jacobian3_inverse as right_jacobian3_inverse
from icir_control.spatial.so3 import rotation as rotation
from icir_control.spatial.so3 import rotation_from_quaternion as rotation_from_quaternion
from icir_control.spatial.so3 import rotation_from_rpy as rotation_from_rpy
from icir_control.spatial.so3 import rpy_from_rotation as rpy_from_rotation
from icir_control.spatial.so3 import rpy_jacobian as rpy_jacobian
from icir_control.spatial.so3 import rpy_jacobian_inverse as rpy_jacobian_inverse
from icir_control.spatial.so3 import (
    rpy_jacobian_time_derivative as rpy_jacobian_time_derivative,
)
from icir_control.spatial.so3 import skew as skew
from icir_control.spatial.so3 import unskew as unskew
from icir_control.spatial.vectors import Force as Force
from icir_control.spatial.vectors import Motion as Motion
from icir_control.spatial.vectors import ScrewAxis as ScrewAxis
from icir_control.spatial.vectors import screw_axis as screw_axis
