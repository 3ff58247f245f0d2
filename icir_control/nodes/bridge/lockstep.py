"""Lockstep: the world steps with the command that answers its present state, and only then."""

import time

from icir_control.nodes.bridge.loop import Loop


class LockstepLoop(Loop):
    """However slow the machine, every state is answered once, and time waits for the answer."""

    def turn(self) -> None:
        """Wait for what comes next, then take it, step, or repeat the state."""
        now = time.monotonic()
        if now >= self.housekeeping.due:
            self.housekeeping.run(now)
        gate, hold = self.gate, self.hold
        if not (gate.is_answered and hold.may_move) or self.rival:
            now = self._stand(now)
            if not (gate.is_answered and hold.may_move) or self.rival:
                if self._is_wanted and self._states.waited(now) >= self._timeout:
                    self._fall_silent('time stands still')
                return
            # The answer has come: the step is taken in the same turn.
        due = self.pacer.due
        if now >= due or hold.is_paused:
            self._step(self._torque, now)
        else:
            self._wait(now, due)
