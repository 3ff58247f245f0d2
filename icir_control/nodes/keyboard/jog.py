"""Jogging: the tool moves by steps from its reference pose."""

import numpy as np
from geometry_msgs.msg import Pose, PoseStamped
from numpy.typing import NDArray
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy

from icir_control.nodes.keyboard.keys import Jog

STEPS = ((0.001, 0.5), (0.002, 1.0), (0.005, 2.0), (0.01, 5.0), (0.02, 10.0), (0.05, 20.0))
"""Of a translation [m] and of a rotation [deg]."""

_FIRST = 3
_NEWEST = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)


class Jogger:
    """Publishes a target pose one step from the newest reference pose.

    No compiled function is used, so that the first step takes no longer than the others.
    """

    def __init__(self, node: Node, controller: str) -> None:
        """Subscribe to the reference.

        Args:
            node: The node to publish through.
            controller: The controller's name, relative to the node's namespace.
        """
        self._reference: PoseStamped | None = None
        self._clock = node.get_clock()
        self._step = _FIRST
        self._in_tool_axes = False
        self._targets = node.create_publisher(PoseStamped, f'{controller}/target_pose', 1)
        node.create_subscription(
            PoseStamped, f'{controller}/reference_pose', self._take_reference, _NEWEST
        )

    def forget(self) -> None:
        """Forget the reference of a controller that has ended."""
        self._reference = None

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
        how = (
            f'turns about {jog.name} by {degrees:g} deg'
            if jog.turns
            else (f'moves along {jog.name} by {1e3 * metres:g} mm')
        )
        stamp = target.header.stamp
        return f'{stamp.sec}.{stamp.nanosec:09d}', f'the tool {how} ({self.axes} axes)'

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
    p, o = pose.position, pose.orientation
    position, orientation = np.array([p.x, p.y, p.z]), np.array([o.x, o.y, o.z, o.w])
    axis = jog.sign * np.eye(3)[jog.axis % 3]
    if jog.turns:
        turn = np.append(np.sin(0.5 * size) * axis, np.cos(0.5 * size))
        pair = (orientation, turn) if in_tool_axes else (turn, orientation)
        orientation = _product(*pair)
    else:
        position = position + size * (_rotated(axis, orientation) if in_tool_axes else axis)
    result = Pose()
    result.position.x, result.position.y, result.position.z = position.tolist()
    new = result.orientation
    new.x, new.y, new.z, new.w = (orientation / np.linalg.norm(orientation)).tolist()
    return result


def _product(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rotation b, then a, of quaternions (x, y, z, w)."""
    vector = a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3])
    return np.append(vector, a[3] * b[3] - a[:3] @ b[:3])


def _rotated(vector: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a vector (3,) rotated by a quaternion (x, y, z, w)."""
    across = 2.0 * np.cross(q[:3], vector)
    return vector + q[3] * across + np.cross(q[:3], across)
