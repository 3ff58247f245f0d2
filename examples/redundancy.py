"""Seven joints: the elbow moves while the tool stays, along the null space of the Jacobian."""

import sys

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
way = np.linalg.norm(log.tool_position[moved] - start.translation, axis=1).max()
turned = np.ptp(log.q[moved], axis=0).max()
print(f'a joint turned by {turned:.2f} rad, the tool moved by {1e3 * way:.2f} mm')
assert turned > 0.2
assert way < 2e-3
log.plot('q', 'tool_position').savefig(picture)
