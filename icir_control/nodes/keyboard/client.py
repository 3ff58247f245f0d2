"""The controller as a client sees it: its modes, and its answers to requests."""

from collections import deque
from collections.abc import Callable, Mapping, Sequence

from diagnostic_msgs.msg import DiagnosticStatus
from rcl_interfaces.srv import SetParameters
from rclpy.node import Node
from rclpy.parameter import Parameter
from std_msgs.msg import String
from std_srvs.srv import Trigger

from icir_control.nodes.keyboard.keys import ModeKey, modes_of
from icir_control.nodes.transport.client import NoAnswerError, NodeClient, WatchedNode
from icir_control.nodes.transport.qos import LATCHED
from icir_control.share import BRIDGE, CONTROLLER

_WINDOW_TIMEOUT = 70.0  # s; longer than the bridge waits for its window
_GRAPH_PERIOD = 0.2  # s between two looks at the graph
_SEARCH_PERIOD = 0.05  # s, while there is no controller

NAMES, POSE_NAMES, LENGTHS = 'mode_names', 'pose_modes', 'translating_joints'
MODES = 'modes'
SPEED = 'speed_scale'
SPEEDS = (0.05, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0)
"""Factors of the speed of motions."""

_NO_ANSWER = f'the {CONTROLLER} does not answer'


class ControllerClient:
    """Finds a controller, reads its modes from its parameters, and sends it requests.

    Nothing here blocks: the owner spins the node and calls `update` again and again.

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
        on_modes: Callable[[Mapping[str, ModeKey]], None],
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
        self.modes: Mapping[str, ModeKey] | None = None
        self.running = ''
        self.translating: Sequence[str] = ()
        self.selecting = 0
        self._on_modes = on_modes
        self._on_lost = on_lost
        topic = f'{CONTROLLER}/mode'
        self._controller = WatchedNode(node, CONTROLLER, topic, self._read_modes)
        self._bridge = NodeClient(node, BRIDGE)
        self._speed_changes: deque[tuple[int, Callable[[str], None]]] = deque()
        self._window = self._bridge.find(Trigger, 'open_window')
        node.create_subscription(String, topic, self._take_mode, LATCHED)
        node.create_subscription(
            DiagnosticStatus, f'{CONTROLLER}/motion_status', on_motion_status, 10
        )

    def update(self) -> None:
        """Look from time to time for the controller."""
        self._controller.look(_SEARCH_PERIOD if self.modes is None else _GRAPH_PERIOD)
        if self.modes is not None and not self._controller.is_there:
            self.modes = None
            self.running = ''
            self._on_lost()

    def read_modes(self) -> None:
        """Ask the controller for its modes; `on_modes` is called with the answer."""
        self._controller.ask()

    def select(self, mode: ModeKey, answered: Callable[[bool, str], None]) -> None:
        """Ask the controller to run a mode; sent as soon as the service is found.

        Args:
            mode: One of `modes`.
            answered: Called with whether it runs, and with the answer.
        """
        self.selecting += 1
        self._controller.start(self._select, mode.name, answered)

    def change_speed(self, change: int, answered: Callable[[str], None]) -> None:
        """Let motions run faster or slower than at present.

        Args:
            change: 1 for faster, -1 for slower.
            answered: Called with the outcome, a sentence.
        """
        self._speed_changes.append((change, answered))
        if len(self._speed_changes) == 1:
            self._controller.start(self._change_speed)

    def open_window(self, answered: Callable[[str], None]) -> None:
        """Have the bridge open MuJoCo's window, which may have been closed.

        Args:
            answered: Called with the outcome, a sentence.
        """
        if not self._window.service_is_ready():
            answered('there is no simulation whose window could be opened')
            return
        self._controller.start(self._open_window, answered)

    def _take_mode(self, message: String) -> None:
        self.running = message.data

    async def _select(self, mode: str, answered: Callable[[bool, str], None]) -> None:
        try:
            response = await self._controller.call(Trigger, f'{MODES}/{mode}')
        except NoAnswerError:
            answered(True, f'{mode}: {_NO_ANSWER}')
            return
        finally:
            self.selecting -= 1
        if response.success:
            self.running = mode
        answered(response.success, response.message)

    async def _open_window(self, answered: Callable[[str], None]) -> None:
        try:
            response = await self._bridge.call(Trigger, 'open_window', _WINDOW_TIMEOUT)
            answered(response.message)
        except NoAnswerError:
            answered('the simulation does not answer')

    async def _read_modes(self) -> bool:
        names = await self._controller.parameter_names(prefixes=[MODES])
        values = await self._controller.parameters([NAMES, POSE_NAMES, LENGTHS, *names])
        if not values:
            return False
        # Discovery of a service takes a while: not first when a key is pressed.
        self._controller.find(SetParameters, 'set_parameters')
        for mode in values[NAMES]:
            self._controller.find(Trigger, f'{MODES}/{mode}')
        self.translating = values[LENGTHS]
        self.modes = modes_of(values[NAMES], values[POSE_NAMES], values)
        self._on_modes(self.modes)
        return True

    async def _change_speed(self) -> None:
        """Change the speed as often as was asked for, one change after the other."""
        while self._speed_changes:
            change, answered = self._speed_changes[0]
            try:
                answered(await self._changed_speed(change))
            except NoAnswerError:
                answered(f'speed: {_NO_ANSWER}')
            self._speed_changes.popleft()

    async def _changed_speed(self, change: int) -> str:
        """Change the speed once; return the outcome, a sentence."""
        value = (await self._controller.parameters([SPEED]))[SPEED]
        further = [speed for speed in SPEEDS if change * (speed - value) > 1e-9]
        if not further:
            return f'speed scale {value:g}, its limit'
        speed = min(further) if change > 0 else max(further)
        reason = await self._controller.set_parameters(Parameter(SPEED, value=speed))
        return reason or f'speed scale {speed:g}'
