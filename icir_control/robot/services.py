"""Services and parameters of other nodes, asked for and waited for."""

import time
from array import array
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from rcl_interfaces.srv import (
    DescribeParameters,
    GetParameters,
    ListParameters,
    SetParametersAtomically,
)
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python

from icir_control.errors import ConfigurationError

ANSWER_TIMEOUT = 5.0
"""[s] of wall time until a request counts as lost."""

PERIOD = 2e-3
"""[s] of wall time between two looks at what has arrived."""


class Services:
    """Asks nodes in other processes. Whoever answers too late raises a `ConfigurationError`."""

    def __init__(self, node: Node, check: Callable[[], object]) -> None:
        """Ask nobody yet.

        Args:
            node: Through which is asked; another thread spins it.
            check: Called while something is waited for; what it raises ends the waiting.
        """
        self._node, self._check = node, check
        self._clients: dict[str, Any] = {}

    def wait(self, condition: Callable[[], Any], timeout: float, otherwise: str) -> Any:
        """Wait until a condition holds, and return what it gives.

        Args:
            condition: Called again and again, until it gives something that is true.
            timeout: [s] of wall time.
            otherwise: What is wrong where it does not hold in time.
        """
        end = time.monotonic() + timeout
        while not (found := condition()):
            if time.monotonic() > end:
                raise ConfigurationError(f'{otherwise} within {timeout:g} s')
            self._check()
            time.sleep(PERIOD)
        return found

    def call(self, kind: Any, service: str, timeout: float = ANSWER_TIMEOUT, **fields: Any) -> Any:
        """Call a service and return its response.

        Args:
            kind: Type of the service.
            service: Its name.
            timeout: How long to look for it [s of wall time].
            fields: Of the request.
        """
        if service not in self._clients:
            self._clients[service] = self._node.create_client(kind, service)
        client = self._clients[service]
        self.wait(client.service_is_ready, timeout, f'there is no {service}')
        answer = client.call_async(kind.Request(**fields))
        self.wait(answer.done, max(timeout, ANSWER_TIMEOUT), f'{service} does not answer')
        return answer.result()

    def parameter_names(self, node: str, timeout: float = ANSWER_TIMEOUT) -> list[str]:
        """Return the names of a node's parameters."""
        answer = self.call(ListParameters, f'{node}/list_parameters', timeout)
        return list(answer.result.names)

    def parameters(self, node: str, names: list[str]) -> dict[str, Any]:
        """Return the values of a node's parameters, by name."""
        answer = self.call(GetParameters, f'{node}/get_parameters', names=names)
        values = map(parameter_value_to_python, answer.values)
        pairs = zip(names, values, strict=True)
        return {name: v.tolist() if isinstance(v, array) else v for name, v in pairs}

    def describe(self, node: str, names: list[str]) -> dict[str, str]:
        """Return what a node says of its parameters, by name."""
        answer = self.call(DescribeParameters, f'{node}/describe_parameters', names=names)
        return {one.name: one.description for one in answer.descriptors}

    def set(self, node: str, changes: Mapping[str, Any]) -> None:
        """Change parameters of a node, all or none.

        Raises:
            ConfigurationError: The node refuses; with its reason.
        """
        parameters = [
            Parameter(name, value=np.asarray(value).tolist()).to_parameter_msg()
            for name, value in changes.items()
        ]
        service = f'{node}/set_parameters_atomically'
        result = self.call(SetParametersAtomically, service, parameters=parameters).result
        if not result.successful:
            raise ConfigurationError(result.reason)
