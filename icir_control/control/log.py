"""A log of every tick, kept at the cost of one compiled call."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from icir_control.control.kernels.memory import POSE_PATH
from icir_control.control.readout import Readout
from icir_control.dynamics.kernels import CheckedKernel

FIELDS: Final = (
    'position_reference',
    'velocity_reference',
    'has_joint_reference',
    'pose_reference',
)
"""Of the tick's record."""
MEMORY_FIELDS: Final = ('torque', 'torque_unsaturated', 'path')
"""Of the controller's memory."""

_ROWS = 4096


def _keep(
    rows: np.ndarray,
    row: int,
    q: np.ndarray,
    v: np.ndarray,
    tick: np.ndarray,
    tick_places: np.ndarray,
    memory: np.ndarray,
    memory_places: np.ndarray,
) -> int:
    """Copy q, v and what lies at the places of two records into a row, after its time."""
    nv = q.shape[0]
    for i in range(nv):
        rows[row, 1 + i] = q[i]
        rows[row, 1 + nv + i] = v[i]
    begin = 1 + 2 * nv
    for i in range(tick_places.shape[0]):
        rows[row, begin + i] = tick[int(tick_places[i])]
    begin += tick_places.shape[0]
    for i in range(memory_places.shape[0]):
        rows[row, begin + i] = memory[int(memory_places[i])]
    return 0


_KEEP = CheckedKernel(_keep)


class TickLog:
    """Keeps a row for each tick of a controller.

    Attributes:
        q: (nv,) position of the last row [rad or m].
        v: (nv,) its velocity [rad/s or m/s].
    """

    def __init__(self, controller: Readout) -> None:
        """Begin a log without rows."""
        memory, tick = controller.arrays
        self._nv = int(tick['joints'][0])
        self._records: list[NDArray[np.float64]] = []
        for record, names in ((tick, FIELDS), (memory, MEMORY_FIELDS)):
            numbers = np.arange(record.nbytes // 8).view(record.dtype)[0]
            places = [np.ravel(numbers[name]).view(np.int64) for name in names]
            self._records += [record.view(np.float64), np.concatenate(places).astype(float)]
        self._width = 1 + 2 * self._nv + self._records[1].size + self._records[3].size
        self._before, self._count = np.zeros(self._width), 0
        self.clear()
        _KEEP.run(self._rows, 0, *np.zeros((2, self._nv)), *self._records)
        self._call = _KEEP.call  # compiled now

    def __len__(self) -> int:
        """Return the number of rows."""
        return self._count

    def clear(self) -> None:
        """Begin anew."""
        self._before, self._count = self._last.copy(), 0
        self._rows = np.empty((_ROWS, self._width))

    def keep(self, time: float, q: NDArray[np.float64], v: NDArray[np.float64]) -> None:
        """Add the tick that was just computed.

        Args:
            time: Of the measured state [s]; the tick's own is ahead of it by the delay.
            q: (nv,) where the plant is [rad or m].
            v: (nv,) how it moves [rad/s or m/s].
        """
        row = self._count
        if row == len(self._rows):
            self._rows = np.concatenate([self._rows, np.empty_like(self._rows)])
        self._rows[row, 0] = time
        self._call(self._rows, row, q, v, *self._records)
        self._count = row + 1

    @property
    def q(self) -> NDArray[np.float64]:
        """(nv,) position of the last row [rad or m]."""
        return self._last[1 : 1 + self._nv]

    @property
    def v(self) -> NDArray[np.float64]:
        """(nv,) velocity of the last row [rad/s or m/s]."""
        return self._last[1 + self._nv : 1 + 2 * self._nv]

    @property
    def _last(self) -> NDArray[np.float64]:
        """The last row, also where the log was begun anew since."""
        return self._rows[self._count - 1] if self._count else self._before

    @property
    def columns(self) -> dict[str, NDArray[np.float64]]:
        """A copy of the rows by name.

        `time` (n,) [s]; each (n, nv): `position` and `velocity`, `position_reference` and
        `velocity_reference`, the state where the law has none [rad or m, per s], `torque` and,
        before the limits, `torque_unsaturated` [N m or N]; `pose_reference` (n, 4, 3) of the tool
        in the world, rows 0-2 rotation, row 3 position [m], not a number where the law follows no
        pose.
        """
        nv = self._nv
        sizes = [1, nv, nv, nv, nv, 1, 12, nv, nv, 1]
        rows = self._rows[: self._count].copy()
        time, q, v, q_reference, v_reference, has, pose, torque, unsaturated, kind = np.split(
            rows, np.cumsum(sizes)[:-1], axis=1
        )
        has_joints, path = (np.ascontiguousarray(column).view(np.int64) for column in (has, kind))
        return {
            'time': time[:, 0],
            'position': q,
            'velocity': v,
            'position_reference': np.where(has_joints > 0, q_reference, q),
            'velocity_reference': np.where(has_joints > 0, v_reference, v),
            'torque': torque,
            'torque_unsaturated': unsaturated,
            'pose_reference': np.where(path == POSE_PATH, pose, np.nan).reshape(-1, 4, 3),
        }
