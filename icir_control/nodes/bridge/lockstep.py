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
        if not self._may_step:
            self._look_for_silence(now)
            self._stand(now)
            if not self._may_step:
                return
            # The answer has come: the step is taken in the same turn.
            now = time.monotonic()
        wait = self.pacer.due - now
        if wait <= 0.0 or self.is_paused:
            self._step(self._torque, now)
        else:
            self._wait(wait)

    @property
    def _may_step(self) -> bool:
        """Whether a command for the present state is there, and nothing stands against it."""
        return self.gate.is_answered and self._may_move and not self.rival

    def _look_for_silence(self, now: float) -> None:
        if self._is_wanted and now - self._states.published_at >= self._timeout:
            self._fall_silent('time stands still')
