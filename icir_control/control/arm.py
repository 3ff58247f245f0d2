"""The arm as the laws see it: a model, its end-effector frame, and the base frame of its poses."""

from copy import copy
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.control.clearance import Clearance
from icir_control.control.kernels.rehearse import TORQUE_SHARE, square_of_stretch
from icir_control.control.workspace import Workspace
from icir_control.dynamics import (
    Model,
    frame_placement,
    gravity_torque,
    rnea,
    root_link,
    tip_link,
)
from icir_control.dynamics.joints import FAR
from icir_control.errors import (
    ClearanceError,
    ConfigurationError,
    ModelError,
    PositionLimitError,
    RefusedError,
)
from icir_control.spatial import SE3, Motion
from icir_control.trajectory import JointTrajectory

POSTURES = 32
"""In which an arm shows about the greatest inertia that it has."""

NO_INERTIA = 1e-12
"""Share of the greatest inertia of a joint below which another has none but round-off."""

WELL_CONDITIONED = 0.05
"""Smallest singular value of the Jacobian in a posture that is far from singularities."""

ROUNDING = 1e-9
"""[rad or m] By which a posture may be beyond a limit."""

UNHELD = 1e-3
"""What a posture counts whose weight is too much for the motors, where no other is left."""

REST_SAMPLES, REST_RANGE = 400, 1.6
"""Postures that are tried, and how far from the middle of the limits they are [rad or m]."""


