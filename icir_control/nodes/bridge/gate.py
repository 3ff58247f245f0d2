"""When the plant may step: a command must answer its state, and its time must have come.

States carry the token of a run; the wall time of a step follows the real-time factor, and the
simulation may be paused.
"""

import math
import time
from collections import Counter
from collections.abc import Callable

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


Task = Callable[[float], object]

MAX_LAG = 0.1
"""A loop that is further behind than this does not catch up [s of wall time]."""

# The shortest time between two ticks while a loop catches up, in periods: at most twice as fast.
_CATCH_UP = 0.5


class Pacer:
    """Spaces ticks on a grid of wall time.

    Ticks that begin a little late do not move the grid, so that the pace is right on average.
    After a late one the loop catches up at no more than twice its pace. When it is more than
    `MAX_LAG` behind, the grid moves instead.

    Attributes:
        due: Wall time at which the next tick may begin [s, monotonic]; minus infinity for at once.
        late: How many ticks began more than a period after they were due.
        lost: Wall time that was not caught up [s].
    """

    def __init__(self, period: float, factor: float) -> None:
        """Set the pace; `restart` it at the first tick.

        Args:
            period: Simulated time of a tick [s].
            factor: Simulated seconds per second of wall time; 0 is as fast as possible.
        """
        self._period = period
        self._wall_period = 0.0
        self._grid = 0.0
        self.due = 0.0
        self.late = 0
        self.lost = 0.0
        self.set_factor(factor, 0.0)

    def set_factor(self, factor: float, now: float) -> None:
        """Change the pace from the next tick on.

        Args:
            factor: Simulated seconds per second of wall time; 0 is as fast as possible.
            now: Wall time [s, monotonic].
        """
        self._wall_period = self._period / factor if factor else 0.0
        self.restart(now)

    def restart(self, now: float) -> None:
        """Let the next tick begin at once, and count the grid from there.

        Args:
            now: Wall time [s, monotonic].
        """
        self._grid = now
        self.due = now if self._wall_period else -math.inf

    def begin_tick(self, now: float) -> None:
        """Note that a tick begins, and when the next one may.

        Args:
            now: Wall time [s, monotonic].
        """
        period = self._wall_period
        if not period:
            return
        if now - self.due > period:
            self.late += 1
        behind = now - self._grid
        if behind > max(MAX_LAG, period):
            self.lost += behind
            self._grid = now
        self._grid += period
        self.due = max(self._grid, now + _CATCH_UP * period)


class PeriodicTasks:
    """Runs tasks at their own periods of wall time, in the thread of the loop.

    The loop compares one number per tick.

    Attributes:
        due: Wall time of the next task [s, monotonic].
    """

    def __init__(self) -> None:
        """Start without tasks."""
        self._periods: dict[Task, float] = {}
        self._dues: dict[Task, float] = {}
        self.due = math.inf

    def every(self, period: float, task: Task) -> None:
        """Add a task, due at once and then every `period` seconds; called with the wall time."""
        self._periods[task] = period
        self.due = self._dues[task] = -math.inf

    def run(self, now: float) -> None:
        """Run the tasks that are due.

        Args:
            now: Wall time [s, monotonic].
        """
        for task, period in self._periods.items():
            if self._dues[task] <= now:
                task(now)
                on_grid = self._dues[task] + period
                self._dues[task] = on_grid if on_grid > now else now + period
        self.due = min(self._dues.values())


class PauseControl:
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
