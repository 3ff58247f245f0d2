"""What the control laws promise, measured on the simulated arm in one process, without ROS.

Each module measures some promises as metrics with bounds; `promises` lists them. `icir_control
demo` shows them (`--acceptance`), and the tests hold the same functions against the same bounds.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from icir_control.app.measurement import Metric
from icir_control.app.promises import accuracy, compliance, goals, plants, transitions
from icir_control.errors import IcirError


@dataclass(frozen=True)
class Amount:
    """How much of what is random is measured.

    Attributes:
        states: In which every two modes are switched.
        goals: That are reached.
        targets: Poses that the arm can have, which are reached, by joints where need be.
        motions: Motions of 2 s while gains change.
        combinations: Of deviations of the plant from its model.
    """

    states: int
    goals: int
    targets: int
    motions: int
    combinations: int


AMOUNTS: Final = {
    'none': None,
    # about a minute of computing
    'short': Amount(states=1, goals=24, targets=60, motions=3, combinations=10),
    # as many as were promised
    'full': Amount(states=4, goals=200, targets=500, motions=30, combinations=50),
}


Measure = Callable[[], Iterable[Metric]]
"""Gives the metrics of a promise; may take seconds."""


def promises(amount: Amount) -> dict[str, Measure]:
    """Return all promises by their names, in the order in which they are shown."""
    return {
        'exact model': accuracy.exact_model,
        'finer plants': accuracy.finer_plants,
        'late torque': accuracy.delayed,
        'observer home': partial(accuracy.observer, 'home', 3.0),
        'observer noise': partial(accuracy.observer, 'home', 1.4, accuracy.NOISE),
        'observer down': partial(accuracy.observer, 'down', 3.0),
        'beside a pid': accuracy.beside_integral_action,
        'observer push': compliance.observer_under_push,
        'impedance': compliance.stiffness,
        'float': compliance.release,
        'jog': accuracy.jog,
        'switches': partial(transitions.switches, amount.states),
        'goals': partial(goals.reached, amount.goals),
        'reachable poses': partial(goals.reachable, amount.targets),
        'refused goals': goals.refused,
        'changing gains': partial(transitions.changing_gains, amount.motions),
        'seven joints': accuracy.null_space,
        'other plants home': partial(
            plants.beside_textbook, 'home', amount.combinations, plants.HOME_BOUNDS
        ),
        'other plants down': partial(
            plants.beside_textbook, 'down', amount.combinations, plants.DOWN_BOUNDS
        ),
    }


def measured(promise: Measure) -> Iterator[Metric]:
    """Yield a promise's metrics; where an error ends them, one more that is out of bounds."""
    try:
        yield from promise()
    except IcirError as error:
        yield Metric(f'ended_early: {error}', np.nan, upper=1.0, lower=1.0)
