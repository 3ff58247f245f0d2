"""Trajectories: pure functions of time that give position, velocity and acceleration."""

from icir_control.trajectory.profile import PROFILES, cubic, quintic, stop
from icir_control.trajectory.trajectories import JointTrajectory, SE3Trajectory

__all__ = ['PROFILES', 'JointTrajectory', 'SE3Trajectory', 'cubic', 'quintic', 'stop']
