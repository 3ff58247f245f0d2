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
        is_answered: Whether a command for the present state was admitted.
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
        self.is_answered = False
        self.refused: Counter[str] = Counter()

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
        self.is_answered = False

    def advance(self, state_ns: int) -> None:
        """Take the stamp of a new state [ns], later than the one before."""
        self._state_ns = state_ns
        self.is_answered = False

    def withdraw(self) -> None:
        """Take back the admission of a command for the present state: another one may come."""
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
