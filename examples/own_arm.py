"""Any arm by its URDF: here a planar one with three joints, written on the spot."""

import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from icir_control import Robot

LINK = """
  <link name="link_{i}">
    <inertial>
      <origin xyz="0 0 -0.15"/><mass value="{mass}"/>
      <inertia ixx="0.01" iyy="0.01" izz="0.001" ixy="0" ixz="0" iyz="0"/>
    </inertial>
    <visual>
      <origin xyz="0 0 -0.15"/><geometry><cylinder radius="0.02" length="0.3"/></geometry>
    </visual>
  </link>
  <joint name="joint_{i}" type="revolute">
    <parent link="{parent}"/><child link="link_{i}"/>
    <origin xyz="0 0 {height}"/><axis xyz="0 1 0"/>
    <limit lower="-2.5" upper="2.5" velocity="3" effort="40"/>
  </joint>"""

picture = sys.argv[1] if len(sys.argv) > 1 else 'own_arm.png'
parts = [
    LINK.format(i=i, parent=parent, mass=2.0 / i, height=height)
    for i, parent, height in ((1, 'base', 1.2), (2, 'link_1', -0.3), (3, 'link_2', -0.3))
]
folder = Path(tempfile.mkdtemp())
(folder / 'planar.urdf').write_text(
    f'<robot name="planar"><link name="base"/>{"".join(parts)}\n</robot>'
)

with Robot.simulate(folder / 'planar.urdf', start=[0.1, 0.2, 0.2]) as robot:
    print(robot, 'with modes', ', '.join(robot.session.modes))
    robot.move_joints([0.8, -1.2, 0.9], duration=1.5)
    robot.follow([1.0, 2.0, 3.0], [[-0.5, 0.8, 0.2], [0.3, 0.4, -0.9], [0.1, 0.2, 0.2]])
    log = robot.log

# The kinematics by hand: each link hangs 0.3 m down from its joint, turned by the sum of angles.
angles = np.cumsum(log.q, axis=1)
joints = np.tile([0.0, 1.2], (len(log), 4, 1))
joints[:, 1:] -= 0.3 * np.cumsum(np.stack([np.sin(angles), np.cos(angles)], axis=-1), axis=1)
assert np.abs(joints[:, 2] - log.tool_position[:, ::2]).max() < 1e-12
assert np.abs(log.tool_error[:, :3]).max() < 1e-6

figure, axes = plt.subplots(figsize=(5.0, 6.0), layout='constrained')
for x, z in joints[::300].swapaxes(1, 2):
    axes.plot(x, z, 'o-', color='grey', alpha=0.4)
axes.plot(*joints[:, -1].T)
axes.set(xlabel='x [m]', ylabel='z [m]', aspect='equal', title='the arm, and the path of its tip')
figure.savefig(picture)
