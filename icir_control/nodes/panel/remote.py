"""Another node as the page sees it: whether it lives, its parameters, its services."""

import time
from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.msg import ParameterDescriptor, ParameterEvent
from rclpy.node import Node
from rclpy.parameter import Parameter

from icir_control.nodes.transport.client import NoAnswerError, NodeClient, python_value
from icir_control.nodes.transport.conversions import values_of

_GRAPH_PERIOD = 0.5  # s between two looks at the graph
_SILENCE = 5.0  # s without diagnostics, which come once a second, until a node counts as dead


class RemoteNode(NodeClient):
    """A node of ours in another process. Nothing here blocks: `update` is called again and again.

    Attributes:
        values: Its parameters; empty until they have been read.
        descriptors: What it says of them.
        status: Its last diagnostics.
        facts: The values in them, by key.
    """

    def __init__(self, node: Node, name: str, topic: str, read: Callable[[], object]) -> None:
        """Look for it.

        Args:
            node: The node to ask through; an executor has it.
            name: Its name, relative to the namespace.
            topic: One that it publishes: another publisher means a new start.
            read: Called each time all its parameters have been read.
        """
        super().__init__(node, name)
        self.values: dict[str, Any] = {}
        self.descriptors: dict[str, ParameterDescriptor] = {}
        self.status = DiagnosticStatus()
        self.facts: dict[str, str] = {}
        self._topic, self._read = topic, read
        self._full_name = f'{node.get_namespace().rstrip("/")}/{name}'
        self._publishers: set[tuple[int, ...]] = set()
        self._heard_at = 0.0
        self._graph_due = 0.0

    @property
    def is_alive(self) -> bool:
        """Whether it is there and speaks."""
        return bool(self._publishers) and time.monotonic() < self._heard_at + _SILENCE

    @property
    def fixed(self) -> tuple[Any, ...]:
        """What a page is built of: what the node says of its parameters, and those that stay."""
        known = self.descriptors
        stays = {k: v for k, v in self.values.items() if k in known and known[k].read_only}
        return self.name, known, stays

    async def set(self, name: str, value: Any) -> str:
        """Set a parameter; return why that is refused, empty where it is not.

        Args:
            name: Its name.
            value: Of the type that its descriptor says.
        """
        kind = Parameter.Type(self.descriptors[name].type)
        try:
            return await self.set_parameters(Parameter(name, kind, value))
        except NoAnswerError:
            return f'{self.name} does not answer'

    def update(self) -> None:
        """Look from time to time for the node."""
        now = time.monotonic()
        if now < self._graph_due:
            return
        self._graph_due = now + _GRAPH_PERIOD
        found = self._node.get_publishers_info_by_topic(self._topic)
        publishers = {
            tuple(one.endpoint_gid)
            for one in found
            if f'{one.node_namespace.rstrip("/")}/{one.node_name}' == self._full_name
        }
        is_new = not publishers <= self._publishers
        self._publishers = publishers
        if is_new:
            self._heard_at = now
            self.start(self._read_parameters)

    def take_diagnostics(self, status: DiagnosticStatus) -> None:
        """Take a status of `/diagnostics`, which may be another node's."""
        if status.name.startswith(f'{self._full_name}: '):
            self.status, self._heard_at = status, time.monotonic()
            self.facts = values_of(status)

    def take_event(self, event: ParameterEvent) -> None:
        """Take changes of parameters, which may be another node's."""
        if event.node == self._full_name:
            for one in event.changed_parameters:
                if one.name in self.values:
                    self.values[one.name] = python_value(one.value)

    async def _read_parameters(self) -> None:
        try:
            names = sorted(await self.parameter_names())
            self.descriptors = await self.describe(names)
            values = await self.parameters(names)
        except NoAnswerError:
            values = {}
        if not values:  # it has only just started: read at the next look at the graph
            self._publishers = set()
            return
        self.values = values
        self._read()
