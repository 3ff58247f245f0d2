"""Free-running: the world steps by the wall clock, with the newest command or braked."""

import time

import numpy as np

from icir_control.nodes.bridge.loop import Loop

# Joint speeds decay as exp(-rate t): to a 400th in 0.3 s.
BRAKE_RATE = 20.0
_NANOSECONDS = 1e9


class FreeRunningLoop(Loop):
    """The arm of a controller that may be late: its last command holds, but not for long."""

    # Whether anything was waited for since the last step.
    _has_looked = False

    def turn(self) -> None:
        """Wait for what comes next, then take it, step, or repeat the state."""
        now = time.monotonic()
        if now >= self.housekeeping.due:
            self.housekeeping.run(now)
        if not (self.gate.has_admitted and self.hold.may_move):
            self._look_for_first(now)
            self._stand(now)
        elif self.hold.is_paused:
            self._step_when_answered(now)
        else:
            self._run(now)

    def _run(self, now: float) -> None:
        """Step when it is time, and look for commands at least once before every step."""
        due = self.pacer.due
        if now < due or not self._has_looked:
            self._has_looked = True
            self._wait(now, due)
            return
        self._has_looked = False
        self._step(self._choose_torque(), now)

    def _choose_torque(self) -> np.ndarray:
        """Return the newest command, or the brake's torque when it is too old."""
        age_ns = self.world.time_ns - self.gate.admitted_ns
        if age_ns:
            self.statistics.missed += 1
            steps = age_ns // self.world.timestep_ns
            self.statistics.age_max = max(self.statistics.age_max, steps)
        if age_ns > self._timeout * _NANOSECONDS:
            self._fall_silent('the arm is braked')
        elif not self.rival:
            return self._torque
        return self.world.brake_torque(BRAKE_RATE)

    def _step_when_answered(self, now: float) -> None:
        """Take the one step that was asked for while paused."""
        if self.gate.is_answered and not self.rival:
            self._step(self._torque, now)
        else:
            self._stand(now)

    def _look_for_first(self, now: float) -> None:
        if not self.gate.has_admitted and now - self._states.published_at >= self._timeout:
            self._fall_silent('time stands still until the first one')
