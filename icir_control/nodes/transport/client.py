"""Services and parameters of a node in another process."""

import time
from array import array
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterable, Sequence
from contextlib import suppress
from types import coroutine
from typing import Any

from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.msg import ParameterDescriptor, ParameterValue
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParameters,
    SetParametersAtomically,
)
from rclpy.client import Client
from rclpy.executors import Executor, TimeoutException
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.task import Task

from icir_control.errors import IcirError

ANSWER_TIMEOUT = 2.0
"""[s] of wall time until a request counts as lost."""


class NoAnswerError(IcirError):
    """A service of another node that is not there, or does not answer in time."""


class NodeClient:
    """Asks a node in another process. Each answer is awaited in a task of the node's executor.

    Nothing blocks, but the executor must be spun again and again: it resumes the tasks. Each of
    the coroutines raises a `NoAnswerError` where an answer does not come.

    Attributes:
        name: The other node's name, relative to the namespace.
    """

    def __init__(self, node: Node, name: str, timeout: float = ANSWER_TIMEOUT) -> None:
        """Ask nobody yet.

        Args:
            node: The node to ask through.
            name: The other node's name, relative to the namespace.
            timeout: How long to look for a service, and then to wait for its answer [s].
        """
        self.name = name
        self._timeout = timeout
        self._node = node
        self._clients: dict[str, Client[Any, Any]] = {}

    def start(self, ask: Callable[..., Coroutine[Any, Any, Any]], *args: Any) -> 'Task[Any]':
        """Run a coroutine that awaits answers, beside all else.

        Args:
            ask: A coroutine function.
            args: What it takes.

        Returns:
            The task; the executor raises what the coroutine raises.
        """
        assert self._node.executor is not None
        return self._node.executor.create_task(ask, *args)

    def find(self, kind: Any, service: str) -> 'Client[Any, Any]':
        """Return the client of a service; finding the service begins with the first call.

        Args:
            kind: Type of the service.
            service: Name below that of the node.
        """
        if service not in self._clients:
            self._clients[service] = self._node.create_client(kind, f'{self.name}/{service}')
        return self._clients[service]

    async def call(
        self, kind: Any, service: str, timeout: float | None = None, **fields: Any
    ) -> Any:
        """Return the response of a service.

        Args:
            kind: Type of the service.
            service: Name below that of the node.
            timeout: How long to look for it [s], where that is not as for every other one; its
                answer is waited for as long as every other one at least.
            fields: Of the request.
        """
        name, client = f'{self.name}/{service}', self.find(kind, service)
        timeout = self._timeout if timeout is None else timeout
        # A request that is sent before both ends have found each other is lost.
        await _until(client.service_is_ready, timeout, f'there is no {name}')
        answer = client.call_async(kind.Request(**fields))
        try:
            await _until(answer.done, max(timeout, self._timeout), f'{name} does not answer')
        finally:
            client.remove_pending_request(answer)
        return answer.result()

    async def parameter_names(
        self, timeout: float | None = None, prefixes: Sequence[str] = ()
    ) -> list[str]:
        """Return the names of the node's parameters, of those below some prefixes if given."""
        listed = await self.call(ListParameters, 'list_parameters', timeout, prefixes=prefixes)
        return list(listed.result.names)

    async def parameter_messages(self, names: list[str]) -> list[ParameterMessage]:
        """Return parameters as they are stored; none where one of them is not declared."""
        answer = await self.call(GetParameters, 'get_parameters', names=names)
        if len(answer.values) != len(names):
            return []
        pairs = zip(names, answer.values, strict=True)
        return [ParameterMessage(name=name, value=value) for name, value in pairs]

    async def parameters(self, names: list[str]) -> dict[str, Any]:
        """Return the values of parameters by name; none where one of them is not declared."""
        messages = await self.parameter_messages(names)
        return python_values(messages)

    async def describe(self, names: list[str]) -> dict[str, ParameterDescriptor]:
        """Return what the node says of parameters, by name."""
        answer = await self.call(DescribeParameters, 'describe_parameters', names=names)
        return {one.name: one for one in answer.descriptors}

    async def set_parameters(self, *parameters: 'Parameter[Any]') -> str:
        """Set parameters, all or none; return why the node refuses, empty where it does not."""
        messages = [one.to_parameter_msg() for one in parameters]
        if len(messages) == 1:
            answer = await self.call(SetParameters, 'set_parameters', parameters=messages)
            result = answer.results[0]
        else:
            service = 'set_parameters_atomically'
            answer = await self.call(SetParametersAtomically, service, parameters=messages)
            result = answer.result
        return '' if result.successful else result.reason


