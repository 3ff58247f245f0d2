"""The two ends of a serial arm, for those who do not name them."""

from icir_control.dynamics.frames import FrameType
from icir_control.dynamics.model import Model
from icir_control.errors import ModelError


def root_link(model: Model) -> str:
    """Return the name of the link that stands on the ground.

    Raises:
        ModelError: The model has no link that does not move.
    """
    for frame in model.frames:
        if frame.type is FrameType.BODY and frame.parent == 0:
            return frame.name
    raise ModelError(f'{model.name!r} has no link that is fixed to the world')


def tip_link(model: Model) -> str:
    """Return the name of the last link on the last joint of a serial arm.

    Raises:
        ModelError: The arm branches, so that it has several ends; lists them.
    """
    inner = {joint.parent for joint in model.joints[1:]}
    ends = [index for index in range(1, model.njoints) if index not in inner]
    if len(ends) != 1:
        names = ', '.join(_last_link(model, end) for end in ends) or '(none)'
        raise ModelError(
            f'{model.name!r} has no single end; name one as end_effector_frame: {names}'
        )
    return _last_link(model, ends[0])


def _last_link(model: Model, joint: int) -> str:
    links = [
        frame.name
        for frame in model.frames
        if frame.type is FrameType.BODY and frame.parent == joint
    ]
    return links[-1]
