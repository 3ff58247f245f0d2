"""The controller as a keyboard sees it: which modes it has, and what it answers."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from rcl_interfaces.msg import Log
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import Parameter, parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.task import Future
from std_msgs.msg import String
from std_srvs.srv import Trigger

from icir_control.nodes.keyboard.modes import Mode, modes_of
from icir_control.nodes.keyboard.question import ANSWER_TIMEOUT, Question

LOOK_PERIOD = 0.2  # s between two looks at the graph
_SEARCH_PERIOD = 0.05  # s, while there is no controller

NAMES = 'mode_names'
MODES = 'modes'
SPEED = 'speed_scale'
SPEEDS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
"""Shares of their own speed at which motions may run."""

POSE = 'target pose'
"""What is refused that is no mode."""

_LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
_REFUSED_POSE = f'{POSE} refused: '


class ControllerClient:
    """Finds a controller, learns its modes from its parameters, and asks it for things.

    Nothing here blocks: the owner spins the node, and calls `look` again and again. A controller
    that ends and comes back is noticed by the identity of what publishes its running mode, and
    asked anew.

    Attributes:
        modes: The modes by key; None while no controller is known.
        running: Name of the running mode; empty while none is known.
    """

    def __init__(
        self,
        node: Node,
        controller: str,
        *,
        learnt: Callable[[Mapping[str, Mode]], None],
        lost: Callable[[], None],
        refused: Callable[[str, str], None],
    ) -> None:
        """Prepare to find a controller.

        Args:
            node: The node to ask through.
            controller: The controller's name, relative to the node's namespace.
            learnt: Called with the modes by key, each time they are learnt.
            lost: Called when the controller has ended.
            refused: Called when it refuses a mode or a target pose, with what and why.
        """
        self.modes: Mapping[str, Mode] | None = None
        self.running = ''
        self._node = node
        self._controller = controller
        self._learnt = learnt
        self._lost = lost
        self._refused = refused
        self._parameters = AsyncParameterClient(node, controller)
        self._clients: dict[str, Client] = {}
        self._questions: list[Question] = []
        self._speed_changes: deque[tuple[int, Callable[[str], None]]] = deque()
        self._identity: set[tuple[int, ...]] = set()
        self._next_look = 0.0
        self._answer_due: float | None = None
        node.create_subscription(String, f'{controller}/mode', self._follow, _LATCHED)
        self._logger = node.resolve_topic_name(controller).strip('/').replace('/', '.')
        node.create_subscription(Log, '/rosout', self._read_log, 10)

    def look(self) -> None:
        """Tend what was asked; look for the controller, at most every `LOOK_PERIOD`.

        As long as there is none, it is looked for more often.
        """
        # An answer may lead to the next question.
        questions, self._questions = self._questions, []
        self._questions += [question for question in questions if not question.tend()]
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + (_SEARCH_PERIOD if self.modes is None else LOOK_PERIOD)
        identity = {
            tuple(publisher.endpoint_gid)
            for publisher in self._node.get_publishers_info_by_topic(f'{self._controller}/mode')
        }
        is_there = bool(identity) and self._parameters.services_are_ready()
        if not is_there:
            self._answer_due = None
            if self.modes is not None:
                self.modes = None
                self.running = ''
                self._lost()
            return
        is_new = not identity <= self._identity
        self._identity = identity
        is_overdue = self._answer_due is not None and now > self._answer_due
        if is_new or is_overdue or (self.modes is None and self._answer_due is None):
            self.learn()

    def learn(self) -> None:
        """Ask the controller for its modes; `learnt` is called with the answer."""
        self._answer_due = time.monotonic() + ANSWER_TIMEOUT
        self._parameters.list_parameters([MODES], callback=self._ask_for_values)

    def select(self, mode: Mode, told: Callable[[str], None]) -> None:
        """Ask the controller to run a mode; sent as soon as the service is found.

        Args:
            mode: One of `modes`.
            told: Called with what has come of it, in words, unless it is refused.
        """

        def show(response: Trigger.Response) -> None:
            if response.success:
                self.running = mode.name
                told(response.message)
            else:
                self._refused(mode.name, response.message)

        def miss() -> None:
            told(f'{mode.name}: the {self._controller} does not answer')

        client = self._client(Trigger, f'{MODES}/{mode.name}')
        self._ask(client, Trigger.Request(), show, miss)

    def change_speed(self, change: int, told: Callable[[str], None]) -> None:
        """Let motions run faster or slower, from what is set at present.

        Args:
            change: 1 for faster, -1 for slower.
            told: Called with what has come of it, in words.
        """
        self._speed_changes.append((change, told))
        if len(self._speed_changes) == 1:
            self._ask_for_speed()

    def _client(self, kind: type, service: str) -> Client:
        """Return the client of one of the controller's services."""
        if service not in self._clients:
            name = f'{self._controller}/{service}'
            self._clients[service] = self._node.create_client(kind, name)
        return self._clients[service]

    def _ask(
        self,
        client: Client,
        request: Any,
        answered: Callable[[Any], None],
        lost: Callable[[], None],
    ) -> None:
        self._questions.append(Question(client, request, answered, lost))

    # --- The speed ------------------------------------------------------------------------

    def _ask_for_speed(self) -> None:
        request = GetParameters.Request(names=[SPEED])
        client = self._client(GetParameters, 'get_parameters')
        self._ask(client, request, self._set_speed, self._miss_speed)

    def _set_speed(self, response: GetParameters.Response) -> None:
        change, _ = self._speed_changes[0]
        value = parameter_value_to_python(response.values[0])
        further = [speed for speed in SPEEDS if change * (speed - value) > 1e-9]
        if not further:
            self._settle_speed(f'motions run at {value:g} of their speed already')
            return
        speed = min(further) if change > 0 else max(further)
        request = SetParameters.Request()
        request.parameters = [Parameter(SPEED, value=speed).to_parameter_msg()]

        def show(response: SetParameters.Response) -> None:
            result = response.results[0]
            self._settle_speed(
                f'motions run at {speed:g} of their speed' if result.successful else result.reason
            )

        client = self._client(SetParameters, 'set_parameters')
        self._ask(client, request, show, self._miss_speed)

    def _settle_speed(self, words: str) -> None:
        _, told = self._speed_changes.popleft()
        told(words)
        if self._speed_changes:
            self._ask_for_speed()

    def _miss_speed(self) -> None:
        self._settle_speed(f'speed: the {self._controller} does not answer')

    # --- What it hears and learns ---------------------------------------------------------

    def _follow(self, message: String) -> None:
        self.running = message.data

    def _read_log(self, message: Log) -> None:
        """Tell why a target pose was refused: a topic has no answer, but the log says it."""
        if message.name == self._logger and message.msg.startswith(_REFUSED_POSE):
            self._refused(POSE, message.msg.removeprefix(_REFUSED_POSE))

    def _ask_for_values(self, future: Future) -> None:
        listed: ListParameters.Response = future.result()
        names = [NAMES, *listed.result.names]
        self._parameters.get_parameters(names, lambda done: self._take_over(names, done))

    def _take_over(self, names: list[str], future: Future) -> None:
        answer: GetParameters.Response = future.result()
        if len(answer.values) != len(names):  # it has no parameters as yet
            return
        values = dict(zip(names, map(parameter_value_to_python, answer.values), strict=True))
        self._answer_due = None
        for mode in values[NAMES]:
            # The two ends need a while to find each other: not first when a key is pressed.
            self._client(Trigger, f'{MODES}/{mode}')
        self.modes = modes_of(values.pop(NAMES), values)
        self._learnt(self.modes)
