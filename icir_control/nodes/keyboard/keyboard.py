"""The keyboard: reads keys of a terminal, sends requests to the controller, prints its answers.

The terminal is restored however the program ends.
"""

import contextlib
import os
import re
import select
import signal
import sys
import termios
import tty
from collections import deque
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, TextIO

from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node
from rich.console import Console

from icir_control.errors import IcirError
from icir_control.nodes.keyboard.client import ControllerClient
from icir_control.nodes.keyboard.keys import (
    ROWS,
    Action,
    Jog,
    Jogger,
    JointJog,
    ModeKey,
    help_of,
    shadowed,
    table_of,
)
from icir_control.nodes.process.run import join_graph
from icir_control.nodes.process.stop_request import StopRequest
from icir_control.nodes.transport.client import spin_ready
from icir_control.nodes.transport.outcome import JOINTS, Outcome
from icir_control.share import CONTROLLER

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_KEYS = re.compile(r'\x1b\[[0-9;]*[@-~]?|\x1bO.?|\x1b|.', re.DOTALL)
"""A key: what an arrow or a function key sends, or one character."""


class NoTerminalError(IcirError):
    """What should be a terminal is a pipe, a file or nothing."""

    def __init__(self) -> None:
        """State what is missing, and how to start the keyboard."""
        super().__init__(
            'the keyboard needs a terminal, and its standard input is none;'
            ' run it in a terminal of its own: ros2 run icir_control keyboard'
        )


