"""SE(3): a constant twist moves a frame along a screw, and the exponential says where it is."""

import sys

import matplotlib.pyplot as plt
import numpy as np

from icir_control.spatial import SE3, exp6, log6, screw_axis

picture = sys.argv[1] if len(sys.argv) > 1 else 'screw_motion.png'

# An axis through a point, its direction, and its pitch [m/rad].
axis = screw_axis(point=[0.5, 0.0, 0.0], direction=[0.0, 0.0, 1.0], pitch=0.05)
start = SE3(np.eye(3), [1.0, 0.0, 0.0])
angles = np.linspace(0.0, 4.0 * np.pi, 200)
frames = [exp6(axis * angle) @ start for angle in angles]
way = np.array([frame.translation for frame in frames])

# The logarithm of what lies between two of them is that twist again, in the frame's own axes.
step = log6(frames[10].inverse() @ frames[11])
in_space = frames[10].act(step)
assert np.allclose(in_space.vector, (axis * (angles[11] - angles[10])).vector)
# A point of the frame turns about the axis at its distance from it, and climbs by the pitch.
assert np.allclose(np.hypot(way[:, 0] - 0.5, way[:, 1]), 0.5)
assert np.allclose(way[:, 2], 0.05 * angles)
print('twist in space', in_space.vector.round(4), 'and in the frame', step.vector.round(4))

figure = plt.figure(layout='constrained')
axes = figure.add_subplot(projection='3d')
axes.plot(*way.T, color='grey')
for frame in frames[::12]:
    for column, colour in zip(frame.rotation.T, 'rgb', strict=True):
        axes.quiver(*frame.translation, *(0.12 * column), color=colour)
axes.set(xlabel='x [m]', ylabel='y [m]', zlabel='z [m]')
figure.savefig(picture)
