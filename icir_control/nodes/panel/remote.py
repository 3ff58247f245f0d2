"""Another node as the page sees it: whether it lives, its parameters, its services."""

import time
from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.msg import ParameterDescriptor, ParameterEvent
from rclpy.node import Node
from rclpy.parameter import Parameter

from icir_control.nodes.transport.client import NoAnswerError, WatchedNode, python_value
from icir_control.nodes.transport.conversions import values_of

_SILENCE = 5.0  # s without diagnostics, which come once a second, until a node counts as dead


class RemoteNode(WatchedNode):
    """A node of ours in another process, and what the page shows of it.

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
        super().__init__(node, name, topic, self._read_parameters)
        self.values: dict[str, Any] = {}
        self.descriptors: dict[str, ParameterDescriptor] = {}
        self.status = DiagnosticStatus()
        self.facts: dict[str, str] = {}
        self._when_read = read
        self._heard_at = 0.0

    @property
    def is_alive(self) -> bool:
        """Whether it is there and speaks."""
        return self.is_there and time.monotonic() < self._heard_at + _SILENCE

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

    def take_diagnostics(self, status: DiagnosticStatus) -> None:
        """Take a status of `/diagnostics`, which may be another node's."""
        if status.name.startswith(f'{self.full_name}: '):
            self.status, self._heard_at = status, time.monotonic()
            self.facts = values_of(status)

    def take_event(self, event: ParameterEvent) -> None:
        """Take changes of parameters, which may be another node's."""
        if event.node == self.full_name:
            for one in event.changed_parameters:
                if one.name in self.values:
                    self.values[one.name] = python_value(one.value)

    async def _read_parameters(self) -> bool:
        names = sorted(await self.parameter_names())
        self.descriptors = await self.describe(names)
        values = await self.parameters(names)
        self._heard_at = time.monotonic()
        if not values:  # it has only just started
            return False
        self.values = values
        self._when_read()
        return True
