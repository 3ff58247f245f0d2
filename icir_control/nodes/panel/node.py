"""The panel as a node: it serves the page, and lets it act in the node's own thread."""

import os
import queue
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rcl_interfaces.msg import ParameterEvent
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import String

from icir_control.errors import IcirError
from icir_control.nodes.panel.controls import RecorderControl
from icir_control.nodes.panel.page import Inputs, Page
from icir_control.nodes.panel.remote import RemoteNode
from icir_control.nodes.panel.server import open_server
from icir_control.nodes.panel.shapes import ShownRobot
from icir_control.nodes.parameters import Parameters
from icir_control.nodes.process.run import join_graph, schedule_as_batch
from icir_control.nodes.process.stop_request import StopRequest
from icir_control.nodes.transport.client import spin_ready
from icir_control.nodes.transport.qos import LATCHED, OUTCOMES
from icir_control.parameter import parameter, parameters_of, read_own
from icir_control.share import BRIDGE, CONTROLLER

_NICENESS = 19  # bridge and controller come first
_PERIOD = 0.04  # s between two pictures
_SPARING_PERIOD = 0.25  # s, of a simulation that runs as fast as the processors allow
_GRAPH_PERIOD = 0.5  # s between two looks at the graph
_CALLBACKS = 8  # of ROS between two pictures


@dataclass(frozen=True)
class PanelParameters:
    """Where the page is served."""

    host: str = parameter(
        '127.0.0.1',
        '',
        'address at which the page is served; for one that other machines can reach, the printed '
        'address has a token, without which nobody is let in',
        running=False,
    )
    port: int = parameter(
        8080,
        '',
        'TCP port of the page; where it is in use, the next free one is taken',
        lower=0,
        upper=65535,
        running=False,
    )


class PanelNode:
    """Serves the page; it talks to the other nodes as any program would."""

    def __init__(self) -> None:
        """Join the graph, and open the page.

        Raises:
            IcirError: A parameter is not valid, or the page cannot be served.
        """
        os.nice(_NICENESS)
        schedule_as_batch()
        self.node = join_graph('panel')
        parameters = Parameters(self.node)
        own = read_own(PanelParameters, parameters.given, 0)
        parameters.declare(parameters_of(PanelParameters), partial(getattr, own), 0)
        self._server, self._url = open_server(own.host, own.port)
        self._server.gui.configure_theme(show_logo=False, show_share_button=False)
        self._server.gui.add_markdown('waiting for bridge and controller')
        self._actions: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self._bridge = RemoteNode(self.node, BRIDGE, 'joint_states', self._renew)
        self._controller = RemoteNode(self.node, CONTROLLER, f'{CONTROLLER}/mode', self._renew)
        self._inputs = Inputs(self.node)
        self._recording = RecorderControl(self.node)
        self._subscribe()
        self._description = ''
        self._page: Page | None = None
        self._built_of: list[Any] = []
        self._is_stale = False

    def _subscribe(self) -> None:
        create: Any = self.node.create_subscription
        create(String, f'{CONTROLLER}/mode', self._inputs.take_mode, LATCHED)
        create(DiagnosticStatus, f'{CONTROLLER}/motion_status', self._take_outcome, OUTCOMES)
        create(DiagnosticArray, '/diagnostics', self._take_diagnostics, 10)
        create(ParameterEvent, '/parameter_events', self._take_event, 100)
        create(String, 'robot_description', self._take_description, LATCHED)

    def run(self, stop: StopRequest) -> None:
        """Run until asked to stop; see `NodeProcess`."""
        stop.defer()
        self.node.get_logger().info(f'the page is at {self._url}')
        due = time.monotonic()
        while not stop:
            self._act(due)
            is_unpaced = self._bridge.values.get('real_time_factor') == 0.0
            period = _SPARING_PERIOD if is_unpaced else _PERIOD
            due = max(due + period, time.monotonic())
            spin_ready(self._executor, _CALLBACKS)
            for remote in (self._bridge, self._controller):
                remote.look(_GRAPH_PERIOD)
            if self._is_stale and (self._controller.values or self._bridge.values):
                self._build()
            if self._page is not None:
                with self._server.atomic():  # else the server's thread is woken by every change
                    self._page.update(self._inputs, saves_pictures=is_unpaced)

    def close(self) -> None:
        """Close the page, and leave the graph."""
        if self._page is not None:
            self._page.close()
        self._recording.close()
        self._server.stop()
        self._executor.shutdown()
        self.node.destroy_node()

    def _act(self, until: float) -> None:
        """Do what pages ask for, as it comes, until a time."""
        with suppress(queue.Empty):
            while True:
                action = self._actions.get(timeout=max(until - time.monotonic(), 0.0))
                try:
                    action()
                except Exception as error:  # a page may send anything
                    self.node.get_logger().error(f'a request of a page failed: {error!r}')

    def _renew(self) -> None:
        self._is_stale = True

    def _build(self) -> None:
        """Build the page anew, unless a node has started that is the same as before.

        What somebody types would be lost.
        """
        self._is_stale = False
        remotes = [one for one in (self._controller, self._bridge) if one.values]
        built_of = [self._description, *(one.fixed for one in remotes)]
        if self._page is not None and built_of == self._built_of:
            return
        try:
            robot = ShownRobot.of(remotes[0], self._description)
            if self._page is not None:
                self._page.close()
            self._server.gui.reset()
            self._server.scene.reset()
            self._page = Page(
                self._server,
                self.node,
                robot,
                self._controller,
                self._bridge,
                self._recording,
                self._actions.put,
            )
            self._built_of = built_of
        except (IcirError, OSError) as error:
            self.node.get_logger().error(f'the arm cannot be shown: {error}')

    def _take_outcome(self, status: DiagnosticStatus) -> None:
        if self._page is not None:
            self._page.controls.take_outcome(status)

    def _take_diagnostics(self, message: DiagnosticArray) -> None:
        for status in message.status:
            self._controller.take_diagnostics(status)
            self._bridge.take_diagnostics(status)

    def _take_event(self, event: ParameterEvent) -> None:
        self._controller.take_event(event)
        self._bridge.take_event(event)

    def _take_description(self, message: String) -> None:
        self._is_stale |= message.data != self._description
        self._description = message.data
