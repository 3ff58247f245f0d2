"""The arm as the laws see it: a model, the frame that acts and the frame it is told in."""

import numpy as np
from numpy.typing import NDArray

from icir_control.control.workspace import Workspace
from icir_control.dynamics import Model, root_link, tip_link
from icir_control.errors import ConfigurationError
from icir_control.spatial import SE3, Motion

POSTURES = 32
"""In which an arm shows about the greatest inertia that it has."""


class Arm:
    """A fixed-base model with its base frame and end-effector frame.

    Attributes:
        model: The model.
        base_frame: Name of the frame of all poses.
        end_effector_frame: Name of the frame that acts.
        frame: Index of the end-effector frame.
        T_world_base: Placement of the base frame, which does not move.
        acceleration_limit: (nv,) what half the effort limit gives to the greatest inertia that a
            joint sees in some thirty postures [rad/s^2 or m/s^2].
    """

    def __init__(self, model: Model, base_frame: str, end_effector_frame: str) -> None:
        """Look the frames up.

        Args:
            model: Of a fixed-base arm, nq == nv.
            base_frame: Name of a frame that is fixed to the world; empty for the root link.
            end_effector_frame: Name of a frame; empty for the last link of a serial arm.

        Raises:
            UnknownNameError: A frame that the model lacks; the message lists those it has.
            ModelError: A frame that was not named, of an arm with several ends.
            ConfigurationError: A base frame that moves, or a model with quaternions.
        """
        if model.nq != model.nv:
            raise ConfigurationError(
                f'the model {model.name!r} has nq = {model.nq} and nv = {model.nv}; '
                'the controller runs arms with a fixed base (nq == nv)'
            )
        self.model = model
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
        self._workspace = Workspace(model, self.frame)
        self.acceleration_limit = self._acceleration_limit()

    def _acceleration_limit(self) -> NDArray[np.float64]:
        rng, workspace = np.random.default_rng(0), self._workspace
        inertia = np.zeros(self.nv)
        for _ in range(POSTURES):
            workspace.sense(self.model.random_configuration(rng), np.zeros(self.nv))
            inertia = np.maximum(inertia, np.diag(workspace.data.M))
        return 0.5 * self.model.effort_limit / inertia

    def new_workspace(self) -> Workspace:
        """Return memory of its own for this arm's compiled work."""
        workspace = Workspace(self.model, self.frame)
        workspace.record.acceleration_limit[:] = self.acceleration_limit
        return workspace

    @property
    def nv(self) -> int:
        """Degrees of freedom."""
        return self.model.nv

    def placement(self, q: NDArray[np.float64]) -> SE3:
        """Return T_world_tool of the end-effector frame at q (nv,)."""
        self._workspace.sense(q, np.zeros(self.nv))
        return self._workspace.placement

    def motion(self, q: NDArray[np.float64], v: NDArray[np.float64]) -> tuple[SE3, Motion]:
        """Return T_world_tool and the LOCAL twist of the end-effector frame at q, v (nv,)."""
        self._workspace.sense(q, v)
        return self._workspace.placement, self._workspace.twist

    def smallest_singular_value(self, q: NDArray[np.float64]) -> float:
        """Return that of the end-effector Jacobian at q (nv,), metres and radians mixed."""
        self._workspace.sense(q, np.zeros(self.nv))
        return float(np.linalg.svd(self._workspace.record.jacobian, compute_uv=False)[-1])

    def outside_limits(self, q: NDArray[np.float64]) -> str:
        """Return what of q is outside the position limits, in words; empty where nothing is."""
        lower, upper = self.model.lower_position_limit, self.model.upper_position_limit
        for i in np.flatnonzero((q < lower) | (q > upper)):
            name = self.model.joint_names[i]
            return f'{name} at {q[i]:.4g} rad, outside [{lower[i]:.4g}, {upper[i]:.4g}]'
        return ''
