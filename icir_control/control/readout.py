"""The readout: what came of the last tick, for whoever looks at it."""

import numpy as np
from numpy.typing import NDArray

from icir_control.control.engine import Engine
from icir_control.control.kernels.record import TASK
from icir_control.spatial import SE3, Motion, log3

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
        self.torque: NDArray[np.float64] = engine.record.torque
        self.torque_unsaturated: NDArray[np.float64] = engine.record.torque_unsaturated

    @property
    def position_reference(self) -> NDArray[np.float64]:
        """(nv,) where the arm should be; where it is, in a mode without a joint reference."""
        return self._engine.position_reference

    @property
    def velocity_reference(self) -> NDArray[np.float64]:
        """(nv,) how it should move; how it moves, in a mode without a joint reference."""
        return self._engine.velocity_reference

    @property
    def has_joint_reference(self) -> bool:
        """Whether the running mode has a reference for the joints."""
        return self._engine.has_joint_reference

    @property
    def tracking_error(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Reference minus state of the joints, position and velocity, each (nv,)."""
        engine = self._engine
        return engine.position_reference - engine.q, engine.velocity_reference - engine.v

    @property
    def tool_error(self) -> Motion:
        """From the end effector to its reference in base axes [m, rad]; rotation as a vector."""
        current, reference = self.current_pose, self.reference_pose
        way = reference.translation - current.translation
        return Motion(way, log3(reference.rotation @ current.rotation.T))

    @property
    def current_pose(self) -> SE3:
        """T_base_tool of the end effector."""
        return self._engine.current_pose

    @property
    def reference_pose(self) -> SE3:
        """T_base_tool that the end effector should have; what it has, where there is none."""
        return self._engine.reference_pose

    @property
    def saturated(self) -> NDArray[np.bool_]:
        """(nv,) which joints were asked for more than their effort limit."""
        return np.abs(self.torque_unsaturated) > self._engine.arm.model.effort_limit

    @property
    def rate_limited(self) -> bool:
        """Whether the last torque was held back by the rate limit."""
        return bool(self._engine.record.rate_limited)

    @property
    def torque_terms(self) -> dict[str, NDArray[np.float64]]:
        """The parts of the torque by name, each (nv,); they add up to `torque`."""
        return self._engine.torque_terms

    @property
    def path_limited(self) -> bool:
        """Whether the joints cannot keep up with the path of the tool at present."""
        return bool(self._engine.record.limited) and self._engine.record.law == TASK

    @property
    def smallest_singular_value(self) -> float:
        """Of the end-effector Jacobian, metres and radians mixed."""
        return float(self._engine.record.smallest_singular_value)

    @property
    def disturbance(self) -> NDArray[np.float64]:
        """(nv,) torque on the arm that the model does not explain, by the observer [N m or N]."""
        return self._engine.record.disturbance

    @property
    def disturbance_wrench(self) -> NDArray[np.float64]:
        """(6,) at the end effector, LOCAL, linear first, that explains the disturbance best.

        The least f with the least |J^T f - r|; directions in which the arm cannot feel a wrench,
        at a singularity, count as none.
        """
        record = self._engine.record
        return np.linalg.lstsq(record.jacobian.T, record.disturbance, rcond=INSENSIBLE)[0]

    @property
    def cancels_disturbance(self) -> bool:
        """Whether the running mode cancels what the observer estimates."""
        return self._engine.config.observer_gain > 0.0 and bool(self._engine.record.feeds_back)
