"""The data: everything that is computed about a model, in one buffer."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar, overload

import numpy as np

from icir_control.dynamics.buffer import blocks
from icir_control.dynamics.kernels import layout as at
from icir_control.spatial import SE3, Force, Motion

if TYPE_CHECKING:
    from icir_control.dynamics.model import Model

Value = TypeVar('Value')
_RESULTS = ('M', 'nle', 'g', 'tau', 'ddq', 'Minv', 'Jcom', 'Ag', 'hg')


class Lazy(Sequence[Value]):
    """A sequence whose values are made from the newest results when they are asked for."""

    __slots__ = ('_length', '_make')

    def __init__(self, length: int, make: Callable[[int], Value]) -> None:
        self._length = length
        self._make = make

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Value: ...
    @overload
    def __getitem__(self, index: slice) -> list[Value]: ...
    def __getitem__(self, index: int | slice) -> Value | list[Value]:
        positions = range(self._length)[index]
        if isinstance(positions, range):
            return [self._make(i) for i in positions]
        return self._make(positions)


class Watched(NamedTuple):
    """What `compute_all_terms` refreshes about the watched frame: views into the buffer."""

    rotation: np.ndarray
    """To world axes (3, 3)."""
    position: np.ndarray
    """In the world (3,) [m]."""
    twist: np.ndarray
    """LOCAL (6,), linear part first."""
    jacobian: np.ndarray
    """LOCAL (6, nv)."""
    drift: np.ndarray
    """Classical acceleration at ddq = 0, LOCAL (6,): dJ v."""


class Data:
    """All results about one model; several of one model are independent of each other.

    The arrays are views into `buffer`, so they always show the newest results: copy what is to
    be kept. The sequences `oMi`, `oMf`, `v`, `a`, `f` make immutable values when asked.

    Attributes:
        model: The model it belongs to.
        buffer: The model's constants and all results, one contiguous array for the kernels.
        M: Mass matrix (nv, nv), symmetric.
        nle: Nonlinear effects C(q, v) v + g(q), (nv,) [N m or N].
        g: Gravity torque (nv,).
        tau: Torque of inverse dynamics (nv,).
        ddq: Acceleration of forward dynamics (nv,).
        Minv: Inverse of M (nv, nv).
        J: Jacobian (6, nv) whose columns are the twists of unit speeds, at the world's origin.
        Jcom: Jacobian of the centre of mass (3, nv).
        Ag: Centroidal map (6, nv).
        hg: Centroidal momentum (6,), linear part first.
        oMi: Placement of each joint in the world.
        oMf: Placement of each frame in the world.
        v: Twist of each joint's body, LOCAL.
        a: Spatial acceleration of each joint's body, LOCAL: with the ddq that was given, or
            at ddq = 0; without gravity.
        f: Force through each joint, LOCAL, after `rnea`.
        com: Centre of mass (3,) [m] of the subtree beyond each joint, in the joint's frame; that
            of the universe is the whole's, in the world. `centroidal_map`, `centroidal_momentum`
            and `center_of_mass_jacobian` refresh the whole's alone.
        whole_com: The same as `com[0]`.
        watched: The watched frame's terms, or None.
        external: External forces by row; see `rnea`.
        rows: The kernels' view of the joints; see `kernels.layout`.
    """

    __slots__ = (
        *('model', 'buffer', 'rows', 'external', 'watched'),
        *('J', 'oMi', 'oMf', 'v', 'a', 'f', 'com', 'whole_com'),
        *_RESULTS,
    )

    def __init__(self, model: 'Model', watch: str | None = None) -> None:
        """Make room for all results; see `Model.create_data`."""
        self.model = model
        self.buffer = model.buffer.copy()
        if watch is not None:
            self.buffer[at.H_WATCHED] = model.frame_id(watch)
        nv = model.nv
        rows = self.buffer[at.HEADER : at.HEADER + (nv + 1) * at.STRIDE]
        self.rows = rows.reshape(nv + 1, at.STRIDE)
        self.J = self.rows[1:, at.COLUMN : at.COLUMN + 6].T
        views = {}
        for name, block in blocks(model.nq, nv).items():
            start = int(self.buffer[block.header])
            views[name] = self.buffer[start : start + block.size].reshape(block.shape)
        for name in _RESULTS:
            setattr(self, name, views[name])
        self.hg = views['hg'].ravel()
        self.external = views['external']
        self.watched = None if watch is None else _watched(views['watch'], nv)
        com = views['com']
        self.whole_com = com[0]
        self.com = Lazy(model.njoints, lambda i: com[model.joints[i].row])
        self.oMi = Lazy(model.njoints, self._joint_placement)
        self.oMf = Lazy(model.nframes, self._frame_placement)
        self.v = Lazy(model.njoints, lambda i: self._local(i, at.TWIST, Motion))
        self.a = Lazy(model.njoints, lambda i: self._local(i, at.ACCELERATION, Motion))
        self.f = Lazy(model.njoints, lambda i: self._local(i, at.WRENCH, Force))

    def _joint_placement(self, i: int) -> SE3:
        row = self.rows[self.model.joints[i].row]
        rotation = row[at.ROTATION : at.ROTATION + 9].reshape(3, 3).copy()
        return SE3.trusted(rotation, row[at.POSITION : at.POSITION + 3].copy())

    def _frame_placement(self, i: int) -> SE3:
        frame = self.model.frames[i]
        return self._joint_placement(frame.parent) @ frame.placement

    def _local(self, i: int, column: int, kind: type[Value]) -> Value:
        """Return a motion or force of joint i, which the rows hold in world axes, in its own."""
        vector = self.rows[self.model.joints[i].row, column : column + 6]
        return self._joint_placement(i).act_inv(kind.trusted(vector.copy()))


def _watched(area: np.ndarray, nv: int) -> Watched:
    pose = area[at.W_POSE : at.W_TWIST].reshape(4, 3)
    return Watched(
        rotation=pose[:3],
        position=pose[3],
        twist=area[at.W_TWIST : at.W_DRIFT],
        jacobian=area[at.W_JACOBIAN :].reshape(6, nv),
        drift=area[at.W_DRIFT : at.W_JACOBIAN],
    )
