"""Shapes that are fixed to frames of a model, and the list of their pairs."""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from icir_control.collision.kernels import distances as kernels
from icir_control.collision.kernels import layout as at
from icir_control.dynamics import Model, forward_kinematics
from icir_control.errors import InvalidValueError, UnknownNameError
from icir_control.spatial import SE3
from icir_control.spatial.arrays import Array, checked, checked_scalar

_log = logging.getLogger(__name__)


def _check_length(name: str, value: Any, *, zero: bool = False) -> None:
    if zero:
        checked_scalar(name, value, 'a length of 0 m or more', lowest=0.0)
    else:
        checked_scalar(name, value, 'a length above 0 m', above=0.0)


@dataclass(frozen=True)
class Capsule:
    """All within `radius` [m] of a segment of `length` [m] along z, centred at the origin."""

    radius: float
    length: float

    def __post_init__(self) -> None:
        _check_length('radius of a capsule', self.radius)
        _check_length('length of a capsule', self.length, zero=True)


@dataclass(frozen=True)
class Sphere:
    """All within `radius` [m] of the origin."""

    radius: float

    def __post_init__(self) -> None:
        _check_length('radius of a sphere', self.radius)


@dataclass(frozen=True)
class Box:
    """A box of edges `size` (3,) [m] along x, y, z, centred at the origin."""

    size: tuple[float, float, float]

    def __post_init__(self) -> None:
        size = checked('size of a box', self.size, (3,))
        for length in size.tolist():
            _check_length('size of a box', length)
        object.__setattr__(self, 'size', tuple(size.tolist()))


@dataclass(frozen=True)
class Cylinder:
    """A cylinder of `radius` [m] and `length` [m] along z, centred at the origin.

    Its distances are bounded from below.
    """

    radius: float
    length: float

    def __post_init__(self) -> None:
        _check_length('radius of a cylinder', self.radius)
        _check_length('length of a cylinder', self.length)


@dataclass(frozen=True)
class HalfSpace:
    """All with z <= 0, such as the floor."""


Shape = Capsule | Sphere | Box | Cylinder | HalfSpace


@dataclass(frozen=True)
class CollisionShape:
    """A shape on a frame of a model.

    Attributes:
        name: For messages and pairs.
        frame: Name of the frame (most often a link) that it is fixed to.
        shape: The shape.
        placement: From the shape's frame to that frame.
    """

    name: str
    frame: str
    shape: Shape
    placement: SE3 = field(default_factory=SE3.identity)

    def __post_init__(self) -> None:
        if not isinstance(self.shape, Shape):
            expected = 'a Capsule, Sphere, Box, Cylinder or HalfSpace'
            raise InvalidValueError(f'shape of {self.name}', self.shape, expected)
        if not isinstance(self.placement, SE3):
            raise InvalidValueError(f'placement of {self.name}', self.placement, 'an SE3')


