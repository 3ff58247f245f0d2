"""Spatial inertia: a body that turns freely about its middle axis tumbles; momentum stays."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from icir_control.spatial import SE3, Inertia, Motion, exp6

picture = sys.argv[1] if len(sys.argv) > 1 else 'rigid_body.png'
body = Inertia(1.0, [0.0, 0.0, 0.0], np.diag([0.01, 0.02, 0.028]))  # kg, m, kg m^2
Y_inverse = np.linalg.inv(body.matrix)
nu = Motion([0.1, 0.0, 0.0], [0.01, 10.0, 0.0])  # about the middle axis, nearly
T, dt = SE3.identity(), 1e-4
times, omega, momentum, energy = [], [], [], []


def rate(nu: Motion) -> Motion:
    """Solve Y dnu/dt + nu x Y nu = 0, the equation of motion without a force."""
    return Motion.from_vector(-Y_inverse @ body.bias_force(nu).vector)


for step in range(20_000):
    if step % 20 == 0:
        times.append(step * dt)
        omega.append(nu.angular)
        momentum.append(T.act(body * nu).vector)  # in the world's axes, about its origin
        energy.append(body.kinetic_energy(nu))
    middle = nu + 0.5 * dt * rate(nu)  # the midpoint rule
    T = T @ exp6(dt * middle)
    nu = nu + dt * rate(middle)

drift = np.ptp(momentum, axis=0).max()
print(f'momentum drifts by {drift:.1e}, energy by {np.ptp(energy):.1e} J of {energy[0]:.2f} J')
assert drift < 1e-4
assert np.ptp(energy) < 1e-4

figure, axes = plt.subplots(2, sharex=True, layout='constrained')
axes[0].plot(times, omega, label=['x', 'y', 'z'])
axes[0].set_ylabel('angular velocity,\nbody axes [rad/s]')
axes[0].legend()
axes[1].plot(times, np.array(momentum)[:, 3:])
axes[1].set(xlabel='time [s]', ylabel='angular momentum,\nworld axes [kg m²/s]')
figure.savefig(picture)
