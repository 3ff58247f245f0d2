"""Forward dynamics: an arm that nobody drives swings, and its energy stays what it was."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from icir_control.dynamics import aba, kinetic_energy, load_urdf, potential_energy, rnea
from icir_control.share import share_directory

picture = sys.argv[1] if len(sys.argv) > 1 else 'dynamics.png'
model = load_urdf(share_directory() / 'urdf' / 'gen3_6dof.urdf')
data = model.create_data()
q, v = np.radians([0.0, 45.0, 90.0, 0.0, 45.0, -90.0]), np.zeros(model.nv)
no_torque, dt = np.zeros(model.nv), 2e-4

# Inverse dynamics undoes forward dynamics: tau = M(q) ddq + nle(q, v).
torque = np.arange(1.0, 7.0)
ddq = aba(model, data, q, v, torque).copy()
assert np.allclose(rnea(model, data, q, v, ddq), torque)

times, kinetic, potential = [], [], []
for step in range(5000):
    if step % 25 == 0:
        times.append(step * dt)
        kinetic.append(kinetic_energy(model, data, q, v))
        potential.append(potential_energy(model, data, q))
    # The midpoint rule.
    v_middle = v + 0.5 * dt * aba(model, data, q, v, no_torque)
    v = v + dt * aba(model, data, q + 0.5 * dt * v, v_middle, no_torque)
    q = q + dt * v_middle

total = np.add(kinetic, potential)
print(f'energy exchanged: {np.ptp(kinetic):.1f} J; lost: {np.ptp(total):.2e} J')
assert np.ptp(total) < 0.01 * np.ptp(kinetic)

figure, axes = plt.subplots(layout='constrained')
axes.plot(times, kinetic, label='kinetic')
axes.plot(times, np.subtract(potential, potential[0]), label='potential, from the start')
axes.plot(times, total - total[0], 'k', label='sum')
axes.set(xlabel='time [s]', ylabel='energy [J]')
axes.legend()
figure.savefig(picture)
