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
        if not (self.gate.is_answered and self._may_move and not self.rival):
            self._look_for_silence(now)
            self._stand(now)
            return
        wait = self.pacer.due - now
        if wait <= 0.0 or self.is_paused:
            self._step(self._torque, now)
        elif self._waiter.wait(wait):
            self._take()

    def _look_for_silence(self, now: float) -> None:
        if self._is_wanted and now - self._states.published_at >= self._timeout:
            self._fall_silent('time stands still')
