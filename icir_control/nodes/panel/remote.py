"""Another node as the page sees it: whether it lives, its parameters, its services."""

import time
from collections.abc import Callable
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.msg import ParameterDescriptor, ParameterEvent
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters, SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python

from icir_control.nodes.keyboard.client import Request

_GRAPH_PERIOD = 0.5  # s between two looks at the graph
_SILENCE = 5.0  # s without diagnostics, which come once a second, until a node counts as dead

Answered = Callable[[Any], object]


class RemoteNode:
    """A node of ours in another process. Nothing here blocks: `update` is called again and again.

    Attributes:
        name: Its name, relative to the namespace.
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
        self.name = name
        self.values: dict[str, Any] = {}
        self.descriptors: dict[str, ParameterDescriptor] = {}
        self.status = DiagnosticStatus()
        self.facts: dict[str, str] = {}
        self._node, self._topic, self._read = node, topic, read
        self._full_name = f'{node.get_namespace().rstrip("/")}/{name}'
        self._clients: dict[str, Any] = {}
        self._requests: list[tuple[Request, Answered]] = []
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

    def ask(self, kind: Any, service: str, answered: Answered, **fields: Any) -> None:
        """Call one of its services.

        Args:
            kind: Type of the service.
            service: Name below that of the node.
            answered: Called with the response; with None when none comes in time.
            fields: Of the request.
        """
        if service not in self._clients:
            self._clients[service] = self._node.create_client(kind, f'{self.name}/{service}')
        request = Request(self._clients[service], kind.Request(**fields))
        self._requests.append((request, answered))

    def set(self, name: str, value: Any, answered: Callable[[str], object]) -> None:
        """Set a parameter.

        Args:
            name: Its name.
            value: Of the type that its descriptor says.
            answered: Called with why it is refused; with an empty text where it is not.
        """
        kind = Parameter.Type(self.descriptors[name].type)

        def take(answer: Any) -> None:
            result = answer and answer.results[0]
            reason = result.reason if result else f'{self.name} does not answer'
            answered('' if result and result.successful else reason)

        parameters = [Parameter(name, kind, value).to_parameter_msg()]
        self.ask(SetParameters, 'set_parameters', take, parameters=parameters)

    def update(self) -> None:
        """Send requests, check for answers, and from time to time for the node."""
        now = time.monotonic()
        for entry in list(self._requests):  # an answer may lead to the next request
            request, answered = entry
            if request.update(now):
                self._requests.remove(entry)
                answered(request.answer.result())
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
            self.ask(ListParameters, 'list_parameters', self._take_names)

    def take_diagnostics(self, status: DiagnosticStatus) -> None:
        """Take a status of `/diagnostics`, which may be another node's."""
        if status.name.startswith(f'{self._full_name}: '):
            self.status, self._heard_at = status, time.monotonic()
            self.facts = {pair.key: pair.value for pair in status.values}

    def take_event(self, event: ParameterEvent) -> None:
        """Take changes of parameters, which may be another node's."""
        if event.node == self._full_name:
            for one in event.changed_parameters:
                if one.name in self.values:
                    self.values[one.name] = parameter_value_to_python(one.value)

    def _take_names(self, listed: Any) -> None:
        if listed is None:  # it has only just started: read at the next look at the graph
            self._publishers = set()
            return
        names = sorted(listed.result.names)

        def take_values(answer: Any) -> None:
            if answer is None or len(answer.values) != len(names):
                self._publishers = set()
                return
            values = map(parameter_value_to_python, answer.values)
            self.values = dict(zip(names, values, strict=True))
            self._read()

        def take_descriptors(answer: Any) -> None:
            descriptors = answer.descriptors if answer else []
            self.descriptors = {one.name: one for one in descriptors}
            self.ask(GetParameters, 'get_parameters', take_values, names=names)

        self.ask(DescribeParameters, 'describe_parameters', take_descriptors, names=names)
