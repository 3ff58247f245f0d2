"""A skeleton for an arm of your own: look first, move little and slowly, hold at the end.

`python examples/real_arm.py` rehearses it in a simulation; `... arm.png connect` drives what
answers over ROS 2, a simulation or a real arm (docs/real_robot.md).
"""

import sys

import numpy as np

from icir_control import Robot
from icir_control.errors import IcirError

picture = sys.argv[1] if len(sys.argv) > 1 else 'real_arm.png'
home = np.radians([0.0, 45.0, 90.0, 0.0, 45.0, -90.0])
robot = Robot.connect() if 'connect' in sys.argv else Robot.simulate(start=home)

with robot:  # whatever happens inside, the arm is held
    limits = robot.model.lower_position_limit, robot.model.upper_position_limit
    print(robot)
    print('joints [deg]', np.degrees(robot.q).round(1), 'torque [N m]', robot.torque.round(1))
    assert (limits[0] < robot.q).all()
    assert (robot.q < limits[1]).all()

    robot.parameters.speed_scale = 0.5  # every motion takes twice its time
    robot.hold()
    start = robot.q
    try:
        robot.move_joints(start + np.radians(5.0), duration=2.0)
        robot.move_by([0.0, 0.0, 0.03])
        robot.move_by([0.0, 0.0, -0.03])
        robot.move_joints(start, duration=2.0)
    except IcirError as error:  # refused, or broken off: the arm is where it is
        print('stopped:', error)
        raise
    finally:
        robot.parameters.speed_scale = 1.0
    print(f'back to {np.abs(robot.q - start).max():.1e} rad')
    robot.log.plot('q', 'v', 'torque').savefig(picture)
