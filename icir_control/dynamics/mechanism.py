"""The mechanism that a `Model` describes: a tree of joints, by name and by index."""

from dataclasses import dataclass
from functools import cached_property

from icir_control.dynamics.buffer import build_buffer, coupling
from icir_control.dynamics.joints import Frame, FrameType, Joint
from icir_control.errors import InvalidValueError, UnknownNameError
from icir_control.spatial import Inertia
from icir_control.spatial.arrays import Array, Value, freeze


@dataclass(frozen=True, eq=False, repr=False)
class Mechanism(Value):
    """A tree of joints with bodies and frames on them: all that a `Data` needs to know.

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
