"""Forces from outside: wrenches held on links, and the mouse of a viewer."""

import mujoco
import numpy as np
from numpy.typing import NDArray


class ExternalForces:
    """Sums wrenches on links into MuJoCo's `xfrc_applied`, anew before every step.

    MuJoCo wants a force at the link's centre of mass in world axes; ours act at the link's origin
    in the link's axes: `f_world = R f`, `n_world = R n + (origin - com) x f_world`.

    Attributes:
        active: Whether there is anything to apply.
    """

    def __init__(self, model: mujoco.MjModel, data: mujoco.MjData) -> None:
        """Start without forces.

        Args:
            model: The model that is stepped.
            data: Its state.
        """
        self.active = False
        self._model, self._data = model, data
        self._applied: NDArray[np.float64] = data.xfrc_applied
        self._rotation = data.xmat.reshape(-1, 3, 3)
        self._origin, self._com = data.xpos, data.xipos
        self._pushes: dict[int, NDArray[np.float64]] = {}
        self._mouse: mujoco.MjvPerturb | None = None

    def push(self, body: int, wrench: NDArray[np.float64]) -> None:
        """Hold a wrench on a body until it is cleared or replaced.

        Args:
            body: The body.
            wrench: (6,) force, moment [N, N m] at its origin, in its axes.
        """
        self._pushes[body] = wrench
        self.active = True

    def clear(self, body: int) -> None:
        """Take the wrench off a body; none there is no error."""
        self._pushes.pop(body, None)
        self._settle()

    def clear_all(self) -> None:
        """Take every wrench away, the mouse's too."""
        self._pushes.clear()
        self._mouse = None
        self._settle()

    def drag(self, mouse: mujoco.MjvPerturb | None) -> None:
        """Let the mouse pull at a body, or let go.

        Args:
            mouse: A snapshot of the viewer's perturbation; None where there is no drag.
        """
        dragging = mouse is not None and (mouse.active or mouse.active2) and mouse.select > 0
        self._mouse = mouse if dragging else None
        self._settle()

    def apply(self) -> None:
        """Write the sum for the present configuration, whose poses `mj_step1` has found."""
        self._applied.fill(0.0)
        if self._mouse is not None:
            # Overwrites the row of the body that it drags, so it comes first.
            mujoco.mjv_applyPerturbForce(self._model, self._data, self._mouse)
        moment = np.empty(3)
        for body, wrench in self._pushes.items():
            rotation, row = self._rotation[body], self._applied[body]
            force = rotation.dot(wrench[:3])
            mujoco.mju_cross(moment, self._origin[body] - self._com[body], force)
            row[:3] += force
            row[3:] += rotation.dot(wrench[3:])
            row[3:] += moment

    def _settle(self) -> None:
        active = bool(self._pushes) or self._mouse is not None
        if self.active and not active:
            self._applied.fill(0.0)
        self.active = active
