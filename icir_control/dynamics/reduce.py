"""Models made of models: one fixed to another, with some joints held, or a chain of joints."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from icir_control.dynamics.joints import Frame, FrameType, Joint, JointKind, numbered
from icir_control.dynamics.model import Model
from icir_control.errors import InvalidValueError, ModelError, UnknownNameError
from icir_control.spatial import SE3, Inertia, exp3
from icir_control.spatial.arrays import Array, checked, checked_scalar


def append_model(model: Model, other: Model, frame: str, placement: SE3 | None = None) -> Model:
    """Return a model with another one, such as a gripper, fixed to one of its frames.

    Joints and frames of the other follow those of the first; what is fixed to its world moves
    with the frame then. Name and gravity are those of the first.

    Args:
        model: The model that carries.
        other: The model that is carried.
        frame: Name of a frame of the first.
        placement: From the other's world to that frame; None where they coincide.

    Raises:
        UnknownNameError: There is no such frame.
        InvalidValueError: The models share names of joints, or of frames of one type, or the
            placement is no `SE3`.
    """
    for name, one in (('model', model), ('other', other)):
        if not isinstance(one, Model):
            raise InvalidValueError(name, one, 'a Model')
    if placement is not None and not isinstance(placement, SE3):
        raise InvalidValueError('placement', placement, 'an SE3')
    taken = {(one.type, one.name) for one in model.frames}
    shared = [one.name for one in other.frames[1:] if (one.type, one.name) in taken]
    if shared:
        raise InvalidValueError('other', other, f'other names than {", ".join(shared)}')
    base = model.frames[model.frame_id(frame)]
    place = base.placement if placement is None else base.placement @ placement
    shift = model.njoints - 1
    joints = [
        replace(
            joint,
            parent=joint.parent + shift if joint.parent else base.parent,
            placement=joint.placement if joint.parent else place @ joint.placement,
            mimic=joint.mimic and replace(joint.mimic, leader=joint.mimic.leader + shift),
        )
        for joint in other.joints[1:]
    ]
    frames = [
        replace(
            one,
            parent=one.parent + shift if one.parent else base.parent,
            placement=one.placement if one.parent else place @ one.placement,
        )
        for one in other.frames[1:]
    ]
    inertias = [*model.inertias, *other.inertias[1:]]
    inertias[base.parent] += place.act(other.inertias[0])
    return Model(
        model.name,
        numbered((*model.joints, *joints)),
        tuple(inertias),
        (*model.frames, *frames),
        model.gravity,
    )


def build_reduced_model(model: Model, locked: Mapping[str, Any]) -> Model:
    """Return a model some joints of which are held, as `load_urdf(..., locked=...)` returns it.

    A held joint is no joint any more. The joint that carries it, or the world, gets its body and
    its frames, and carries what it carried; its own frame is a `FIXED_JOINT` then. Joints that
    mimic a held one are held with it. Limits, losses and rotors of held joints are dropped. The
    order of what is left stays.

    Args:
        model: The model, which stays as it is.
        locked: Joints that are held, and where: a number for a joint of one coordinate [rad or
            m], else its coordinates (nq,). A joint that mimics another is held where that one
            leads it, or, named beside it, where it is told.

    Raises:
        UnknownNameError: There is no such joint.
        InvalidValueError: A position is outside the limits of its joint, of another length, or
            not finite; a joint is named without the one that it mimics; a `FIXED_JOINT` frame has
            the name of a joint that is held.
        ModelError: No joint is left.
    """
    _check_reducible(model, locked)
    ways = _held_ways(model, locked)
    kept = [i for i in range(model.njoints) if i not in ways]
    if len(kept) == 1:
        raise ModelError(f'model {model.name!r} has no joint left to move; leave one free')
    fixed = {frame.name for frame in model.frames if frame.type is FrameType.FIXED_JOINT}
    for i in ways:
        if model.joints[i].name in fixed:
            expected = 'a joint whose name no FIXED_JOINT frame has'
            raise InvalidValueError('locked joint', model.joints[i].name, expected)
    index = {old: new for new, old in enumerate(kept)}
    # Of each joint of the model: which joint of the new one carries its body, and where.
    carried: list[tuple[int, SE3]] = []
    joints: list[Joint] = []
    inertias: list[Inertia] = []
    for i, (joint, inertia) in enumerate(zip(model.joints, model.inertias, strict=True)):
        parent, place = carried[joint.parent] if i else (0, SE3.identity())
        place = place @ joint.placement
        if i in ways:
            place = place @ ways[i]
            inertias[parent] += place.act(inertia)
            carried.append((parent, place))
            continue
        mimic = joint.mimic and replace(joint.mimic, leader=index[joint.mimic.leader])
        joints.append(replace(joint, parent=parent, placement=place, mimic=mimic))
        inertias.append(inertia)
        carried.append((index[i], SE3.identity()))
    frames = []
    for frame in model.frames:
        parent, place = carried[frame.parent]
        is_held = frame.parent in ways and frame.type is FrameType.JOINT
        kind = FrameType.FIXED_JOINT if is_held else frame.type
        frames.append(Frame(frame.name, parent, place @ frame.placement, kind))
    return Model(model.name, numbered(joints), tuple(inertias), tuple(frames), model.gravity)


def subchain(model: Model, base: str, tip: str, locked: Mapping[str, Any] | None = None) -> Model:
    """Return the arm between two frames: a model in which all other joints are held.

    The joints that stay are those between the joint that carries the base and the tip, the
    tip's own included. Joints that mimic each other share one coordinate: if one of them lies
    there, all stay, unless the one that leads them lies below the base. The world is that of the
    whole model, and the base where the held joints put it.

    Args:
        model: The model, which stays as it is.
        base: Name of a frame; empty, or `universe`, for the world.
        tip: Name of a frame beyond it.
        locked: Where joints are held, as `build_reduced_model` takes it, joints of the arm among
            them. A joint that is not among them is held in neutral configuration, or at the limit
            next to it.

    Raises:
        UnknownNameError: There is no such frame or joint.
        InvalidValueError: No joint lies between base and tip; names the frames beyond the base.
            Or a position is none that its joint can have.
        ModelError: All joints of the arm are locked.
    """
    locked = {} if locked is None else locked
    _check_reducible(model, locked)
    start = model.frames[model.frame_id(base)].parent if base != '' else 0
    end = model.frames[model.frame_id(tip)].parent
    below, path = _joints_up_to(model, start), _joints_up_to(model, end)
    if len(path) <= len(below) or path[: len(below)] != below:
        beyond = [
            frame.name
            for frame in model.frames
            if frame.parent != start and start in (0, *_joints_up_to(model, frame.parent))
        ]
        names = ', '.join(dict.fromkeys(beyond)) or '(none)'
        raise InvalidValueError('tip', tip, f'a frame beyond the base {base!r}: {names}')
    leaders = [joint.mimic.leader if joint.mimic else i for i, joint in enumerate(model.joints)]
    arm = {leaders[i] for i in path[len(below) :]}.difference(below)
    held = {
        joint.name: _rest_position(joint)
        for i, joint in enumerate(model.joints)
        if joint.mimic is None and i not in (0, *arm)
    }
    return build_reduced_model(model, {**held, **locked})


def _rest_position(joint: Joint) -> Any:
    """Return the neutral coordinates of a joint, or those at the limits next to them."""
    q = np.clip(joint.neutral(), joint.lower, joint.upper)
    return q if joint.nq > 1 else q.item()


def _joints_up_to(model: Model, joint: int) -> list[int]:
    """Return the joints from the world, which is not among them, to a joint."""
    found: list[int] = []
    while joint:
        found.insert(0, joint)
        joint = model.joints[joint].parent
    return found


def _check_reducible(model: Any, locked: Any) -> None:
    """Refuse what is no model, or no positions by name."""
    if not isinstance(model, Model):
        raise InvalidValueError('model', model, 'a Model')
    if not isinstance(locked, Mapping):
        raise InvalidValueError('locked', locked, 'positions by the names of joints')


def _held_ways(model: Model, locked: Mapping[str, Any]) -> dict[int, SE3]:
    """Return how far held joints are from neutral, by index: those that mimic them, too."""
    moving = {joint.name: i for i, joint in enumerate(model.joints) if i}
    for name in locked:
        if name not in moving:
            raise UnknownNameError('joint', name, moving)
        mimic = model.joints[moving[name]].mimic
        if mimic and model.joints[mimic.leader].name not in locked:
            leader = model.joints[mimic.leader].name
            expected = f'no joint that mimics another alone; lock {leader!r}, which it mimics'
            raise InvalidValueError('locked joint', name, expected)
    positions = {
        moving[name]: _checked_position(model.joints[moving[name]], value)
        for name, value in locked.items()
    }
    for i, joint in enumerate(model.joints):
        if joint.mimic and joint.mimic.leader in positions and i not in positions:
            q = positions[joint.mimic.leader]
            positions[i] = joint.mimic.multiplier * q + joint.mimic.offset
    return {i: _way(model.joints[i], q) for i, q in positions.items()}


def _checked_position(joint: Joint, value: Any) -> Array:
    """Return the coordinates of a joint, also of one that mimics another: (joint.kind.nq,)."""
    name = f'locked joint {joint.name!r}'
    if joint.kind.nq == 1:
        q = np.array([checked_scalar(name, value)])
    else:
        q = checked(name, value, (joint.kind.nq,))
    # What mimics another has no limits of its own: they are among the other's.
    if joint.mimic is None and not ((joint.lower <= q) & (q <= joint.upper)).all():
        limits = zip(joint.lower.tolist(), joint.upper.tolist(), strict=True)
        ranges = ', '.join(f'{lower:g} to {upper:g}' for lower, upper in limits)
        raise InvalidValueError(name, value, f'{ranges} (rad or m)')
    return q


def _way(joint: Joint, q: Array) -> SE3:
    """Return the placement of what a joint moves from where it has it in neutral configuration."""
    match joint.kind:
        case JointKind.PRISMATIC:
            return SE3.from_translation(q[0] * joint.axis)
        case JointKind.CYLINDRICAL:
            return SE3(exp3(q[1] * joint.axis), q[0] * joint.axis)
        case JointKind.PLANAR:
            return SE3(exp3((0.0, 0.0, q[2])), (q[0], q[1], 0.0))
        case JointKind.SPHERICAL:
            return SE3.from_quaternion(q)
        case JointKind.FLOATING:
            return SE3.from_quaternion(q[3:], q[:3])
    return SE3(exp3(q[0] * joint.axis))
