"""Placement, twist, acceleration and Jacobian of one frame, from what was computed last.

What must have been computed before is said at each: placements by any algorithm that takes a
configuration, twists by `compute_all_terms` or by `forward_kinematics` with a velocity. A frame is
given by its name, or faster by its index, `model.frame_id(name)`. All raise `InvalidValueError`
for an index or a reference that does not exist, for data of another model and for what was never
computed, and `UnknownNameError` for a name that does not exist.
"""

from collections.abc import Callable
from enum import IntEnum
from typing import Any

import numpy as np

from icir_control.dynamics.call import NOT_TAKEN, check_out, check_pair
from icir_control.dynamics.data import Data
from icir_control.dynamics.joints import FrameType
from icir_control.dynamics.kernels import CheckedKernel
from icir_control.dynamics.kernels import frames as kernels
from icir_control.dynamics.kernels import layout as at
from icir_control.dynamics.model import Model
from icir_control.errors import InvalidValueError, ModelError
from icir_control.spatial import SE3, Motion
from icir_control.spatial.arrays import Array


class ReferenceFrame(IntEnum):
    """Axes and point of reference, as in Pinocchio."""

    LOCAL = 0
    """The frame's own axes, at its origin: the body twist."""
    WORLD = 1
    """The world's axes, at the world's origin: the spatial twist."""
    LOCAL_WORLD_ALIGNED = 2
    """The world's axes, at the frame's origin."""


LOCAL = ReferenceFrame.LOCAL
_jacobian, _classical = kernels.frame_jacobian, kernels.frame_classical_acceleration

_JACOBIANS = (kernels.write_frame_jacobian, kernels.frame_jacobian_rate)
_NEEDS = {
    kernels.frame_velocity: at.TWIST,
    kernels.frame_jacobian_rate: at.TWIST,
    kernels.frame_acceleration: at.ACCELERATION,
    kernels.frame_classical_acceleration: at.ACCELERATION,
    kernels.frame_derivatives: at.ACCELERATION,
}
"""What must have been computed before, besides placements."""


def frame_placement(model: Model, data: Data, frame_id: int | str) -> SE3:
    """Return where a frame lies in the world; placements must be computed."""
    rotation, translation = np.empty((3, 3)), np.empty(3)
    kernel = kernels.frame_pose
    try:
        known = kernel.call(data.buffer, frame_id, rotation, translation) == 0
        known &= data.model is model
    except NOT_TAKEN:
        known = False
    if not known:
        frame_id = _checked(kernel, model, data, frame_id, LOCAL)
        kernel.run(data.buffer, frame_id, rotation, translation)
    return SE3.trusted(rotation, translation)


def frame_velocity(
    model: Model, data: Data, frame_id: int | str, reference: ReferenceFrame = LOCAL
) -> Motion:
    """Return the twist of a frame; twists must be computed."""
    return _read(kernels.frame_velocity, model, data, frame_id, reference)


def frame_acceleration(
    model: Model, data: Data, frame_id: int | str, reference: ReferenceFrame = LOCAL
) -> Motion:
    """Return the spatial acceleration of a frame, the derivative of its twist.

    It is without gravity, and at ddq = 0 after `compute_all_terms`, or at the ddq that
    `forward_kinematics` was given.
    """
    return _read(kernels.frame_acceleration, model, data, frame_id, reference)


def frame_classical_acceleration(
    model: Model, data: Data, frame_id: int | str, reference: ReferenceFrame = LOCAL
) -> Motion:
    """Return the classical acceleration of a frame: of its origin as a point, and angular.

    Its linear part is the spatial one plus omega x v. After `compute_all_terms` it is the drift
    dJ v of the task x_dd = J ddq + dJ v; after `forward_kinematics` with a, all of x_dd.
    """
    # `_read`, here and in `frame_jacobian`, spelled out: two calls of every tick.
    try:
        if data.model is model:
            return _classical.call(data.buffer, frame_id, reference)
    except NOT_TAKEN:
        pass
    return _read(_classical, model, data, frame_id, reference)


def frame_jacobian(
    model: Model,
    data: Data,
    frame_id: int | str,
    reference: ReferenceFrame = LOCAL,
    out: Array | None = None,
) -> Array:
    """Return J with twist = J v of a frame; placements must be computed.

    Args:
        model: The model.
        data: Its data.
        frame_id: Name or index of the frame.
        reference: Axes and point of the twist.
        out: Where to write, (6, nv) float64 and contiguous; None for a fresh array.

    Returns:
        (6, nv), linear part in the first three rows.
    """
    if out is not None:
        return _fill(kernels.write_frame_jacobian, model, data, frame_id, reference, out)
    try:
        if data.model is model:
            return _jacobian.call(data.buffer, frame_id, reference)
    except NOT_TAKEN:
        pass
    return _read(_jacobian, model, data, frame_id, reference)


