"""Modes, speed, time and recording: what runs, and the buttons that change it."""

import re
from collections import deque
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import viser
from diagnostic_msgs.msg import DiagnosticStatus
from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from icir_control.nodes.panel.parameters import Later, ParameterInput, when_changed
from icir_control.nodes.panel.remote import RemoteNode
from icir_control.nodes.process.children import ChildEndedError, RecorderProcess, RecorderState
from icir_control.nodes.transport.client import NoAnswerError
from icir_control.nodes.transport.outcome import Outcome

_RUNNING = 'green'
_MARKUP = re.compile(r'([\\`*_{}\[\]<>#|~])')


class RecorderControl:
    """One recording at a time, for as long as the panel runs.

    Attributes:
        sentence: What is recorded, or what became of it.
    """

    def __init__(self, node: Node) -> None:
        """Record nothing yet.

        Args:
            node: Whose namespace is recorded.
        """
        self.sentence = ''
        self._namespace = node.get_namespace()
        self._path = Path()
        self._recorder: RecorderProcess | None = None
        self._last_lines: deque[str] = deque(maxlen=2)

    @property
    def is_running(self) -> bool:
        """Whether the recorder runs."""
        return self._recorder is not None

    def toggle(self) -> None:
        """Start, or ask the recorder to end."""
        if self._recorder is not None:
            self._recorder.request_stop()
            return
        self._path = Path(f'{datetime.now():%Y-%m-%d_%H-%M-%S}.mcap').absolute()
        self._last_lines.clear()
        self._recorder = RecorderProcess(
            self._path, lambda _, line: self._last_lines.append(line), self._namespace
        )

    def update(self) -> None:
        """Look what the recorder does."""
        if self._recorder is None:
            return
        try:
            self._recorder.check()
        except ChildEndedError as error:
            self.close()
            summary = list(self._last_lines)
            # Of one that has failed: why, if it could say so.
            self.sentence = '; '.join([*summary, str(error)] if error.status else summary[-1:])
            return
        if self._recorder.has_reported(RecorderState.RECORDING):
            size = self._path.stat().st_size * 1e-6 if self._path.exists() else 0.0
            self.sentence = f'recording {self._path}, {size:.1f} MB'
        else:
            self.sentence = 'starting the recorder'

    def close(self) -> None:
        """End what runs, with a whole file."""
        if self._recorder is not None:
            self._recorder.stop()
            self._recorder = None


class ControlsTab:
    """What nodes and arm do, the last answer, modes, and time.

    Attributes:
        mode: The running mode; empty where none is known.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        controller: RemoteNode,
        bridge: RemoteNode,
        recording: RecorderControl,
        later: Later,
    ) -> None:
        """Show it.

        Args:
            server: Shows it.
            controller: Whose modes are shown.
            bridge: Whose time is shown.
            recording: Is started and ended here.
            later: See `Later`.
        """
        gui = server.gui
        self.mode = ''
        self._controller, self._bridge = controller, bridge
        self._state = gui.add_markdown('')
        self._answer = gui.add_markdown('')
        self._buttons: dict[str, Any] = {}
        with gui.add_folder('Mode'):
            for mode in controller.values.get('mode_names', []):
                key = controller.values.get(f'modes.{mode}.key', '')
                self._buttons[mode] = gui.add_button(mode, hint=f'key {key}')
                when_changed(self._buttons[mode], later, self._selection_of(mode))
        self._inputs = [
            ParameterInput(gui, remote, name, later, self.say)
            for remote, name in ((controller, 'speed_scale'), (bridge, 'real_time_factor'))
            if name in remote.values and name in remote.descriptors
        ]
        with gui.add_folder('Time'):
            self._pause = gui.add_button('pause')
            self._step = gui.add_button('step', hint='one control period', disabled=True)
            reset = gui.add_button('reset', hint='to the initial configuration')
        self._recording = recording
        with gui.add_folder('Recording'):
            self._record = gui.add_button('record', hint='to an MCAP file where the panel runs')
            self._recorded = gui.add_markdown('')
        when_changed(self._record, later, recording.toggle)
        self._is_paused = False
        when_changed(self._pause, later, self._toggle_pause)
        when_changed(self._step, later, lambda: self._ask(Trigger, 'step'))
        when_changed(reset, later, lambda: self._ask(Trigger, 'reset'))

    def say(self, text: str) -> None:
        """Show a sentence, such as why something was refused."""
        self._answer.content = _plain(text)

    def take_outcome(self, status: DiagnosticStatus) -> None:
        """Show what has become of a request."""
        outcome = Outcome.of(status)
        reason = f': {outcome.words}' if outcome.kind in (Outcome.REFUSED, Outcome.ABORTED) else ''
        self.say(f'{outcome.request} {outcome.kind}{reason}')

    def update(self, mode: str, factor: float) -> None:
        """Show the present state.

        Args:
            mode: That runs.
            factor: Simulated seconds per second.
        """
        self.mode = mode
        for name, button in self._buttons.items():
            color = _RUNNING if name == mode and self._controller.is_alive else None
            if button.color != color:
                button.color = color
        is_paused = self._bridge.is_alive and self._bridge.facts.get('paused') == str(True)
        if is_paused != self._is_paused:
            self._is_paused = is_paused
            self._pause.label = 'resume' if is_paused else 'pause'
            self._step.disabled = not is_paused
        pace = 'paused' if is_paused else f'{factor:.2f} x real time'
        words = [f'**{_plain(mode) or "no mode"}**, {pace}']
        for remote in (self._bridge, self._controller):
            if not remote.values:
                continue  # there has been none
            if not remote.is_alive:
                words.append(f'**{_plain(remote.name)} does not respond**')
            elif remote.status.level != DiagnosticStatus.OK:
                words.append(_plain(remote.status.message))
        content = '  \n'.join(words)
        if content != self._state.content:
            self._state.content = content
        self._recording.update()
        sentence = _plain(self._recording.sentence)
        if sentence != self._recorded.content:
            self._recorded.content = sentence
            self._record.label = 'stop recording' if self._recording.is_running else 'record'
        for one in self._inputs:
            one.update()

    def _selection_of(self, mode: str) -> Callable[[], object]:
        async def select() -> None:
            try:
                answer = await self._controller.call(Trigger, f'modes/{mode}')
            except NoAnswerError:
                self.say(f'mode {mode}: the {self._controller.name} does not answer')
            else:
                if not answer.success:
                    self.say(f'mode {mode} refused: {answer.message}')

        return lambda: self._controller.start(select)

    def _toggle_pause(self) -> None:
        self._ask(SetBool, 'pause', data=not self._is_paused)

    def _ask(self, kind: Any, service: str, **fields: Any) -> None:
        async def ask() -> None:
            try:
                answer = await self._bridge.call(kind, service, **fields)
            except NoAnswerError:
                self.say(f'{service}: the {self._bridge.name} does not answer')
                return
            self.say(f'{service}: {answer.message}')
            if answer.success and service == 'pause':
                self._bridge.facts['paused'] = str(fields['data'])

        self._bridge.start(ask)


def _plain(text: str) -> str:
    """Return a text as Markdown shows it as it is."""
    return _MARKUP.sub(r'\\\1', text)
