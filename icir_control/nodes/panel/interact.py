"""What moves the arm by hand: targets of tool and joints, and a spring that pulls at a link."""

import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import viser
from geometry_msgs.msg import PoseStamped, WrenchStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import Header

from icir_control.dynamics import Model
from icir_control.dynamics.joints import FrameType
from icir_control.nodes.panel.parameters import Later, when_changed
from icir_control.nodes.panel.scene import BASE, Scene
from icir_control.nodes.panel.shapes import unit_of
from icir_control.nodes.transport.conversions import pose_numbers, pose_of, wrench_of
from icir_control.share import BRIDGE, CONTROLLER
from icir_control.spatial.arrays import Array

JOGGING = 'jog'
"""The mode in which the arm follows the goal while it is dragged."""

_GOAL, _PULL = 'target pose of the tool', 'pull at '
_GOAL_PERIOD = 0.05  # s between two goals while one is dragged
_JOINTS_PERIOD = 0.2  # s
_REST = 1.0  # s after which sliders that nobody touches follow the arm
_AT_REST = 1e-6  # rad/s or m/s
_LARGEST_FORCE = 100.0  # N
_STIFFNESS = 200.0  # N/m
_GOAL_SCALE, _PULL_SCALE = 0.2, 0.12  # of the handles, by the reach
_TURN = 3.14  # rad, the farthest that a slider goes


class InteractTab:
    """The two handles, and a slider for each joint."""

    def __init__(
        self,
        server: viser.ViserServer,
        node: Node,
        model: Model,
        scene: Scene,
        modes: Sequence[str],
        later: Later,
    ) -> None:
        """Show it.

        Args:
            server: Shows it.
            node: Publishes what is asked for.
            model: The arm.
            scene: Tells where links are.
            modes: Names of those that take targets of joints.
            later: See `Later`.
        """
        links = [f.name for f in model.frames if f.type is FrameType.BODY and f.parent != 0]
        with server.gui.add_folder('Handle'):
            self._dragged = server.gui.add_dropdown(
                'drag',
                [_GOAL, *(f'{_PULL}{link}' for link in links)],
                hint='the target pose is sent when the handle is released, in the mode '
                f'{JOGGING} also while it is dragged; a pull is a spring from the link to the '
                'handle',
            )
        self._goal = _Goal(server, node, scene, later)
        self._pull = _Pull(server, node, scene, links[-1], later)
        when_changed(self._dragged, later, self._choose)
        self._joints = _Joints(server.gui, node, model, modes)

    def update(
        self, mode: str, reference: PoseStamped | None, position: Array, velocity: Array
    ) -> None:
        """Send what is due, and let what nobody touches follow the arm.

        Args:
            mode: That runs.
            reference: Of the tool; None before there is one.
            position: (nv,) of the reference [rad or m].
            velocity: (nv,) of the reference.
        """
        self._goal.update(mode, reference)
        self._pull.update()
        self._joints.update(position, velocity)

    def let_go(self) -> None:
        """Take the handles out of everybody's hands: the arm is another one, or elsewhere."""
        self._goal.let_go()
        self._pull.let_go()

    def _choose(self) -> None:
        chosen = self._dragged.value
        self._goal.set_visible(chosen == _GOAL)
        self._pull.choose('' if chosen == _GOAL else chosen.removeprefix(_PULL))


class _Handle:
    """A handle of the scene, dragged by one page at a time."""

    def __init__(
        self,
        server: viser.ViserServer,
        handle: viser.TransformControlsHandle,
        later: Later,
        ended: Callable[[bool], object],
    ) -> None:
        """Listen to it.

        Args:
            server: Knows which pages are open.
            handle: What is dragged.
            later: See `Later`.
            ended: Called when it is let go, with whether by hand: not where its page was closed.
        """
        self._server, self._ended = server, ended
        self._client: int | None = None

        @handle.on_update
        async def _(event: Any) -> None:  # one after the other, in their order
            later(lambda: self._take(event.phase, event.client_id))

    @property
    def is_dragged(self) -> bool:
        """Whether a page has hold of it."""
        return self._client is not None

    def release(self) -> None:
        """Let nobody drag it, until somebody takes hold of it again."""
        self._client = None

    def _take(self, phase: str, client: int) -> None:
        if phase == 'start' and self._client is None:
            self._client = client
        elif phase == 'end' and self._client == client:
            self._client = None
            self._ended(client in self._server.get_clients())


