"""Torque control of robot arms: ROS 2 nodes, MuJoCo as the plant, an own dynamics core."""
