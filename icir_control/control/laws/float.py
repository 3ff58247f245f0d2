"""Hand guiding: the end effector goes where it is pushed, its orientation is held."""

from typing import ClassVar

import numpy as np

from icir_control.control.kernels.task_space import (
    pose_error,
    relative_rotation,
    resolve,
    rotated,
    shown_wrench,
)
from icir_control.control.law import Law, Plan, Start, Tick, compiled
from icir_control.control.motion import (
    REST_RATE,
    SINGULARITY_DAMPING,
    SINGULARITY_THRESHOLD,
    STOP_TIME,
)
from icir_control.parameter import FloatArray, parameter
from icir_control.trajectory import SE3Trajectory

FREE, HELD = np.repeat([1.0, 0.0], 3), np.repeat([0.0, 1.0], 3)
"""The axes along which a hand moves the tool, and those about which it is held."""


class Float(Law):
    """tau = J^T f + nle, f = Lambda (a_r + Kp e + Kd (nu_r - nu)), no stiffness in translation.

    The tutorial's impedance, slide "Task space impedance control": the desired position is where
    the arm is. The rotation gains are the task gains; the translation is damped at a rate of its
    own, by default that of the tutorial's gains, 2 sqrt(5000 1/s^2).

    The tutorial asks for the acceleration itself, tau = M J^+ (a - Jdot v) + nle. The friction d
    of a joint then accelerates the tool by J M^-1 d, which no stiffness resists, and what holds
    the orientation keeps the joint moving: the arm went on by itself. A force only takes energy,
    as friction does. Lambda is the inertia that the tool shows along its axes while it may turn,
    (J_v M^-1 J_v^T)^-1, and about them while it may move (Khatib 1987).
    """

    FOLLOWS: ClassVar[str] = 'pose'
    GUIDED: ClassVar[bool] = True
    METRICS: ClassVar[tuple[str, ...]] = ('hand_guiding',)

    damping_rate: float = parameter(
        2.0 * np.sqrt(5000.0),
        '1/s',
        'rate at which translation dies away, at most 1 / period; the less, the lighter the arm '
        'is to guide',
        lower=0.0,
        upper=1000.0,
    )
    stop_time: float = STOP_TIME
    singularity_threshold: float = SINGULARITY_THRESHOLD
    singularity_damping: float = SINGULARITY_DAMPING

    def plan(self, start: Start) -> Plan:
        """Let the present motion decay, and hold the orientation in which it ends."""
        path = SE3Trajectory.to_stop(start.time, self.stop_time, start.pose, start.twist)
        return Plan(path, self.stop_time)

    @compiled
    def acceleration(self, tick: Tick) -> FloatArray:
        """Write f, and return a ddq that does not move the tool: free joints come to rest."""
        R_tool_reference = relative_rotation(tick.pose, tick.pose_reference)
        e = pose_error(tick.pose, tick.pose_reference)
        nu_r = rotated(R_tool_reference, tick.twist_reference)
        a_r = rotated(R_tool_reference, tick.frame_acceleration_reference)
        rate = min(self.damping_rate, 1.0 / tick.period)  # beyond, motion would grow
        # One expression: compiled, each array that has a name costs as much as the equation.
        a = (
            a_r
            + HELD * tick.task_kp * e
            + (FREE * rate + HELD * tick.task_kd) * (nu_r - tick.twist)
        )
        shown_wrench(tick.M, tick.jacobian, a, tick.wrench)
        if tick.v.shape[0] <= 6 and tick.smallest_singular_value >= self.singularity_threshold:
            return np.zeros_like(tick.v)  # nothing is free
        return resolve(
            tick.M,
            tick.jacobian,
            np.zeros(6),
            -REST_RATE * tick.v,
            tick.smallest_singular_value,
            self.singularity_threshold,
            self.singularity_damping,
        )
