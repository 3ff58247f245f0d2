"""The node `mujoco_bridge`: MuJoCo as the plant, in lockstep or free-running.

`loop` owns simulation time; `gate`, `timing` and `wrench` are its parts.
"""