class _Goal:
    """A frame at the tool, which sends the tool to where it is dragged."""

    def __init__(self, server: viser.ViserServer, node: Node, scene: Scene, later: Later) -> None:
        self._publisher = node.create_publisher(PoseStamped, f'{CONTROLLER}/target_pose', 1)
        self._frame = server.scene.add_transform_controls(
            f'{BASE}/goal', scale=_GOAL_SCALE * scene.reach, depth_test=False
        )
        self._handle = _Handle(server, self._frame, later, self._end)
        self._due = 0.0

    def set_visible(self, visible: bool) -> None:
        self._frame.visible = visible

    def update(self, mode: str, reference: PoseStamped | None) -> None:
        if not self._handle.is_dragged:
            if reference is not None:
                numbers = pose_numbers(reference.pose)
                self._frame.position, self._frame.wxyz = numbers[:3], numbers[[6, 3, 4, 5]]
        elif mode == JOGGING and time.monotonic() >= self._due:
            self._due = time.monotonic() + _GOAL_PERIOD
            self._send()

    def let_go(self) -> None:
        """Ask for nothing, even if it is dragged."""
        self._handle.release()

    def _end(self, by_hand: bool) -> None:
        if by_hand:
            self._send()

    def _send(self) -> None:
        pose = pose_of(self._frame.position, self._frame.wxyz[[1, 2, 3, 0]])
        self._publisher.publish(PoseStamped(pose=pose))


class _Pull:
    """A handle that is tied to a link by a spring."""

    def __init__(
        self, server: viser.ViserServer, node: Node, scene: Scene, link: str, later: Later
    ) -> None:
        self._publisher = node.create_publisher(WrenchStamped, f'{BRIDGE}/external_wrench', 1)
        self._scene, self._link = scene, link
        with server.gui.add_folder('Spring'):
            self._stiffness = server.gui.add_slider(
                'stiffness [N/m]', 10.0, 1000.0, 10.0, _STIFFNESS
            )
            self._force: Any = server.gui.add_number('force [N]', 0.0, disabled=True, step=0.1)
        self._ball = server.scene.add_transform_controls(
            '/pull',
            scale=_PULL_SCALE * scene.reach,
            disable_rotations=True,
            depth_test=False,
            visible=False,
        )
        self._handle = _Handle(server, self._ball, later, lambda _: self.let_go())

    def choose(self, link: str) -> None:
        """Show the handle at a link; at none where that is empty."""
        self.let_go()
        self._link = link or self._link
        self._ball.visible = bool(link)

    def update(self) -> None:
        placement = self._scene.placement(self._link)
        if not self._handle.is_dragged:
            self._ball.position = placement.translation
            return
        force = self._stiffness.value * (self._ball.position - placement.translation)
        force *= min(1.0, _LARGEST_FORCE / max(float(np.linalg.norm(force)), 1e-9))
        self._send(placement.rotation.T @ force)

    def let_go(self) -> None:
        """Pull no longer, even if it is dragged."""
        self._handle.release()
        self._send(np.zeros(3))

    def _send(self, force: Array) -> None:
        wrench = wrench_of(np.append(force, np.zeros(3)))
        self._publisher.publish(WrenchStamped(header=Header(frame_id=self._link), wrench=wrench))
        self._force.value = round(float(np.linalg.norm(force)), 1)
        self._scene.show_force(self._link, force)


class _Joints:
    """A slider for the target of each joint."""

    def __init__(self, gui: viser.GuiApi, node: Node, model: Model, modes: Sequence[str]) -> None:
        self._publisher = node.create_publisher(JointState, f'{CONTROLLER}/target_joints', 1)
        self._names = list(model.joint_names)
        limits = zip(model.lower_position_limit, model.upper_position_limit, strict=True)
        self._sliders: list[Any] = []
        with gui.add_folder('Joint targets'):
            which = ', '.join(modes) or 'none of these modes'
            gui.add_markdown(
                f'Positions [{unit_of(model)}], taken by {which}. '
                'A number counts after the Enter key.'
            )
            for name, (lower, upper) in zip(self._names, limits, strict=True):
                least, most = max(float(lower), -_TURN), min(float(upper), _TURN)
                slider = gui.add_slider(name, least, most, 1e-3, min(max(0.0, least), most))
                self._sliders.append(slider)
        self._known = [slider.value for slider in self._sliders]
        self._changed_at = self._sent_at = -np.inf
        self._is_waiting = False

    def update(self, position: Array, velocity: Array) -> None:
        now = time.monotonic()
        values = [slider.value for slider in self._sliders]
        if values != self._known:  # a page has changed one: viser tells it late, in another thread
            self._known, self._changed_at, self._is_waiting = values, now, True
        if self._is_waiting and now >= self._sent_at + _JOINTS_PERIOD:
            self._is_waiting, self._sent_at = False, now
            self._publisher.publish(JointState(name=self._names, position=self._known))
        if now < self._changed_at + _REST or np.abs(velocity).max(initial=0.0) > _AT_REST:
            return
        for i, (slider, value) in enumerate(zip(self._sliders, position, strict=True)):
            value = round(float(np.clip(value, slider.min, slider.max)), 3) + 0.0
            known = self._known[i]
            if abs(value - known) > 1e-3 and slider.value == known:  # else it is a new target
                slider.value = self._known[i] = value