class Terminal:
    """Gives the keys typed at a terminal one by one, without Enter and without echo.

    A context manager, for the main thread. Inside it the signals that end a program only set
    `is_over`, so that the program ends regularly and the terminal is restored. It is restored as
    well while the program is suspended (Ctrl-Z).

    Attributes:
        is_over: Whether a signal or the end of input asks to leave.
    """

    def __init__(self, device: TextIO, resumed: Callable[[], None] = lambda: None) -> None:
        """Check the device; its settings are changed when the context is entered.

        Args:
            device: The terminal, such as `sys.stdin`.
            resumed: Called when the program goes on after it was suspended.

        Raises:
            NoTerminalError: The device is not a terminal.
        """
        try:
            self._file = device.fileno()
        except (OSError, ValueError, AttributeError) as error:
            raise NoTerminalError from error
        if not os.isatty(self._file):
            raise NoTerminalError
        self.is_over = False
        self._is_resumed = False
        self._resumed = resumed
        self._handlers: dict[signal.Signals, Any] = {}
        self._settings: list[Any] = []

    def __enter__(self) -> 'Terminal':
        """Take over the signals, then the terminal."""
        self._settings = termios.tcgetattr(self._file)
        for number in _ENDING:
            self._handlers[number] = signal.signal(number, lambda number, frame: self.end())
        self._handlers[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, self._suspend)
        self._handlers[signal.SIGCONT] = signal.signal(signal.SIGCONT, self._resume)
        self._take()
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the terminal, then the signals."""
        self._restore()
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def end(self) -> None:
        """Ask to leave."""
        self.is_over = True

    def read(self, timeout_s: float) -> list[str]:
        """Return the keys that were typed, after waiting for one; often none.

        A key that sends several characters, such as an arrow, counts as one. The end of input, a
        closed terminal, sets `is_over`.

        Args:
            timeout_s: How long to wait for a key [s].
        """
        if self._is_resumed:
            self._is_resumed = False
            with contextlib.suppress(termios.error):
                self._take()
            self._resumed()
        try:
            if not select.select([self._file], [], [], timeout_s)[0]:
                return []
            typed = os.read(self._file, 1024)
        except OSError:  # hung up
            typed = b''
        if not typed:
            self.is_over = True
        text = typed.decode(errors='replace')
        return _KEYS.findall(text)

    def _take(self) -> None:
        if self._is_ours():
            tty.setcbreak(self._file, termios.TCSANOW)

    def _restore(self) -> None:
        with contextlib.suppress(termios.error):  # a closed terminal cannot be restored
            if self._is_ours():
                termios.tcsetattr(self._file, termios.TCSADRAIN, self._settings)

    def _is_ours(self) -> bool:
        """Return whether the terminal may be touched.

        A program in the background would be stopped for it; when it comes to the foreground,
        it receives SIGCONT.
        """
        try:
            return os.tcgetpgrp(self._file) == os.getpgrp()
        except OSError:  # not the terminal that started us: it has no background
            return True

    def _suspend(self, number: int, frame: FrameType | None) -> None:
        self._restore()
        signal.signal(signal.SIGTSTP, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)  # stops here, until SIGCONT

    def _resume(self, number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGTSTP, self._suspend)
        self._is_resumed = True


_KEY_PERIOD = 0.02  # s, longest time that an answer waits to be printed
_CALLBACKS = 6  # between two reads of keys; poses arrive at most twice in that time
_KEPT_STEPS = 100  # jog steps whose outcome may still come


class Keyboard:
    """Reads keys, requests what each means from the controller, prints the answers.

    It owns neither process nor node, so that it also runs in the foreground of another program.
    """

    def __init__(
        self,
        node: Node,
        device: TextIO,
        console: Console,
        *,
        shows_refusals: bool = True,
    ) -> None:
        """Put the parts together.

        Args:
            node: The node to ask through; spun here.
            device: The terminal whose keys are read.
            console: Where the table and the answers go.
            shows_refusals: Whether to print what the controller refuses; False where its log is
                seen in the same terminal.

        Raises:
            NoTerminalError: The device is not a terminal.
        """
        self._console = console
        self._own_keys = {key: action for row in ROWS for key, action in row.keys.items()}
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
        self._client = ControllerClient(
            node,
            on_modes=self._show_modes,
            on_lost=self._show_loss,
            on_motion_status=self._show_outcome,
        )
        self._shows_refusals = shows_refusals
        self._jogger = Jogger(node)
        self._steps: deque[str] = deque(maxlen=_KEPT_STEPS)
        self._typed: deque[str] = deque()
        self._terminal = Terminal(device, resumed=self._show_help)
        self._actions: dict[Action, Callable[[], None]] = {
            Action.AXES: lambda: self._print(self._jogger.change_axes()),
            Action.FINER: lambda: self._print(self._jogger.change_step(-1)),
            Action.COARSER: lambda: self._print(self._jogger.change_step(1)),
            Action.SLOWER: lambda: self._client.change_speed(-1, self._print),
            Action.FASTER: lambda: self._client.change_speed(1, self._print),
            Action.WINDOW: lambda: self._client.open_window(self._print),
            Action.HELP: self._show_help,
            Action.QUIT: self._terminal.end,
        }

    def run(self, is_wanted: Callable[[], bool] = lambda: True) -> None:
        """Serve keys until the key to quit, a signal, the end of input, or `is_wanted` is False.

        Args:
            is_wanted: Called again and again; False ends it.
        """
        with self._terminal:
            self._print(f'waiting for the {CONTROLLER} ...')
            while not self._terminal.is_over and is_wanted():
                self._typed.extend(self._terminal.read(_KEY_PERIOD))
                # Modes are services of their own: two requests at a time could change places.
                while self._typed and not (self._client.selecting or self._terminal.is_over):
                    self._press(self._typed.popleft())
                self._client.update()
                spin_ready(self._executor, _CALLBACKS)
        self._executor.shutdown()

    def _press(self, key: str) -> None:
        modes = self._client.modes
        mode = (modes or {}).get(key)
        action = self._own_keys.get(key)
        if mode is not None:
            name = mode.name
            self._client.select(mode, lambda success, text: self._show_mode(name, success, text))
        elif action in (Action.QUIT, Action.HELP, Action.WINDOW):
            self._actions[action]()
        elif modes is None:
            self._print(f'there is no {CONTROLLER} yet; q quits')
        elif isinstance(action, Jog):
            self._jog(action, modes)
        elif isinstance(action, JointJog):
            self._print(self._jogger.move_joint(action, self._client.translating))
        elif action is not None:
            self._actions[action]()
        else:
            valid = ' '.join([*modes, *(own for own in self._own_keys if own.isprintable())])
            self._print(f'{key!r} is not assigned; valid keys: {valid}')

    def _jog(self, jog: Jog, modes: Mapping[str, ModeKey]) -> None:
        running = next((m for m in modes.values() if m.name == self._client.running), None)
        if running is not None and running.takes_pose:
            stamp, text = self._jogger.move(jog)
            if stamp:
                self._steps.append(stamp)
            self._print(text)
            return
        able = ', '.join(f'{key} ({mode.name})' for key, mode in modes.items() if mode.takes_pose)
        if able:
            mode = self._client.running or 'the running mode'
            self._print(f'{mode} takes no jog steps; first press one of: {able}')
        else:
            self._print('none of the modes takes jog steps, which are target poses')

    def _show_help(self) -> None:
        """Print the tables, with the present values of the parameters."""
        if self._client.modes is None:
            self._print(f'waiting for the {CONTROLLER} ...')
        else:
            self._client.read_modes()

    def _show_modes(self, modes: Mapping[str, ModeKey]) -> None:
        self._console.print(table_of(modes))
        for key, text in shadowed(modes).items():
            self._print(f'{key} selects the mode {modes[key].name}, instead of: {text}')
        self._console.print(help_of(modes))

    def _show_loss(self) -> None:
        self._jogger.forget()
        self._print(f'the {CONTROLLER} has ended; waiting for it ...')

    def _show_mode(self, name: str, success: bool, text: str) -> None:
        if success:
            self._print(text)
        elif self._shows_refusals:
            self._print(f'{name} refused: {text}')

    def _show_outcome(self, status: DiagnosticStatus) -> None:
        """Print why a step of ours is refused."""
        outcome = Outcome.of(status)
        of_tool = outcome.stamp in self._steps
        if outcome.kind != Outcome.REFUSED or not (of_tool or outcome.request == JOINTS):
            return
        if self._shows_refusals:
            self._print(f'the step is refused: {outcome.words}')
        if of_tool:
            self._print('single joints may still move: select one by 1 to 9, move it by . and ,')

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


class KeyboardNode:
    """A keyboard as a node of its own, at this terminal."""

    def __init__(self) -> None:
        """Join the graph.

        Raises:
            NoTerminalError: The standard input is not a terminal.
        """
        self._node = join_graph('keyboard')
        self._keyboard = Keyboard(self._node, sys.stdin, Console())

    def run(self, stop: StopRequest) -> None:
        """Run until asked to stop; see `NodeProcess`."""
        self._keyboard.run(lambda: not stop)

    def close(self) -> None:
        """Leave the graph."""
        self._node.destroy_node()
