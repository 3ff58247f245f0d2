"""What the keys do: the controller's modes, the keyboard's own keys, and both as tables."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import Any

import numpy as np
from geometry_msgs.msg import Pose, PoseStamped
from numpy.typing import NDArray
from rclpy.node import Node
from rich.table import Table
from rich.text import Text
from sensor_msgs.msg import JointState

from icir_control.nodes.transport.conversions import pose_numbers, pose_of, stamp_words
from icir_control.nodes.transport.qos import SUBSCRIBED
from icir_control.share import CONTROLLER

CONTROL_D = '\x04'
SHOWN_PARAMETERS = 2  # of each mode at most; a law names the most important ones first


Action = Enum('Action', 'AXES FINER COARSER SLOWER FASTER WINDOW HELP QUIT')
"""What a key does that neither selects a mode nor moves the tool."""


@dataclass(frozen=True)
class Jog:
    """One step of the tool.

    Attributes:
        axis: 0, 1, 2 along x, y, z; 3, 4, 5 about them.
        sign: 1 or -1.
    """

    axis: int
    sign: int

    @property
    def turns(self) -> bool:
        """Whether it is a rotation."""
        return self.axis >= 3

    @property
    def name(self) -> str:
        """Sign and axis, such as `+x`."""
        return f'{"+" if self.sign > 0 else "-"}{"xyz"[self.axis % 3]}'


@dataclass(frozen=True)
class JointJog:
    """One step of a joint, or the choice of the joint that steps.

    Attributes:
        number: The joint from now on, counted from 0; None for a step.
        sign: 1 or -1, of a step.
    """

    number: int | None
    sign: int = 0


@dataclass(frozen=True)
class Row:
    """Keys that belong together, one line of the table.

    Attributes:
        text: What they do.
        keys: What each does.
    """

    text: str
    keys: Mapping[str, Action | Jog | JointJog]


def _axis_row(axis: int, text: str, forward: str) -> Row:
    return Row(text, {forward: Jog(axis, 1), forward.upper(): Jog(axis, -1)})


ROWS = (
    _axis_row(0, 'move the tool along +x, -x', 'x'),
    _axis_row(1, 'move the tool along +y, -y', 'y'),
    _axis_row(2, 'move the tool along +z, -z', 'z'),
    _axis_row(3, 'turn the tool about +x, -x (roll)', 'r'),
    _axis_row(4, 'turn the tool about +y, -y (pitch)', 'p'),
    _axis_row(5, 'turn the tool about +z, -z (yaw)', 'w'),
    Row('select a joint', {str(i + 1): JointJog(i) for i in range(9)}),
    Row(
        'move the selected joint in +, - direction',
        {'.': JointJog(None, 1), ',': JointJog(None, -1)},
    ),
    Row('switch between base and tool axes', {'t': Action.AXES}),
    Row('smaller, larger steps', {'[': Action.FINER, ']': Action.COARSER}),
    Row('slower, faster motions', {'-': Action.SLOWER, '+': Action.FASTER}),
    Row("open MuJoCo's window", {'m': Action.WINDOW}),
    Row('this help', {'?': Action.HELP}),
    Row('quit', {'q': Action.QUIT, CONTROL_D: Action.QUIT}),
)
"""A mode with the same key has precedence."""


@dataclass(frozen=True)
class ModeKey:
    """One mode of the controller.

    Attributes:
        name: Its name, and that of its service below `modes/`.
        key: The key that selects it.
        law: What it does.
        takes_pose: Whether it takes target poses.
        parameters: Its parameters by name.
    """

    name: str
    key: str
    law: str
    takes_pose: bool
    parameters: Mapping[str, Any]


def modes_of(
    names: Sequence[str], takes_pose: Collection[str], values: Mapping[str, Any]
) -> dict[str, ModeKey]:
    """Return the modes by key.

    Args:
        names: The names of the modes, in the order of the table.
        takes_pose: The names of those that take target poses.
        values: The controller's parameters `modes.<name>.<parameter>`, by full name.
    """
    modes = {}
    for name in names:
        prefix = f'modes.{name}.'
        own = {
            full.removeprefix(prefix): v for full, v in values.items() if full.startswith(prefix)
        }
        key = str(own.pop('key', ''))
        modes[key] = ModeKey(name, key, str(own.pop('law', '')), name in takes_pose, own)
    return modes


def shadowed(modes: Mapping[str, ModeKey]) -> dict[str, str]:
    """Return which of the keyboard's own actions a mode hides, by key.

    Args:
        modes: The modes by key.
    """
    return {key: row.text for row in ROWS for key in row.keys if key in modes}


def table_of(modes: Mapping[str, ModeKey]) -> Table:
    """Return what each mode's key does.

    Args:
        modes: The modes by key.
    """
    table = Table(box=None, pad_edge=False, header_style='')
    for title in ('key', 'mode', 'law', 'parameters'):
        table.add_column(title)
    for key, mode in modes.items():
        first = islice(mode.parameters.items(), SHOWN_PARAMETERS)
        shown = [f'{name} {text}' for name, value in first if (text := _text(value))]
        table.add_row(*map(Text, (key, mode.name, mode.law, ', '.join(shown))))
    return table


def help_of(modes: Mapping[str, ModeKey]) -> Table:
    """Return what the keyboard's own keys do, without those that a mode has.

    Args:
        modes: The modes by key.
    """
    table = Table(box=None, pad_edge=False, show_header=False)
    for row in ROWS:
        free = [key for key in row.keys if key not in modes and key.isprintable()]
        if free:
            table.add_row(Text(' '.join(free)), Text(row.text))
    return table


def _text(value: Any) -> str:
    """Return the value of a parameter as it is shown."""
    if isinstance(value, float):
        return f'{value:g}'
    if isinstance(value, str | int):
        return str(value)
    return ' '.join(_text(entry) for entry in value) if value is not None else ''


STEPS = ((0.001, 0.5), (0.002, 1.0), (0.005, 2.0), (0.01, 5.0), (0.02, 10.0), (0.05, 20.0))
"""Of a translation [m] and of a rotation [deg]."""

_FIRST = 3


class Jogger:
    """Publishes a target one step from the newest reference, of the tool or of a joint.

    No compiled function is used, so that the first step takes no longer than the others.
    """

    def __init__(self, node: Node) -> None:
        """Subscribe to the reference.

        Args:
            node: The node to publish through.
        """
        self._reference: PoseStamped | None = None
        self._joints: JointState | None = None
        self._joint = 0
        self._clock = node.get_clock()
        self._step = _FIRST
        self._in_tool_axes = False
        self._targets = node.create_publisher(PoseStamped, f'{CONTROLLER}/target_pose', 1)
        node.create_subscription(
            PoseStamped, f'{CONTROLLER}/reference_pose', self._take_reference, SUBSCRIBED
        )
        self._joint_targets = node.create_publisher(JointState, f'{CONTROLLER}/target_joints', 1)
        node.create_subscription(
            JointState, f'{CONTROLLER}/joint_reference', self._take_joints, SUBSCRIBED
        )

    def forget(self) -> None:
        """Forget the reference of a controller that has ended."""
        self._reference = self._joints = None

    def move(self, jog: Jog) -> tuple[str, str]:
        """Request one step.

        Returns:
            The stamp of the target, as `~/motion_status` repeats it, and a sentence. Without a
            reference there is no target, and the stamp is empty.
        """
        if self._reference is None:
            return '', 'no reference pose has arrived yet'
        metres, degrees = STEPS[self._step]
        size = np.radians(degrees) if jog.turns else metres
        target = PoseStamped()
        target.header.stamp = self._clock.now().to_msg()
        target.header.frame_id = self._reference.header.frame_id
        target.pose = moved(self._reference.pose, jog, size, in_tool_axes=self._in_tool_axes)
        self._targets.publish(target)
        how = f'moves along {jog.name} by {1e3 * metres:g} mm'
        if jog.turns:
            how = f'turns about {jog.name} by {degrees:g} deg'
        return stamp_words(target.header.stamp), f'the tool {how} ({self.axes} axes)'

    def move_joint(self, jog: JointJog, translating: Collection[str]) -> str:
        """Choose a joint, or request one step of it; return which it was, a sentence.

        Args:
            jog: The choice or the step.
            translating: The joints whose positions are lengths.
        """
        if self._joints is None:
            return 'no joint reference has arrived yet'
        names = list(self._joints.name)
        number = self._joint if jog.number is None else jog.number
        if number >= len(names):
            return f'there is no joint {number + 1}; the last is {len(names)}, {names[-1]}'
        self._joint, name = number, names[number]
        if jog.number is not None:
            return f'joint {number + 1} is {name}; . and , move it'
        metres, degrees = STEPS[self._step]
        is_length = name in translating
        target = JointState(name=names, position=self._joints.position[:])
        target.position[number] += jog.sign * (metres if is_length else np.radians(degrees))
        self._joint_targets.publish(target)
        size = f'{1e3 * metres:g} mm' if is_length else f'{degrees:g} deg'
        return f'{name} moves by {"-" * (jog.sign < 0)}{size}'

    def change_axes(self) -> str:
        """Change between the axes of the base and of the tool; return which it is now."""
        self._in_tool_axes = not self._in_tool_axes
        return f'jog in {self.axes} axes'

    def change_step(self, change: int) -> str:
        """Change the size of a step; return what it is now.

        Args:
            change: 1 for the next larger size, -1 for the next smaller one.
        """
        self._step = min(max(self._step + change, 0), len(STEPS) - 1)
        metres, degrees = STEPS[self._step]
        return f'jog steps of {1e3 * metres:g} mm, {degrees:g} deg'

    @property
    def axes(self) -> str:
        """Whose axes steps are in: `base` or `tool`."""
        return 'tool' if self._in_tool_axes else 'base'

    def _take_joints(self, message: JointState) -> None:
        self._joints = message

    def _take_reference(self, message: PoseStamped) -> None:
        self._reference = message


def moved(pose: Pose, jog: Jog, size: float, *, in_tool_axes: bool) -> Pose:
    """Return a pose one step further.

    Args:
        pose: Of the tool in the base.
        jog: The step.
        size: [m] or [rad].
        in_tool_axes: Whether the step is in the tool's axes, else in the base's.
    """
    position, orientation = np.split(pose_numbers(pose), [3])
    axis = jog.sign * np.eye(3)[jog.axis % 3]
    if jog.turns:
        turn = np.append(np.sin(0.5 * size) * axis, np.cos(0.5 * size))
        pair = (orientation, turn) if in_tool_axes else (turn, orientation)
        orientation = _product(*pair)
    else:
        position = position + size * (_rotated(axis, orientation) if in_tool_axes else axis)
    return pose_of(position, orientation / np.linalg.norm(orientation))


def _product(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rotation b, then a, of quaternions (x, y, z, w)."""
    vector = a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3])
    return np.append(vector, a[3] * b[3] - a[:3] @ b[:3])


def _rotated(vector: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a vector (3,) rotated by a quaternion (x, y, z, w)."""
    across = 2.0 * np.cross(q[:3], vector)
    return vector + q[3] * across + np.cross(q[:3], across)
