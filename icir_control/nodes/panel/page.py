"""The page of one robot: built when its nodes are known; it shows their newest messages."""

import math
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import viser
from geometry_msgs.msg import PoseStamped
from rclpy.node import Node
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from viser import uplot

from icir_control.dynamics import Model
from icir_control.nodes.panel.controls import ControlsTab, RecorderControl
from icir_control.nodes.panel.interact import InteractTab
from icir_control.nodes.panel.parameters import Later, ParametersTab
from icir_control.nodes.panel.remote import RemoteNode
from icir_control.nodes.panel.scene import Scene
from icir_control.nodes.panel.scripts import SAVING
from icir_control.nodes.panel.shapes import ShownRobot, unit_of
from icir_control.nodes.transport.conversions import Pace, placement_of, seconds_of
from icir_control.nodes.transport.endpoints import Newest
from icir_control.share import CONTROLLER
from icir_control.spatial.arrays import Array

SPAN = 10.0
"""How long a value stays on a plot [s of wall time]."""

_PERIOD = 0.5  # s between two updates: without a graphics card a browser draws slowly
_TITLE_PERIOD = 1.0  # s, for a number that can be read
_LEAST = 1e-16  # on an axis
_PLAIN = (0.01, 1e4)  # greatest value of an axis that is not scaled
# Okabe and Ito's colours, which the colour-blind tell apart.
_COLOURS = ('#0072B2', '#D55E00', '#009E73', '#CC79A7', '#56B4E9', '#E69F00', '#555555')


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
        self.reference = Newest(node, JointState, f'{CONTROLLER}/joint_reference')
        self.joint_error = Newest(node, JointState, f'{CONTROLLER}/tracking_error')
        self.pose = Newest(node, PoseStamped, f'{CONTROLLER}/reference_pose')

    def take_mode(self, message: String) -> None:
        """Take the running mode."""
        self.mode = message.data


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
        recording: RecorderControl,
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
        self._saving = gui.add_html('')
        tabs = gui.add_tab_group()
        with tabs.add_tab('Run'):
            self.controls = ControlsTab(server, controller, bridge, recording, later)
        with tabs.add_tab('Interact'):
            modes = controller.values.get('joint_modes', [])
            self._interact = InteractTab(server, node, robot.model, self._scene, modes, later)
        with tabs.add_tab('Plots'):
            self._plots = PlotsTab(gui, robot.model)
        with tabs.add_tab('Parameters'):
            remotes = [one for one in (controller, bridge) if one.values]
            self._parameters = ParametersTab(gui, remotes, later, self.controls.say)
        self._error = np.full(robot.model.nv, np.nan)
        self._distance = np.nan
        self._remotes = controller, bridge
        self._responds = False
        self._run = ''
        self._pace = Pace()

    def update(self, inputs: Inputs, *, saves_pictures: bool) -> None:
        """Show the newest messages.

        Args:
            inputs: Has them.
            saves_pictures: Whether the browser draws only what is new.
        """
        saving = SAVING if saves_pictures else ''
        if saving != self._saving.content:
            self._saving.content = saving
        reference, error = inputs.reference.message(), inputs.joint_error.message()
        self.controls.update(inputs.mode, np.nan_to_num(self._pace.value))
        self._parameters.update()
        responds = all(remote.is_alive for remote in self._remotes)
        if self._responds and not responds:  # what is pulled then would be flung when it is back
            self._interact.let_go()
        self._responds = responds
        if reference is None:
            return
        if inputs.reference.is_new:  # of the same tick as the error, if the mode has one
            self._error = np.full(self._model.nv, np.nan)
            if inputs.joint_error.is_new:
                self._error = self._numbers(error, error.position)
        self._pace.update(seconds_of(reference.header.stamp))
        position = self._numbers(reference, reference.position)
        q = position - np.nan_to_num(self._error)
        torque = self._numbers(reference, reference.effort)
        limit = self._model.effort_limit
        shares = np.where(limit > 0.0, torque / np.maximum(limit, 1e-9), 0.0)
        message = inputs.pose.message()
        pose = message and placement_of(message.pose)
        self._scene.show(q, shares)
        self._scene.show_reference(q, position, pose)
        if pose and message.header.stamp == reference.header.stamp:
            self._distance = self._scene.distance_to(pose)
        velocity = self._numbers(reference, reference.velocity)
        if reference.header.frame_id != self._run:  # the simulation has started anew, or was reset
            self._run = reference.header.frame_id
            self._interact.let_go()
        self._interact.update(inputs.mode, message, position, velocity)
        pace = np.array([self._pace.value, self._age()])
        self._plots.update(self._error, np.array([self._distance]), shares, pace)

    def close(self) -> None:
        """Let go of the arm."""
        self._interact.let_go()

    def _age(self) -> float:
        """Return the greatest age of a command in the last second [steps]."""
        return float(self._bridge.facts.get('command_age_max_steps', np.nan))

    def _numbers(self, message: JointState, values: Any) -> Array:
        """Return values of joints, which come in any order, in that of the model; (nv,)."""
        by_name = dict(zip(message.name, values, strict=False))
        return np.array([by_name.get(name, 0.0) for name in self._model.joint_names])


