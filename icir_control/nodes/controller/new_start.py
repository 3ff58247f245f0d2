"""When a state does not continue those before it: the controller must not act on what it kept."""

import numpy as np
from numpy.typing import NDArray

from icir_control.compiled import bound, kernel

LONGEST_GAP = 0.5  # s of simulation time; by then a free-running plant has braked the arm
FASTEST_JOINT = 10.0  # rad/s or m/s, where the model sets no limit


class StartDetector:
    """Compares each state of the arm with the one before."""

    def __init__(self, velocity_limit: NDArray[np.float64]) -> None:
        """Compile; nothing was seen yet.

        Args:
            velocity_limit: (nv,) of the joints [rad/s or m/s].
        """
        self._margin = np.minimum(velocity_limit, FASTEST_JOINT)
        self._last = np.zeros((2, len(velocity_limit)))
        self._stamp_ns = 0
        self._token: str | None = None
        self._take_over = bound(take_over, *self._last, self._last, self._margin, 0.0)

    def forget(self) -> None:
        """Take the next state for the first one."""
        self._token = None

    def reason(
        self,
        stamp_ns: int,
        token: str,
        position: NDArray[np.float64],
        velocity: NDArray[np.float64],
    ) -> str:
        """Return why this state begins anew; empty where it goes on from the last one.

        Args:
            stamp_ns: Simulation time [ns].
            token: Of the bridge's run.
            position: (nv,) [rad or m].
            velocity: (nv,) [rad/s or m/s].
        """
        elapsed = (stamp_ns - self._stamp_ns) * 1e-9
        jumps = self._take_over(position, velocity, self._last, self._margin, elapsed)
        if token != self._token:
            reason = 'the first state' if self._token is None else 'another run'
        elif elapsed < 0.0:
            reason = 'time went back'
        elif elapsed > LONGEST_GAP:
            reason = f'{elapsed:.3g} s without a state'
        else:
            reason = 'the arm jumped' if jumps else ''
        self._stamp_ns = stamp_ns
        self._token = token
        return reason


@kernel
def take_over(position, velocity, last, margin, elapsed):  # noqa: ANN001, ANN201
    """Keep a state as the last one; return whether a joint came further than it could.

    Between two states a joint moves by about its speed times the time between them: twice the
    greater of the two speeds, and its greatest speed on top, leave room for any push.

    Args:
        position: (nv,) [rad or m].
        velocity: (nv,) [rad/s or m/s].
        last: (2, nv) position and velocity of the last state, overwritten.
        margin: (nv,) [rad/s or m/s].
        elapsed: Time since the last state [s].
    """
    jumps = False
    for i in range(position.shape[0]):
        speed = 2.0 * max(abs(velocity[i]), abs(last[1, i])) + margin[i]
        if abs(position[i] - last[0, i]) > speed * elapsed:
            jumps = True
        last[0, i] = position[i]
        last[1, i] = velocity[i]
    return jumps
