"""Requests to the controller, and what becomes of them, as `~/motion_status` tells it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

from diagnostic_msgs.msg import DiagnosticStatus

from icir_control.nodes.transport.conversions import key_values, values_of


@dataclass(frozen=True)
class Request:
    """What is asked of the controller; as a string it is in words.

    Attributes:
        goal: What is given, that of POSE, JOINTS or TRAJECTORY; empty for a mode.
        mode: Name of the mode that is asked for.
    """

    goal: str = ''
    mode: str | None = None

    def __str__(self) -> str:
        return self.goal if self.mode is None else f'mode {self.mode}'


POSE, JOINTS = Request('target pose'), Request('target joints')
TRAJECTORY = Request('joint trajectory')


@dataclass(frozen=True)
class Outcome:
    """What has become of a request.

    Attributes:
        request: The request.
        stamp: Of the request, if it has one: its sender recognises the answer by it.
        kind: ACCEPTED, REFUSED, ARRIVED or ABORTED.
        words: Why, a sentence.
        data: More of it, by key.
    """

    ACCEPTED: ClassVar = 'accepted'
    REFUSED: ClassVar = 'refused'
    ARRIVED: ClassVar = 'arrived'
    ABORTED: ClassVar = 'aborted'

    request: Request
    stamp: str
    kind: str
    words: str
    data: Mapping[str, Any]

    @classmethod
    def of(cls, status: DiagnosticStatus) -> Self:
        """Return what a status tells."""
        data = values_of(status)
        words, stamp, kind = (data.pop(key, '') for key in ('request', 'stamp', 'outcome'))
        mode = data.pop('mode_requested', None)
        if mode is None and words.startswith('mode '):  # a recording of before there was this key
            mode = words.removeprefix('mode ')
        request = Request(words) if mode is None else Request(mode=mode)
        return cls(request, stamp, kind, status.message, data)

    def status(self, name: str) -> DiagnosticStatus:
        """Return a status of this name that tells it."""
        is_good = self.kind in (self.ACCEPTED, self.ARRIVED)
        level = DiagnosticStatus.OK if is_good else DiagnosticStatus.WARN
        values = {'request': self.request, 'stamp': self.stamp, 'outcome': self.kind, **self.data}
        if self.request.mode is not None:
            values['mode_requested'] = self.request.mode
        return DiagnosticStatus(
            level=level, name=name, message=self.words, values=key_values(values)
        )
