"""Impedance: the end effector on a spring and damper, with the arm's own inertia."""

from typing import ClassVar

import numpy as np

from icir_control.compiled import kernel
from icir_control.control.kernels.linear import solve, symmetric_eigen
from icir_control.control.kernels.task_space import (
    hold,
    mobility,
    mobility_beyond,
    pose_error,
    relative_rotation,
    resolve,
    rotated,
    rotated_back,
    times,
)
from icir_control.control.law import Following, Law, Plan, Start, Tick, compiled
from icir_control.control.motion import (
    DURATION,
    PATH,
    PROFILE,
    REST_RATE,
    SINGULARITY_DAMPING,
    SINGULARITY_THRESHOLD,
    STOP_TIME,
    plan_pose_motion,
    plan_stop,
)
from icir_control.control.position_first import (
    HELD_LINK,
    joints_beyond,
    plan_position_motion,
)
from icir_control.errors import ConfigurationError, RefusedError
from icir_control.parameter import FloatArray, parameter
from icir_control.scratch import scratch_matrix
from icir_control.spatial import SE3
from icir_control.trajectory import SE3Trajectory

SLOWEST_MODE = 0.1
"""[rad/s] Below it, where the arm can hardly move, a mode is damped as if it were this fast."""

FASTEST_MODE = 0.4
"""Times 1 / period [1/s]: of a spring that is critically damped; 0.83 would be unstable."""

GUIDE_RATE = 10.0
"""[1/s] At which joints that have a reference go there where that does not move the tool."""


