"""The controller as a keyboard sees it: which modes it has, and what it answers."""

import time
from collections.abc import Callable, Mapping

from rcl_interfaces.srv import GetParameters, ListParameters
from rclpy.client import Client
from rclpy.node import Node
from rclpy.parameter import parameter_value_to_python
from rclpy.parameter_client import AsyncParameterClient
from rclpy.task import Future
from std_srvs.srv import Trigger

from icir_control.nodes.keyboard.modes import Mode, modes_of

LOOK_PERIOD = 0.2  # s between two looks at the graph
ANSWER_TIMEOUT = 2.0  # s until an answer counts as lost

NAMES = 'mode_names'
MODES = 'modes'


class Question:
    """A request to run a mode, from the key to the answer."""

    def __init__(self, client: Client, answered: Callable[[bool, str], None]) -> None:
        """Prepare to ask.

        Args:
            client: Of the mode's service.
            answered: Called with whether the mode runs, and what the controller says.
        """
        self._client = client
        self._answered = answered
        self._future: Future | None = None
        self._is_withdrawn = False

    def send(self) -> bool:
        """Ask if the service is there; return False when it is to be tried again.

        A request that is sent before both ends have found each other is lost.
        """
        if self._is_withdrawn:
            return True
        if not self._client.service_is_ready():
            return False
        self._future = self._client.call_async(Trigger.Request())
        self._future.add_done_callback(self._tell)
        return True

    def withdraw(self) -> bool:
        """Give up waiting for the answer; return whether there was none yet."""
        if self._future is not None:
            if self._future.done():
                return False
            self._client.remove_pending_request(self._future)
        self._is_withdrawn = True
        return True

    def _tell(self, future: Future) -> None:
        if not self._is_withdrawn and not future.cancelled():
            answer = future.result()
            self._answered(answer.success, answer.message)


class ControllerClient:
    """Finds a controller, learns its modes from its parameters, and selects them.

    Nothing here blocks: the owner spins the node, and calls `look` again and again. A controller
    that ends and comes back is noticed by the identity of what publishes its running mode, and
    asked anew.

    Attributes:
        modes: The modes by key; None while no controller is known.
    """

    def __init__(
        self,
        node: Node,
        controller: str,
        *,
        learnt: Callable[[Mapping[str, Mode]], None],
        lost: Callable[[], None],
    ) -> None:
        """Prepare to find a controller.

        Args:
            node: The node to ask through.
            controller: The controller's name, relative to the node's namespace.
            learnt: Called with the modes by key, each time they are learnt.
            lost: Called when the controller has ended.
        """
        self.modes: Mapping[str, Mode] | None = None
        self._node = node
        self._controller = controller
        self._learnt = learnt
        self._lost = lost
        self._parameters = AsyncParameterClient(node, controller)
        self._services: dict[str, Client] = {}
        self._unsent: list[Question] = []
        self._identity: set[tuple[int, ...]] = set()
        self._next_look = 0.0
        self._answer_due: float | None = None

    def look(self) -> None:
        """Send what was asked; look for the controller, at most every `LOOK_PERIOD`."""
        self._unsent = [question for question in self._unsent if not question.send()]
        now = time.monotonic()
        if now < self._next_look:
            return
        self._next_look = now + LOOK_PERIOD
        identity = {
            tuple(publisher.endpoint_gid)
            for publisher in self._node.get_publishers_info_by_topic(f'{self._controller}/mode')
        }
        is_there = bool(identity) and self._parameters.services_are_ready()
        if not is_there:
            self._answer_due = None
            if self.modes is not None:
                self.modes = None
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

    def select(self, mode: Mode, answered: Callable[[bool, str], None]) -> 'Question':
        """Ask the controller to run a mode.

        Args:
            mode: One of `modes`.
            answered: Called with whether it does, and what it says.

        Returns:
            What was asked; it is sent as soon as the service is found.
        """
        question = Question(self._services[mode.name], answered)
        self._unsent.append(question)
        return question

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
            if mode not in self._services:
                name = f'{self._controller}/{MODES}/{mode}'
                self._services[mode] = self._node.create_client(Trigger, name)
        self.modes = modes_of(values.pop(NAMES), values)
        self._learnt(self.modes)
