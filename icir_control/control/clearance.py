"""How near the shapes of an arm, and the floor, may come; what keeps them apart, and off it."""

import logging
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from icir_control.collision import CollisionPairs, CollisionShape, HalfSpace, distance
from icir_control.collision.kernels import layout as at
from icir_control.control.kernels import clearance as kernels
from icir_control.dynamics import Model, forward_kinematics, root_link
from icir_control.dynamics.joints import FAR
from icir_control.errors import ClearanceError
from icir_control.spatial import SE3

FLOOR = 'floor'

POSTURES, MOST = 100, 0.5
"""Postures, and the share of them within the clearance, by which a pair is near by design."""

NEARER = 1e-5
"""[m] By which a motion that starts within the clearance may come nearer, for rounding."""

LONGEST = 10.0
"""[m] That a sliding joint without limits is taken to move."""

LARGEST_FORCE = 1000.0
"""[N] Between two links, where the effort limits allow more."""

_log = logging.getLogger(__name__)


class Clearance:
    """Watches the distances between the links of an arm, and to the floor.

    Attributes:
        least: The clearance [m]; 0 for none.
        pairs: What may collide.
        reach: (npairs, nv) by which a unit of a joint's motion changes a distance at most
            [m/rad or 1].
    """

    def __init__(
        self,
        model: Model,
        shapes: Sequence[CollisionShape],
        floor_height: float | None,
        least: float,
    ) -> None:
        """Choose the pairs.

        The floor is none where the arm reaches it in neutral configuration. Pairs that are within
        the clearance in most postures are left out, too; the log says which.

        Args:
            model: Of the arm.
            shapes: On its links.
            floor_height: In the axes of the root link [m]; None for no floor.
            least: The clearance [m].
        """
        self.least = least
        self._model, self._given = model, (shapes, floor_height)
        self._data = data = model.create_data()
        self.pairs = pairs = CollisionPairs(model, _with_floor(model, shapes, floor_height))
        names = list(pairs.names)
        if any(FLOOR in pair for pair in pairs.excluded):
            _log.warning('the arm reaches the floor in neutral configuration: it counts as none')
            names = [pair for pair in names if FLOOR not in pair]
        near = np.zeros(len(pairs))
        rng = np.random.default_rng(0)
        for _ in range(POSTURES):
            forward_kinematics(model, data, model.random_configuration(rng))
            near += distance(model, data, pairs) < least
        left_out = {
            pair
            for pair, count in zip(pairs.names, near.tolist(), strict=True)
            if count > MOST * POSTURES and pair in names
        }
        if left_out:
            shown = ', '.join(' and '.join(pair) for pair in sorted(left_out))
            _log.warning(
                'within the clearance in most postures, so that they do not count: %s', shown
            )
        kept = [pair for pair in names if pair not in left_out]
        self.pairs = pairs = CollisionPairs(model, pairs.shapes, kept)
        self._links = {shape.name: shape.frame for shape in pairs.shapes} | {FLOOR: FLOOR}
        self.reach = _reach(pairs)

    def changed(self, least: float) -> 'Clearance':
        """Return the same with another clearance [m]."""
        return Clearance(self._model, *self._given, least)

    def distances(self, q: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return those of all pairs at q (nv,), (npairs,) [m]."""
        forward_kinematics(self._model, self._data, q)
        return distance(self._model, self._data, self.pairs).copy()

    def nearest(self, q: NDArray[np.float64]) -> tuple[tuple[str, str], float]:
        """Return the two links that are nearest at q (nv,), and their distance [m]."""
        found = self.distances(q)
        k = int(np.argmin(found))
        return self._names(k), float(found[k])

    def check(self, what: str, path: ArrayLike) -> None:
        """Refuse a path that brings a pair nearer than the clearance.

        A pair that begins within it may lead away. Distances are measured as often as it takes
        to miss none that is below 90 % of the clearance.

        Args:
            what: Such as `the path`.
            path: (n, nv) positions of the joints, which go straight from one to the next.

        Raises:
            ClearanceError: Names the two links, where they are nearest, and how near.
        """
        pairs = self.pairs
        if not self.least or not len(pairs):
            return
        path = np.ascontiguousarray(path, dtype=float)
        bound = np.minimum(self.least, self.distances(path[0]) - NEARER)
        nearest = np.empty(4)
        kernels.follow_distances.run(
            self._data.buffer,
            pairs.table,
            pairs.indices,
            pairs.found,
            self.reach,
            path,
            bound,
            nearest,
        )
        if nearest[kernels.EXCESS] < 0.0:
            k = int(nearest[kernels.PAIR])
            share = float(nearest[kernels.PLACE]) / max(len(path) - 1, 1)
            value = float(nearest[kernels.NEAREST])
            lower = float(max(bound[k], 0.0))
            where = f'{what}, {share:.0%} of the way,'
            raise ClearanceError(where, self._names(k), value, lower, share)

    def _names(self, k: int) -> tuple[str, str]:
        first, second = self.pairs.names[k]
        return self._links[first], self._links[second]


def _with_floor(
    model: Model, shapes: Sequence[CollisionShape], height: float | None
) -> list[CollisionShape]:
    """Return the shapes, and that of the floor."""
    if height is None:
        return list(shapes)
    placement = SE3(np.eye(3), [0.0, 0.0, height])
    return [*shapes, CollisionShape(FLOOR, root_link(model), HalfSpace(), placement)]


def _reach(pairs: CollisionPairs) -> NDArray[np.float64]:
    """Return by how much a unit of each joint's motion changes the distances at most.

    For a rotation that is the greatest distance of a point from the joint: the lengths of all
    between them, stretched out; for a translation 1.

    Returns:
        (npairs, nv) [m/rad or 1].
    """
    model = pairs.model
    limits = np.maximum(np.abs(model.lower_position_limit), np.abs(model.upper_position_limit))
    limits = np.where(limits < FAR, limits, LONGEST)
    reach = np.zeros((len(pairs), model.nv))
    for k, row in enumerate(pairs.indices.astype(int)):
        frames = [model.frame_id(pairs.shapes[i].frame) for i in row]
        ends = [model.frames[frame].parent for frame in frames]
        common = set(_to_root(model, ends[0])) & set(_to_root(model, ends[1]))
        for i, end in zip(row, ends, strict=True):
            if isinstance(pairs.shapes[i].shape, HalfSpace):
                continue
            values = pairs.table[i]
            half = values[at.HALF : at.HALF + 3]
            length = np.linalg.norm(values[at.POSITION : at.POSITION + 3])
            length += np.linalg.norm(half) + values[at.RADIUS]
            for j in _to_root(model, end):
                if j in common:
                    break
                joint = model.joints[j]
                ratio, offset = 1.0, 0.0
                if joint.mimic is not None:
                    ratio, offset = abs(joint.mimic.multiplier), abs(joint.mimic.offset)
                lengths = slice(joint.index_v, joint.index_v + joint.kind.lengths)
                reach[k, lengths] += ratio
                reach[k, lengths.stop : joint.index_v + joint.kind.nv] += ratio * length
                length += np.linalg.norm(joint.placement.translation)
                length += (ratio * limits[lengths] + offset).sum()
    return reach


def _to_root(model: Model, joint: int) -> list[int]:
    """Return a joint and those that carry it."""
    chain = []
    while joint:
        chain.append(joint)
        joint = model.joints[joint].parent
    return chain


class Repulsion:
    """A one-sided spring and damper within the clearance of each pair.

    The greatest force of a pair takes no joint beyond its effort limit, in no posture.
    """

    def __init__(
        self,
        clearance: Clearance,
        period: float,
        q: NDArray[np.float64],
        v: NDArray[np.float64],
        M: NDArray[np.float64],
        torque: NDArray[np.float64],
        watch: NDArray[np.float64],
    ) -> None:
        """Make memory of its own, so that every controller has one.

        Args:
            clearance: Of the arm.
            period: Between two ticks [s].
            q: (nv,) position, read at every call [rad or m].
            v: (nv,) velocity, likewise.
            M: (nv, nv) inertia, likewise.
            torque: (nv,), written where there is one [N m or N].
            watch: (3, nv), written for `may_be_near`.
        """
        self._pairs = pairs = clearance.pairs.copy()
        model = pairs.model
        data = model.create_data()
        self._state = np.full((len(pairs), 3), np.nan)
        levers = clearance.reach / np.minimum(model.effort_limit, 10.0 * LARGEST_FORCE)
        force = 1.0 / np.maximum(levers.max(axis=1, initial=0.0), 1.0 / LARGEST_FORCE)
        self._state[:, kernels.FORCE] = force
        self._watch = watch
        watch[:] = np.nan
        self._watch[kernels.REACH] = clearance.reach.max(axis=0, initial=0.0)
        self._bounds = np.array([clearance.least, period])
        shapes = pairs.table, pairs.indices, pairs.found
        own = self._state, self._watch, self._bounds
        self._arrays = (data.buffer, *shapes, clearance.reach, *own, q, v, M, torque)

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