class PlotsTab:
    """The plots, which share their time."""

    def __init__(self, gui: viser.GuiApi, model: Model) -> None:
        """Show them.

        Args:
            gui: Where they go.
            model: The arm.
        """
        joints = model.joint_names
        self._pause = gui.add_checkbox('pause', False)
        self._log = gui.add_checkbox('logarithmic', False, hint='of the absolute values')
        self._plots = [
            _Plot(gui, 'joint error', unit_of(model), joints),
            _Plot(gui, 'tool position error', 'm', ['distance']),
            _Plot(gui, 'torque / effort limit', '', joints),
            _Plot(gui, 'real-time factor; command age [steps]', None, ['factor', 'age']),
        ]
        self._start = time.monotonic()
        self._due = 0.0

    def update(self, *values: Array) -> None:
        """Add what is newest, and draw it from time to time.

        Args:
            values: One array for each plot, in their order; NaN where there is nothing.
        """
        now = time.monotonic()
        for plot, row in zip(self._plots, values, strict=True):
            plot.add(now - self._start, row)
        if now >= self._due and not self._pause.value:
            self._due = now + _PERIOD
            for plot in self._plots:
                plot.draw(is_log=self._log.value)


class _Plot:
    """One plot."""

    def __init__(
        self, gui: viser.GuiApi, name: str, unit: str | None, lines: Sequence[str]
    ) -> None:
        self._name, self._unit = name, unit
        self._title_due = 0.0
        self._scale = ''
        self._rows: deque[Array] = deque()
        series = [uplot.Series(label='t [s]')]
        for i, line in enumerate(lines):
            series.append(uplot.Series(label=line, stroke=_COLOURS[i % len(_COLOURS)], width=1.5))
        empty = tuple(np.array([0.0, 1.0]) for _ in series)
        self._title = gui.add_markdown(name)  # a title of the plot itself would build it anew
        self._handle = gui.add_uplot(
            empty, tuple(series), scales={'x': {'time': False}}, aspect=1.8
        )

    def add(self, moment: float, row: Array) -> None:
        self._rows.append(np.concatenate([[moment], row]))
        while self._rows[0][0] < moment - SPAN:
            self._rows.popleft()

    def draw(self, *, is_log: bool) -> None:
        """Draw the last seconds, scaled: a browser writes three decimals at an axis, no more."""
        rows = np.array(self._rows).T
        times, values = rows[0], rows[1:]
        newest = np.abs(values[:, -1])
        values[np.abs(values) < _LEAST] = 0.0
        if is_log:
            values[:], scale = np.log10(np.maximum(np.abs(values), _LEAST)), 'log10'
        else:
            peak = np.abs(values).max(where=~np.isnan(values), initial=0.0)
            fits = peak == 0.0 or _PLAIN[0] <= peak < _PLAIN[1]
            power = 0 if fits else max(3 * math.floor(math.log10(peak) / 3.0), -15)
            values *= 10.0**-power
            scale = f'1e{power}' if power else ''
        self._handle.data = tuple(rows.copy())
        if scale == self._scale and times[-1] < self._title_due:
            return
        self._scale, self._title_due = scale, times[-1] + _TITLE_PERIOD
        known = newest[~np.isnan(newest)]
        value = ''
        if known.size and self._unit is not None:
            value = f': {known.max():.2g} {self._unit}'.rstrip()
        axis = f' (axis: {scale})' if scale else ''
        self._title.content = f'**{self._name}**{value}{axis}'
