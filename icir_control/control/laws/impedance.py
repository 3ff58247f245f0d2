"""Impedance: the end effector on a spring and damper, with the arm's own inertia."""

from typing import ClassVar

import numpy as np

from icir_control.control.figure import Figure
from icir_control.control.kernels.record import IMPEDANCE
from icir_control.control.law import Law, Plan, Start
from icir_control.control.laws.common import (
    DURATION,
    PROFILE,
    SINGULARITY,
    SINGULARITY_DAMPING,
    STOP_TIME,
    write_singularity,
)
from icir_control.control.motion import plan_pose_motion
from icir_control.spatial import SE3
from icir_control.trajectory import SE3Trajectory


class Impedance(Law):
    """tau = J^T (K e + D (nu_r - nu)) + nle; what the tool leaves free of the joints is damped.

    A force, not an acceleration: under a wrench f the arm rests at K^-1 f exactly, whatever its
    inertia, which diagonal acceleration gains do not give (Hogan 1985).
    """

    FIGURES: ClassVar[tuple[Figure, ...]] = (
        Figure(
            'stiffness',
            'float_array',
            [500.0, 500.0, 500.0, 20.0, 20.0, 20.0],
            'N/m, N m/rad',
            'along and about the three axes',
            lower=0.0,
            upper=1e5,
            length=6,
        ),
        Figure(
            'damping_ratio',
            'float',
            1.0,
            '',
            'of every mode of the spring and the inertia that the arm shows; 1 is critical',
            lower=0.0,
            upper=10.0,
        ),
        Figure('axes', 'string', 'base', '', 'whose axes they are', choices=('base', 'tool')),
        STOP_TIME,
        DURATION,
        PROFILE,
        SINGULARITY,
        SINGULARITY_DAMPING,
    )
    CODE = IMPEDANCE

    def plan(self, start: Start) -> Plan:
        """Rest where the arm is, or where its motion has come to rest."""
        seconds = self.figures['stop_time']
        return Plan(SE3Trajectory.to_stop(start.time, seconds, start.pose, start.twist))

    def plan_pose(self, start: Start, goal: SE3) -> Plan:
        """Move the rest pose; the arm follows as softly as it is set."""
        figures = self.figures
        return plan_pose_motion(
            self.arm,
            start,
            goal,
            figures['duration'],
            figures['profile'],
            figures['singularity_threshold'],
            figures['singularity_damping'],
        )

    def write(self, record: np.record) -> None:
        """Write stiffness, damping and axes."""
        record.stiffness[:] = self.figures['stiffness']
        record.damping_ratio = self.figures['damping_ratio']
        record.base_axes = self.figures['axes'] == 'base'
        record.axes[:] = self.arm.T_world_base.rotation
        write_singularity(
            record, self.figures['singularity_threshold'], self.figures['singularity_damping']
        )
