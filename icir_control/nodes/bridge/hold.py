"""What keeps time from going on: a pause, or a world that has diverged."""

import math
import time
from collections.abc import Callable

StepDone = Callable[[bool], None]


class Hold:
    """Time stands still while paused, but for steps that are asked for one by one.

    Attributes:
        is_paused: Whether time stands still on request.
        divergence: Why the physics stands, in words; empty when it does not.
        may_move: Whether neither keeps time from going on.
    """

    def __init__(self) -> None:
        """Hold nothing."""
        self.is_paused = False
        self.divergence = ''
        self.may_move = True
        self._step_done: StepDone | None = None
        self._step_deadline = 0.0

    def pause(self, is_paused: bool) -> None:
        """Let time stand still, or go on."""
        self.is_paused = is_paused
        self._weigh()

    def diverge(self, reason: str) -> None:
        """Let time stand still because the physics diverged, or go on: without a reason."""
        self.divergence = reason
        self._weigh()

    def ask_step(self, timeout: float, done: StepDone) -> bool:
        """Ask for one step while paused.

        Args:
            timeout: Longest time to wait for the command that it needs [s of wall time].
            done: Called with whether the step was taken.

        Returns:
            Whether the request was taken: one at a time.
        """
        if self._step_done is not None:
            return False
        self._step_done = done
        self._step_deadline = time.monotonic() + timeout
        self._weigh()
        return True

    def note_step(self) -> None:
        """Tell who asked for a step that one was taken."""
        if self._step_done is not None:
            self._finish_step(True)

    def forget_step(self) -> None:
        """Let the request for a step end at the next look: it was one of a run that ended."""
        self._step_deadline = -math.inf

    def look_at_step(self, now: float) -> None:
        """Give up the step that was asked for if its command stays out too long.

        Args:
            now: Wall time [s, monotonic].
        """
        if self._step_done is not None and now >= self._step_deadline:
            self._finish_step(False)

    def _finish_step(self, is_taken: bool) -> None:
        done, self._step_done = self._step_done, None
        self._weigh()
        done(is_taken)

    def _weigh(self) -> None:
        is_still = self.is_paused and self._step_done is None
        self.may_move = not (self.divergence or is_still)
