"""A keyboard of the controller: keys in, requests out, answers to the eye."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rich.console import Console

from icir_control.nodes.keyboard.client import POSE, ControllerClient
from icir_control.nodes.keyboard.jog import Jogger
from icir_control.nodes.keyboard.keys import ROWS, Action, Jog, Row
from icir_control.nodes.keyboard.modes import Mode, help_of, shadowed, table_of, takes_pose
from icir_control.nodes.keyboard.question import ANSWER_TIMEOUT
from icir_control.nodes.keyboard.terminal import Terminal
from icir_control.nodes.process import join_graph, run_node
from icir_control.nodes.stop_request import StopRequest

CONTROLLER = 'controller'

_KEY_PERIOD = 0.02  # s, longest time that an answer waits to be printed
_CALLBACKS = 4  # between two looks at the keys; poses come as often as twice in that time


class Keyboard:
    """Reads keys, asks the controller for what each means, prints what it answers.

    It owns no process and no node, so that it also runs in the foreground of another program.
    """

    def __init__(
        self,
        node: Node,
        device: TextIO,
        console: Console,
        *,
        controller: str = CONTROLLER,
        rows: Sequence[Row] = ROWS,
        shows_refusals: bool = True,
    ) -> None:
        """Put the parts together.

        Args:
            node: The node to ask through; spun here.
            device: The terminal whose keys are read.
            console: Where the table and the answers go.
            controller: The controller's name, relative to the node's namespace.
            rows: The keyboard's own keys.
            shows_refusals: Whether to say what the controller refuses; False where its log, which
                says it too, is seen at the same place.

        Raises:
            NoTerminalError: The device is not a terminal.
        """
        self._console = console
        self._rows = rows
        self._own_keys = {key: action for row in rows for key, action in row.keys.items()}
        self._client = ControllerClient(
            node,
            controller,
            learnt=self._show_modes,
            lost=self._show_loss,
            refused=self._show_refusal if shows_refusals else lambda what, reason: None,
        )
        self._jogger = Jogger(node, controller)
        self._jogged = -ANSWER_TIMEOUT
        self._controller = controller
        self._terminal = Terminal(device, resumed=self._show_help)
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
        self._is_over = False
        self._actions: dict[Action, Callable[[], None]] = {
            Action.AXES: lambda: self._say(self._jogger.change_axes()),
            Action.FINER: lambda: self._say(self._jogger.change_step(-1)),
            Action.COARSER: lambda: self._say(self._jogger.change_step(1)),
            Action.SLOWER: lambda: self._client.change_speed(-1, self._say),
            Action.FASTER: lambda: self._client.change_speed(1, self._say),
            Action.HELP: self._show_help,
            Action.QUIT: self._quit,
        }

    def run(self, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Serve keys until one says quit, a signal or the end of input comes, or it is unwanted.

        Args:
            is_wanted: Asked again and again; False ends it.
        """
        with self._terminal:
            self._say(f'waiting for the {self._controller} ...')
            while not (self._is_over or self._terminal.is_over) and is_wanted():
                for key in self._terminal.read(_KEY_PERIOD):
                    if not self._is_over:
                        self._press(key)
                self._client.look()
                for _ in range(_CALLBACKS):
                    self._executor.spin_once(0.0)
        self._executor.shutdown()

    def _press(self, key: str) -> None:
        modes = self._client.modes
        mode = (modes or {}).get(key)
        action = self._own_keys.get(key)
        if mode is not None:
            self._client.select(mode, self._say)
        elif action in (Action.QUIT, Action.HELP):
            self._actions[action]()
        elif modes is None:
            self._say(f'there is no {self._controller} as yet; q quits')
        elif isinstance(action, Jog):
            self._jog(action, modes)
        elif action is not None:
            self._actions[action]()
        else:
            valid = ' '.join([*modes, *(own for own in self._own_keys if own.isprintable())])
            self._say(f'{key!r} selects nothing; valid keys: {valid}')

    def _jog(self, jog: Jog, modes: Mapping[str, Mode]) -> None:
        running = next((m for m in modes.values() if m.name == self._client.running), None)
        if running is not None and takes_pose(running):
            self._jogged = time.monotonic()
            self._say(self._jogger.move(jog))
            return
        able = ', '.join(f'{key} ({mode.name})' for key, mode in modes.items() if takes_pose(mode))
        self._say(
            f'{self._client.running or "what runs"} takes no jog steps; first press one of: {able}'
            if able
            else 'no mode takes jog steps; one of law task does'
        )

    def _quit(self) -> None:
        self._is_over = True

    def _show_help(self) -> None:
        """Show the table with the figures as they are now."""
        if self._client.modes is None:
            self._say(f'waiting for the {self._controller} ...')
        else:
            self._client.learn()

    def _show_modes(self, modes: Mapping[str, Mode]) -> None:
        self._console.print(table_of(modes))
        for key, words in shadowed(modes, self._rows).items():
            self._say(f'{key} selects {modes[key].name} and no longer: {words}')
        self._console.print(help_of(modes, self._rows))

    def _show_loss(self) -> None:
        self._jogger.forget()
        self._say(f'the {self._controller} has ended; waiting for it ...')

    def _show_refusal(self, what: str, reason: str) -> None:
        """Say why something was refused; the target of somebody else is not our business."""
        if what != POSE:
            self._say(f'{what} refused: {reason}')
        elif time.monotonic() - self._jogged < ANSWER_TIMEOUT:
            self._say(f'the step is refused: {reason}')

    def _say(self, words: str) -> None:
        self._console.print(words, markup=False, highlight=False, soft_wrap=True)


def main(args: Sequence[str] | None = None) -> int:
    """Run the keyboard as a node of its own at this terminal.

    Args:
        args: Command line arguments with the program's name, those of the process by default.

    Returns:
        The exit status: 0 after quitting, 2 without a terminal.
    """
    return run_node('keyboard', args, _run)


def _run(stop: StopRequest) -> None:
    node = join_graph('keyboard')
    try:
        Keyboard(node, sys.stdin, Console()).run(lambda: not stop)
    finally:
        node.destroy_node()