class CollisionPairs:
    """Pairs of shapes of one model, and room for their distances.

    The arrays are overwritten by each call of `distance` and its relatives; one list of pairs
    serves one thread at a time. `copy` gives another.

    Attributes:
        model: The model.
        shapes: All shapes.
        names: The names of the two shapes of each pair.
        excluded: Pairs that were left out because they touch in neutral configuration.
        distance: Signed distances (npairs,) [m]; negative where shapes overlap.
        witness_a: Nearest points of the first shapes (npairs, 3), in the world [m].
        witness_b: Nearest points of the second shapes (npairs, 3).
        normal: Unit vectors (npairs, 3) from the second to the first, in the world;
            distance = normal . (witness_a - witness_b).
        table: The kernels' view of the shapes; see `kernels.layout`.
        indices: Indices of the shapes, (npairs, 2) of float64.
        found: The kernels' results.
    """

    def __init__(
        self,
        model: Model,
        shapes: Sequence[CollisionShape],
        pairs: Iterable[tuple[str, str]] | None = None,
        *,
        exclude: Iterable[tuple[str, str]] = (),
    ) -> None:
        """Choose the pairs.

        Args:
            model: The model.
            shapes: Shapes on its frames, each with a name of its own.
            pairs: Names of the shapes of each pair. By default all that can move towards each
                other, without those on links that a joint connects, and without those that touch
                in neutral configuration: these are reported in the log.
            exclude: Names of frames (links) whose shapes are not to be paired.

        Raises:
            UnknownNameError: A name that no frame, or no shape, has.
            InvalidValueError: Two shapes of one name, or two that cannot be a pair.
        """
        self.model, self.shapes = model, tuple(shapes)
        ids = {shape.name: i for i, shape in enumerate(self.shapes)}
        if len(ids) < len(self.shapes):
            twice = sorted({s.name for i, s in enumerate(self.shapes) if ids[s.name] != i})
            raise InvalidValueError('shapes', ', '.join(twice), 'names that occur once')
        frames = [model.frames[model.frame_id(shape.frame)] for shape in self.shapes]
        self._joints = [frame.parent for frame in frames]
        self.table = np.array(
            [
                _table_row(shape, model.joints[frame.parent].row, frame.placement)
                for shape, frame in zip(self.shapes, frames, strict=True)
            ]
        ).reshape(-1, at.S_STRIDE)
        left_out = {frozenset(_checked_frames(model, links)) for links in exclude}
        if pairs is None:
            self._take(
                (i, j)
                for i, j in combinations(range(len(self.shapes)), 2)
                if self._can_meet(i, j)
                and frozenset((self.shapes[i].frame, self.shapes[j].frame)) not in left_out
            )
            self._leave_out_touching()
        else:
            chosen = [self._checked_pair(ids, pair) for pair in pairs]
            self._take(
                (i, j)
                for i, j in chosen
                if frozenset((self.shapes[i].frame, self.shapes[j].frame)) not in left_out
            )
            self.excluded: tuple[tuple[str, str], ...] = ()

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f'CollisionPairs({self.model.name!r}, {len(self)} pairs)'

    def copy(self) -> 'CollisionPairs':
        """Return the same pairs with results of their own."""
        return CollisionPairs(self.model, self.shapes, self.names)

    def _take(self, pairs: Iterable[tuple[int, int]]) -> None:
        chosen = list(pairs)
        self.names = tuple((self.shapes[i].name, self.shapes[j].name) for i, j in chosen)
        self.indices = np.array(chosen, dtype=float).reshape(-1, 2)
        self.found = np.full((len(chosen), at.D_STRIDE), np.nan)
        self.distance = self.found[:, at.DISTANCE]
        self.witness_a = self.found[:, at.WORLD_A : at.WORLD_A + 3]
        self.witness_b = self.found[:, at.WORLD_B : at.WORLD_B + 3]
        self.normal = self.found[:, at.NORMAL : at.NORMAL + 3]

    def _can_meet(self, i: int, j: int) -> bool:
        a, b = self._joints[i], self._joints[j]
        joints = self.model.joints
        planes = [isinstance(self.shapes[k].shape, HalfSpace) for k in (i, j)]
        return a != b and joints[a].parent != b and joints[b].parent != a and not all(planes)

    def _checked_pair(self, ids: dict[str, int], pair: Any) -> tuple[int, int]:
        try:
            first, second = pair
        except (TypeError, ValueError):
            raise InvalidValueError('pair', pair, 'the names of two shapes') from None
        for name in (first, second):
            if name not in ids:
                raise UnknownNameError('collision shape', name, ids)
        i, j = ids[first], ids[second]
        if self._joints[i] == self._joints[j]:
            expected = 'two shapes that a joint can move towards each other'
            raise InvalidValueError('pair', (first, second), expected)
        if isinstance(self.shapes[i].shape, HalfSpace) and isinstance(
            self.shapes[j].shape, HalfSpace
        ):
            raise InvalidValueError('pair', (first, second), 'at most one half-space')
        return i, j

    def _leave_out_touching(self) -> None:
        data = self.model.create_data()
        forward_kinematics(self.model, data, self.model.neutral())
        kernels.distances.run(data.buffer, self.table, self.indices, self.found)
        touching = self.distance <= 0.0
        self.excluded = tuple(np.array(self.names)[touching].tolist()) if touching.any() else ()
        self.excluded = tuple((a, b) for a, b in self.excluded)
        if self.excluded:
            shown = ', '.join(f'{a} and {b}' for a, b in self.excluded)
            _log.warning('shapes that touch in neutral configuration are no pairs: %s', shown)
            kept = self.indices[~touching].astype(int).tolist()
            self._take((i, j) for i, j in kept)


def _checked_frames(model: Model, links: tuple[str, str]) -> tuple[str, str]:
    first, second = links
    for name in links:
        model.frame_id(name)
    return first, second


def _table_row(shape: CollisionShape, row: int, frame: SE3) -> Array:
    """Return the kernels' row of a shape."""
    values = np.zeros(at.S_STRIDE)
    place = frame @ shape.placement
    values[at.ROW] = row
    values[at.ROTATION : at.ROTATION + 9] = place.rotation.ravel()
    values[at.POSITION : at.POSITION + 3] = place.translation
    solid, half, radius, around = shape.shape, np.zeros(3), 0.0, 0.0
    kind = at.HALF_SPACE if isinstance(solid, HalfSpace) else at.CAPSULE
    if isinstance(solid, Capsule):
        half[2] = 0.5 * solid.length
    if isinstance(solid, Capsule | Sphere):
        radius = around = solid.radius
    segment = half
    if isinstance(solid, Box):
        kind, half = at.BOX, 0.5 * np.array(solid.size)
        segment = np.where(np.arange(3) == half.argmax(), half, 0.0)
        around = float(np.linalg.norm(half - segment))
    if isinstance(solid, Cylinder):
        kind, around = at.CYLINDER, solid.radius
        half = np.array([solid.radius, solid.radius, 0.5 * solid.length])
        segment = np.array([0.0, 0.0, 0.5 * solid.length])
    values[at.KIND], values[at.RADIUS], values[at.SEGMENT_RADIUS] = kind, radius, around
    values[at.HALF : at.HALF + 3], values[at.SEGMENT : at.SEGMENT + 3] = half, segment
    return values
