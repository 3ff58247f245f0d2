"""The page of one robot: it is built when the nodes are known, and shows their newest messages."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import viser
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from icir_control.dynamics import KinematicTree, Model, load_urdf, root_link, tip_link
from icir_control.errors import ConfigurationError
from icir_control.nodes.panel.controls import ControlsTab
from icir_control.nodes.panel.parameters import Later, ParametersTab
from icir_control.nodes.panel.plots import PlotsTab
from icir_control.nodes.panel.record import Recording
from icir_control.nodes.panel.remote import RemoteNode
from icir_control.nodes.panel.scene import Scene
from icir_control.nodes.panel.shapes import Shape, shapes_of
from icir_control.nodes.panel.touch import TouchTab
from icir_control.nodes.robot import (
    LOCKED,
    MODEL,
    PACKAGE_DIRS,
    WHOLE_TREE,
    positions_of,
    robot_options,
)
from icir_control.nodes.transport.newest import Newest
from icir_control.share import find_model_file
from icir_control.spatial import SE3
from icir_control.spatial.arrays import Array

_PACE_SPAN = 1.0  # s of wall time over which the pace is measured


class Inputs:
    """The topics of which the newest message is read.

    All are the controller's, which publishes 100 times per second at most: to subscribe to each
    state would slow a loop that makes thousands of them.

    Attributes:
        mode: The running mode, which whoever subscribes to it sets.
    """

    def __init__(self, node: Node) -> None:
        """Subscribe.

        Args:
            node: The node to subscribe through.
        """
        self.mode = ''
        self.reference = Newest(node, JointState, 'controller/joint_reference')
        self.joint_error = Newest(node, JointState, 'controller/tracking_error')
        self.pose = Newest(node, PoseStamped, 'controller/reference_pose')

    def take_mode(self, message: String) -> None:
        """Take the running mode."""
        self.mode = message.data


@dataclass(frozen=True)
class ShownRobot:
    """What the page shows.

    Attributes:
        model: The arm; joints beyond it are held.
        shapes: Of its links.
        base: Name of the base frame.
        tool: Name of the end effector's frame.
    """

    model: Model
    shapes: list[Shape]
    base: str
    tool: str

    @classmethod
    def of(cls, remote: RemoteNode, description: str) -> Self:
        """Return the robot that a node's parameters name.

        Args:
            remote: The controller or the bridge.
            description: URDF of the topic `robot_description`; empty where nobody publishes it,
                and the file is read that the node has read.

        Raises:
            IcirError: There is no such file here, or the description is not valid.
        """
        values = remote.values
        try:
            path = find_model_file(values[MODEL.name], values.get(PACKAGE_DIRS.name) or ())
            description = description or path.read_text()
        except ConfigurationError:
            if not description:
                raise
            path = Path()
        base, tool = values.get('base_frame') or '', values.get('end_effector_frame') or ''
        locked = positions_of(values.get(LOCKED.name) or [])
        tree = KinematicTree(description)
        chain = tree.chain(base, tool, locked, whole_tree=bool(values.get(WHOLE_TREE.name)))
        model = load_urdf(description, **robot_options(values, chain.held))
        return cls(
            model,
            shapes_of(description, path.parent, model, values.get(PACKAGE_DIRS.name) or ()),
            base or root_link(model),
            chain.end_effector_frame or tip_link(model),
        )


class Page:
    """Scene and tabs.

    Attributes:
        controls: Its first tab.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        node: Node,
        robot: ShownRobot,
        controller: RemoteNode,
        bridge: RemoteNode,
        recording: Recording,
        later: Later,
    ) -> None:
        """Show everything.

        Args:
            server: Shows it.
            node: Publishes what pages ask for.
            robot: The arm.
            controller: The node that is asked for modes.
            bridge: The node that is asked for time.
            recording: Is started and ended from the page.
            later: See `Later`.
        """
        gui = server.gui
        self._model, self._bridge = robot.model, bridge
        self._scene = Scene(server, robot.model, robot.shapes, robot.base, robot.tool)
        tabs = gui.add_tab_group()
        with tabs.add_tab('Run'):
            self.controls = ControlsTab(server, controller, bridge, recording, later)
        with tabs.add_tab('Touch'):
            self._touch = TouchTab(server, node, robot.model, self._scene, later)
        with tabs.add_tab('Plots'):
            self._plots = PlotsTab(gui, robot.model.joint_names)
        with tabs.add_tab('Parameters'):
            remotes = [one for one in (controller, bridge) if one.values]
            self._parameters = ParametersTab(gui, remotes, later, self.controls.say)
        self._error = np.full(robot.model.nv, np.nan)
        self._distance = np.nan
        self._run = ''
        self._pace_from = time.monotonic(), 0.0
        self._pace = 0.0

    def update(self, inputs: Inputs) -> None:
        """Show the newest messages."""
        reference, error = inputs.reference.message(), inputs.joint_error.message()
        self.controls.update(inputs.mode, self._pace)
        self._parameters.update()
        if reference is None:
            return
        if inputs.reference.is_new:  # of the same tick as the error, if the mode has one
            self._error = np.full(self._model.nv, np.nan)
            if inputs.joint_error.is_new:
                self._error = self._numbers(error, error.position)
        self._measure_pace(_seconds(reference))
        position = self._numbers(reference, reference.position)
        q = position - np.nan_to_num(self._error)
        torque = self._numbers(reference, reference.effort)
        limit = self._model.effort_limit
        shares = np.where(limit > 0.0, torque / np.maximum(limit, 1e-9), 0.0)
        message = inputs.pose.message()
        pose = message and _placement(message)
        self._scene.show(q, shares)
        self._scene.show_reference(q, position, pose)
        if pose and message.header.stamp == reference.header.stamp:
            self._distance = self._scene.distance_to(pose)
        velocity = self._numbers(reference, reference.velocity)
        if reference.header.frame_id != self._run:  # the simulation has started anew, or was reset
            self._run = reference.header.frame_id
            self._touch.let_go()
        self._touch.update(inputs.mode, message, position, velocity)
        pace = np.array([self._pace, self._age()])
        self._plots.update(self._error, np.array([self._distance]), shares, pace)

    def close(self) -> None:
        """Let go of the arm."""
        self._touch.let_go()

    def _age(self) -> float:
        """Return the greatest age of a command in the last second [steps]."""
        values = {pair.key: pair.value for pair in self._bridge.status.values}
        return float(values.get('command_age_max_steps', np.nan))

    def _numbers(self, message: JointState, values: Any) -> Array:
        """Return values of joints, which come in any order, in that of the model; (nv,)."""
        by_name = dict(zip(message.name, values, strict=False))
        return np.array([by_name.get(name, 0.0) for name in self._model.joint_names])

    def _measure_pace(self, simulated: float) -> None:
        now = time.monotonic()
        elapsed = now - self._pace_from[0]
        if elapsed >= _PACE_SPAN:
            self._pace = (simulated - self._pace_from[1]) / elapsed if self._pace_from[1] else 0.0
            self._pace_from = now, simulated


def _placement(message: PoseStamped) -> SE3:
    p, r = message.pose.position, message.pose.orientation
    return SE3.from_quaternion((r.x, r.y, r.z, r.w), (p.x, p.y, p.z))


def _seconds(message: Any) -> float:
    return float(message.header.stamp.sec + message.header.stamp.nanosec * 1e-9)
