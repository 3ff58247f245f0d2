"""`Robot`: the same class for an arm simulated in this process and for one over ROS 2."""

from icir_control.robot.robot import Robot as Robot