class Impedance(Law):
    """tau = M a_r + J^T (K e + D (nu_r - nu)) + nle; what the tool leaves free is damped.

    A force, not an acceleration: under a wrench f the arm rests at K^-1 f exactly, whatever its
    inertia, which diagonal acceleration gains do not give (Hogan 1985).

    The damping follows the inertia that the arm shows, Lambda = (J M^-1 J^T)^-1 (Khatib 1987), so
    that each mode of Lambda e'' + D e' + K e = 0 has the ratio zeta: with S = K^1/2 Lambda^-1
    K^1/2 it is D = K^1/2 (2 zeta S^-1/2) K^1/2 (Albu-Schaeffer et al. 2003, without an inverse
    of Lambda^-1, which is singular where J is). On the way to a goal a_r is the acceleration of
    the joints that follow it, so that e obeys this equation there, too; else it is 0.

    That is to first order in the velocity: the right-hand side is -Lambda dJ v. It is left to the
    arm, whose energy spring and damper alone then change; a wrench that cancelled it would, too.
    With a desired inertia nothing is left out.
    """

    FOLLOWS: ClassVar[str] = 'pose'
    METRICS: ClassVar[tuple[str, ...]] = ('stiffness',)

    stiffness: FloatArray = parameter(
        [500.0, 500.0, 500.0, 20.0, 20.0, 20.0],
        'N/m, N m/rad',
        'along and about the three axes',
        lower=0.0,
        upper=1e5,
        length=6,
    )
    damping_ratio: float = parameter(
        1.0,
        '',
        'of every mode of the spring and the inertia that the arm shows; 1 is critical; no more '
        'than brings a mode to rest within a control period; an axis without stiffness gets none',
        lower=0.0,
        upper=10.0,
    )
    damping: FloatArray = parameter(
        [],
        'N s/m, N m s/rad',
        'instead of the ratio: one number for each axis, or the 36 of a matrix by rows',
        lower=-1e5,
        upper=1e5,
        may_be_empty=True,
    )
    reference_wrench: FloatArray = parameter(
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        'N, N m',
        'with which the arm presses against what holds it',
        lower=-1e3,
        upper=1e3,
        length=6,
    )
    inertia: FloatArray = parameter(
        [],
        'kg, kg m^2',
        "which the tool is to have, along and about the axes; empty for the arm's own. It "
        'needs the wrench on the tool, measured; no less than stiffness (2.5 period)^2',
        lower=1e-3,
        upper=1e3,
        length=6,
        may_be_empty=True,
    )
    held_link: str = HELD_LINK
    axes: str = parameter('base', '', 'whose axes they are', choices=('base', 'tool'))
    stop_time: float = STOP_TIME
    duration: float = DURATION
    profile: str = PROFILE
    path: str = PATH
    singularity_threshold: float = SINGULARITY_THRESHOLD
    singularity_damping: float = SINGULARITY_DAMPING

    def __post_init__(self) -> None:
        """Check the damping, and bring into numbers what may be left out.

        Raises:
            UnknownNameError: A held link that the arm lacks.
            ConfigurationError: Neither 6 nor 36 numbers, or a matrix that would feed energy in; a
                held link that holds the tool, or one beside an inertia.
        """
        given = self.damping
        if len(given) not in (0, 6, 36):
            raise ConfigurationError(
                f'damping has {len(given)} numbers; expected none, 6, or 36 for a matrix'
            )
        D = np.reshape(given, (6, 6)) if len(given) == 36 else np.diag([*given] or [0.0] * 6)
        if np.linalg.eigvalsh(D + D.T)[0] < -1e-9:
            raise ConfigurationError(
                f'damping = {given.tolist()} would feed energy in; expected a matrix '
                'with a symmetric part that has no negative eigenvalue'
            )
        if self.held_link and len(self.inertia):
            raise ConfigurationError('inertia is given beside held_link; expected one of them')
        self._joints = joints_beyond(self.arm, self.held_link)
        self.holds_joints, self.first_joint = self.held_link != '', int(self._joints[0])
        self.has_damping = len(given) > 0
        self.damping_matrix = np.ascontiguousarray(D)
        self.mode_damping_ratio = 0.0 if self.has_damping else self.damping_ratio
        self.has_inertia = len(self.inertia) > 0
        self.desired_inertia = self.inertia if self.has_inertia else np.ones(6)
        self.in_base_axes = self.axes == 'base'
        self.base_pose = np.vstack([self.arm.T_world_base.rotation, np.zeros(3)])

    @property
    def following(self) -> Following:
        """The joints follow the path by these parameters."""
        return Following(self.singularity_threshold, self.singularity_damping)

    def plan(self, start: Start) -> Plan:
        """Rest where the arm is, or where its motion has come to rest."""
        if self.held_link:
            return plan_stop(start, self.stop_time)
        path = SE3Trajectory.to_stop(start.time, self.stop_time, start.pose, start.twist)
        return Plan(path, self.stop_time)

    def plan_pose(self, start: Start, goal: SE3) -> Plan:
        """Move the rest pose, as `Task` does the arm, which follows as softly as it is set."""
        arm, how = self.arm, (self.duration, self.profile)
        if not self.held_link:
            try:
                following, path = self.following, self.path
                return plan_pose_motion(arm, start, goal, *how, following, path, is_compliant=True)
            except RefusedError:
                if arm.nv >= 6:
                    raise
        return plan_position_motion(arm, start, goal, *how, self._joints, is_compliant=True)

    @compiled
    def acceleration(self, tick: Tick) -> FloatArray:
        """Write f = K e + D (nu_r - nu) + f_r, and return a ddq that moves the tool as a_r does.

        Where an inertia Lambda_d is wished for, ddq gives the tool the acceleration a of
        Lambda_d (a - a_r) = K e + D (nu_r - nu) + f_r + f_measured, D = 2 zeta sqrt(K Lambda_d),
        both within what the control period h allows: Lambda_d at least K (h / 0.4)^2, D at most
        Lambda_d / h; and f = -f_measured takes back what the hand does to the joints (Hogan
        1985). Without a measured wrench it would be a wrong inertia's stiffness.

        Joints that are held have the joint PD; f at rest is in their torque, too, so that a push
        does not move them.
        """
        # Twists and wrenches in the axes of the stiffness.
        axes = self.base_pose if self.in_base_axes else tick.pose
        R_tool_axes = relative_rotation(tick.pose, axes)
        R_tool_reference = relative_rotation(tick.pose, tick.pose_reference)
        nu = rotated(R_tool_reference, tick.twist_reference) - tick.twist
        e = rotated_back(R_tool_axes, pose_error(tick.pose, tick.pose_reference))
        e_rate = rotated_back(R_tool_axes, nu)
        f = self.stiffness * e + self.reference_wrench
        goal, wrench = np.zeros(6), tick.wrench
        if self.has_inertia:
            # On less, the spring would be too fast for the control period.
            lightest = self.stiffness * (tick.period / FASTEST_MODE) ** 2
            inertia = np.maximum(self.desired_inertia, lightest)
            damping = 2.0 * self.mode_damping_ratio * np.sqrt(self.stiffness * inertia)
            f += rotated_back(R_tool_axes, tick.measured_wrench)
            f += np.minimum(damping, inertia / tick.period) * e_rate
            inverse = np.zeros((6, 6))
            for i in range(6):
                inverse[i, i] = 1.0 / inertia[i]
            f += damping_wrench(self.damping_matrix, inverse, e_rate, tick.period)
            a = rotated(R_tool_reference, tick.frame_acceleration_reference)
            goal = a + rotated(R_tool_axes, f / inertia) - tick.drift
            for i in range(6):
                wrench[i] = -tick.measured_wrench[i]
        else:
            if self.holds_joints:
                shown = mobility_beyond(tick.M, tick.jacobian, self.first_joint)
            else:
                shown = mobility(tick.M, tick.jacobian)
            inverse = in_axes(R_tool_axes, shown)
            if self.has_damping:
                f += damping_wrench(self.damping_matrix, inverse, e_rate, tick.period)
            f += mode_damping(
                self.stiffness, inverse, self.mode_damping_ratio, e, e_rate, tick.period
            )
            f = rotated(R_tool_axes, f)
            for i in range(6):
                wrench[i] = f[i]
        posture = -REST_RATE * tick.v
        if self.holds_joints:
            q_error = tick.position_reference - tick.q
            held = tick.joint_kp * q_error
            held += tick.joint_kd * (tick.velocity_reference - tick.v)
            return hold(tick.jacobian, self.first_joint, held, posture)
        if tick.has_joint_reference:
            posture = GUIDE_RATE * GUIDE_RATE * (tick.position_reference - tick.q)
            posture += 2.0 * GUIDE_RATE * (tick.velocity_reference - tick.v)
            posture += tick.acceleration_reference
            if not self.has_inertia:
                goal = times(tick.jacobian, tick.acceleration_reference)
        return resolve(
            tick.M,
            tick.jacobian,
            goal,
            posture,
            tick.smallest_singular_value,
            self.singularity_threshold,
            self.singularity_damping,
        )


