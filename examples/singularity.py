"""Singularities: the upright arm cannot move its tool straight, says so, and goes by joints."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from icir_control import Robot
from icir_control.dynamics import ReferenceFrame, compute_all_terms, frame_jacobian
from icir_control.errors import SingularityError

picture = sys.argv[1] if len(sys.argv) > 1 else 'singularity.png'

with Robot.simulate() as robot:
    try:
        robot.move_by([0.0, 0.0, -0.05])
    except SingularityError as error:
        print('refused:', error)
        assert error.value < error.lower
    else:
        raise AssertionError('the upright arm is singular')
    robot.home()  # a motion of the joints passes
    robot.move_by([0.0, 0.0, -0.05])
    log, model = robot.log, robot.model

data, tool = model.create_data(), model.frame_id('end_effector_link')
smallest = []
for q in log.q[::10]:
    compute_all_terms(model, data, q, np.zeros(model.nv))
    J = frame_jacobian(model, data, tool, ReferenceFrame.LOCAL)
    smallest.append(np.linalg.svd(J, compute_uv=False)[-1])

figure, axes = plt.subplots(layout='constrained')
axes.plot(log.time[::10], smallest)
axes.axhline(0.02, color='black', linestyle=':', label='damping of the inverse begins below')
axes.set(xlabel='time [s]', ylabel='smallest singular value of J', title='upright, home, down')
axes.legend()
figure.savefig(picture)
