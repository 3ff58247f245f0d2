"""The controller as a client sees it: its modes, and its answers to requests."""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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

from icir_control.nodes.keyboard.keys import CONTROLLER, Mode, modes_of

ANSWER_TIMEOUT = 2.0  # s until a request counts as lost
_WINDOW_TIMEOUT = 70.0  # s; longer than the bridge waits for its window
_GRAPH_PERIOD = 0.2  # s between two looks at the graph
_SEARCH_PERIOD = 0.05  # s, while there is no controller

NAMES, POSE_NAMES, LENGTHS = 'mode_names', 'pose_modes', 'translating_joints'
MODES = 'modes'
SPEED = 'speed_scale'
SPEEDS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
"""Factors of the speed of motions."""

_NO_ANSWER = f'the {CONTROLLER} does not answer'
_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class ControllerClient:
    """Finds a controller, reads its modes from its parameters, and sends it requests.

    Nothing here blocks: the owner spins the node and calls `update` again and again. A controller
    that was started anew is noticed by the identity of the publisher of its running mode.

    Attributes:
        modes: The modes by key; None while no controller is known.
        running: Name of the running mode; empty while none is known.
        translating: The joints whose positions are lengths.
        selecting: Number of modes that were asked for, and not answered yet.
    """

    def __init__(
        self,
        node: Node,
        *,
        on_modes: Callable[[Mapping[str, Mode]], None],
        on_lost: Callable[[], None],
        on_motion_status: Callable[[DiagnosticStatus], None],
    ) -> None:
        """Prepare to find a controller.

        Args:
            node: The node to ask through; an executor has it.
            on_modes: Called with the modes by key, each time they are read.
            on_lost: Called when the controller has ended.
            on_motion_status: Called with the outcome of each request to the controller.
        """
        self.modes: Mapping[str, Mode] | None = None
        self.running = ''
        self.translating: Sequence[str] = ()
        self.selecting = 0
        self._node = node
        self._on_modes = on_modes
        self._on_lost = on_lost
        self._clients: dict[str, Client[Any, Any]] = {}
        self._requests: list[Request] = []
        self._speed_changes: deque[tuple[int, Callable[[str], None]]] = deque()
        self._identity: set[tuple[int, ...]] = set()
        self._graph_due = 0.0
        self._is_reading = False
        self._window: Client[Any, Any] = node.create_client(Trigger, 'mujoco_bridge/open_window')
        node.create_subscription(String, f'{CONTROLLER}/mode', self._take_mode, _LATCHED)
        node.create_subscription(
            DiagnosticStatus, f'{CONTROLLER}/motion_status', on_motion_status, 10
        )

    def update(self) -> None:
        """Send requests, check for answers, and from time to time for the controller."""
        now = time.monotonic()
        # A copy: an answer may lead to the next request.
        for request in list(self._requests):
            if request.update(now):
                self._requests.remove(request)
        if now < self._graph_due:
            return
        self._graph_due = now + (_SEARCH_PERIOD if self.modes is None else _GRAPH_PERIOD)
        publishers = self._node.get_publishers_info_by_topic(f'{CONTROLLER}/mode')
        identity = {tuple(publisher.endpoint_gid) for publisher in publishers}
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
        self._create_task(self._read_modes)

    def select(self, mode: Mode, answered: Callable[[bool, str], None]) -> None:
        """Ask the controller to run a mode; sent as soon as the service is found.

        Args:
            mode: One of `modes`.
            answered: Called with whether it runs, and with the answer.
        """
        answer = self._ask(Trigger, f'{MODES}/{mode.name}')
        self.selecting += 1

        async def take() -> None:
            response = await answer
            self.selecting -= 1
            if response is None:
                answered(True, f'{mode.name}: {_NO_ANSWER}')
                return
            if response.success:
                self.running = mode.name
            answered(response.success, response.message)

        self._create_task(take)

    def change_speed(self, change: int, answered: Callable[[str], None]) -> None:
        """Let motions run faster or slower than at present.

        Args:
            change: 1 for faster, -1 for slower.
            answered: Called with the outcome, a sentence.
        """
        self._speed_changes.append((change, answered))
        if len(self._speed_changes) == 1:
            self._create_task(self._change_speed)

    def open_window(self, answered: Callable[[str], None]) -> None:
        """Have the bridge open MuJoCo's window, which may have been closed.

        Args:
            answered: Called with the outcome, a sentence.
        """
        if not self._window.service_is_ready():
            answered('there is no simulation whose window could be opened')
            return
        request = Request(self._window, Trigger.Request(), _WINDOW_TIMEOUT)
        self._requests.append(request)

        async def take() -> None:
            response = await request.answer
            answered(response.message if response else 'the simulation does not answer')

        self._create_task(take)

    def _create_task(self, coroutine: Callable[[], Any]) -> None:
        assert self._node.executor is not None
        self._node.executor.create_task(coroutine)

    def _client(self, kind: type, service: str) -> 'Client[Any, Any]':
        """Return the client of one of the controller's services."""
        if service not in self._clients:
            self._clients[service] = self._node.create_client(kind, f'{CONTROLLER}/{service}')
        return self._clients[service]

    def _ask(self, kind: Any, service: str, **fields: Any) -> 'Future[Any]':
        """Send a request; return what becomes the answer, None when none comes in time."""
        request = Request(self._client(kind, service), kind.Request(**fields))
        self._requests.append(request)
        return request.answer

    def _take_mode(self, message: String) -> None:
        self.running = message.data

    async def _read_modes(self) -> None:
        values = await self._mode_parameters()
        self._is_reading = False
        if values is None:
            self._identity = set()  # read anew at the next look at the graph
            return
        # Discovery of a service takes a while: not first when a key is pressed.
        self._client(SetParameters, 'set_parameters')
        for mode in values[NAMES]:
            self._client(Trigger, f'{MODES}/{mode}')
        self.translating = values[LENGTHS]
        self.modes = modes_of(values[NAMES], values[POSE_NAMES], values)
        self._on_modes(self.modes)

    async def _mode_parameters(self) -> dict[str, Any] | None:
        """Return the parameters that describe the modes; None when they cannot be had."""
        listed = await self._ask(ListParameters, 'list_parameters', prefixes=[MODES])
        if listed is None:
            return None
        names = [NAMES, POSE_NAMES, LENGTHS, *listed.result.names]
        answer = await self._ask(GetParameters, 'get_parameters', names=names)
        if answer is None or len(answer.values) != len(names):  # they are not declared yet
            return None
        return dict(zip(names, map(parameter_value_to_python, answer.values), strict=True))

    async def _change_speed(self) -> None:
        """Change the speed as often as was asked for, one change after the other."""
        while self._speed_changes:
            change, answered = self._speed_changes[0]
            answered(await self._changed_speed(change))
            self._speed_changes.popleft()

    async def _changed_speed(self, change: int) -> str:
        """Change the speed once; return the outcome, a sentence."""
        answer = await self._ask(GetParameters, 'get_parameters', names=[SPEED])
        if answer is None:
            return f'speed: {_NO_ANSWER}'
        value = answer.values[0].double_value
        further = [speed for speed in SPEEDS if change * (speed - value) > 1e-9]
        if not further:
            return f'speed scale {value:g}, its limit'
        speed = min(further) if change > 0 else max(further)
        parameters = [Parameter(SPEED, value=speed).to_parameter_msg()]
        answer = await self._ask(SetParameters, 'set_parameters', parameters=parameters)
        if answer is None:
            return f'speed: {_NO_ANSWER}'
        result = answer.results[0]
        return f'speed scale {speed:g}' if result.successful else result.reason


@dataclass(eq=False)
class Request:
    """A request to a service: sent when that is ready, given up when no answer comes.

    Attributes:
        timeout: Until it is given up [s].
        answer: The response; None when none comes in time.
    """

    client: 'Client[Any, Any]'
    message: Any
    timeout: float = ANSWER_TIMEOUT
    answer: 'Future[Any]' = field(default_factory=Future)
    _response: 'Future[Any] | None' = None
    _due: float = field(init=False)

    def __post_init__(self) -> None:
        """Begin to wait."""
        self._due = time.monotonic() + self.timeout

    def update(self, now: float) -> bool:
        """Send it, or give it up, when it is time to; return whether it is finished."""
        response = self._response
        if response is None and self.client.service_is_ready():
            # A request that is sent before both ends have found each other is lost.
            self._response = response = self.client.call_async(self.message)
        if response is not None and response.done():
            self.answer.set_result(response.result())
            return True
        if now <= self._due:
            return False
        if response is not None:
            self.client.remove_pending_request(response)
        self.answer.set_result(None)
        return True