@kernel
def mode_damping(
    stiffness: np.ndarray,
    inverse: np.ndarray,
    ratio: float,
    error: np.ndarray,
    rate: np.ndarray,
    period: float,
) -> np.ndarray:
    """Return K^1/2 (2 zeta S^-1/2) K^1/2 nu, the same damping ratio for each mode of K, Lambda.

    A mode that is too fast for the control period, as of a tool that weighs next to nothing,
    would shake the arm. Its spring is softer, so that it has the fastest frequency that is not.
    So would damping that takes more than all of a mode's velocity in a period: zeta is at most
    1 / (2 omega h).

    Args:
        stiffness: (6,) diagonal of K.
        inverse: (6, 6) Lambda^-1.
        ratio: zeta.
        error: (6,) e.
        rate: (6,) nu.
        period: h [s].
    """
    root = np.sqrt(stiffness)
    S, V = scratch_matrix(6, 6), scratch_matrix(6, 6)
    for i in range(6):
        for j in range(6):
            S[i, j] = root[i] * root[j] * inverse[i, j]
    symmetric_eigen(S, V)
    f = np.zeros(6)
    for k in range(6):
        along = 0.0
        for i in range(6):
            along += V[i, k] * root[i] * rate[i]
        frequency = np.sqrt(max(S[k, k], SLOWEST_MODE * SLOWEST_MODE))
        fastest = FASTEST_MODE / period
        zeta = min(ratio, 0.5 / (min(frequency, fastest) * period))
        force = 2.0 * zeta / frequency * along
        if frequency > fastest:
            share, extension = (fastest / frequency) ** 2, 0.0
            for i in range(6):
                extension += V[i, k] * root[i] * error[i]
            # K = omega^2 Lambda and D = 2 zeta omega Lambda, both with the lower omega.
            force = fastest / frequency * force - (1.0 - share) * extension
        for i in range(6):
            f[i] += root[i] * V[i, k] * force
    return f


@kernel
def damping_wrench(
    damping: np.ndarray, inverse: np.ndarray, rate: np.ndarray, period: float
) -> np.ndarray:
    """Return D nu', nu' the rate at the end of the period: (1 + h Lambda^-1 D) nu' = nu.

    Taken at its beginning, a damping above inertia / h would shake the arm.

    Args:
        damping: (6, 6) D.
        inverse: (6, 6) Lambda^-1.
        rate: (6,) nu.
        period: h [s].
    """
    B, x = scratch_matrix(6, 6), rate.copy()
    for i in range(6):
        for j in range(6):
            B[i, j] = 1.0 if i == j else 0.0
            for k in range(6):
                B[i, j] += period * inverse[i, k] * damping[k, j]
    solve(B, x)
    return times(damping, x)


@kernel
def in_axes(R_ab: np.ndarray, A_a: np.ndarray) -> np.ndarray:
    """Return a (6, 6) matrix between twists and wrenches in other axes, X^T A X."""
    A_b, half = np.empty((6, 6)), scratch_matrix(6, 6)
    for k in range(0, 6, 3):
        for i in range(6):
            for j in range(3):
                half[i, k + j] = (
                    A_a[i, k] * R_ab[0, j]
                    + A_a[i, k + 1] * R_ab[1, j]
                    + A_a[i, k + 2] * R_ab[2, j]
                )
    for k in range(0, 6, 3):
        for i in range(3):
            for j in range(6):
                A_b[k + i, j] = (
                    R_ab[0, i] * half[k, j]
                    + R_ab[1, i] * half[k + 1, j]
                    + R_ab[2, i] * half[k + 2, j]
                )
    return A_b
