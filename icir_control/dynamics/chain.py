"""Which joints of a robot make up an arm: those between its base and its end effector."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from math import inf
from pathlib import Path
from typing import Any

from icir_control.dynamics.urdf_xml import parse, read_source, warn_once
from icir_control.errors import InvalidValueError, ModelError, UnknownNameError

_FEW = 2
"""Joints that are no arm beside longer chains; an arm whose hand has fingers has so many."""

_TOOL = re.compile(r'(?i)gripper_frame|tcp|tool|end_effector|(?<![a-z])ee(?![a-z])')
"""What the frame of a tool is named."""


@dataclass(frozen=True)
class Chain:
    """An arm within a robot.

    Attributes:
        end_effector_frame: The frame that acts; empty for the last link of a serial arm.
        held: Positions of the joints that do not belong to the arm [rad or m].
        without_effort: Joints of the arm whose effort limit is 0, with the line that says so.
    """

    end_effector_frame: str
    held: Mapping[str, float]
    without_effort: tuple[str, ...]


class KinematicTree:
    """Links and joints of a URDF, read without their masses.

    Attributes:
        name: The robot's name.
        moving: The elements of the joints that are not fixed, by name.
    """

    def __init__(
        self, path_or_xml: str | Path, *, package_dirs: Sequence[str | Path] = ()
    ) -> None:
        """Read a URDF.

        Args:
            path_or_xml: As `load_urdf` takes it.
            package_dirs: Folders that are packages or hold packages, for `package://`.

        Raises:
            ModelError: The description is not valid.
        """
        self._label, text, encoding = read_source(path_or_xml, package_dirs)
        robot = parse(self._label, text, encoding)
        self.name: str = robot.get('name')
        self._links = [link.get('name') for link in robot.iterfind('link')]
        self._joints = {joint.get('name'): joint for joint in robot.iterfind('joint')}
        self._sensors = {
            sensor.get('name'): sensor.find('parent').get('link')
            for sensor in robot.iterfind('sensor')
        }
        self.moving = {n: one for n, one in self._joints.items() if one.get('type') != 'fixed'}
        self._above = {_link(one, 'child'): name for name, one in self._joints.items()}

    def chain(
        self,
        base_frame: str = '',
        end_effector_frame: str = '',
        locked: Mapping[str, float] | None = None,
        *,
        whole_tree: bool = False,
    ) -> Chain:
        """Return the arm between two frames; every other joint is held.

        Args:
            base_frame: A link; empty for the root.
            end_effector_frame: A link, joint or sensor; empty for the last link of a serial arm,
                or for the last that all chains share, the hand that carries fingers.
            locked: Positions at which joints are held [rad or m]. A joint beyond the arm that is
                not among them is held at zero, or at the limit next to it. One that mimics another
                follows it, held or free; one that is locked itself mimics no more.
            whole_tree: Whether what is not locked belongs to the arm wherever it lies.

        Raises:
            UnknownNameError: A locked joint that the robot lacks.
            InvalidValueError: A position outside the limits of its joint.
            ModelError: The robot has several arms, and no frame chooses one; or a joint of the arm
                is planar or floating.
        """
        locked = locked or {}
        is_chosen = bool(end_effector_frame) or whole_tree
        for name, value in locked.items():
            self._check_position(name, value)
        free = [
            name
            for name in self.moving
            if not set(self._leaders(name)) & set(locked) and self._leader(name) in self.moving
        ]
        if not is_chosen:
            end_effector_frame = self._common_end(free)
        link = self._link_of(end_effector_frame)
        arm = self._joints_above(link) if link and not whole_tree else free
        below = self._joints_above(self._link_of(base_frame))
        # What mimics a joint of the arm moves with it, and what one of them mimics moves them.
        moved = {self._leader(name) for name in free if name in arm and name not in below}
        free = [name for name in free if self._leader(name) in moved.difference(below)]
        for name in free:
            kind = self.moving[name].get('type')
            if kind in ('planar', 'floating'):
                raise ModelError(
                    f'{self._label}: joint {name!r} is {kind}, and an arm stands on a fixed base; '
                    f'make the joint fixed in the URDF, or lock it at 0 (--lock {name}=0)'
                )
        if not is_chosen:
            self._hint_at_tool([name for name in free if self._leader(name) == name])
        held = {name: self._position(name, locked) for name in self.moving if name not in free}
        limits = {
            name: self.moving[name].find('limit') for name in free if self._leader(name) == name
        }
        without_effort = tuple(
            f'{name} (line {limit.sourceline})'
            for name, limit in limits.items()
            if limit is not None and float(limit.get('effort', 'inf')) == 0.0
        )
        return Chain(end_effector_frame, held, without_effort)

    def _hint_at_tool(self, arm: Sequence[str]) -> None:
        """Say which frame, fixed before the last joint of an arm, is named as a tool's is.

        There the last joint may be a jaw, which the arm then moves as one of its own.

        Args:
            arm: Its joints.
        """
        parents = {_link(one, 'parent') for one in self._joints.values()}
        ends = {_link(one, 'child') for one in self._joints.values() if one.get('type') == 'fixed'}
        tools = {
            link: sum(name in arm for name in self._joints_above(link))
            for link in sorted(filter(_TOOL.search, ends - parents))
        }
        link = max(tools, key=tools.__getitem__, default='')
        if link and 0 < tools[link] < len(arm):
            warn_once(
                f'{self._label}: the arm ends beyond the frame {link}; if that is its tool, name '
                f'it (--end-effector-frame {link}): the arm then has {tools[link]} joints in '
                f'place of {len(arm)}'
            )

    def _link_of(self, frame: str) -> str:
        """Return the link that carries a frame; empty for a frame that there is not."""
        if frame in self._links:
            return frame
        if frame in self._joints:
            return _link(self._joints[frame], 'child')
        return self._sensors.get(frame, '')

    def _joints_above(self, link: str) -> list[str]:
        """Return the joints from the root to a link, in this order."""
        above: list[str] = []
        while link in self._above and self._above[link] not in above:
            above.insert(0, self._above[link])
            link = _link(self._joints[above[0]], 'parent')
        return above

    def _common_end(self, free: Sequence[str]) -> str:
        """Return the last link that all chains share; empty where there is one chain alone.

        Args:
            free: The joints that move and are not locked.

        Raises:
            ModelError: They share less than two joints, or less than one has beyond those.
        """
        chains = [self._joints_above(_link(joint, 'child')) for joint in self.moving.values()]
        # A locked joint beyond the arm has an end, too; one beside the arm has none.
        chains = [
            chain
            for chain in chains
            if chain[-1] in free or sum(map(free.__contains__, chain)) > 1
        ]
        inner = {name for chain in chains for name in chain[:-1]}
        ends = [chain for chain in chains if chain[-1] not in inner]
        if len(ends) < 2:
            return ''
        arms = self._arms(ends, 0, free)
        if len(arms) > 1:
            most = max(joints for _, joints in arms)
            # Wheels, casters and the neck of a camera are no arm beside one.
            tips = [end for end, joints in arms if joints > _FEW or most <= _FEW]
            one_of = 'one of ' if len(tips) > 1 else ''
            raise ModelError(
                f'{self._label} has several arms, or other chains of joints beside one; name the '
                f'end of one as end_effector_frame (--end-effector-frame), such as {one_of}'
                f'{", ".join(tips)}'
            )
        return arms[0][0]

    def _arms(
        self, chains: Sequence[list[str]], start: int, free: Sequence[str]
    ) -> list[tuple[str, int]]:
        """Return the last link and the number of joints of each arm, a hand in place of fingers.

        Args:
            chains: All those from the root to a last joint that begin alike.
            start: How many of their joints are a trunk, which is no part of an arm.
            free: The joints that move and are not locked.
        """

        def count(names: Sequence[str]) -> int:
            return sum(name in free and self._leader(name) == name for name in names)

        first = chains[0]
        if len(chains) == 1:
            return [(self._last_link(first[-1]), count(first[start:]))]
        same = (len({*names}) == 1 for names in zip(*chains, strict=False))
        end = sum(takewhile(bool, same))
        joints = count(first[start:end])
        beyond = max(count(chain[end:]) for chain in chains)
        if joints >= _FEW and joints > beyond:
            return [(_link(self._joints[first[end - 1]], 'child'), joints)]
        # A trunk with arms, no arm with fingers.
        branches: dict[str, list[list[str]]] = {}
        for chain in chains:
            branches.setdefault(chain[end], []).append(chain)
        return [arm for branch in branches.values() for arm in self._arms(branch, end, free)]

    def _check_position(self, name: str, value: float) -> None:
        """Refuse a position that a joint cannot have, or a joint that there is not."""
        if name not in self.moving:
            raise UnknownNameError('joint', name, self.moving)
        lower, upper = self._limits(name)
        if not lower <= value <= upper:
            raise InvalidValueError(
                f'locked joint {name!r}', value, f'{lower:g} to {upper:g} (rad or m)'
            )

    def _last_link(self, joint: str) -> str:
        """Return the last link that is fixed to what a joint moves; of several, the tool.

        Where none of them is named as one, such as cameras, it is the link that carries them.
        """
        link = _link(self._joints[joint], 'child')
        for _ in self._joints:  # at most, should they form a cycle
            fixed = [
                _link(one, 'child')
                for one in self._joints.values()
                if one.get('type') == 'fixed' and _link(one, 'parent') == link
            ]
            tools = fixed if len(fixed) == 1 else [*filter(_TOOL.search, fixed)]
            if not tools:
                break
            link = tools[0]
        return link

    def _leaders(self, name: str) -> list[str]:
        """Return a joint, that which it mimics, and so on."""
        leaders: list[str] = []
        while name not in leaders and name in self._joints:
            leaders.append(name)
            mimic = self.moving[name].find('mimic') if name in self.moving else None
            name = '' if mimic is None else mimic.get('joint')
        return leaders

    def _leader(self, name: str) -> str:
        """Return the joint whose coordinate is a joint's: its own, unless it mimics another."""
        return self._leaders(name)[-1]

    def _position(
        self, name: str, locked: Mapping[str, float], followers: tuple[str, ...] = ()
    ) -> float:
        """Return where a joint is held [rad or m]; one that mimics another follows it."""
        if name in locked:
            return locked[name]
        if name not in self.moving:
            return 0.0
        mimic = self.moving[name].find('mimic')
        leader = '' if mimic is None else mimic.get('joint')
        if leader in self._joints and leader not in followers:
            factor, offset = float(mimic.get('multiplier', '1')), float(mimic.get('offset', '0'))
            return factor * self._position(leader, locked, (*followers, name)) + offset
        lower, upper = self._limits(name)
        return min(max(0.0, lower), upper)

    def _limits(self, name: str) -> tuple[float, float]:
        joint = self.moving[name]
        limit = joint.find('limit')
        if joint.get('type') not in ('revolute', 'prismatic') or limit is None:
            return -inf, inf
        lower, upper = float(limit.get('lower', '0')), float(limit.get('upper', '0'))
        return (lower, upper) if lower or upper else (-inf, inf)  # as `load_urdf` reads it


def _link(joint: Any, end: str) -> str:
    name: str = joint.find(end).get('link')
    return name
