"""Which commands may move the arm: those that answer a state of this run, each once."""

from collections import Counter

_NEVER = -1


class CommandGate:
    """Admits commands by the header that they repeat, and counts the others by kind.

    A command carries the stamp and the token of the state that it was computed from. In lockstep
    it must answer the present state; otherwise it must be newer than every one admitted before,
    and no newer than the present state.

    Attributes:
        refused: How many commands were not admitted, by kind: `other_run`, `future`, `late`,
            `duplicate`.
        admitted_ns: Stamp of the command admitted last [ns], negative before the first of a run.
    """

    def __init__(self, *, lockstep: bool) -> None:
        """Close the gate until a run is opened.

        Args:
            lockstep: Whether only the answer to the present state is admitted.
        """
        self._lockstep = lockstep
        self._token = ''
        self._state_ns = _NEVER
        self.admitted_ns = _NEVER
        self.refused: Counter[str] = Counter()

    @property
    def is_answered(self) -> bool:
        """Whether a command for the present state was admitted."""
        return self.admitted_ns == self._state_ns

    @property
    def has_admitted(self) -> bool:
        """Whether any command of this run was admitted."""
        return self.admitted_ns != _NEVER

    def open_run(self, token: str, state_ns: int) -> None:
        """Begin a run: commands for earlier ones are not admitted any more.

        Args:
            token: What tells this run's states from those of any other.
            state_ns: Stamp of its first state [ns].
        """
        self._token = token
        self._state_ns = state_ns
        self.admitted_ns = _NEVER

    def advance(self, state_ns: int) -> None:
        """Take the stamp of a new state [ns]."""
        self._state_ns = state_ns

    def withdraw(self) -> None:
        """Take back the admission of a command for the present state: another one may come."""
        if self.is_answered:
            self.admitted_ns = self._state_ns - 1

    def admits(self, stamp_ns: int, token: str) -> bool:
        """Return whether a command may be applied; one that may not is counted.

        Args:
            stamp_ns: The stamp that the command repeats [ns].
            token: The token that it repeats.
        """
        kind = self._objection(stamp_ns, token)
        if kind is None:
            self.admitted_ns = stamp_ns
            return True
        self.refused[kind] += 1
        return False

    def _objection(self, stamp_ns: int, token: str) -> str | None:
        if token != self._token:
            return 'other_run'
        if stamp_ns > self._state_ns:
            return 'future'
        if stamp_ns == self.admitted_ns:
            return 'duplicate'
        if stamp_ns < (self._state_ns if self._lockstep else self.admitted_ns):
            return 'late'
        return None
