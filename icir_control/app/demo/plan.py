"""What the demo does and when: every mode once, pushes where an arm should give way."""

from collections.abc import Mapping
from dataclasses import dataclass, field
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
        bounds: Least and greatest good value of metrics that depend on the arm and on how it is
            pushed, by name; one that is not here is shown without.
        touches: Whether the arm touches itself, the floor, or, where it yields, what keeps its
            joints off their limits; its metrics then have no bounds.
    """

    mode: str
    start: float
    end: float
    pushes: tuple[Push, ...] = ()
    bounds: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    touches: bool = False


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
    Phase(
        'float',
        20.0,
        21.5,
        (Push(20.5, 1.0, 0, 10.0),),
        {'displacement': (0.015, 0.25), 'rotation_error': (0.0, 5e-3)},
    ),
    Phase('hold', 21.5, 23.0),
)
"""For the robot that ships as the default."""

CONTROLLER_CHANGES: dict[str, Any] = {'modes.jog.translation': [0.0, 0.01, 0.01]}
"""Parameters of its controller that differ: jog takes a step [m], where it would stand."""


@dataclass(frozen=True)
class DemoPlan:
    """A run of the demo.

    Attributes:
        phases: In the order of time; the first one is the controller's initial mode.
        changes: Parameters of the controller that differ, by full name.
        notes: What else is to be said of a mode, such as why it does not run.
    """

    phases: tuple[Phase, ...]
    changes: Mapping[str, Any]
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def end(self) -> float:
        """Simulation time at which all is over [s]."""
        return self.phases[-1].end

    @property
    def pushes(self) -> list[Push]:
        """Those of all phases."""
        return [push for phase in self.phases for push in phase.pushes]

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the controller, by full name, that make it run the phases."""
        return {**self.changes, 'schedule': schedule_of(self.phases)}


def schedule_of(phases: tuple[Phase, ...]) -> list[str]:
    """Return the controller's parameter `schedule`; the first phase is its initial mode."""
    return [f'{phase.start} {phase.mode}' for phase in phases[1:]]
