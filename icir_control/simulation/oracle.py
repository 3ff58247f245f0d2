"""MuJoCo's own account of a model's dynamics, to compare another one with."""

import mujoco
import numpy as np
from numpy.typing import NDArray


class Dynamics:
    """Mass matrix, bias and Jacobian of a model, on a state of its own.

    Rows and columns follow `joints`, whatever order MuJoCo keeps them in.
    """

    def __init__(self, model: mujoco.MjModel, joints: NDArray[np.intp]) -> None:
        """Keep a model and make a state for it.

        Args:
            model: A model whose joints all have one degree of freedom.
            joints: (nv,) MuJoCo's joint indices, in the order that is wanted.
        """
        self._model = model
        self._data = mujoco.MjData(model)
        self._joints = joints
        self._inverse = np.argsort(joints)
        self._bias = np.empty(model.nv)
        self._product = np.empty(model.nv)

    def mass_matrix(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return M(q): (nv, nv) [kg m^2; kg m; kg]."""
        self._place(q)
        columns = np.empty((self._model.nv, self._model.nv))
        for column, unit in zip(columns, np.eye(self._model.nv), strict=True):
            mujoco.mj_mulM(self._model, self._data, column, unit)
        return columns.T[np.ix_(self._joints, self._joints)]

    def bias(self, q: NDArray[np.float64], v: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the torque that holds ddq = 0: (nv,) Coriolis, centrifugal, gravity [N m; N]."""
        self._place(q)
        self._move(v)
        mujoco.mj_rne(self._model, self._data, 0, self._bias)
        return self._bias[self._joints]

    def damped_bias(
        self, q: NDArray[np.float64], v: NDArray[np.float64], rate: float
    ) -> NDArray[np.float64]:
        """Return bias - rate M v: (nv,), under which every joint speed decays as exp(-rate t)."""
        bias = self.bias(q, v)
        mujoco.mj_mulM(self._model, self._data, self._product, self._data.qvel)
        return bias - rate * self._product[self._joints]

    def frame_jacobian(self, q: NDArray[np.float64], body: int) -> NDArray[np.float64]:
        """Return the (6, nv) Jacobian of a body's origin in world axes, linear rows first."""
        self._place(q)
        jacobian = np.zeros((6, self._model.nv))
        mujoco.mj_jacBody(self._model, self._data, jacobian[:3], jacobian[3:], body)
        return jacobian[:, self._joints]

    def _place(self, q: NDArray[np.float64]) -> None:
        """Bring everything that depends on the configuration alone up to date."""
        self._data.qpos[:] = q[self._inverse]
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        mujoco.mj_makeM(self._model, self._data)

    def _move(self, v: NDArray[np.float64]) -> None:
        self._data.qvel[:] = v[self._inverse]
        mujoco.mj_comVel(self._model, self._data)
