"""States that the bridge sends under the token of a run, and commands that may answer them."""

import time
from collections import Counter

from icir_control.nodes.run_token import new_token
from icir_control.nodes.transport.endpoints import JointStatePublisher
from icir_control.nodes.transport.messages import FIELDS
from icir_control.simulation import World

REPEAT_PERIOD = 0.1
"""[s of wall time] Between two publications of a state that waits for its answer."""

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

    def restart_wait(self, now: float) -> None:
        """Count from now on how long the present state waits: nobody could answer it before."""
        self._delay = 0.0
        self.published_at, self.repeat_due = now, now + REPEAT_PERIOD

    def waited(self, now: float) -> float:
        """Return how long the present state has waited for its answer [s].

        The time by which repetitions were late does not count: this process was suspended or had
        no processor, and the answer may have been there all the time.

        Args:
            now: Wall time [s, monotonic].
        """
        return min(now, self.repeat_due) - self.published_at - self._delay
