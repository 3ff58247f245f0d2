"""Impedance: the tool is a spring. A push of 5 N moves it by force / stiffness."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from icir_control import Robot

picture = sys.argv[1] if len(sys.argv) > 1 else 'push_and_spring.png'
home = np.radians([0.0, 45.0, 90.0, 0.0, 45.0, -90.0])
figure, axes = plt.subplots(layout='constrained')

for stiffness in (250.0, 500.0, 1000.0):
    with Robot.simulate(start=home) as robot:
        begin, start = robot.time, robot.pose.translation
        with robot.impedance(stiffness=[stiffness] * 3 + [20.0] * 3):
            robot.push([5.0, 0.0, 0.0], seconds=1.5)
            pushed = robot.pose.translation - start
            robot.run(1.5)  # it swings back
        log = robot.log
    print(f'{stiffness:5g} N/m: {1e3 * pushed[0]:6.2f} mm, 5 N / k = {5e3 / stiffness:5.2f} mm')
    assert abs(pushed[0] * stiffness / 5.0 - 1.0) < 0.05
    label = f'{stiffness:g} N/m'
    axes.plot(log.time - begin, 1e3 * (log.tool_position[:, 0] - start[0]), label=label)

axes.set(xlabel='time [s]', ylabel='tool in x [mm]', title='5 N for 1.5 s')
axes.legend()
figure.savefig(picture)
