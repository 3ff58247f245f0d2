"""Task space: the end effector along a straight path, by PD and computed torque."""

from typing import ClassVar

import numpy as np

from icir_control.control.kernels.task_space import pose_error, resolve, times
from icir_control.control.law import Following, Law, Plan, Start, Tick, compiled
from icir_control.control.motion import (
    DURATION,
    PATH,
    PROFILE,
    SINGULARITY_DAMPING,
    SINGULARITY_THRESHOLD,
    plan_joint_motion,
    plan_pose_motion,
    plan_stop,
)
from icir_control.control.position_first import (
    HELD_LINK,
    joints_beyond,
    plan_position_motion,
)
from icir_control.errors import (
    ConfigurationError,
    PositionLimitError,
    RefusedError,
    SingularityError,
)
from icir_control.parameter import PER_JOINT, FloatArray, parameter
from icir_control.spatial import SE3


class Task(Law):
    """tau = M ddq + nle, ddq = a_r + J^+ (Kp e + Kd J (v_r - v)).

    This is the slide "Task space position control", ddq = J^+ (a + Kp e + Kd (nu_r - nu) -
    Jdot v), with the path followed by the joints first: their reference q_r, matched to the
    plant's integrator, holds what J^+ (a - Jdot v) is for. The error e is taken in the tool's
    axes, with log3 for rotation. A redundant arm keeps its joint reference in the null space.
    """

    TRACKS: ClassVar[bool] = True
    FOLLOWS: ClassVar[str] = 'pose'
    METRICS: ClassVar[tuple[str, ...]] = ('pose_error', 'pose_goal')

    translation: FloatArray = parameter(
        [0.0, 0.0, 0.0],
        'm',
        'way of the end effector from where it is, in base axes',
        length=3,
    )
    posture_deg: FloatArray = parameter(
        [],
        'deg',
        'where the joints of a redundant arm go as far as the tool lets them; empty for where '
        'they are',
        length=PER_JOINT,
        may_be_empty=True,
    )
    posture_rate: float = parameter(1.0, '1/s', 'how fast', lower=0.0, upper=20.0)
    held_link: str = HELD_LINK
    duration: float = DURATION
    profile: str = PROFILE
    path: str = PATH
    singularity_threshold: float = SINGULARITY_THRESHOLD
    singularity_damping: float = SINGULARITY_DAMPING

    def __post_init__(self) -> None:
        """Check posture and held link.

        Raises:
            UnknownNameError: A link that the arm lacks.
            ConfigurationError: A link beyond which no joint moves the tool; a posture outside the
                joint limits, or for an arm without a null space.
        """
        self._joints = joints_beyond(self.arm, self.held_link)
        posture = np.radians(self.posture_deg)
        if len(posture) and self.arm.nv <= 6:
            raise ConfigurationError(
                f'posture_deg is given, but {self.arm.nv} joints leave the tool no null space; '
                'expected none'
            )
        self._posture = posture if len(posture) else None
        if self._posture is not None:
            try:
                self.arm.check_limits('posture_deg', self._posture)
            except PositionLimitError as error:
                raise ConfigurationError(str(error)) from error

    @property
    def unset(self) -> dict[str, str]:
        """The translation, where nothing would move."""
        stands = not (self.translation.any() or len(self.posture_deg))
        return {'way': 'translation'} if stands else {}

    @property
    def following(self) -> Following:
        """The joints follow the path by these parameters."""
        return Following(
            self.singularity_threshold, self.singularity_damping, self._posture, self.posture_rate
        )

    def plan(self, start: Start) -> Plan:
        """Go by the translation; without one come to rest, also at a singularity."""
        way = self.arm.T_world_base.rotation @ self.translation
        if way.any() or not self.held_link:
            try:
                goal = SE3(start.pose.rotation, start.pose.translation + way)
                return self.plan_pose(start, goal)
            except SingularityError:
                if way.any():
                    raise
        return plan_stop(start, self.duration)

    def plan_joints(self, start: Start, goal: FloatArray) -> Plan:
        """Go to a posture."""
        return plan_joint_motion(self.arm, start, goal, self.duration, self.profile)

    def plan_pose(self, start: Start, goal: SE3) -> Plan:
        """Go to a pose; with fewer than six joints to its position where no more is possible."""
        arm, how = self.arm, (self.duration, self.profile)
        if not self.held_link:
            try:
                return plan_pose_motion(arm, start, goal, *how, self.following, self.path)
            except RefusedError:
                if arm.nv >= 6:
                    raise
        return plan_position_motion(arm, start, goal, *how, self._joints)

    @compiled
    def acceleration(self, tick: Tick) -> FloatArray:
        """Return ddq = a_r + J^+ (Kp e + Kd J (v_r - v)), and in the null space a joint PD.

        On a joint path, which may lead through singularities, the joint PD does it all.
        """
        J = tick.jacobian
        q_error = tick.position_reference - tick.q
        v_error = tick.velocity_reference - tick.v
        posture = tick.joint_kp * q_error + tick.joint_kd * v_error
        if tick.on_joint_path:
            return tick.acceleration_reference + posture
        e = pose_error(tick.pose, tick.pose_reference)
        goal = tick.task_kp * e + tick.task_kd * times(J, v_error)
        return tick.acceleration_reference + resolve(
            tick.M,
            J,
            goal,
            posture,
            tick.smallest_singular_value,
            self.singularity_threshold,
            self.singularity_damping,
        )
