"""The controller as a client sees it: its modes, and its answers to requests."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.task import Future
from std_msgs.msg import String
from std_srvs.srv import Trigger

from icir_control.nodes.keyboard.keys import Mode, modes_of

ANSWER_TIMEOUT = 2.0  # s until a request counts as lost
_GRAPH_PERIOD = 0.2  # s between two looks at the graph
_SEARCH_PERIOD = 0.05  # s, while there is no controller

NAMES, POSE_NAMES = 'mode_names', 'pose_modes'
MODES = 'modes'
SPEED = 'speed_scale'
SPEEDS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
"""Factors of the speed of motions."""

_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class ControllerClient:
    """Finds a controller, reads its modes from its parameters, and sends it requests.

    Nothing here blocks: the owner spins the node and calls `update` again and again. A controller
    that was started anew is noticed by the identity of the publisher of its running mode.

    Attributes:
        modes: The modes by key; None while no controller is known.
        running: Name of the running mode; empty while none is known.
    """

    def __init__(
        self,
        node: Node,
        controller: str,
        *,
        on_modes: Callable[[Mapping[str, Mode]], None],
        on_lost: Callable[[], None],
        on_motion_status: Callable[[Mapping[str, str], str], None],
    ) -> None:
        """Prepare to find a controller.

        Args:
            node: The node to ask through.
            controller: The controller's name, relative to the node's namespace.
            on_modes: Called with the modes by key, each time they are read.
            on_lost: Called when the controller has ended.
            on_motion_status: Called with the outcome of each request to the controller: the values
                of `~/motion_status` by key, and its message.
        """
        self.modes: Mapping[str, Mode] | None = None
        self.running = ''
        self._node = node
        self._controller = controller
        self._on_modes = on_modes
        self._on_lost = on_lost
        self._on_motion_status = on_motion_status
        self._clients: dict[str, Client[Any, Any]] = {}
        self._requests: list[Request] = []
        self._speed_changes: deque[tuple[int, Callable[[str], None]]] = deque()
        self._identity: set[tuple[int, ...]] = set()
        self._graph_due = 0.0
        self._is_reading = False
        node.create_subscription(String, f'{controller}/mode', self._take_mode, _LATCHED)
        node.create_subscription(
            DiagnosticStatus, f'{controller}/motion_status', self._take_motion_status, 10
        )

    def update(self) -> None:
        """Send requests, check for answers, and from time to time for the controller."""
        # An answer may lead to the next request.
        requests, self._requests = self._requests, []
        self._requests += [request for request in requests if not request.update()]
        now = time.monotonic()
        if now < self._graph_due:
            return
        self._graph_due = now + (_SEARCH_PERIOD if self.modes is None else _GRAPH_PERIOD)
        identity = {
            tuple(publisher.endpoint_gid)
            for publisher in self._node.get_publishers_info_by_topic(f'{self._controller}/mode')
        }
        is_new = not identity <= self._identity
        self._identity = identity
        if not identity and self.modes is not None:
            self.modes = None
            self.running = ''
            self._on_lost()
        if is_new or (identity and self.modes is None and not self._is_reading):
            self.read_modes()

    def read_modes(self) -> None:
        """Ask the controller for its modes; `on_modes` is called with the answer."""
        self._is_reading = True
        request = ListParameters.Request(prefixes=[MODES])
        self._send(
            ListParameters, 'list_parameters', request, self._request_values, self._fail_to_read
        )

    def select(self, mode: Mode, answered: Callable[[bool, str], None]) -> None:
        """Ask the controller to run a mode; sent as soon as the service is found.

        Args:
            mode: One of `modes`.
            answered: Called with whether it runs, and with the answer.
        """

        def take(response: Trigger.Response) -> None:
            if response.success:
                self.running = mode.name
            answered(response.success, response.message)

        def lose() -> None:
            answered(True, f'{mode.name}: the {self._controller} does not answer')

        self._send(Trigger, f'{MODES}/{mode.name}', Trigger.Request(), take, lose)

    def change_speed(self, change: int, answered: Callable[[str], None]) -> None:
        """Let motions run faster or slower than at present.

        Args:
            change: 1 for faster, -1 for slower.
            answered: Called with the outcome, a sentence.
        """
        self._speed_changes.append((change, answered))
        if len(self._speed_changes) == 1:
            self._request_speed()

    def _client(self, kind: type, service: str) -> Client[Any, Any]:
        """Return the client of one of the controller's services."""
        if service not in self._clients:
            name = f'{self._controller}/{service}'
            self._clients[service] = self._node.create_client(kind, name)
        return self._clients[service]

    def _send(
        self,
        kind: type,
        service: str,
        request: Any,
        answered: Callable[[Any], None],
        lost: Callable[[], None],
    ) -> None:
        self._requests.append(Request(self._client(kind, service), request, answered, lost))

    def _request_speed(self) -> None:
        request = GetParameters.Request(names=[SPEED])
        self._send(GetParameters, 'get_parameters', request, self._set_speed, self._lose_speed)

    def _set_speed(self, response: GetParameters.Response) -> None:
        change, _ = self._speed_changes[0]
        value = response.values[0].double_value
        further = [speed for speed in SPEEDS if change * (speed - value) > 1e-9]
        if not further:
            self._finish_speed(f'motions run at {value:g} of their speed already')
            return
        speed = min(further) if change > 0 else max(further)
        request = SetParameters.Request()
        request.parameters = [Parameter(SPEED, value=speed).to_parameter_msg()]

        def show(response: SetParameters.Response) -> None:
            result = response.results[0]
            self._finish_speed(
                f'motions run at {speed:g} of their speed' if result.successful else result.reason
            )

        self._send(SetParameters, 'set_parameters', request, show, self._lose_speed)

    def _finish_speed(self, outcome: str) -> None:
        _, answered = self._speed_changes.popleft()
        answered(outcome)
        if self._speed_changes:
            self._request_speed()

    def _lose_speed(self) -> None:
        self._finish_speed(f'speed: the {self._controller} does not answer')

    def _take_mode(self, message: String) -> None:
        self.running = message.data

    def _take_motion_status(self, message: DiagnosticStatus) -> None:
        values = {pair.key: pair.value for pair in message.values}
        self._on_motion_status(values, message.message)

    def _request_values(self, response: ListParameters.Response) -> None:
        names = [NAMES, POSE_NAMES, *response.result.names]

        def take(response: GetParameters.Response) -> None:
            if len(response.values) == len(names):
                values = map(parameter_value_to_python, response.values)
                self._take_values(dict(zip(names, values, strict=True)))
            else:  # the parameters are not declared yet
                self._fail_to_read()

        request = GetParameters.Request(names=names)
        self._send(GetParameters, 'get_parameters', request, take, self._fail_to_read)

    def _fail_to_read(self) -> None:
        """Read anew at the next look at the graph."""
        self._is_reading = False
        self._identity = set()

    def _take_values(self, values: dict[str, Any]) -> None:
        self._is_reading = False
        # Discovery of a service takes a while: not first when a key is pressed.
        self._client(SetParameters, 'set_parameters')
        for mode in values[NAMES]:
            self._client(Trigger, f'{MODES}/{mode}')
        self.modes = modes_of(values[NAMES], values[POSE_NAMES], values)
        self._on_modes(self.modes)


class Request:
    """A request to a service: sent when that is ready, given up when no answer comes."""

    def __init__(
        self,
        client: Client[Any, Any],
        request: Any,
        answered: Callable[[Any], None],
        lost: Callable[[], None],
    ) -> None:
        """Prepare to send.

        Args:
            client: Of the service.
            request: The request message.
            answered: Called with the response.
            lost: Called when none comes in time.
        """
        self._client = client
        self._request = request
        self._answered = answered
        self._lost = lost
        self._future: Future[Any] | None = None
        self._due = time.monotonic() + ANSWER_TIMEOUT

    def update(self) -> bool:
        """Send it, or give it up, when it is time to; return whether it is finished."""
        if self._future is None and self._client.service_is_ready():
            # A request that is sent before both ends have found each other is lost.
            self._future = self._client.call_async(self._request)
        if self._future is not None and self._future.done():
            self._answered(self._future.result())
            return True
        if time.monotonic() <= self._due:
            return False
        if self._future is not None:
            self._client.remove_pending_request(self._future)
        self._lost()
        return True
