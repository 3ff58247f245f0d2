"""What the demo does and when: every mode once, pushes where an arm should give way."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Push:
    """A force on the end effector, along one of its own axes.

    Attributes:
        start: Simulation time [s].
        duration: [s].
        axis: 0, 1 or 2 for x, y or z.
        force: [N].
    """

    start: float
    duration: float
    axis: int
    force: float

    @property
    def end(self) -> float:
        """Simulation time at which it is over [s]."""
        return self.start + self.duration

    @property
    def wrench(self) -> NDArray[np.float64]:
        """(6,) linear part first [N, N m]."""
        return self.force * np.eye(6)[self.axis]


@dataclass(frozen=True)
class Phase:
    """One mode, for a while.

    Attributes:
        mode: Its name.
        start: Simulation time at which it is entered [s].
        end: Simulation time at which the next one is [s].
        pushes: In the order of their start.
    """

    mode: str
    start: float
    end: float
    pushes: tuple[Push, ...] = ()


# Down starts from home, jog takes its step from where down has ended, and hold stops an arm that
# is pushed. Float and hold are last, because the arm then rests where the push has moved it.
PHASES = (
    Phase('gravity', 0.0, 1.5),
    Phase('home', 1.5, 4.0),
    Phase(
        'impedance',
        4.0,
        14.0,
        (Push(4.5, 2.0, 0, 5.0), Push(7.5, 2.0, 1, 5.0), Push(10.5, 2.0, 2, 5.0)),
    ),
    Phase('down', 14.0, 16.5),
    Phase('jog', 16.5, 17.5),
    Phase('ready', 17.5, 20.0),
    Phase('float', 20.0, 21.5, (Push(20.5, 1.0, 0, 10.0),)),
    Phase('hold', 21.5, 23.0),
)


CONTROLLER_CHANGES: dict[str, Any] = {'modes.jog.translation': [0.0, 0.01, 0.01]}
"""Parameters of the demo's controller that differ: jog takes a step [m], where it would stand."""


def schedule_of(phases: tuple[Phase, ...]) -> list[str]:
    """Return the controller's parameter `schedule`; the first phase is its initial mode."""
    return [f'{phase.start} {phase.mode}' for phase in phases[1:]]