class Arm:
    """A fixed-base model with its base frame and end-effector frame.

    Attributes:
        model: The model.
        base_frame: Name of the frame of all poses.
        end_effector_frame: Name of the frame that acts.
        frame: Index of the end-effector frame.
        T_world_base: Placement of the base frame, which does not move.
        T_base_world: Its inverse.
        clearance: Watches how near its links come to each other; None where nothing is known of
            their shapes.
    """

    def __init__(
        self,
        model: Model,
        base_frame: str,
        end_effector_frame: str,
        clearance: Clearance | None = None,
    ) -> None:
        """Look the frames up.

        Args:
            model: Of a fixed-base arm, nq == nv.
            base_frame: Name of a frame that is fixed to the world; empty for the root link.
            end_effector_frame: Name of a frame; empty for the last link of a serial arm.
            clearance: Of the model's links.

        Raises:
            UnknownNameError: A frame that the model lacks; the message lists those it has.
            ModelError: A frame that was not named, of an arm with several ends; a joint that
                turns nothing but a point on its axis.
            ConfigurationError: A base frame that moves, or a model with quaternions.
        """
        if model.nq != model.nv:
            raise ConfigurationError(
                f'the model {model.name!r} has nq = {model.nq} and nv = {model.nv}; '
                'the controller runs arms with a fixed base (nq == nv)'
            )
        self.model, self.clearance = model, clearance
        self.base_frame = base_frame or root_link(model)
        self.end_effector_frame = end_effector_frame or tip_link(model)
        self.frame = model.frame_id(self.end_effector_frame)
        base = model.frames[model.frame_id(self.base_frame)]
        if base.parent != 0:
            raise ConfigurationError(
                f'base_frame = {self.base_frame!r} moves with joint '
                f'{model.joints[base.parent].name!r}; expected a frame fixed to the world'
            )
        self.T_world_base = base.placement
        self.T_base_world = base.placement.inverse()
        self._workspace = Workspace(model, self.frame)
        self._inertia = self._greatest_inertia()
        i = int(np.argmin(self._inertia))
        if self._inertia[i] < NO_INERTIA * self._inertia.max():
            raise ModelError(
                f'{model.joint_names[i]} turns what has no moment of inertia about its axis '
                f'({self._inertia[i]:.2g} kg m^2), so that no torque controls it; give a link of '
                'it, or one fixed to it, a moment of inertia'
            )

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the workspace: a copy makes its own."""
        return {name: value for name, value in vars(self).items() if name != '_workspace'}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what `__getstate__` gave."""
        vars(self).update(state)
        self._workspace = Workspace(self.model, self.frame)

    @property
    def acceleration_limit(self) -> NDArray[np.float64]:
        """(nv,) what half the effort limit gives to a joint's greatest inertia [rad/s^2, m/s^2].

        The greatest in some thirty postures.
        """
        return 0.5 * self.model.effort_limit / self._inertia

    def _greatest_inertia(self) -> NDArray[np.float64]:
        rng, workspace = np.random.default_rng(0), self._workspace
        inertia = np.zeros(self.nv)
        for _ in range(POSTURES):
            workspace.sense(self.model.random_configuration(rng), np.zeros(self.nv))
            inertia = np.maximum(inertia, np.diag(workspace.data.M))
        return inertia

    @cached_property
    def translates(self) -> NDArray[np.bool_]:
        """(nv,) which degrees of freedom are lengths, not angles."""
        joints = self.model.joints
        return np.array([k < joint.kind.lengths for joint in joints for k in range(joint.nv)])

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return self.model.nv

    def placement(self, q: NDArray[np.float64]) -> SE3:
        """Return T_world_tool of the end-effector frame at q (nv,)."""
        self._workspace.sense(q, np.zeros(self.nv))
        return self._workspace.placement

    def placement_of(self, frame: str, q: NDArray[np.float64]) -> SE3:
        """Return T_world_frame of a frame, by name, at q (nv,).

        Raises:
            UnknownNameError: A frame that the model lacks.
        """
        self._workspace.sense(q, np.zeros(self.nv))
        return frame_placement(self.model, self._workspace.data, self.model.frame_id(frame))

    def placements(self, positions: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return T_world_tool (n, 4, 3) at each of (n, nv): rows 0-2 rotation, row 3 position."""
        poses, still = np.empty((len(positions), 4, 3)), np.zeros(self.nv)
        for pose, q in zip(poses, positions, strict=True):
            self._workspace.sense(q, still)
            pose[:] = self._workspace.tick.pose
        return poses

    def motion(self, q: NDArray[np.float64], v: NDArray[np.float64]) -> tuple[SE3, Motion]:
        """Return T_world_tool and the LOCAL twist of the end-effector frame at q, v (nv,)."""
        self._workspace.sense(q, v)
        return self._workspace.placement, self._workspace.twist

    def jacobian(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return that of the end-effector frame at q (nv,), (6, nv), LOCAL."""
        self._workspace.sense(q, np.zeros(self.nv))
        return self._workspace.tick.jacobian.copy()

    def smallest_singular_value(self, q: NDArray[np.float64]) -> float:
        """Return that of the end-effector Jacobian at q (nv,), metres and radians mixed."""
        return float(np.linalg.svd(self.jacobian(q), compute_uv=False)[-1])

    def stretch(self, path: JointTrajectory, times: NDArray[np.float64]) -> tuple[float, int]:
        """Return the factor on time that brings the torque of a path within the effort limits.

        Args:
            path: Of the joints.
            times: Of its samples [s].

        Returns:
            The factor, and the joint that needs it.
        """
        model, data = self.model, self.model.create_data()
        square, worst = 0.0, 0
        for time in times:
            q, v, a = path.sample(time)
            g = gravity_torque(model, data, q)
            d = rnea(model, data, q, v, a) - g + model.joint_damping * v
            joints = zip(model.effort_limit, model.joint_friction, g, d, v, strict=True)
            needed = [square_of_stretch(*joint) for joint in joints]
            if max(needed) > square:
                square, worst = max(needed), int(np.argmax(needed))
        return float(np.sqrt(square)), worst

    def check_friction(self, what: str, positions: NDArray[np.float64]) -> None:
        """Refuse a way (n, nv) on which a joint moves that its own friction holds.

        Args:
            what: Whose way it is, for the message.
            positions: Of the joints, along the way [rad or m].

        Raises:
            RefusedError: Names the first such joint.
        """
        friction, most = self.model.joint_friction, self.model.effort_limit
        moves = np.ptp(positions, axis=0) > ROUNDING
        for i in np.flatnonzero(moves & (friction > most)):
            name, limit = self.model.joint_names[i], most[i]
            raise RefusedError(
                f'{what} moves {name}, whose friction of {friction[i]:.3g} N m or N its motor '
                f'cannot overcome with an effort of {limit:.3g}',
                reason='effort_limit',
                joint=name,
                value=float(friction[i]),
                upper=float(most[i]),
            )

    def check_weight(self, what: str, positions: NDArray[np.float64]) -> None:
        """Refuse a way (n, nv) on which the arm weighs more than its motors bear.

        Where it does so from the start on it may go, as long as it weighs no more.

        Args:
            what: Whose way it is, for the message.
            positions: Of the joints, along the way, from its start on [rad or m].

        Raises:
            RefusedError: Names the joint that is the most beyond its limit, and where.
        """
        model, data = self.model, self.model.create_data()
        weight = np.abs([gravity_torque(model, data, q).copy() for q in positions])
        most = np.maximum(model.effort_limit, weight[0])
        k, i = np.unravel_index(int(np.argmax(weight - most)), weight.shape)
        if weight[k, i] - most[i] > ROUNDING * (1.0 + most[i]):
            name, limit = model.joint_names[i], model.effort_limit[i]
            raise RefusedError(
                f'{what} loads {name} with a weight of {weight[k, i]:.3g} N m or N, '
                f'{k / (len(positions) - 1):.0%} of the way, which its motor cannot bear with an '
                f'effort of {limit:.3g}',
                reason='effort_limit',
                joint=name,
                value=float(weight[k, i]),
                upper=float(limit),
            )

    @property
    def middle(self) -> NDArray[np.float64]:
        """(nv,) the middle between the position limits, or what is nearest to 0 within them.

        The latter where one of them is missing, as one beyond `joints.FAR` is.
        """
        limits = np.array([self.model.lower_position_limit, self.model.upper_position_limit])
        near = (np.abs(limits) < FAR).all(axis=0)
        return np.where(near, limits, np.clip(0.0, *limits)).mean(axis=0)

    @property
    def rest_posture(self) -> NDArray[np.float64]:
        """(nv,) the first of `rest_postures` [rad or m]."""
        return self.rest_postures[0]

    @cached_property
    def rest_postures(self) -> NDArray[np.float64]:
        """(k, nv) some hundred postures, the same at every start, the best to rest in first.

        That is the middle of the limits, unless it is near a singularity or too heavy to hold;
        then the largest product of the smallest singular value and the distance to the limits.
        With fewer than six joints those of the position alone count, too, as far as the joints
        can move it.
        """
        lower, upper = self.model.lower_position_limit, self.model.upper_position_limit
        # Not far from the middle where a joint can turn round and round.
        low, high = (
            np.fmax(lower, self.middle - REST_RANGE),
            np.fmin(upper, self.middle + REST_RANGE),
        )
        inner = np.random.default_rng(0).uniform(low, high, (REST_SAMPLES, self.nv))
        postures = np.vstack([self.middle, inner])
        both = (6,) if self.nv >= 6 else (6, 3)
        values = np.array(
            [
                np.hstack([np.linalg.svd(self.jacobian(q)[:rows])[1] for rows in both])
                for q in postures
            ]
        )
        least = values[:, values.max(axis=0) > 1e-6].min(axis=1)
        data = self.model.create_data()
        weight = np.abs([gravity_torque(self.model, data, q).copy() for q in postures])
        held = np.all(weight <= TORQUE_SHARE * self.model.effort_limit, axis=1)
        width = np.maximum(high - low, 1e-9)
        room = (np.minimum(postures - low, high - postures) / width).min(axis=1)
        value = least * room * np.where(held, 1.0, UNHELD)
        if least[0] > WELL_CONDITIONED and held[0]:
            value[0] = np.inf
        return postures[np.argsort(-value, kind='stable')]

    def with_clearance(self, least: float) -> 'Arm':
        """Return the same arm with another clearance [m]."""
        if self.clearance is None or self.clearance.least == least:
            return self
        arm = copy(self)
        arm.clearance = self.clearance.changed(least)
        return arm

    def check_clearance(self, what: str, path: ArrayLike) -> None:
        """Refuse a path (n, nv) of the joints on which links come too near each other.

        Args:
            what: Whose path it is, for the message.
            path: Positions between which the joints go straight.

        Raises:
            ClearanceError: Names the two links, where they are nearest, and how near.
        """
        if self.clearance is not None:
            self.clearance.check(what, path)

    def check_clearance_at(self, q: NDArray[np.float64]) -> None:
        """Refuse a posture (nv,) in which links are too near each other.

        Raises:
            ClearanceError: Names the two that are nearest, and how near.
        """
        if self.clearance is not None and self.clearance.least:
            links, found = self.clearance.nearest(q)
            if found < self.clearance.least:
                raise ClearanceError('the posture', links, found, self.clearance.least)

    def check_limits(
        self, what: str, q: NDArray[np.float64], start: NDArray[np.float64] | None = None
    ) -> None:
        """Refuse a posture outside the position limits.

        Args:
            what: Whose posture it is, for the message.
            q: (nv,) [rad or m].
            start: (nv,) where the motion begins: it may be outside, and come back.

        Raises:
            PositionLimitError: Names the first joint that is outside.
        """
        lower, upper = self.model.lower_position_limit, self.model.upper_position_limit
        least, greatest = lower, upper
        if start is not None:
            least, greatest = np.minimum(lower, start), np.maximum(upper, start)
        outside = (q < least - ROUNDING) | (q > greatest + ROUNDING)
        for i in np.flatnonzero(outside):
            raise PositionLimitError(
                what,
                self.model.joint_names[i],
                float(q[i]),
                float(lower[i]),
                float(upper[i]),
                'm' if self.translates[i] else 'rad',
            )
