"""Trajectories: pure functions of time that give position, velocity and acceleration."""

from icir_control.trajectory.trajectories import (
    PROFILES,
    JointTrajectory,
    SE3Trajectory,
    cubic,
    quintic,
    smooth_velocities,
    spline,
    stop,
)

__all__ = [
    'PROFILES',
    'JointTrajectory',
    'SE3Trajectory',
    'cubic',
    'quintic',
    'smooth_velocities',
    'spline',
    'stop',
]
