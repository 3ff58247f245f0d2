"""The workspace: memory of the compiled function, and its call."""

import numpy as np
from numpy.typing import ArrayLike

from icir_control.compiled import bound
from icir_control.control.kernels import run
from icir_control.control.kernels.record import SENSE, TICK, as_placement, new_record
from icir_control.dynamics import Model
from icir_control.dynamics.kernels import CheckedKernel
from icir_control.spatial import SE3, Motion


def _take_state(state: np.ndarray, q: np.ndarray, v: np.ndarray) -> int:
    """Copy q and v behind the time; return 1, and copy nothing, if the lengths differ."""
    nv = q.shape[0]
    if v.shape[0] != nv or state.shape[0] != 1 + 2 * nv:
        return 1
    state[1 : 1 + nv] = q
    state[1 + nv :] = v
    return 0


# Three times as fast as two assignments of numpy's.
_TAKE_STATE = CheckedKernel(_take_state)


class Workspace:
    """What the compiled function reads and writes for one arm.

    Attributes:
        data: Terms of the dynamics at the state that was last sensed.
        control: (1,) record array.
        record: Its only element, a view.
        state: (1 + 2 nv,): time [s], q, v.
        q: (nv,) view of the state.
        v: (nv,) view of the state.
    """

    def __init__(self, model: Model, frame: int) -> None:
        """Make memory for a model; `frame` is the index of the frame that acts."""
        self._model = model
        nv = model.nv
        self.data = model.create_data()
        self.control = new_record(nv)
        self.record = self.control[0]
        self.record.frame = frame
        self.record.effort_limit[:] = model.effort_limit
        self.record.velocity_limit[:] = model.velocity_limit
        self.record.lower_position_limit[:] = model.lower_position_limit
        self.record.upper_position_limit[:] = model.upper_position_limit
        self.state = np.zeros(1 + 2 * nv)
        self.q = self.state[1 : 1 + nv]
        self.v = self.state[1 + nv :]
        self._operation = self.control['operation']
        self._operation[0] = self._selected = TICK
        self._arrays = (self.data.buffer, self.control, self.state)
        self._run = bound(run, *self._arrays)
        _TAKE_STATE.run(self.state, self.q, self.v)

    def copy(self) -> 'Workspace':
        """Return the same state on memory of its own."""
        other = Workspace(self._model, int(self.record.frame))
        other.data.buffer[:] = self.data.buffer
        other.control[:] = self.control
        other.state[:] = self.state
        other._selected = self._selected
        return other

    def run(self, operation: int = TICK) -> None:
        """Do one operation (`TICK`, ... of the record module) on this memory."""
        if operation != self._selected:
            self._operation[0] = self._selected = operation
        self._run(*self._arrays)

    def take_state(self, q: ArrayLike, v: ArrayLike) -> None:
        """Take a state q, v (nv,) over; the dynamics stays where it is."""
        try:
            if _TAKE_STATE.call(self.state, q, v) == 0:
                return
        except TypeError:
            pass  # other arrays than it takes
        self.q[:] = q
        self.v[:] = v

    def sense(self, q: np.ndarray, v: np.ndarray) -> None:
        """Bring dynamics and tool to a state q, v (nv,)."""
        self.take_state(q, v)
        self.run(SENSE)

    @property
    def placement(self) -> SE3:
        """T_world_tool at the state that was last sensed."""
        return as_placement(self.record.pose)

    @property
    def twist(self) -> Motion:
        """LOCAL twist of the tool at the state that was last sensed."""
        nu = self.record.twist.copy()
        return Motion(nu[:3], nu[3:])
