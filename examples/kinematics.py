"""Forward kinematics and the Jacobian: J(q) v is the tool's velocity, checked by differences."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from icir_control.dynamics import (
    ReferenceFrame,
    compute_all_terms,
    frame_jacobian,
    frame_placement,
    load_urdf,
)
from icir_control.share import share_directory

picture = sys.argv[1] if len(sys.argv) > 1 else 'kinematics.png'
model = load_urdf(share_directory() / 'urdf' / 'gen3_6dof.urdf')
data = model.create_data()
tool = model.frame_id('end_effector_link')

# The joints swing about a bent posture, each with a frequency of its own.
times = np.linspace(0.0, 4.0, 801)
frequency = np.arange(1, model.nv + 1) * 0.5
home = np.radians([0.0, 45.0, 90.0, 0.0, 45.0, -90.0])
q = home + 0.3 * np.sin(times[:, None] * frequency)
v = 0.3 * frequency * np.cos(times[:, None] * frequency)

position, velocity = [], []
for q_now, v_now in zip(q, v, strict=True):
    compute_all_terms(model, data, q_now, v_now)
    J = frame_jacobian(model, data, tool, ReferenceFrame.LOCAL_WORLD_ALIGNED)
    position.append(frame_placement(model, data, tool).translation)
    velocity.append((J @ v_now)[:3])

differences = np.gradient(position, times, axis=0)
error = np.abs(differences - velocity)[1:-1].max()
print(f'largest difference between J v and the differences of p: {error:.1e} m/s')
assert error < 1e-3

figure, axes = plt.subplots(2, sharex=True, layout='constrained')
axes[0].plot(times, position, label=['x', 'y', 'z'])
axes[0].set_ylabel('tool in the base [m]')
axes[0].legend()
axes[1].plot(times, velocity)
axes[1].plot(times, differences, 'k:', linewidth=1.0)
axes[1].set(xlabel='time [s]', ylabel='J v; dotted: differences [m/s]')
figure.savefig(picture)
