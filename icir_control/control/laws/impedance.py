"""Impedance: the end effector on a spring and damper, with the arm's own inertia."""

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from icir_control.control.arm import Arm
from icir_control.control.figure import Figure
from icir_control.control.kernels.record import IMPEDANCE
from icir_control.control.law import Law, Plan, Start
from icir_control.control.laws.common import (
    DURATION,
    PROFILE,
    SINGULARITY,
    SINGULARITY_DAMPING,
    STOP_TIME,
    plan_to_pose,
    write_singularity,
)
from icir_control.errors import ConfigurationError
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
            'of every mode of the spring and the inertia that the arm shows; 1 is critical; an '
            'axis without stiffness gets none',
            lower=0.0,
            upper=10.0,
        ),
        Figure(
            'damping',
            'float_array',
            [],
            'N s/m, N m s/rad',
            'instead of the ratio: one figure for each axis, or the 36 of a matrix by rows',
            lower=-1e5,
            upper=1e5,
            may_be_empty=True,
        ),
        Figure(
            'reference_wrench',
            'float_array',
            [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            'N, N m',
            'with which the arm presses against what holds it',
            lower=-1e3,
            upper=1e3,
            length=6,
        ),
        Figure(
            'inertia',
            'float_array',
            [],
            'kg, kg m^2',
            "which the tool is to have, along and about the axes; empty for the arm's own. It "
            'needs the wrench on the tool, measured',
            lower=1e-3,
            upper=1e3,
            length=6,
            may_be_empty=True,
        ),
        Figure('axes', 'string', 'base', '', 'whose axes they are', choices=('base', 'tool')),
        STOP_TIME,
        DURATION,
        PROFILE,
        SINGULARITY,
        SINGULARITY_DAMPING,
    )
    CODE = IMPEDANCE
    FOLLOWS = 'pose'
    METRICS = ('stiffness',)

    def __init__(self, arm: Arm, figures: Mapping[str, Any]) -> None:
        """Check the damping.

        Raises:
            ConfigurationError: Neither 6 nor 36 numbers, or a matrix that would feed energy in.
        """
        super().__init__(arm, figures)
        given = figures['damping']
        if len(given) not in (0, 6, 36):
            raise ConfigurationError(
                f'damping has {len(given)} numbers; expected none, 6, or 36 for a matrix'
            )
        self.damping = np.zeros((6, 6))
        if len(given) == 6:
            self.damping = np.diag(given)
        elif len(given) == 36:
            self.damping = np.reshape(given, (6, 6))
        if np.linalg.eigvalsh(self.damping + self.damping.T)[0] < -1e-9:
            raise ConfigurationError(
                f'damping = {np.asarray(given).tolist()} would feed energy in; expected a matrix '
                'with a symmetric part that has no negative eigenvalue'
            )

    def plan(self, start: Start) -> Plan:
        """Rest where the arm is, or where its motion has come to rest."""
        seconds = self.figures['stop_time']
        return Plan(SE3Trajectory.to_stop(start.time, seconds, start.pose, start.twist))

    def plan_pose(self, start: Start, goal: SE3) -> Plan:
        """Move the rest pose; the arm follows as softly as it is set."""
        return plan_to_pose(self, start, goal)

    def write(self, record: np.record) -> None:
        """Write stiffness, damping and axes."""
        given = self.figures['damping']
        record.stiffness_goal[:] = self.figures['stiffness']
        record.damping_ratio = 0.0 if len(given) else self.figures['damping_ratio']
        record.has_damping = len(given) > 0
        record.damping[:] = self.damping
        record.reference_wrench[:] = self.figures['reference_wrench']
        record.base_axes = self.figures['axes'] == 'base'
        inertia = self.figures['inertia']
        record.shapes_inertia = len(inertia) > 0
        if len(inertia):
            record.desired_inertia[:] = inertia
        record.axes[:] = self.arm.T_world_base.rotation
        write_singularity(record, self.figures)
