"""Compiled functions of plain arrays: rotations, placements, quaternions and small products.

They trust their arguments and write into the last one. Arrays are float64 and contiguous (a view
of rows is); others work, but compile anew.

The names load at first use, since they bring numba with them (a quarter of a second), which the
immutable values of `icir_control.spatial` mostly do without.
"""

from importlib import import_module
from typing import Any

_NAMES = {
    'matrices': (
        *('cholesky', 'cholesky_solve', 'clear', 'copy', 'copy_matrix'),
        *('mat_mat_t', 'mat_t_mat', 'mat_t_vec', 'mat_vec'),
    ),
    'so3': (
        *('exp3', 'log3', 'right_jacobian3', 'right_jacobian3_inverse'),
        *('quaternion_exp', 'quaternion_log', 'quaternion_multiply'),
        *('quaternion_to_rotation', 'rotation_to_quaternion'),
    ),
    'se3': ('exp6', 'log6', 'pose_error', 'right_jacobian6', 'right_jacobian6_inverse'),
}
_MODULE_OF = {name: module for module, names in _NAMES.items() for name in names}

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    """Import a kernel's module at the first use of its name."""
    if name not in _MODULE_OF:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = getattr(import_module(f'{__name__}.{_MODULE_OF[name]}'), name)
    globals()[name] = value
    return value
