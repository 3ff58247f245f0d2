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
from icir_control.app.promises import accuracy, compliance, goals, transitions
from icir_control.errors import IcirError


@dataclass(frozen=True)
class Amount:
    """How much of what is random is measured.

    Attributes:
        states: In which every two modes are switched.
        goals: That are reached.
        motions: Motions of 2 s while gains change.
    """

    states: int
    goals: int
    motions: int


AMOUNTS: Final = {
    'none': None,
    'short': Amount(states=1, goals=24, motions=3),  # about half a minute
    'full': Amount(states=4, goals=200, motions=30),  # as many as were promised
}


Measure = Callable[[], Iterable[Metric]]
"""Gives the metrics of a promise; may take seconds."""


def promises(amount: Amount) -> dict[str, Measure]:
    """Return all promises by their names, in the order in which they are shown."""
    in_joint_space = accuracy.observer_in_joint_space
    return {
        'exact model': accuracy.exact_model,
        'late torque': accuracy.delayed,
        'observer cubic': partial(in_joint_space, 25.0),
        'observer quintic': partial(in_joint_space, 40.0, accuracy.QUINTIC),
        'observer noise': partial(in_joint_space, 20.0, noise=accuracy.NOISE),
        'observer down': accuracy.observer_in_task_space,
        'observer push': compliance.observer_under_push,
        'impedance': compliance.stiffness,
        'float': compliance.release,
        'switches': partial(transitions.switches, amount.states),
        'goals': partial(goals.reached, amount.goals),
        'refused goals': goals.refused,
        'changing gains': partial(transitions.changing_gains, amount.motions),
        'seven joints': accuracy.null_space,
    }


def measured(promise: Measure) -> Iterator[Metric]:
    """Yield a promise's metrics; where an error ends them, one more that is out of bounds."""
    try:
        yield from promise()
    except IcirError as error:
        yield Metric(f'ended_early: {error}', np.nan, upper=1.0, lower=1.0)
