"""Tuning: a higher joint gain leaves less error to friction, and turns more noise into torque."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from icir_control import Robot
from icir_control.errors import IcirError
from icir_control.simulation import Plant

picture = sys.argv[1] if len(sys.argv) > 1 else 'tuning.png'
plant = Plant(joint_friction=1.0, velocity_noise=1e-3)  # N m, rad/s
gains = [400.0, 2000.0, 10_000.0, 40_000.0, 160_000.0, 700_000.0]
errors, noise, stable = [], [], []

for kp in gains:
    parameters = {'joint_gains.kp': [kp] * 6, 'observer.gain': 0.0, 'watchdog.error': 0.0}
    with Robot.simulate(plant=plant, parameters=parameters) as robot:
        try:
            robot.home()
        except IcirError as error:
            print(f'kp = {kp:g}: {error}')
            continue
        log = robot.log
    stable.append(kp)
    errors.append(np.abs(log.q_reference - log.q).max())
    noise.append(np.diff(log.torque, axis=0).std())
    print(f'kp = {kp:8g} 1/s^2: error {errors[-1]:.1e} rad, torque noise {noise[-1]:.2f} N m')

assert stable[-1] < gains[-1], 'kp = 700000 1/s^2 is unstable at 1 ms'
assert errors == sorted(errors, reverse=True)
figure, axes = plt.subplots(layout='constrained')
axes.loglog(stable, errors, 'o-', label='largest error of a joint [rad]')
axes.loglog(stable, noise, 's-', label='noise of the torque, from tick to tick [N m]')
axes.set(xlabel='joint_gains.kp [1/s²]', title='friction of 1 N m, velocity noise of 1e-3 rad/s')
axes.legend()
figure.savefig(picture)
