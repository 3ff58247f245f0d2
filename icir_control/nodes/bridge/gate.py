"""Which commands may move the arm, and what stops simulation time."""

import math
import time
from collections import Counter
from collections.abc import Callable

from icir_control.nodes.run_token import new_token
from icir_control.nodes.transport.endpoints import JointStatePublisher
from icir_control.nodes.transport.messages import FIELDS
from icir_control.simulation import World

_NEVER = -1


class CommandGate:
    """Admits commands that answer a state of this run, each once; counts the others by kind.

    A command carries the stamp and the token of the state that it was computed from. In lockstep
    it must answer the present state; otherwise it must be newer than every one admitted before,
    and no newer than the present state. From any source, every command is admitted when it comes.

    Attributes:
        refused: How many commands were not admitted, by kind: `other_run`, `future`, `late`,
            `duplicate`; the loop adds `duplicate_publisher`.
        admitted_ns: Stamp of the command admitted last [ns], negative before the first of a run.
        is_answered: Whether a command for the present state was admitted.
    """

    def __init__(self, *, lockstep: bool, any_source: bool = False) -> None:
        """Admit nothing until a run is opened.

        Args:
            lockstep: Whether only the answer to the present state is admitted.
            any_source: Whether every command is.
        """
        self._lockstep = lockstep
        self._any_source = any_source
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
        if self._any_source:
            self.admitted_ns, self.is_answered = state_ns, True
            return True
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
    """What stops simulation time: a pause, except for requested steps, or a diverged world.

    Attributes:
        is_paused: Whether a pause was requested.
        divergence: How the physics diverged, a sentence; empty when it has not.
        step_due: Until when the command for a requested step may come [s, monotonic].
    """

    def __init__(self, timeout: float) -> None:
        """Stop nothing.

        Args:
            timeout: How long a requested step waits for its command [s of wall time].
        """
        self.is_paused = False
        self.divergence = ''
        self.step_due = math.inf
        self._timeout = timeout
        self._count = self._taken = 0
        self._done: Callable[[str], None] | None = None

    @property
    def may_step(self) -> bool:
        """Whether nothing stops time."""
        return not (self.divergence or (self.is_paused and self._done is None))

    def request_steps(self, count: int, done: Callable[[str], None]) -> bool:
        """Ask for steps while paused; return whether the request is accepted: one at a time.

        Args:
            count: How many, at least 1.
            done: Called with why not all of them were taken; empty when they were.
        """
        if self._done is not None:
            return False
        self._count, self._taken, self._done = count, 0, done
        self.step_due = time.monotonic() + self._timeout
        return True

    def cancel_steps(self) -> None:
        """Let requested steps fail at the next check: their run has ended."""
        self.step_due = -math.inf

    def finish_step(self, failure: str = '') -> None:
        """Note that a step was taken, or why not; answer the request for steps when it is over."""
        self.step_due = math.inf
        done = self._done
        if done is None:
            return
        self._taken += not failure
        if self._taken < self._count and not failure:
            if self.is_paused:
                self.step_due = time.monotonic() + self._timeout
                return
            failure = 'not paused any more'
        if failure and self._count > 1:
            failure += f'; {self._taken} of {self._count} steps taken'
        self._done = None
        done(failure)


# How often a state is published again while it waits for its answer [s of wall time].
REPEAT_PERIOD = 0.1


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
        self.token = new_token(self._world.plant.euler_steps)
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
