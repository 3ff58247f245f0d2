"""A law of one's own: a function of the tick that returns the acceleration of the joints."""

import sys

import numpy as np

from icir_control import Robot

picture = sys.argv[1] if len(sys.argv) > 1 else 'own_law.png'
home = np.radians([0.0, 45.0, 90.0, 0.0, 45.0, -90.0])


def sway(tick):
    """Swing the base joint by 0.2 rad, and keep the others where they are."""
    w, k = 2.0 * np.pi * 0.5, 100.0
    reference, velocity, acceleration = home.copy(), np.zeros(6), np.zeros(6)
    phase = w * (tick.time - begin)
    reference[0] += 0.2 * (1.0 - np.cos(phase))
    velocity[0] = 0.2 * w * np.sin(phase)
    acceleration[0] = 0.2 * w**2 * np.cos(phase)
    return acceleration + k * (reference - tick.q) + 2.0 * k**0.5 * (velocity - tick.v)


with Robot.simulate(start=home) as robot:
    begin = robot.time
    robot.law(sway)  # the torque is M ddq + nle of what it returns
    robot.run(4.0)
    print(f'{robot.mode}: the base joint turned by {np.ptp(robot.log.q[:, 0]):.3f} rad')
    assert abs(np.ptp(robot.log.q[:, 0]) - 0.4) < 0.02
    robot.log.plot('q', 'torque').savefig(picture)
