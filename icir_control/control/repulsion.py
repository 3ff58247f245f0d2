"""The torque that keeps links apart, and off the floor, in laws that yield."""

from functools import partial

import numpy as np

from icir_control.control.clearance import Clearance
from icir_control.control.kernels import clearance as kernels
from icir_control.parameter import FloatArray

LARGEST_FORCE = 1000.0
"""[N] Between two links, where the effort limits allow more."""


class Repulsion:
    """A one-sided spring and damper within the clearance of each pair.

    The greatest force of a pair takes no joint beyond its effort limit, in no posture.

    Attributes:
        may_be_near: Returns 0 as long as every pair is farther than the clearance by far.
    """

    def __init__(
        self,
        clearance: Clearance,
        period: float,
        q: FloatArray,
        v: FloatArray,
        M: FloatArray,
        torque: FloatArray,
    ) -> None:
        """Make memory of its own, so that every controller has one.

        Args:
            clearance: Of the arm.
            period: Between two ticks [s].
            q: (nv,) position, read at every call [rad or m].
            v: (nv,) velocity, likewise.
            M: (nv, nv) inertia, likewise.
            torque: (nv,), written where there is one [N m or N].
        """
        self._pairs = pairs = clearance.pairs.copy()
        model = pairs.model
        data = model.create_data()
        self._state = np.full((len(pairs), 3), np.nan)
        levers = clearance.reach / np.minimum(model.effort_limit, 10.0 * LARGEST_FORCE)
        force = 1.0 / np.maximum(levers.max(axis=1, initial=0.0), 1.0 / LARGEST_FORCE)
        self._state[:, kernels.FORCE] = force
        self._watch = np.full((3, model.nv), np.nan)
        self._watch[kernels.REACH] = clearance.reach.max(axis=0, initial=0.0)
        self._bounds = np.array([clearance.least, period])
        shapes = pairs.table, pairs.indices, pairs.found
        own = self._state, self._watch, self._bounds
        self._arrays = (data.buffer, *shapes, clearance.reach, *own, q, v, M, torque)
        kernels.may_be_near.run(self._watch, q)
        self.may_be_near = partial(kernels.may_be_near.call, self._watch, q)

    def begin(self) -> None:
        """Let pairs be as near as they are; only what comes nearer is repelled."""
        self._state[:, : kernels.FORCE] = self._watch[kernels.ROOM] = np.nan

    @property
    def period(self) -> float:
        """Between two ticks [s]."""
        return float(self._bounds[1])

    @period.setter
    def period(self, period: float) -> None:
        self._bounds[1] = period

    def write(self) -> bool:
        """Write the torque at the present state; return whether there is any."""
        return kernels.repel.run(*self._arrays) == 1
