"""The readout: results of the last tick, read-only."""

import numpy as np
from numpy.typing import NDArray

from icir_control.control.engine import Engine
from icir_control.control.kernels.contact import FREE
from icir_control.control.kernels.memory import JOINT_PATH, POSE_PATH, as_placement
from icir_control.spatial import SE3, Motion, log3

TERMS = (
    'inertia',
    'coriolis',
    'gravity',
    'feedback',
    'null_space',
    'compliance',
    'repulsion',
    'observer',
    'saturation',
)
"""The parts of a torque, which add up to the one that is sent."""

INSENSIBLE = 1e-3
"""Share of the Jacobian's greatest singular value below which a wrench is not told by torques."""


class Readout:
    """Results of an engine's last tick; none of them changes anything.

    Attributes:
        torque: (nv,) within the effort limits [N m or N].
        torque_unsaturated: (nv,) the same before the limits.
    """

    def __init__(self, engine: Engine) -> None:
        """Look at an engine."""
        self._engine = engine
        self.torque: NDArray[np.float64] = engine.memory.torque
        self.torque_unsaturated: NDArray[np.float64] = engine.memory.torque_unsaturated

    @property
    def position(self) -> NDArray[np.float64]:
        """(nv,) where the arm is [rad or m]."""
        return self._engine.q

    @property
    def position_reference(self) -> NDArray[np.float64]:
        """(nv,) where the arm should be; where it is, in a mode without a joint reference."""
        engine = self._engine
        return engine.tick_record.position_reference if self.has_joint_reference else engine.q

    @property
    def velocity_reference(self) -> NDArray[np.float64]:
        """(nv,) how it should move; how it moves, in a mode without a joint reference."""
        engine = self._engine
        return engine.tick_record.velocity_reference if self.has_joint_reference else engine.v

    @property
    def arrays(self) -> tuple[NDArray[np.void], NDArray[np.void]]:
        """The records of memory and tick, an array of one each, for `TickLog`."""
        return self._engine.workspace.arrays

    @property
    def has_joint_reference(self) -> bool:
        """Whether the running mode has a reference for the joints."""
        return bool(self._engine.tick_record.has_joint_reference)

    @property
    def tracking_error(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Reference minus state of the joints, position and velocity, each (nv,)."""
        engine = self._engine
        return self.position_reference - engine.q, self.velocity_reference - engine.v

    @property
    def tool_error(self) -> Motion:
        """From the end effector to its reference in base axes [m, rad]; rotation as a vector."""
        return pose_error(self.current_pose, self.reference_pose)

    @property
    def current_pose(self) -> SE3:
        """T_base_tool of the end effector."""
        engine = self._engine
        return engine.arm.T_base_world @ engine.workspace.placement

    @property
    def reference_pose(self) -> SE3:
        """T_base_tool that the end effector should have; what it has, where there is none."""
        engine = self._engine
        if engine.memory.path == POSE_PATH:
            T_world_tool = as_placement(engine.tick_record.pose_reference)
        elif self.has_joint_reference:
            T_world_tool = engine.arm.placement(self.position_reference)
        else:
            return self.current_pose
        return engine.arm.T_base_world @ T_world_tool

    @property
    def saturated(self) -> NDArray[np.bool_]:
        """(nv,) which joints were asked for more than their effort limit."""
        return np.abs(self.torque_unsaturated) > self._engine.arm.model.effort_limit

    @property
    def rate_limited(self) -> bool:
        """Whether the last torque was held back by the rate limit."""
        return bool(self._engine.memory.rate_limited)

    @property
    def torque_terms(self) -> dict[str, NDArray[np.float64]]:
        """The parts of the torque by name, each (nv,); they add up to `torque`.

        inertia is M a_r of the reference, coriolis C v with the
        losses of the joints, gravity g, feedback M (ddq - a_r) + D (v_r - v) without
        null_space, M (1 - J^# J)(ddq - a_r) of a redundant arm whose tool has a path; compliance
        is J^T f, repulsion what keeps links apart, observer what it cancels, saturation what the
        limits took away (below zero where they took from a positive torque).
        """
        memory, tick = self._engine.memory, self._engine.tick_record
        g = self._engine.workspace.data.g
        M, J = tick.M, tick.jacobian
        followed = self.has_joint_reference
        planned = tick.acceleration_reference if followed else np.zeros(len(g))
        feedback = memory.acceleration - planned
        free = np.zeros(len(g))
        if len(g) > 6 and memory.path != JOINT_PATH:
            rows = np.linalg.solve(M, J.T)
            free = feedback - rows @ np.linalg.solve(J @ rows, J @ feedback)
        damped = memory.joint_damping * bool(memory.tracks and followed)
        return {
            'inertia': M @ planned,
            'coriolis': tick.nle + memory.bias_change - g,
            'gravity': g.copy(),
            'feedback': M @ (feedback - free) + damped * (tick.velocity_reference - tick.v),
            'null_space': M @ free,
            'compliance': J.T @ tick.wrench,
            'repulsion': memory.repulsion * memory.repels,
            'observer': -memory.compensation,
            'saturation': memory.torque - memory.torque_unsaturated,
        }

    @property
    def bandwidth(self) -> float:
        """Of the feedback of the softest joint, as a share of what is configured."""
        return float(self._engine.memory.bandwidth.min())

    @property
    def path_limited(self) -> bool:
        """Whether the joints cannot keep up with the path of the tool at present."""
        memory = self._engine.memory
        follows = memory.path == POSE_PATH and self.has_joint_reference
        return bool(memory.limited and follows)

    @property
    def smallest_singular_value(self) -> float:
        """Of the end-effector Jacobian, metres and radians mixed; 0 with fewer than six joints."""
        J = self._engine.tick_record.jacobian
        return float(np.linalg.svd(J, compute_uv=False)[-1]) if J.shape[1] >= 6 else 0.0

    @property
    def disturbance(self) -> NDArray[np.float64]:
        """(nv,) torque on the arm that the model does not explain, by the observer [N m or N]."""
        return self._engine.memory.disturbance

    @property
    def disturbance_wrench(self) -> NDArray[np.float64]:
        """(6,) at the end effector, LOCAL, linear first, that explains the disturbance best.

        The least f with the least |J^T f - r|; directions in which the arm cannot feel a wrench,
        at a singularity, count as none. In a contact r, which waits then, is that of a faster
        observer.
        """
        memory = self._engine.memory
        J, r = self._engine.tick_record.jacobian, memory.disturbance
        if memory.contact != FREE:
            r = memory.smooth_residual
        return np.linalg.lstsq(J.T, r, rcond=INSENSIBLE)[0]

    @property
    def cancels_disturbance(self) -> bool:
        """Whether the running mode cancels what the observer estimates."""
        memory = self._engine.memory
        return bool(memory.observer_gain > 0.0 and memory.tracks)


def pose_error(current: SE3, reference: SE3) -> Motion:
    """Return the way from a pose to another, both in the same axes [m, rad]; see `tool_error`."""
    way = reference.translation - current.translation
    return Motion(way, log3(reference.rotation @ current.rotation.T))
