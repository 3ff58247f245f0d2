"""The list of what is measured, and how much of it."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from icir_control.app.acceptance.compliance import release, stiffness
from icir_control.app.acceptance.disturbance import (
    observer_in_joint_space,
    observer_in_task_space,
    observer_under_push,
    observer_with_noise,
    observer_with_quintic,
)
from icir_control.app.acceptance.gains import changing_gains
from icir_control.app.acceptance.goals import reached, refused
from icir_control.app.acceptance.redundancy import null_space
from icir_control.app.acceptance.switching import switches
from icir_control.app.acceptance.tracking import delayed, exact_model
from icir_control.app.figure import Figure
from icir_control.errors import IcirError


@dataclass(frozen=True)
class Amount:
    """How much of what is random is measured.

    Attributes:
        states: In which every two modes are switched.
        goals: That are reached.
        legs: Motions of 2 s while gains change.
    """

    states: int
    goals: int
    legs: int


SHORT: Final = Amount(states=1, goals=24, legs=3)
"""Half a minute's worth."""

FULL: Final = Amount(states=4, goals=200, legs=30)
"""Goals and seconds as many as were promised."""


@dataclass(frozen=True)
class Check:
    """One promise.

    Attributes:
        name: What a user reads.
        measure: Gives its figures; may take seconds.
    """

    name: str
    measure: Callable[[], Iterable[Figure]]

    def figures(self) -> Iterator[Figure]:
        """Yield the figures; where an error ends them, one more that is out of bounds."""
        try:
            yield from self.measure()
        except IcirError as error:
            yield Figure(f'ended_early: {error}', np.nan, 1.0, 1.0)


def checks(amount: Amount) -> tuple[Check, ...]:
    """Return all promises, in the order in which they are shown."""
    return (
        Check('exact model', exact_model),
        Check('late torque', delayed),
        Check('observer cubic', observer_in_joint_space),
        Check('observer quintic', observer_with_quintic),
        Check('observer noise', observer_with_noise),
        Check('observer down', observer_in_task_space),
        Check('observer push', observer_under_push),
        Check('impedance', stiffness),
        Check('float', release),
        Check('switches', partial(switches, amount.states)),
        Check('goals', partial(reached, amount.goals)),
        Check('refused goals', refused),
        Check('changing gains', partial(changing_gains, amount.legs)),
        Check('seven joints', null_space),
    )