class WatchedNode(NodeClient):
    """Notices when a node starts and ends, by the identity of the publisher of a topic.

    Nothing here blocks: the owner spins its own node and calls `look` again and again.

    Attributes:
        full_name: The other node's name, with the namespace.
        is_there: Whether it publishes the topic.
    """

    def __init__(
        self, node: Node, name: str, topic: str, read: Callable[[], Awaitable[bool]]
    ) -> None:
        """Look for nothing yet.

        Args:
            node: The node to ask through; an executor has it.
            name: The other node's name, relative to the namespace.
            topic: One that it publishes: another publisher means a new start.
            read: Awaits its answers after a start, and returns whether they tell all; else, or
                where it does not answer, it is asked again at the next look.
        """
        super().__init__(node, name)
        self.full_name = f'{node.get_namespace().rstrip("/")}/{name}'
        self.is_there = False
        self._topic, self._read = topic, read
        self._publishers: set[tuple[int, ...]] = set()
        self._ever: set[tuple[int, ...]] = set()
        self._is_asked = False
        self._due = 0.0

    def look(self, period: float) -> None:
        """Look for the node in the graph, unless that was done less than `period` ago [s]."""
        if time.monotonic() < self._due:
            return
        self._due = time.monotonic() + period
        # A process that was suspended until DDS gave it up comes back without its node's name.
        publishers = {
            gid
            for one in self._node.get_publishers_info_by_topic(self._topic)
            if (gid := tuple(one.endpoint_gid)) in self._ever
            or f'{one.node_namespace.rstrip("/")}/{one.node_name}' == self.full_name
        }
        self._ever |= publishers
        is_known = self._is_asked and publishers <= self._publishers
        self._publishers, self.is_there = publishers, bool(publishers)
        if publishers and not is_known:
            self.ask()

    def ask(self) -> None:
        """Read anew what it tells."""
        self._is_asked = True
        self.start(self._ask)

    async def _ask(self) -> None:
        try:
            self._is_asked = await self._read()
        except NoAnswerError:
            self._is_asked = False


async def until_answered(
    ask: Callable[..., Coroutine[Any, Any, Any]], *args: Any, **fields: Any
) -> Any:
    """Return an answer that is asked for again and again.

    Args:
        ask: A coroutine function of a `NodeClient`; its request may come more than once.
        args: What it takes.
        fields: By name.
    """
    while True:
        with suppress(NoAnswerError):
            return await ask(*args, **fields)


def python_value(value: ParameterValue) -> Any:
    """Return the value of a parameter; arrays are lists, and None is one that is not set."""
    found = parameter_value_to_python(value)
    return found.tolist() if isinstance(found, array) else found


def python_values(messages: Iterable[ParameterMessage]) -> dict[str, Any]:
    """Return the values of parameters by name; see `python_value`."""
    return {one.name: python_value(one.value) for one in messages}


def spin_ready(executor: Executor, most: int) -> None:
    """Run the callbacks and tasks that are ready; to look whether one is takes some 0.1 ms.

    Args:
        executor: Runs them.
        most: Number of them at most.
    """
    with suppress(TimeoutException):
        for _ in range(most):
            callback, _, _ = executor.wait_for_ready_callbacks(0.0)
            callback()
            callback.result()


async def _until(condition: Callable[[], bool], timeout: float, otherwise: str) -> None:
    end = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > end:
            raise NoAnswerError(f'{otherwise} within {timeout:g} s')
        await _next_spin()


@coroutine
def _next_spin() -> Generator[None, None, None]:
    """Wait until the executor resumes the task."""
    yield
