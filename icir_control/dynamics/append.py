"""Two models made one."""

from dataclasses import replace

from icir_control.dynamics.joints import numbered
from icir_control.dynamics.model import Model
from icir_control.errors import InvalidValueError
from icir_control.spatial import SE3


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
