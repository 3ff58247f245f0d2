"""A model put together in Python: bodies, joints of every kind, frames."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from icir_control.dynamics.joints import Frame, FrameType, Joint, JointKind, Mimic, numbered
from icir_control.dynamics.model import Model
from icir_control.errors import InvalidValueError, ModelError, UnknownNameError
from icir_control.spatial import SE3, Inertia
from icir_control.spatial.arrays import checked, freeze
from icir_control.spatial.inertia import nearest_moments
from icir_control.spatial.so3 import unit

WORLD = 'universe'
"""Name of joint 0 and of its frame: the world."""

MAX_NV = 1000
"""Degrees of freedom beyond which a file is broken, not a robot; M alone takes 8 MB then."""
NO_INERTIA = 1e-15
"""Less than a grain of dust has [kg m^2]: the rounding of files that were computed."""
_SLACK = 1e-9
"""What rounding may cost the triangle inequality, relative to the largest moment."""

_FINITE = 'damping', 'friction', 'armature'
_NUMBERS = ('lower', 'upper', 'velocity', 'effort', *_FINITE)

_log = logging.getLogger(__name__)


class ModelBuilder:
    """Collects joints, bodies and frames, parents first; `build` gives the `Model`.

    A parent is a frame, or its name: the world `universe`, a joint, a body, or any other. Where a
    joint and a body share a name, it means the body. What has no name of its own in URDF,
    cylindrical and spherical joints, is built here.

    Attributes:
        name: The robot's name.

    Example:
        >>> builder = ModelBuilder('pendulum')
        >>> builder.add_joint('pivot', 'revolute', axis=(0, 1, 0)).add_body(
        ...     'bob', 'pivot', Inertia.point_mass(1.0, (0, 0, -0.5))
        ... ).build().nv
        1
    """

    def __init__(self, name: str = 'model', gravity: Sequence[float] = (0.0, 0.0, -9.81)) -> None:
        """Begin with an empty world.

        Args:
            name: The robot's name.
            gravity: The gravity field in world axes (3,) [m/s^2].

        Raises:
            InvalidValueError: The gravity is not three finite numbers.
        """
        self.name = name
        self._gravity = freeze(checked('gravity', gravity, (3,)))
        empty = freeze(np.zeros(0))
        numbers: dict[str, Any] = dict.fromkeys(_NUMBERS, empty)
        universe = Joint(
            WORLD,
            JointKind.UNIVERSE,
            0,
            SE3.identity(),
            np.zeros(3),
            **numbers,
            actuated=False,
        )
        self._joints = [universe]
        self._mimics: dict[int, tuple[str, float, float]] = {}
        self._inertias = [Inertia.zero()]
        self._frames = [Frame(WORLD, 0, SE3.identity(), FrameType.FIXED_JOINT)]
        self._frame_named = {WORLD: self._frames[0]}
        self._taken = {(FrameType.JOINT, WORLD)}

    def add_joint(
        self,
        name: str,
        kind: JointKind | str,
        parent: str | Frame = WORLD,
        placement: SE3 | None = None,
        *,
        axis: Sequence[float] = (0.0, 0.0, 1.0),
        lower: Any = None,
        upper: Any = None,
        velocity: Any = None,
        effort: Any = None,
        damping: Any = None,
        friction: Any = None,
        armature: Any = None,
        actuated: bool | None = None,
        mimic: tuple[str, float, float] | None = None,
    ) -> Self:
        """Add a moving joint, and a frame with its name.

        Args:
            name: A name that no joint has yet.
            kind: A `JointKind` or its name.
            parent: The frame that carries it.
            placement: From the joint's frame, in neutral configuration, to the parent frame.
            axis: Direction in the joint's frame (3,), of any length but zero.
            lower: Smallest coordinates, one number or (nq,) [rad or m]; None for no limit.
            upper: Largest coordinates.
            velocity: Largest speeds, one positive number or (nv,) [rad/s or m/s].
            effort: Largest torques or forces, one number or (nv,) [N m or N].
            damping: Viscous, one number or (nv,) [N m s/rad or N s/m]; None for none.
            friction: Coulomb, one number or (nv,) [N m or N]; None for none.
            armature: Inertia of the rotor times the square of the gear's ratio, one number or
                (nv,) [kg m^2 or kg]; None for none.
            actuated: Whether a motor moves it; by default all but planar and floating joints.
            mimic: For a joint that shares the coordinate of another: its name, which may be added
                later, multiplier and offset of q = multiplier q_other + offset.

        Raises:
            InvalidValueError: A value is not what is said above.
            UnknownNameError: There is no such parent, or no such kind.
        """
        self._check_name(name, FrameType.JOINT)
        kind = _checked_kind(kind)
        base = self._frame(parent)
        placement = base.placement @ _checked_placement(placement)
        if actuated is None:
            actuated = kind not in (JointKind.PLANAR, JointKind.FLOATING)
        elif not isinstance(actuated, bool | np.bool_):
            raise InvalidValueError(f'actuated of joint {name}', actuated, 'True or False')
        lower = _checked_numbers(name, 'lower', lower, kind.nq, -np.inf)
        upper = _checked_numbers(name, 'upper', upper, kind.nq, np.inf)
        if (lower > upper).any():
            raise InvalidValueError(f'lower of joint {name}', lower, f'at most upper, {upper}')
        joint = Joint(
            name=name,
            kind=kind,
            parent=base.parent,
            placement=placement,
            axis=freeze(unit(f'axis of joint {name}', axis)),
            lower=lower,
            upper=upper,
            velocity=_checked_numbers(name, 'velocity', velocity, kind.nv, np.inf),
            effort=_checked_numbers(name, 'effort', effort, kind.nv, np.inf),
            damping=_checked_numbers(name, 'damping', damping, kind.nv, 0.0),
            friction=_checked_numbers(name, 'friction', friction, kind.nv, 0.0),
            armature=_checked_numbers(name, 'armature', armature, kind.nv, 0.0),
            actuated=bool(actuated),  # numpy's are no numbers of JSON
        )
        if mimic is not None:
            numbers = checked(f'mimic of joint {name}', mimic[1:], (2,)).tolist()
            self._mimics[len(self._joints)] = mimic[0], *numbers
        self._joints.append(joint)
        self._inertias.append(Inertia.zero())
        self._add_frame(Frame(name, len(self._joints) - 1, SE3.identity(), FrameType.JOINT))
        return self

    def add_body(
        self,
        name: str,
        parent: str | Frame,
        inertia: Inertia | None = None,
        placement: SE3 | None = None,
    ) -> Self:
        """Add a body that is fixed to a frame, and a frame with its name.

        Args:
            name: Its name.
            parent: The frame that carries it, most often that of a joint.
            inertia: In the body's frame; None for none.
            placement: From the body's frame to the parent frame.

        Raises:
            InvalidValueError: The inertia or the placement is of another type.
            UnknownNameError: There is no such parent.
        """
        if not (inertia is None or isinstance(inertia, Inertia)):
            raise InvalidValueError(f'inertia of body {name}', inertia, 'an Inertia')
        self.add_frame(name, parent, placement, FrameType.BODY)
        if inertia is not None:
            frame = self._frames[-1]
            self._inertias[frame.parent] += frame.placement.act(inertia)
        return self

    def add_frame(
        self,
        name: str,
        parent: str | Frame,
        placement: SE3 | None = None,
        type: FrameType = FrameType.OP_FRAME,
    ) -> Self:
        """Add a frame that is fixed to another.

        Args:
            name: Its name.
            parent: The frame that carries it.
            placement: From the new frame to the parent frame.
            type: What it stands for.

        Raises:
            InvalidValueError: A frame of this type has the name already, or the placement is
                no `SE3`.
            UnknownNameError: There is no such parent.
        """
        self._check_name(name, type)
        base = self._frame(parent)
        place = base.placement @ _checked_placement(placement)
        self._add_frame(Frame(name, base.parent, place, type))
        return self

    def build(self, *, repair: bool = False) -> Model:
        """Return the model.

        Args:
            repair: Whether an inertia that no body has is replaced by the nearest possible one;
                the log says which.

        Raises:
            ModelError: Nothing moves, there are too many joints, or what one moves has no mass
                or, unless repaired, an inertia that no body has; or a joint mimics what it
                cannot.
        """
        if len(self._joints) == 1:
            raise ModelError(f'model {self.name!r} has no moving joint; add at least one')
        nv = sum(joint.kind.nv for joint in self._joints)
        if nv > MAX_NV:
            raise ModelError(f'model {self.name!r} has {nv} degrees of freedom, above {MAX_NV}')
        bodies = [frame for frame in self._frames if frame.type is FrameType.BODY]
        beyond = np.zeros(len(self._joints))  # mass that moves with further joints
        for i, joint in reversed([*enumerate(self._joints)][1:]):
            links = [frame.name for frame in bodies if frame.parent == i]
            self._inertias[i] = _checked_body(
                joint.name, links, self._inertias[i], beyond[i], repair
            )
            beyond[joint.parent] += beyond[i] + self._inertias[i].mass
        joints, inertias = _coupled(self._joints, self._mimics), tuple(self._inertias)
        return Model(self.name, numbered(joints), inertias, tuple(self._frames), self._gravity)

    @property
    def last_frame(self) -> Frame:
        """The frame that was added last."""
        return self._frames[-1]

    def _frame(self, parent: str | Frame) -> Frame:
        if isinstance(parent, Frame) and parent.parent < len(self._joints):
            return parent
        if isinstance(parent, str) and parent in self._frame_named:
            return self._frame_named[parent]
        raise UnknownNameError('parent frame', parent, self._frame_named)

    def _check_name(self, name: str, type: FrameType) -> None:
        if not isinstance(name, str) or not name or (type, name) in self._taken:
            expected = f'a name that no frame of type {type.name} has yet'
            raise InvalidValueError('name', name, expected)

    def _add_frame(self, frame: Frame) -> None:
        self._frames.append(frame)
        self._taken.add((frame.type, frame.name))
        if frame.type is FrameType.BODY or frame.name not in self._frame_named:
            self._frame_named[frame.name] = frame


def _coupled(
    joints: Sequence[Joint], mimics: Mapping[int, tuple[str, float, float]]
) -> list[Joint]:
    """Return the joints, of which those that mimic share the coordinates of their leaders.

    A leader gets the limits, losses and rotors that those of its followers mean for it: with
    q_f = m q + c, a damping D_f adds m^2 D_f, as it takes D_f v_f^2 of the power; so do rotors.
    """
    coupled, ids = list(joints), {joint.name: i for i, joint in enumerate(joints)}
    empty: dict[str, Any] = dict.fromkeys(_NUMBERS, freeze(np.zeros(0)))
    for i in mimics:
        follower, leader, passed = joints[i], i, [i]
        m, c = 1.0, 0.0
        while leader in mimics:
            name, multiplier, offset = mimics[leader]
            if name not in ids:
                raise UnknownNameError('joint to mimic', name, list(ids)[1:])
            # q_i = m q + c with q = multiplier q_next + offset
            m, c, leader = m * multiplier, c + m * offset, ids[name]
            if leader in passed:
                raise ModelError(
                    f'joint {follower.name!r} mimics joints that mimic each other; one of them '
                    'must move by itself'
                )
            passed.append(leader)
        for one in (follower, joints[leader]):
            if not one.kind.can_mimic:
                raise ModelError(
                    f'joint {follower.name!r} mimics {joints[leader].name!r}, but {one.name!r} is '
                    f'{one.kind.value}; both must be revolute, continuous or prismatic'
                )
        coupled[leader] = _led(coupled[leader], follower, m, c)
        coupled[i] = replace(follower, **empty, actuated=False, mimic=Mimic(leader, m, c))
    return coupled


def _led(leader: Joint, follower: Joint, m: float, c: float) -> Joint:
    """Return a leader with the limits and losses of a follower as well."""
    if m == 0.0:
        return leader
    ends = (follower.lower - c) / m, (follower.upper - c) / m
    lower = np.maximum(leader.lower, np.minimum(*ends))
    upper = np.minimum(leader.upper, np.maximum(*ends))
    if not (lower < upper).all():
        # The PR2's grippers are described so: a sign of a limit is wrong, and nobody reads it.
        _log.warning(
            'joint %r is %g times %r plus %g: between its limits, %g and %g, it leaves that one, '
            'whose limits are %g and %g, no room to move; its own are left out',
            follower.name, m, leader.name, c, follower.lower[0], follower.upper[0],
            leader.lower[0], leader.upper[0],
        )  # fmt: skip
        lower, upper = leader.lower, leader.upper
    return replace(
        leader,
        lower=lower,
        upper=upper,
        velocity=np.minimum(leader.velocity, follower.velocity / abs(m)),
        damping=leader.damping + m * m * follower.damping,
        friction=leader.friction + abs(m) * follower.friction,
        armature=leader.armature + m * m * follower.armature,
    )


def _checked_body(
    joint: str, links: list[str], inertia: Inertia, beyond: float, repair: bool
) -> Inertia:
    """Refuse or repair what no body can have: the body as it moves counts, not each link.

    Without mass is only what further joints connect to a mass (`beyond`): a joint with several
    axes is often written as one after the other.
    """
    body = f'joint {joint!r} moves a body (links: {", ".join(links) or "none"})'
    weighs_nothing = not inertia.mass and not np.abs(inertia.rotational).max() > NO_INERTIA
    if inertia.mass <= 0.0 and not (weighs_nothing and beyond > 0.0):
        raise ModelError(
            f'{body} of mass {inertia.mass:g} kg; give a link of it, or one fixed to it, a mass '
            'above 0 (or no inertia either, where further joints move a mass)'
        )
    moments, axes = np.linalg.eigh(inertia.rotational)
    slack = max(_SLACK * np.abs(moments).max(), NO_INERTIA)
    if not (moments[0] < -slack or moments[0] + moments[1] < moments[2] - slack):
        return inertia
    shown = ', '.join(f'{moment:.6g}' for moment in moments)
    impossible = (
        f'{body} with principal moments of inertia {shown} kg m^2; no body has one that is '
        'negative, or larger than the other two together'
    )
    if not repair:
        raise ModelError(f'{impossible}; `repair` (--repair) takes the nearest that one can have')
    nearest = nearest_moments(moments)
    shown = ', '.join(f'{moment:.6g}' for moment in nearest)
    _log.warning('%s: repaired to %s kg m^2', impossible, shown)
    return Inertia.trusted(inertia.mass, inertia.com, axes * nearest @ axes.T)


def _checked_kind(kind: JointKind | str) -> JointKind:
    moving = [one for one in JointKind if one is not JointKind.UNIVERSE]
    for one in moving:
        if kind in (one, one.value):
            return one
    raise UnknownNameError('kind of joint', kind, [one.value for one in moving])


def _checked_placement(placement: SE3 | None) -> SE3:
    if placement is None:
        return SE3.identity()
    if not isinstance(placement, SE3):
        raise InvalidValueError('placement', placement, 'an SE3')
    return placement


def _checked_numbers(joint: str, name: str, value: Any, size: int, default: float) -> np.ndarray:
    """Return numbers of a joint as a read-only array; `default` where none are given."""
    if value is None:
        return freeze(np.full(size, default))
    lowest = -np.inf if name in ('lower', 'upper') else 0.0
    highest = np.finfo(float).max if name in _FINITE else np.inf
    try:
        numbers = np.array(np.broadcast_to(np.asarray(value, dtype=float), (size,)))
    except (TypeError, ValueError):
        numbers = np.array(np.nan)
    if not ((numbers >= lowest) & (numbers <= highest)).all():
        kind = 'finite' if highest < np.inf else 'other than NaN'
        expected = f'{"one number" if size == 1 else f"one number or {size}"}, {kind}'
        expected += '' if lowest else ' and not negative'
        raise InvalidValueError(f'{name} of joint {joint}', value, expected)
    return freeze(numbers)
