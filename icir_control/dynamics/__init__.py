"""Rigid-body dynamics of trees of joints: a `Model`, its `Data`, and algorithms f(model, data).

Twists and wrenches are 6-vectors, linear part first; placements map child coordinates to parent
coordinates; quaternions are (x, y, z, w). Units are SI and radians.
"""

from icir_control.dynamics.algorithms import (
    aba,
    center_of_mass,
    center_of_mass_jacobian,
    centroidal_map,
    centroidal_momentum,
    compute_all_terms,
    crba,
    difference,
    forward_kinematics,
    gravity_torque,
    integrate,
    kinetic_energy,
    minverse,
    nonlinear_effects,
    potential_energy,
    rnea,
)
from icir_control.dynamics.builder import ModelBuilder
from icir_control.dynamics.frames import (
    ReferenceFrame,
    frame_acceleration,
    frame_classical_acceleration,
    frame_jacobian,
    frame_jacobian_time_variation,
    frame_placement,
    frame_velocity,
    joint_jacobian,
    root_link,
    tip_link,
)
from icir_control.dynamics.joints import Frame, FrameType, Joint, JointKind
from icir_control.dynamics.model import Data, Model
from icir_control.dynamics.simulate import Simulation, simulate
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
    'Simulation',
    'aba',
    'center_of_mass',
    'center_of_mass_jacobian',
    'centroidal_map',
    'centroidal_momentum',
    'compute_all_terms',
    'crba',
    'difference',
    'forward_kinematics',
    'frame_acceleration',
    'frame_classical_acceleration',
    'frame_jacobian',
    'frame_jacobian_time_variation',
    'frame_placement',
    'frame_velocity',
    'gravity_torque',
    'integrate',
    'joint_jacobian',
    'kinetic_energy',
    'load_urdf',
    'minverse',
    'nonlinear_effects',
    'potential_energy',
    'rnea',
    'root_link',
    'simulate',
    'tip_link',
]
