"""MuJoCo's window beside the bridge's loop: what it shows of the controller, and its service."""

from typing import Any

import numpy as np
from geometry_msgs.msg import TwistStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from icir_control.dynamics import forward_kinematics, frame_placement
from icir_control.errors import SimulationError
from icir_control.nodes.bridge.config import BridgeConfig
from icir_control.nodes.ghost import ghost_of
from icir_control.nodes.transport.conversions import nanoseconds_of
from icir_control.nodes.transport.endpoints import Newest
from icir_control.share import CONTROLLER
from icir_control.simulation import World, open_viewer
from icir_control.spatial import SE3, exp3
from icir_control.spatial.arrays import Array

_STALE_NS = 500_000_000  # of simulation time, after which an error is no longer shown


class Window:
    """The window, its ghost, and `~/open_window`.

    Attributes:
        viewer: The window itself.
    """

    def __init__(self, node: Node, world: World, config: BridgeConfig) -> None:
        """Open it, if it is wanted, and offer to open it later.

        Args:
            node: The bridge.
            world: What is shown.
            config: Says which arm it is, and whether a window is wanted.

        Raises:
            SimulationError: It cannot be opened.
        """
        self.viewer = open_viewer(world, config.viewer)
        self._node, self._world = node, world
        self._model, self._data = config.model, config.model.create_data()
        self._base, self._tool = config.base_frame, config.end_effector_frame
        self._errors: tuple[Newest, Newest] | None = None
        node.create_service(Trigger, '~/open_window', self._open)

    def update(self) -> None:
        """Show the present state; costs nothing where there is no window."""
        if not self.viewer.is_open:
            self.viewer.close()
            return
        if self._errors is None:  # the controller computes nothing that nobody subscribes to
            self._errors = (
                Newest(self._node, JointState, f'{CONTROLLER}/tracking_error'),
                Newest(self._node, TwistStamped, f'{CONTROLLER}/tool_error'),
            )
        self.viewer.sync(self._ghost(*self._errors))

    def _ghost(self, of_joints: Newest, of_tool: Newest) -> Array | None:
        """Return where the arm should be (nv,): where it is, and the newest error beside it."""
        joints, tool = of_joints.message(), of_tool.message()
        if tool is None or not self._is_of_now(tool):
            return None
        q = self._world.position
        reference = q
        if joints is not None and self._is_of_now(joints) and _has_numbers(joints):
            error = dict(zip(joints.name, joints.position, strict=True))
            reference = q + [error.get(name, 0.0) for name in self._world.joint_names]
        return ghost_of(self._model, self._data, self._tool, q, reference, self._moved(q, tool))

    def _moved(self, q: Array, error: TwistStamped) -> SE3:
        """Return the tool's placement at q (nv,), moved by an error, which is in base axes."""
        forward_kinematics(self._model, self._data, q)
        rotation = frame_placement(self._model, self._data, self._base).rotation
        T_world_tool = frame_placement(self._model, self._data, self._tool)
        way, turn = (rotation @ [v.x, v.y, v.z] for v in (error.twist.linear, error.twist.angular))
        return SE3(exp3(turn) @ T_world_tool.rotation, T_world_tool.translation + way)

    def _is_of_now(self, message: Any) -> bool:
        return bool(self._world.time_ns - nanoseconds_of(message.header.stamp) < _STALE_NS)

    def _open(self, _: Any, response: Any) -> Any:
        if self.viewer.is_open:
            response.message = 'the window is open already'
            return response
        try:
            self.viewer.open()
            response.success = True
            response.message = 'the window is open'
        except SimulationError as error:
            response.message = str(error)
        return response


def _has_numbers(joints: JointState) -> bool:
    """Return whether a message has a finite position for each of its names."""
    numbers = joints.position
    return len(joints.name) == len(numbers) and bool(np.isfinite(numbers).all())
