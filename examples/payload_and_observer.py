"""A load that the model does not know: the observer estimates its torque and cancels it."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from icir_control import Robot
from icir_control.simulation import Plant

picture = sys.argv[1] if len(sys.argv) > 1 else 'payload_and_observer.png'
load = Plant(payload_mass=1.0)  # kg, at the tool
figure, axes = plt.subplots(layout='constrained')
peaks = {}

for gain in (0.0, 25.0):
    with Robot.simulate(plant=load, parameters={'observer.gain': gain}) as robot:
        robot.home()
        robot.run(0.5)
        log = robot.log
    error = np.abs(log.q_reference - log.q).max(axis=1)
    peaks[gain] = error[:2000].max()
    print(f'observer.gain {gain:g} 1/s: largest error {peaks[gain]:.1e} rad')
    axes.semilogy(log.time, error + 1e-9, label=f'observer.gain {gain:g} 1/s')

assert peaks[25.0] < 0.3 * peaks[0.0]
axes.set(xlabel='time [s]', ylabel='largest error of a joint [rad]', title='home, with 1 kg')
axes.legend()
figure.savefig(picture)
