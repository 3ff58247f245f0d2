"""The node `mujoco_bridge`: MuJoCo as the plant, in lockstep or free-running.

`loop` owns simulation time. Its parts (gate, timing, pushes) do not depend on ROS.
"""
