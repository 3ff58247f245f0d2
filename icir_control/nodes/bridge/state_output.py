"""Publishes the state of the arm: once when it is new, and again while time stands still."""

import secrets
import time

from icir_control.nodes.transport import FIELDS, JointStatePublisher
from icir_control.simulation import World

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
