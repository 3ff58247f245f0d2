"""Which commands may move the arm, and what stops simulation time."""

import math
import secrets
import time
from collections import Counter
from collections.abc import Callable

from icir_control.nodes.transport import FIELDS, JointStatePublisher
from icir_control.simulation import World

_NEVER = -1


class CommandGate:
    """Admits commands that answer a state of this run, each once; counts the others by kind.

    A command carries the stamp and the token of the state that it was computed from. In lockstep
    it must answer the present state; otherwise it must be newer than every one admitted before,
    and no newer than the present state.

    Attributes:
        refused: How many commands were not admitted, by kind: `other_run`, `future`, `late`,
            `duplicate`; the loop adds `duplicate_publisher`.
        admitted_ns: Stamp of the command admitted last [ns], negative before the first of a run.
        is_answered: Whether a command for the present state was admitted.
    """

    def __init__(self, *, lockstep: bool) -> None:
        """Admit nothing until a run is opened.

        Args:
            lockstep: Whether only the answer to the present state is admitted.
        """
        self._lockstep = lockstep
        self._token = ''
        self._state_ns = _NEVER
        self.admitted_ns = _NEVER
        self.is_answered = False
        self.refused: Counter[str] = Counter()

    @property
    def has_admitted(self) -> bool:
        """Whether any command of this run was admitted."""
        return self.admitted_ns != _NEVER

    def open_run(self, token: str, state_ns: int) -> None:
        """Begin a run: commands for earlier ones are not admitted any more.

        Args:
            token: Identifies the run.
            state_ns: Stamp of its first state [ns].
        """
        self._token = token
        self._state_ns = state_ns
        self.admitted_ns = _NEVER
        self.is_answered = False

    def advance(self, state_ns: int) -> None:
        """Set the stamp of the present state [ns], later than that of the one before."""
        self._state_ns = state_ns
        self.is_answered = False

    def withdraw(self) -> None:
        """Discard the command that was admitted for the present state; another may answer it."""
        if self.is_answered:
            self.admitted_ns = self._state_ns - 1
            self.is_answered = False

    def admits(self, stamp_ns: int, token: str) -> bool:
        """Return whether a command may be applied; one that may not is counted.

        Args:
            stamp_ns: The stamp that the command repeats [ns].
            token: The token that it repeats.
        """
        state_ns = self._state_ns
        if token != self._token:
            kind = 'other_run'
        elif stamp_ns > state_ns:
            kind = 'future'
        elif stamp_ns == self.admitted_ns:
            kind = 'duplicate'
        elif stamp_ns < (state_ns if self._lockstep else self.admitted_ns):
            kind = 'late'
        else:
            self.admitted_ns = stamp_ns
            self.is_answered = stamp_ns == state_ns
            return True
        self.refused[kind] += 1
        return False


class Hold:
    """What stops simulation time: a pause, except for single steps, or a diverged world.

    Attributes:
        is_paused: Whether a pause was requested.
        divergence: How the physics diverged, a sentence; empty when it has not.
        may_step: Whether neither stops time.
    """

    def __init__(self) -> None:
        """Stop nothing."""
        self.is_paused = False
        self.divergence = ''
        self.may_step = True
        self._step_done: Callable[[bool], None] | None = None
        self._step_deadline = 0.0

    def pause(self, is_paused: bool) -> None:
        """Pause or resume."""
        self.is_paused = is_paused
        self._update()

    def set_divergence(self, reason: str) -> None:
        """Stop because the physics diverged, or go on: with an empty reason."""
        self.divergence = reason
        self._update()

    def request_step(self, timeout: float, done: Callable[[bool], None]) -> bool:
        """Ask for one step while paused.

        Args:
            timeout: Longest time to wait for the command that it needs [s of wall time].
            done: Called with whether the step was taken.

        Returns:
            Whether the request is accepted: one at a time.
        """
        if self._step_done is not None:
            return False
        self._step_done = done
        self._step_deadline = time.monotonic() + timeout
        self._update()
        return True

    def cancel_step(self) -> None:
        """Let a requested step fail at the next check: its run has ended."""
        self._step_deadline = -math.inf

    def check_step_timeout(self, now: float) -> None:
        """Let a requested step fail when its command does not come in time.

        Args:
            now: Wall time [s, monotonic].
        """
        if now >= self._step_deadline:
            self.finish_step(False)

    def finish_step(self, is_taken: bool) -> None:
        """Answer a requested step, if there is one, with whether it was taken."""
        done, self._step_done = self._step_done, None
        if done is not None:
            self._update()
            done(is_taken)

    def _update(self) -> None:
        is_stopped = self.is_paused and self._step_done is None
        self.may_step = not (self.divergence or is_stopped)


# How often a state is published again while it waits for its answer [s of wall time].
REPEAT_PERIOD = 0.1
_TOKEN_BYTES = 8


class StateOutput:
    """Publishes the world's state under the token of the run.

    Attributes:
        token: Identifies the run.
        published_at: Wall time at which the present state was published first [s, monotonic].
        repeat_due: Wall time at which it is to be published again [s, monotonic].
    """

    def __init__(self, world: World, publisher: JointStatePublisher) -> None:
        """Prepare; the first run opens with `open_run`.

        Args:
            world: Whose state is published.
            publisher: Publishes it.
        """
        self._world = world
        self._publisher = publisher
        self._arrays = publisher.open('', *FIELDS)
        self.token = ''
        self.published_at = 0.0
        self.repeat_due = 0.0
        self._delay = 0.0
        self._is_repeated = False

    def open_run(self) -> None:
        """Take a new token."""
        self.token = secrets.token_hex(_TOKEN_BYTES)
        self._arrays = self._publisher.open(self.token, *FIELDS)

    def publish(self) -> None:
        """Publish the present state for the first time."""
        world = self._world
        world.read(*self._arrays)
        self._publisher.send(world.time_ns)
        self._is_repeated = False
        self._delay = 0.0
        self.published_at = now = time.monotonic()
        self.repeat_due = now + REPEAT_PERIOD

    def repeat(self, now: float) -> bool:
        """Publish the present state again, under the same header.

        Args:
            now: Wall time [s, monotonic].

        Returns:
            Whether this is its first repetition.
        """
        self._delay += now - self.repeat_due
        is_first, self._is_repeated = not self._is_repeated, True
        self._publisher.send(self._world.time_ns)
        self.repeat_due = now + REPEAT_PERIOD
        return is_first

    def waited(self, now: float) -> float:
        """Return how long the present state has waited for its answer [s].

        The time by which repetitions were late does not count: this process was suspended or had
        no processor, and the answer may have been there all the time.

        Args:
            now: Wall time [s, monotonic].
        """
        return min(now, self.repeat_due) - self.published_at - self._delay
