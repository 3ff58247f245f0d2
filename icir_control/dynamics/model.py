"""The model, which never changes: a tree of joints with bodies and frames on them."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from icir_control.dynamics.buffer import build_buffer, coupling
from icir_control.dynamics.data import Data
from icir_control.dynamics.joints import Frame, FrameType, Joint
from icir_control.dynamics.model_file import read_model, write_model
from icir_control.errors import InvalidValueError, UnknownNameError
from icir_control.spatial import SE3, Inertia
from icir_control.spatial.arrays import Array, Value, freeze


@dataclass(frozen=True, eq=False, repr=False)
class Model(Value):
    """A tree of joints with bodies and frames on them; made by `load_urdf` or `ModelBuilder`.

    Joint 0, `universe`, is the world and never moves; joint i carries `inertias[i]`, which holds
    the links on it, also those behind fixed joints. A parent comes before its children. A joint
    that mimics another has no place in q and v, and the limits of the other one are its, too.

    Attributes:
        name: The robot's name.
        joints: All joints, the universe first.
        inertias: What each joint carries, in the joint's frame.
        frames: All frames, the world's first.
        gravity: The gravity field in world axes (3,) [m/s^2], read-only.
    """

    name: str
    joints: tuple[Joint, ...]
    inertias: tuple[Inertia, ...]
    frames: tuple[Frame, ...]
    gravity: Array

    def __repr__(self) -> str:
        sizes = f'nq={self.nq}, nv={self.nv}, njoints={self.njoints}, nframes={self.nframes}'
        return f'{type(self).__name__}({self.name!r}, {sizes})'

    @cached_property
    def nq(self) -> int:
        """Length of a configuration q."""
        return sum(joint.nq for joint in self.joints)

    @cached_property
    def nv(self) -> int:
        """Length of a velocity v: the degrees of freedom."""
        return sum(joint.nv for joint in self.joints)

    @property
    def njoints(self) -> int:
        """How many joints there are, the universe included."""
        return len(self.joints)

    @property
    def nframes(self) -> int:
        """How many frames there are, the world's included."""
        return len(self.frames)

    @cached_property
    def coupling(self) -> Array:
        """G (n, nv), read-only: the rates of all n degrees of freedom of all joints are G v.

        Those of mimic joints included, in the order of `joints`; without any the identity.
        """
        return freeze(coupling(self.joints))

    @cached_property
    def buffer(self) -> Array:
        """A `Data`'s buffer before anything is computed; not to be written to."""
        return build_buffer(self.joints, self.inertias, self.frames, self.gravity)

    @cached_property
    def _joint_ids(self) -> dict[str, int]:
        return {joint.name: i for i, joint in enumerate(self.joints)}

    @cached_property
    def frame_of_joint(self) -> tuple[int, ...]:
        """Index of each joint's own frame; that of the universe is frame 0."""
        found = {0: 0}
        for i, frame in enumerate(self.frames):
            if frame.type is FrameType.JOINT:
                found[frame.parent] = i
        return tuple(found[i] for i in range(self.njoints))

    @cached_property
    def _frame_ids(self) -> dict[str, list[int]]:
        ids: dict[str, list[int]] = {}
        for i, frame in enumerate(self.frames):
            ids.setdefault(frame.name, []).append(i)
        return ids

    def joint_id(self, name: str) -> int:
        """Return the index of a joint.

        Raises:
            UnknownNameError: No joint has this name.
        """
        try:
            return self._joint_ids[name]
        except (KeyError, TypeError):
            raise UnknownNameError('joint', name, self._joint_ids) from None

    def frame_id(self, name: str, type: FrameType | None = None) -> int:
        """Return the index of a frame.

        Args:
            name: Its name.
            type: Its type; without one the frame is that of the link where a link has the name,
                whatever else has.

        Raises:
            UnknownNameError: No frame has this name (and type).
            InvalidValueError: Frames that are no links have it, in different places.
        """
        try:
            found = self._frame_ids[name]
        except (KeyError, TypeError):
            raise UnknownNameError('frame', name, self._frame_ids) from None
        if type is not None:
            found = [i for i in found if self.frames[i].type is type]
            if not found:
                names = [frame.name for frame in self.frames if frame.type is type]
                raise UnknownNameError(f'frame of type {type.name}', name, names)
        for i in found:
            if self.frames[i].type is FrameType.BODY:
                return i
        first = self.frames[found[0]]
        for i in found[1:]:
            other = self.frames[i]
            if other.parent != first.parent or other.placement != first.placement:
                types = ', '.join(self.frames[j].type.name for j in found)
                raise InvalidValueError('name', name, f'a type beside it, one of {types}')
        return found[0]

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

    @cached_property
    def armature(self) -> Array:
        """Inertia of the rotors, as the joints feel it (nv,) [kg m^2 or kg]; read-only.

        Part of M, and so of all that M has a part in, but of no body: it weighs nothing, and no
        momentum or regressor knows it.
        """
        return freeze(np.concatenate([joint.armature for joint in self.joints]))

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
