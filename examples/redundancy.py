"""Seven joints: the elbow moves while the tool stays, along the null space of the Jacobian."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from icir_control import Robot

picture = sys.argv[1] if len(sys.argv) > 1 else 'redundancy.png'
RATE = 0.3  # rad/s, of the joints along the null space


def swing_elbow(tick):
    """Hold the tool by a spring of the task, and move along the null space of J."""
    J = tick.jacobian
    *_, null = np.linalg.svd(J)
    direction = null[-1] * np.sign(null[-1][2])
    speed = RATE * np.sin(2.0 * np.pi * 0.25 * (tick.time - begin))
    wanted = -20.0 * tick.twist - tick.drift  # the tool comes to rest
    return np.linalg.pinv(J) @ wanted + direction * 50.0 * (speed - direction @ tick.v)


with Robot.simulate('gen3_7dof') as robot:
    robot.home()
    start, begin = robot.pose, robot.time
    robot.law(swing_elbow)
    robot.run(4.0)
    log = robot.log

moved = log.time >= begin
turned = log.q[moved] - log.q[moved][0]  # rad
way = log.tool_position[moved] - start.translation  # m
print(f'a joint turned by {np.ptp(turned, axis=0).max():.2f} rad', end=', ')
print(f'the tool moved by {1e6 * np.linalg.norm(way, axis=1).max():.0f} um')
assert np.ptp(turned, axis=0).max() > 0.2
assert np.linalg.norm(way, axis=1).max() < 1e-4

figure, axes = plt.subplots(2, sharex=True, layout='constrained')
axes[0].plot(log.time[moved] - begin, turned, label=robot.model.joint_names)
axes[0].set_ylabel('joints, from the start [rad]')
axes[1].plot(log.time[moved] - begin, 1e6 * way, label=['x', 'y', 'z'])
axes[1].set(xlabel='time [s]', ylabel='tool, from the start [µm]')
for one in axes:
    one.legend(fontsize='small', loc=(1.01, 0.0), frameon=False)
figure.savefig(picture)
