"""The parameters that may change while a node runs, as inputs of the page."""

import math
import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import viser
import yaml
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.parameter import Parameter

from icir_control.nodes.controller.interface import DERIVED
from icir_control.nodes.panel.remote import RemoteNode
from icir_control.parameter import replaced

Later = Callable[[Callable[[], object]], None]
"""Has the node's own thread call a function; what viser calls runs in threads of its own."""

Say = Callable[[str], None]
"""Shows a sentence on the page."""

_TYPING_TIME = 0.8  # s after the last key until a text or number is sent
_SLIDING_TIME = 0.1  # s
_WIDEST_SLIDER = 100.0
_STEPS = 200  # of a slider, about
_NOT_SAVED = ('use_sim_time', *DERIVED)  # of every node; what follows from the others
_WORDS = {  # what stands in a field, of each type but text
    Parameter.Type.DOUBLE.value: float,
    Parameter.Type.INTEGER.value: int,
    Parameter.Type.DOUBLE_ARRAY.value: float,
    Parameter.Type.INTEGER_ARRAY.value: int,
    Parameter.Type.STRING_ARRAY.value: str,
}


def when_changed(handle: Any, later: Later, action: Callable[[], object]) -> None:
    """Run an action when somebody at a page changes an input or presses a button.

    Args:
        handle: Of the input; nothing happens when the node itself changes it.
        later: Has the action called.
        action: Reads the value that the input then has.
    """

    def take(event: Any) -> None:
        if event.client is not None:
            later(action)

    (handle.on_click if isinstance(handle, viser.GuiButtonHandle) else handle.on_update)(take)


class ParameterInput:
    """The input of one parameter: a slider where it has a narrow range, else a field."""

    def __init__(
        self, gui: viser.GuiApi, remote: RemoteNode, name: str, later: Later, say: Say
    ) -> None:
        """Show it.

        Args:
            gui: Where it goes.
            remote: The node whose parameter it is.
            name: Of the parameter.
            later: See `Later`.
            say: Takes the value that is set, or why one is refused.
        """
        self._remote, self._name, self._say = remote, name, say
        self._shown = value = remote.values[name]
        descriptor = remote.descriptors[name]
        label = name.rpartition('.')[2]
        hint = '; '.join(filter(None, (descriptor.description, descriptor.additional_constraints)))
        self._delay = _TYPING_TIME
        self._input: Any
        lower, upper = _range(descriptor)
        if isinstance(value, bool):
            self._input = gui.add_checkbox(label, value, hint=hint)
            self._delay = 0.0
        elif not isinstance(value, int | float) or upper - lower > _WIDEST_SLIDER:
            self._input = gui.add_text(label, _text(value), hint=hint)
        else:
            step = 10.0 ** math.floor(math.log10((upper - lower) / _STEPS))
            kind = type(value)
            self._input = gui.add_slider(
                label, kind(lower), kind(upper), max(kind(step), kind is int), value, hint=hint
            )
            self._delay = _SLIDING_TIME
        self._due = math.inf
        when_changed(self._input, later, self._note_change)

    def update(self) -> None:
        """Send what was changed, once nobody types any more; show what others have changed."""
        value = self._remote.values[self._name]
        if time.monotonic() >= self._due:
            self._due = math.inf
            self._send()
        elif value != self._shown and math.isinf(self._due):
            self._show()

    def _note_change(self) -> None:
        self._due = time.monotonic() + self._delay

    def _send(self) -> None:
        value = self._input.value
        kind = self._remote.descriptors[self._name].type
        if isinstance(value, str) and kind in _WORDS:
            is_array = _is_array(self._shown) or self._shown is None
            words = value.replace(',', ' ').split() if is_array else [value]
            try:
                numbers = [_WORDS[kind](word) for word in words]
            except ValueError:
                what = 'a list of numbers' if is_array else 'one number'
                self._refuse(f'{value!r} is not {what}; decimals follow a point')
                return
            value = numbers if is_array else numbers[0]

        async def set_value() -> None:
            if reason := await self._remote.set(self._name, value):
                self._refuse(reason)
            else:
                self._shown = self._remote.values[self._name] = value
                self._say(f'{self._name}: {_text(value)}')

        self._remote.start(set_value)

    def _refuse(self, reason: str) -> None:
        self._say(f'{self._name}: {reason}')
        self._show()

    def _show(self) -> None:
        self._shown = self._remote.values[self._name]
        is_field = isinstance(self._input, viser.GuiTextHandle)
        self._input.value = _text(self._shown) if is_field else self._shown


class ParametersTab:
    """All parameters that may change, by node, and a button that saves those that there are."""

    def __init__(
        self, gui: viser.GuiApi, remotes: Sequence[RemoteNode], later: Later, say: Say
    ) -> None:
        """Show them.

        Args:
            gui: Where they go.
            remotes: The nodes.
            later: See `Later`.
            say: See `ParameterInput`.
        """
        self._remotes = remotes
        self._inputs = []
        save = gui.add_button('save as a file', hint='for --params-file: all present values')

        @save.on_click
        def _(event: Any) -> None:
            content = parameter_file(remotes).encode()
            event.client.send_file_download('parameters.yaml', content, save_immediately=True)

        for remote in remotes:
            for title, names in _groups(remote):
                with gui.add_folder(title, expand_by_default=False):
                    for name in names:
                        self._inputs.append(ParameterInput(gui, remote, name, later, say))

    def update(self) -> None:
        """Send and show changes."""
        for one in self._inputs:
            one.update()


def parameter_file(remotes: Sequence[RemoteNode]) -> str:
    """Return the nodes' present parameters as a file, which they can be started with."""
    content = {}
    for remote in remotes:
        values = {
            name: [] if value is None else list(value) if _is_array(value) else value
            for name, value in remote.values.items()
            if name not in _NOT_SAVED and not name.startswith('qos_overrides')
        }
        content[f'/**/{remote.name}'] = {'ros__parameters': replaced({}, values)}
    return yaml.safe_dump(content, sort_keys=False)


def _groups(remote: RemoteNode) -> Iterator[tuple[str, list[str]]]:
    """Give the names of parameters that may change, by the title of their folder."""
    groups: dict[str, list[str]] = defaultdict(list)
    for name, descriptor in remote.descriptors.items():
        own = name != 'use_sim_time' and name in remote.values
        if own and not descriptor.read_only:
            groups[re.sub(r'\.?[^.]*$', '', name)].append(name)
    for group, names in groups.items():
        yield f'{remote.name}: {group}' if group else remote.name, names


def _range(descriptor: ParameterDescriptor) -> tuple[float, float]:
    """Return the least and the greatest value; infinite where there is no range."""
    for one in (*descriptor.floating_point_range, *descriptor.integer_range):
        return one.from_value, one.to_value
    return -math.inf, math.inf


def _is_array(value: Any) -> bool:
    return hasattr(value, '__len__') and not isinstance(value, str)


def _text(value: Any) -> str:
    """Return a value as it stands in a field."""
    if value is None or isinstance(value, str):
        return value or ''
    value = value if _is_array(value) else [value]
    return ', '.join(f'{one:.12g}' if isinstance(one, float) else str(one) for one in value)
