"""Rigid-body dynamics of trees of joints: a `Model`, its `Data`, and algorithms f(model, data).

Twists and wrenches are 6-vectors, linear part first; placements map child coordinates to parent
coordinates; quaternions are (x, y, z, w). Units are SI and radians.
"""

from icir_control.dynamics.algorithms import aba as aba
from icir_control.dynamics.algorithms import aba_derivatives as aba_derivatives
from icir_control.dynamics.algorithms import center_of_mass as center_of_mass
from icir_control.dynamics.algorithms import (
    center_of_mass_acceleration as center_of_mass_acceleration,
)
from icir_control.dynamics.algorithms import center_of_mass_jacobian as center_of_mass_jacobian
from icir_control.dynamics.algorithms import (
    center_of_mass_velocity as center_of_mass_velocity,
)
from icir_control.dynamics.algorithms import centroidal_map as centroidal_map
from icir_control.dynamics.algorithms import (
    centroidal_map_time_variation as centroidal_map_time_variation,
)
from icir_control.dynamics.algorithms import centroidal_momentum as centroidal_momentum
from icir_control.dynamics.algorithms import compute_all_terms as compute_all_terms
from icir_control.dynamics.algorithms import coriolis_matrix as coriolis_matrix
from icir_control.dynamics.algorithms import crba as crba
from icir_control.dynamics.algorithms import forward_kinematics as forward_kinematics
from icir_control.dynamics.algorithms import gravity_torque as gravity_torque
from icir_control.dynamics.algorithms import joint_torque_regressor as joint_torque_regressor
from icir_control.dynamics.algorithms import kinetic_energy as kinetic_energy
from icir_control.dynamics.algorithms import minverse as minverse
from icir_control.dynamics.algorithms import nonlinear_effects as nonlinear_effects
from icir_control.dynamics.algorithms import potential_energy as potential_energy
from icir_control.dynamics.algorithms import rnea as rnea
from icir_control.dynamics.algorithms import rnea_derivatives as rnea_derivatives
from icir_control.dynamics.algorithms import static_torque as static_torque
from icir_control.dynamics.algorithms import total_mass as total_mass
from icir_control.dynamics.builder import ModelBuilder as ModelBuilder
from icir_control.dynamics.chain import Chain as Chain
from icir_control.dynamics.chain import KinematicTree as KinematicTree
from icir_control.dynamics.configuration import difference as difference
from icir_control.dynamics.configuration import distance as distance
from icir_control.dynamics.configuration import integrate as integrate
from icir_control.dynamics.configuration import integrate_derivatives as integrate_derivatives
from icir_control.dynamics.configuration import interpolate as interpolate
from icir_control.dynamics.data import Data as Data
from icir_control.dynamics.frames import ReferenceFrame as ReferenceFrame
from icir_control.dynamics.frames import frame_acceleration as frame_acceleration
from icir_control.dynamics.frames import (
    frame_acceleration_derivatives as frame_acceleration_derivatives,
)
from icir_control.dynamics.frames import (
    frame_classical_acceleration as frame_classical_acceleration,
)
from icir_control.dynamics.frames import frame_jacobian as frame_jacobian
from icir_control.dynamics.frames import (
    frame_jacobian_time_variation as frame_jacobian_time_variation,
)
from icir_control.dynamics.frames import frame_placement as frame_placement
from icir_control.dynamics.frames import frame_velocity as frame_velocity
from icir_control.dynamics.frames import (
    frame_velocity_derivatives as frame_velocity_derivatives,
)
from icir_control.dynamics.frames import joint_jacobian as joint_jacobian
from icir_control.dynamics.frames import root_link as root_link
from icir_control.dynamics.frames import tip_link as tip_link
from icir_control.dynamics.inverse_kinematics import inverse_kinematics as inverse_kinematics
from icir_control.dynamics.inverse_kinematics import (
    inverse_kinematics_solutions as inverse_kinematics_solutions,
)
from icir_control.dynamics.joints import Frame as Frame
from icir_control.dynamics.joints import FrameType as FrameType
from icir_control.dynamics.joints import Joint as Joint
from icir_control.dynamics.joints import JointKind as JointKind
from icir_control.dynamics.model import Model as Model
from icir_control.dynamics.reduce import append_model as append_model
from icir_control.dynamics.reduce import build_reduced_model as build_reduced_model
from icir_control.dynamics.reduce import subchain as subchain
from icir_control.dynamics.simulate import Simulation as Simulation
from icir_control.dynamics.simulate import simulate as simulate
from icir_control.dynamics.urdf import load_urdf as load_urdf
