"""A keyboard of the controller: keys in, mode requests out, answers to the eye."""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rich.console import Console

from icir_control.nodes.keyboard.client import ANSWER_TIMEOUT, ControllerClient, Question
from icir_control.nodes.keyboard.modes import Mode, table_of
from icir_control.nodes.keyboard.terminal import Terminal
from icir_control.nodes.process import StopRequest, run_node

CONTROLLER = 'controller'
HELP, QUIT = 'this help', 'quit'
COMMANDS = {'?': HELP, 'q': QUIT, '\x04': QUIT}
"""The keyboard's own keys; Ctrl-D is \\x04. A mode with the same key goes before them."""

_KEY_PERIOD = 0.02  # s, longest time that an answer waits to be printed


class Keyboard:
    """Reads keys, asks the controller for the mode of each, prints what it answers.

    It owns no process and no node, so that it also runs in the foreground of another program.
    """

    def __init__(
        self,
        node: Node,
        device: TextIO,
        console: Console,
        *,
        controller: str = CONTROLLER,
        commands: Mapping[str, str] = COMMANDS,
    ) -> None:
        """Put the parts together.

        Args:
            node: The node to ask through; spun here.
            device: The terminal whose keys are read.
            console: Where the table and the answers go.
            controller: The controller's name, relative to the node's namespace.
            commands: What the keyboard's own keys mean, by key.

        Raises:
            NoTerminalError: The device is not a terminal.
        """
        self._console = console
        self._commands = commands
        self._client = ControllerClient(
            node, controller, learnt=self._show_modes, lost=self._show_loss
        )
        self._controller = controller
        self._terminal = Terminal(device, resumed=self._show_help)
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
        self._is_over = False
        self._open: dict[str, tuple[float, Question]] = {}

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
                self._withdraw_overdue()
                self._executor.spin_once(0.0)
        self._executor.shutdown()

    def _press(self, key: str) -> None:
        modes = self._client.modes
        mode = (modes or {}).get(key)
        meaning = self._commands.get(key)
        if mode is not None:
            self._select(mode)
        elif meaning == QUIT:
            self._is_over = True
        elif meaning == HELP:
            self._show_help()
        elif modes is None:
            self._say(f'there is no {self._controller} as yet; q quits')
        else:
            valid = ' '.join([*modes, *(own for own in self._commands if own.isprintable())])
            self._say(f'{key!r} selects nothing; valid keys: {valid}')

    def _select(self, mode: Mode) -> None:
        def show(is_running: bool, words: str) -> None:
            self._open.pop(mode.name, None)
            self._say(words if is_running else f'{mode.name} refused: {words}')

        question = self._client.select(mode, show)
        self._open[mode.name] = (time.monotonic() + ANSWER_TIMEOUT, question)

    def _withdraw_overdue(self) -> None:
        now = time.monotonic()
        for name, (due, question) in list(self._open.items()):
            if now > due:
                del self._open[name]
                if question.withdraw():
                    self._say(f'{name}: the {self._controller} does not answer')

    def _show_help(self) -> None:
        """Show the table with the figures as they are now."""
        if self._client.modes is None:
            self._say(f'waiting for the {self._controller} ...')
        else:
            self._client.learn()

    def _show_modes(self, modes: Mapping[str, Mode]) -> None:
        self._console.print(table_of(modes, self._commands))

    def _show_loss(self) -> None:
        self._say(f'the {self._controller} has ended; waiting for it ...')

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
    node = rclpy.create_node('keyboard')
    try:
        Keyboard(node, sys.stdin, Console()).run(lambda: not stop)
    finally:
        node.destroy_node()
