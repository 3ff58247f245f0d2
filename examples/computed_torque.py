"""Computed torque written by hand: our dynamics, a PD law, and MuJoCo as the plant."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from icir_control.dynamics import compute_all_terms, load_urdf
from icir_control.share import share_directory
from icir_control.simulation import World
from icir_control.trajectory import JointTrajectory

picture = sys.argv[1] if len(sys.argv) > 1 else 'computed_torque.png'
urdf = share_directory() / 'urdf' / 'gen3_6dof.urdf'
model = load_urdf(urdf)
data = model.create_data()
home = np.radians([0.0, 45.0, 90.0, 0.0, 45.0, -90.0])
zero = np.zeros(model.nv)


def error_of(kp: float) -> np.ndarray:
    """Move from upright to home in 2 s; return the errors of the joints (n, nv) [rad]."""
    world = World(urdf, joint_names=model.joint_names, end_effector_frame='end_effector_link')
    path = JointTrajectory.to_rest(0.0, 2.0, zero, zero, home)  # a cubic
    errors = []
    for step in range(2500):
        q, v = world.position, world.velocity
        q_r, v_r, a_r = path.sample(step * 1e-3)
        # tau = M (a_r + kp (q_r - q) + kd (v_r - v)) + nle, critically damped.
        compute_all_terms(model, data, q, v)
        ddq = a_r + kp * (q_r - q) + 2.0 * np.sqrt(kp) * (v_r - v)
        world.step(data.M @ ddq + data.nle)
        errors.append(q_r - q)
    return np.array(errors)


figure, axes = plt.subplots(layout='constrained')
for kp in (400.0, 4000.0, 40000.0):
    error = np.abs(error_of(kp)).max(axis=1)
    print(f'kp = {kp:7.0f} 1/s^2: largest error {error.max():.1e} rad')
    axes.semilogy(np.arange(len(error)) * 1e-3, error + 1e-12, label=f'kp = {kp:g} 1/s²')
assert error.max() < 5e-5
axes.set(xlabel='time [s]', ylabel='largest error of a joint [rad]', title='home in 2 s')
axes.legend()
figure.savefig(picture)
