"""The model, which never changes: a tree of joints with bodies and frames on them."""

from dataclasses import replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from icir_control.dynamics.data import Data
from icir_control.dynamics.joints import Frame, FrameType, numbered
from icir_control.dynamics.mechanism import Mechanism
from icir_control.dynamics.model_file import read_model, write_model
from icir_control.errors import InvalidValueError
from icir_control.spatial import SE3
from icir_control.spatial.arrays import Array, freeze


class Model(Mechanism):
    """A tree of joints with bodies and frames on them; made by `load_urdf` or `ModelBuilder`.

    See `Mechanism` for its parts, its sizes, and how joints and frames are found by their names.
    """

    @cached_property
    def na(self) -> int:
        """How many degrees of freedom have a motor."""
        return sum(joint.nv for joint in self.joints if joint.actuated)

    @cached_property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the moving joints, in the order of v, but of those that mimic others."""
        return tuple(joint.name for joint in self.joints[1:] if joint.mimic is None)

    @cached_property
    def joint_placements(self) -> tuple[SE3, ...]:
        """Where each joint's frame lies in its parent joint's, in neutral configuration."""
        return tuple(joint.placement for joint in self.joints)

    @cached_property
    def actuated(self) -> NDArray[np.bool_]:
        """Which degrees of freedom have a motor: (nv,) bool, read-only."""
        flags = [joint.actuated for joint in self.joints for _ in range(joint.nv)]
        return freeze(np.array(flags, dtype=bool))

    @cached_property
    def lower_position_limit(self) -> Array:
        """Smallest q (nq,) [rad or m], -inf where there is no limit; read-only."""
        return freeze(np.concatenate([joint.lower for joint in self.joints]))

    @cached_property
    def upper_position_limit(self) -> Array:
        """Largest q (nq,) [rad or m]; read-only."""
        return freeze(np.concatenate([joint.upper for joint in self.joints]))

    @cached_property
    def velocity_limit(self) -> Array:
        """Largest speed (nv,) [rad/s or m/s]; read-only."""
        return freeze(np.concatenate([joint.velocity for joint in self.joints]))

    @cached_property
    def effort_limit(self) -> Array:
        """Largest torque or force (nv,) [N m or N]; read-only."""
        return freeze(np.concatenate([joint.effort for joint in self.joints]))

    @cached_property
    def joint_damping(self) -> Array:
        """Viscous damping D (nv,) [N m s/rad or N s/m]; read-only.

        No part of nle, `rnea` or `aba`: the torque of the motors is `rnea` + D v + friction.
        """
        return freeze(np.concatenate([joint.damping for joint in self.joints]))

    @cached_property
    def joint_friction(self) -> Array:
        """Coulomb friction (nv,) [N m or N], no part of nle, `rnea` or `aba`; read-only."""
        return freeze(np.concatenate([joint.friction for joint in self.joints]))

    def with_frame(self, name: str, parent: str, placement: SE3) -> 'Model':
        """Return a model with one more frame, of type OP_FRAME; this one stays as it is.

        Args:
            name: A name that no frame has yet.
            parent: Name of the frame that it is fixed to.
            placement: From the new frame to the parent frame.

        Raises:
            UnknownNameError: There is no such parent.
            InvalidValueError: The name is taken or empty, or the placement is no `SE3`.
        """
        if not isinstance(name, str) or not name or name in self._frame_ids:
            raise InvalidValueError('name', name, 'a name that no frame has yet')
        if not isinstance(placement, SE3):
            raise InvalidValueError('placement', placement, 'an SE3')
        base = self.frames[self.frame_id(parent)]
        frame = Frame(name, base.parent, base.placement @ placement, FrameType.OP_FRAME)
        return replace(self, frames=(*self.frames, frame))

    def save(self, path: str | Path) -> None:
        """Write the model to a JSON file, which `Model.load` reads.

        Raises:
            OSError: The file cannot be written.
        """
        write_model(self, path)

    @classmethod
    def load(cls, path: str | Path) -> 'Model':
        """Return the model that `save` wrote, equal to the last bit.

        Raises:
            ModelError: The file holds no model; says what is wrong with it.
            OSError: The file cannot be read.
        """
        return cls(*read_model(path))

    def neutral(self) -> Array:
        """Return the neutral configuration (nq,): zeros, and the identity of each quaternion."""
        return np.concatenate([joint.neutral() for joint in self.joints])

    def random_configuration(self, rng: np.random.Generator) -> Array:
        """Return a configuration (nq,) drawn uniformly from all that the limits allow.

        A coordinate without limits, or with limits beyond 1000, is drawn from +-pi [rad] or
        +-1 [m], one with a single limit from a range as wide beside it, a quaternion from all
        rotations.
        """
        return np.concatenate([joint.random(rng) for joint in self.joints])

    def create_data(self, watch: str | None = None) -> Data:
        """Return a place for results.

        Args:
            watch: Name of a frame that every `compute_all_terms` is to refresh too.

        Raises:
            UnknownNameError: There is no such frame.
        """
        return Data(self, watch)


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
