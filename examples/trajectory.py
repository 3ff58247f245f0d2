"""Trajectories: the same points by cubics through rest, by a smooth spline, and by quintics."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from icir_control import Robot

picture = sys.argv[1] if len(sys.argv) > 1 else 'trajectory.png'
home = np.radians([0.0, 45.0, 90.0, 0.0, 45.0, -90.0])
times = [1.0, 2.0, 3.0]
points = home + np.array([[0.3, 0.2, 0.0], [0.6, -0.1, 0.0], [0.0, 0.0, 0.0]]) @ np.eye(3, 6)
rest = np.zeros((3, 6))
ways = {
    'cubics, at rest in each point': (times, points, rest),
    'one smooth spline': (times, points),
    'quintics, at rest in each point': (times, points, rest, rest),
}

figure, axes = plt.subplots(2, sharex=True, layout='constrained')
for name, trajectory in ways.items():
    with Robot.simulate(start=home) as robot:
        robot.follow(*trajectory)
        log = robot.log
    assert np.abs(log.q[-1] - home).max() < 1e-6
    jump = np.abs(log.torque[2:, 0] - log.torque[:-2, 0]).max()
    print(f'{name}: the torque of joint 1 jumps by {jump:.2f} N m in 2 ms at most')
    axes[0].plot(log.time, log.v[:, 0], label=name)
    axes[1].plot(log.time, log.torque[:, 0])
axes[0].set_ylabel('velocity, joint 1 [rad/s]')
axes[0].legend()
axes[1].set(xlabel='time [s]', ylabel='torque [N m]')
figure.savefig(picture)
