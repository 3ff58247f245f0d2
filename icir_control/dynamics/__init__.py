"""Rigid-body dynamics of trees of joints: a `Model`, its `Data`, and algorithms f(model, data).

Twists and wrenches are 6-vectors, linear part first; placements map child coordinates to parent
coordinates; quaternions are (x, y, z, w). Units are SI and radians.
"""

from icir_control.dynamics.algorithms import compute_all_terms
from icir_control.dynamics.builder import ModelBuilder
from icir_control.dynamics.data import Data
from icir_control.dynamics.frame_queries import (
    frame_acceleration,
    frame_classical_acceleration,
    frame_jacobian,
    frame_jacobian_time_variation,
    frame_placement,
    frame_velocity,
    joint_jacobian,
)
from icir_control.dynamics.frames import Frame, FrameType
from icir_control.dynamics.joints import Joint, JointKind
from icir_control.dynamics.model import Model
from icir_control.dynamics.reference import ReferenceFrame
from icir_control.dynamics.urdf import load_urdf

__all__ = [
    'Data',
    'Frame',
    'FrameType',
    'Joint',
    'JointKind',
    'Model',
    'ModelBuilder',
    'ReferenceFrame',
    'compute_all_terms',
    'frame_acceleration',
    'frame_classical_acceleration',
    'frame_jacobian',
    'frame_jacobian_time_variation',
    'frame_placement',
    'frame_velocity',
    'joint_jacobian',
    'load_urdf',
]