def frame_jacobian_time_variation(
    model: Model,
    data: Data,
    frame_id: int | str,
    reference: ReferenceFrame = LOCAL,
    out: Array | None = None,
) -> Array:
    """Return the time derivative (6, nv) of `frame_jacobian`; twists must be computed."""
    return _fill(kernels.frame_jacobian_rate, model, data, frame_id, reference, out)


def joint_jacobian(
    model: Model,
    data: Data,
    joint_id: int | str,
    reference: ReferenceFrame = LOCAL,
    out: Array | None = None,
) -> Array:
    """Return J (6, nv) of a joint's frame; as `frame_jacobian`, joints by name or index."""
    check_pair(model, data)
    frame_id = model.frame_of_joint[joint_index(model, joint_id)]
    return frame_jacobian(model, data, frame_id, reference, out)


def frame_velocity_derivatives(
    model: Model, data: Data, frame_id: int | str, reference: ReferenceFrame = LOCAL
) -> tuple[Array, Array]:
    """Return the derivatives of `frame_velocity` by q and v, (6, nv) each; the latter is J.

    Twists must be computed. By q along the manifold: under q = integrate(q0, d), by d, where the
    axes and point of the reference move, too; Pinocchio leaves the point of LOCAL_WORLD_ALIGNED
    where it is.
    """
    v_by_q, _, _, J = _derivatives(model, data, frame_id, reference)
    return v_by_q, J


def frame_acceleration_derivatives(
    model: Model, data: Data, frame_id: int | str, reference: ReferenceFrame = LOCAL
) -> tuple[Array, Array, Array]:
    """Return the derivatives of `frame_acceleration` by q, v and a, (6, nv) each; the last is J.

    At the acceleration that was computed last; by q as for `frame_velocity_derivatives`.
    """
    _, by_q, by_v, J = _derivatives(model, data, frame_id, reference)
    return by_q, by_v, J


def _derivatives(
    model: Model, data: Data, frame_id: int | str, reference: ReferenceFrame
) -> Array:
    check_pair(model, data)
    out = np.empty(24 * model.nv)
    _fill(kernels.frame_derivatives, model, data, frame_id, reference, out)
    return out.reshape(4, 6, model.nv)


def _read(kernel: CheckedKernel, model: Model, data: Data, frame_id: Any, reference: Any) -> Any:
    """Return what a kernel of (buffer, frame, reference) makes."""
    try:
        if data.model is model:
            return kernel.call(data.buffer, frame_id, reference)
    except NOT_TAKEN:
        pass
    index = _checked(kernel, model, data, frame_id, reference)
    return kernel.run(data.buffer, index, int(reference))


def _fill(
    kernel: CheckedKernel, model: Model, data: Data, frame_id: Any, reference: Any, out: Any
) -> Array:
    """Let a kernel of (buffer, frame, reference, out) write its answer, and return that."""
    try:
        if out is None:
            out = np.empty(data.jacobian_shape)
        if data.model is model and kernel.call(data.buffer, frame_id, reference, out) == 0:
            return out
    except NOT_TAKEN:
        pass
    frame_id = _checked(kernel, model, data, frame_id, reference)
    if kernel in _JACOBIANS:
        check_out(out, data.jacobian_shape)
    kernel.run(data.buffer, frame_id, int(reference), out)
    return out


def _checked(
    kernel: CheckedKernel, model: Model, data: Data, frame_id: Any, reference: Any
) -> int:
    """Return the frame's index; say what is wrong with the arguments, if anything is."""
    check_pair(model, data)
    index = frame_index(model, frame_id)
    if reference not in list(ReferenceFrame):
        raise InvalidValueError('reference', reference, 'a ReferenceFrame')
    joint = model.frames[index].parent
    data.check_computed(joint, at.POSITION)
    data.check_computed(joint, _NEEDS.get(kernel, at.POSITION))
    return index


def frame_index(model: Model, frame_id: Any) -> int:
    """Return the index of a frame that is given by name or index.

    Raises:
        UnknownNameError: There is no such name.
        InvalidValueError: There is no such index.
    """
    return _index('frame', frame_id, model.frame_id, model.nframes)


def joint_index(model: Model, joint_id: Any) -> int:
    """Return the index of a joint that is given by name or index; errors as `frame_index`."""
    return _index('joint', joint_id, model.joint_id, model.njoints)


def _index(kind: str, given: Any, by_name: Callable[[str], int], count: int) -> int:
    if isinstance(given, str):
        return by_name(given)
    if not isinstance(given, int | np.integer) or not 0 <= given < count:
        expected = f'the name of a {kind}, or an index from 0 to {count - 1}'
        raise InvalidValueError(f'{kind}_id', given, expected)
    return int(given)


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
