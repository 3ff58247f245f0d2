"""The data: everything that is computed about a model."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

import numpy as np

from icir_control.dynamics.buffer import blocks
from icir_control.dynamics.kernels import layout as at
from icir_control.errors import InvalidValueError
from icir_control.spatial import SE3, Force, Motion
from icir_control.spatial.arrays import Array

if TYPE_CHECKING:
    from icir_control.dynamics.model import Model

Item = TypeVar('Item')
Vector6 = TypeVar('Vector6', Motion, Force)


class Lazy(Sequence[Item]):
    """A sequence whose values are made from the newest results when they are asked for."""

    __slots__ = ('_length', '_make')

    def __init__(self, length: int, make: Callable[[int], Item]) -> None:
        self._length = length
        self._make = make

    def __len__(self) -> int:
        return self._length

    @overload
    def __getitem__(self, index: int) -> Item: ...
    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...
    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        positions = range(self._length)[index]
        if isinstance(positions, range):
            return [self._make(i) for i in positions]
        return self._make(positions)


class Watched(NamedTuple):
    """What `compute_all_terms` refreshes about the watched frame: views into the buffer."""

    rotation: Array
    """To world axes (3, 3)."""
    position: Array
    """In the world (3,) [m]."""
    twist: Array
    """LOCAL (6,), linear part first."""
    jacobian: Array
    """LOCAL (6, nv)."""
    drift: Array
    """Classical acceleration at ddq = 0, LOCAL (6,): dJ v."""


class Data:
    """All results about one model; several of one model are independent of each other.

    The arrays but `J` are views into `buffer`, so they always show the newest results: copy what
    is to be kept. The sequences `oMi`, `oMf`, `v`, `a`, `f` make immutable values when asked, and
    raise `InvalidValueError` for what was never computed. A copy, also a deep one and one that was
    pickled, has a buffer of its own. One `Data` serves one thread at a time.

    Attributes:
        model: The model it belongs to.
        buffer: The model's constants and all results, one contiguous array for the kernels.
        M: Mass matrix (nv, nv), symmetric.
        nle: Nonlinear effects C(q, v) v + g(q), (nv,) [N m or N].
        g: Gravity torque (nv,).
        tau: Torque of inverse dynamics (nv,).
        ddq: Acceleration of forward dynamics (nv,).
        Minv: Inverse of M (nv, nv).
        C: Coriolis matrix (nv, nv).
        dtau_dq: Derivative of `rnea` by q (nv, nv), along the manifold.
        dtau_dv: Derivative of `rnea` by v (nv, nv); that by a is M.
        ddq_dq: Derivative of `aba` by q (nv, nv), along the manifold.
        ddq_dv: Derivative of `aba` by v (nv, nv); that by tau is Minv.
        Jcom: Jacobian of the centre of mass (3, nv).
        Ag: Centroidal map (6, nv).
        dAg: Time derivative of the centroidal map (6, nv).
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
        jacobian_shape: (6, nv).
        rows: The kernels' view of the joints; see `kernels.layout`.
    """

    __slots__ = (
        *('model', 'buffer', 'rows', 'external', 'watched'),
        *('oMi', 'oMf', 'v', 'a', 'f', 'com', 'whole_com'),
        *('M', 'nle', 'g', 'tau', 'ddq', 'Minv', 'Jcom', 'Ag', 'hg'),
        'jacobian_shape',
        *('C', 'dtau_dq', 'dtau_dv', 'ddq_dq', 'ddq_dv', 'dAg'),
    )

    def __init__(self, model: 'Model', watch: str | None = None) -> None:
        """Make room for all results; see `Model.create_data`."""
        buffer = model.buffer.copy()
        if watch is not None:
            buffer[at.H_WATCHED] = model.frame_id(watch)
        self._take(model, buffer)

    @classmethod
    def _of(cls, model: 'Model', buffer: Array) -> 'Data':
        self = cls.__new__(cls)
        self._take(model, buffer.copy())
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return self._of, (self.model, self.buffer)

    def __repr__(self) -> str:
        return f'Data({self.model!r})'

    def _take(self, model: 'Model', buffer: Array) -> None:
        """Become the results in a buffer."""
        self.model, self.buffer = model, buffer
        nv, count = model.nv, model.joints[-1].row + 1
        self.jacobian_shape = 6, nv
        rows = self.buffer[at.HEADER : at.HEADER + count * at.STRIDE]
        self.rows = rows.reshape(count, at.STRIDE)
        views: dict[str, Array] = {}
        for name, block in blocks(model.nq, nv, count).items():
            start = int(self.buffer[block.header])
            views[name] = self.buffer[start : start + block.size].reshape(block.shape)
        self.M, self.Minv = views['M'], views['Minv']
        self.nle, self.g, self.tau, self.ddq = (views[x] for x in ('nle', 'g', 'tau', 'ddq'))
        self.Jcom, self.Ag, self.hg = views['Jcom'], views['Ag'], views['hg'].ravel()
        self.C, self.dtau_dq, self.dtau_dv = views['C'], views['dtau_dq'], views['dtau_dv']
        self.ddq_dq, self.ddq_dv = views['ddq_dq'], views['ddq_dv']
        self.dAg, self.external = views['dAg'], views['external']
        self.watched: Watched | None = None
        if self.buffer[at.H_WATCHED] >= 0.0:
            area = views['watch']
            pose, jacobian = area[: at.W_TWIST].reshape(4, 3), area[at.W_JACOBIAN :]
            twist, drift = area[at.W_TWIST : at.W_DRIFT], area[at.W_DRIFT : at.W_JACOBIAN]
            self.watched = Watched(pose[:3], pose[3], twist, jacobian.reshape(6, nv), drift)
        com = views['com']
        self.whole_com = com[0]
        self.com = Lazy(model.njoints, lambda i: com[model.joints[i].row])
        self.oMi = Lazy(model.njoints, self._joint_placement)
        self.oMf = Lazy(model.nframes, self._frame_placement)
        self.v = Lazy(model.njoints, lambda i: self._local(i, at.TWIST, Motion))
        self.a = Lazy(model.njoints, lambda i: self._local(i, at.ACCELERATION, Motion))
        self.f = Lazy(model.njoints, lambda i: self._local(i, at.WRENCH, Force))

    @property
    def J(self) -> Array:
        """Jacobian (6, nv), columns the twists of unit speeds at the world's origin; fresh."""
        columns = self.rows[1:, at.COLUMN : at.COLUMN + 6]
        J, (x, y, z) = columns.T.copy(), self.rows[0, at.POSITION : at.POSITION + 3].tolist()
        # v_world = v + omega x p, with p the world's origin from the reference point
        J[0] += J[4] * z - J[5] * y
        J[1] += J[5] * x - J[3] * z
        J[2] += J[3] * y - J[4] * x
        return J if len(columns) == self.model.nv else J @ self.model.coupling

    def check_computed(self, i: int, column: int) -> None:
        """Refuse to read what was never computed.

        Args:
            i: Index of the joint.
            column: Where in its row that begins, see `kernels.layout`.

        Raises:
            InvalidValueError: It was never computed; the message names what computes it.
        """
        if np.isnan(self.rows[self.model.joints[i].row, column]):
            missing, call = {
                at.TWIST: ('twists', 'forward_kinematics(model, data, q, v)'),
                at.ACCELERATION: ('accelerations', 'forward_kinematics(model, data, q, v)'),
                at.WRENCH: ('forces', 'rnea(model, data, q, v, a)'),
            }.get(column, ('placements', 'forward_kinematics(model, data, q)'))
            raise InvalidValueError('data', self, f'one with {missing}: call {call} before')

    def _from_reference(self, i: int) -> SE3:
        """Return the placement of joint i, from the reference point."""
        self.check_computed(i, at.POSITION)
        row = self.rows[self.model.joints[i].row]
        rotation = row[at.ROTATION : at.ROTATION + 9].reshape(3, 3).copy()
        return SE3.trusted(rotation, row[at.POSITION : at.POSITION + 3].copy())

    def _joint_placement(self, i: int) -> SE3:
        place = self._from_reference(i)
        origin = self.rows[0, at.POSITION : at.POSITION + 3]
        return SE3.trusted(place.rotation, place.translation - origin)

    def _frame_placement(self, i: int) -> SE3:
        frame = self.model.frames[i]
        return self._joint_placement(frame.parent) @ frame.placement

    def _local(self, i: int, column: int, kind: type[Vector6]) -> Vector6:
        """Return a motion or force of joint i, which the rows hold in world axes, in its own."""
        self.check_computed(i, column)
        vector = self.rows[self.model.joints[i].row, column : column + 6]
        return self._from_reference(i).act_inv(kind.trusted(vector.copy()))
