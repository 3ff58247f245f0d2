"""Switching between every two modes from random states, in mid-motion."""

from collections.abc import Iterator
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from icir_control.app.acceptance.closed_loop import HOME, ClosedLoop
from icir_control.app.figure import Figure
from icir_control.errors import IcirError, RefusedError

MODES: Final = ('gravity', 'home', 'ready', 'down', 'float', 'impedance', 'jog', 'hold')
PAIRS: Final = tuple(product(MODES, MODES))

STEP_SHARE: Final = 0.5
"""Of the effort limit: the stated bound of the change of torque per tick, 19.5 and 4.5 N m."""

TORQUE_RATE: Final = 100.0
"""[N m/s] For the limiter, 0.1 N m in a tick: far below what a switch asks for."""

_ROUND_OFF = 1e-9
_WATCHED = 80  # ticks after a switch
_TRIES = 60  # states that are looked at for one that can be used


class TooFewStatesError(IcirError):
    """A pair of modes can hardly ever be switched."""


Array = NDArray[np.float64]


def switched(loop: ClosedLoop, pair: tuple[str, str], count: int) -> Iterator[tuple[Array, Array]]:
    """Yield the torques about a number of switches, always the same for the same pair.

    Args:
        loop: The arm.
        pair: The mode that runs, and the one that is switched to.
        count: In how many states.

    Yields:
        Torque before the limits and behind them, (ticks, nv), from the last tick before the
        switch on [N m].

    Raises:
        TooFewStatesError: Most states cannot be used: refused, too fast, or in contact.
    """
    first, second = pair
    rng = np.random.default_rng([MODES.index(first), MODES.index(second)])
    found = 0
    for _ in range(_TRIES * count):
        if found == count:
            return
        if not _came_to(loop, first, rng):
            continue
        asked, given = [loop.trace.torque_unsaturated[-1]], [loop.controller.torque.copy()]
        try:
            loop.controller.select(second)
        except RefusedError:
            continue
        for _ in range(_WATCHED):
            loop.step()
            asked.append(loop.trace.torque_unsaturated[-1])
            given.append(loop.controller.torque.copy())
        if loop.touches:
            continue
        found += 1
        yield np.array(asked), np.array(given)
    raise TooFewStatesError(f'{pair}: only {found} of {count} states can be switched in')


def step_share(loop: ClosedLoop, pair: tuple[str, str], count: int) -> float:
    """Return the greatest change of torque in a tick, before limits, as a share of the limit."""
    limit = loop.model.effort_limit
    steps = [np.abs(np.diff(asked, axis=0)) / limit for asked, _ in switched(loop, pair, count)]
    return float(np.max(steps))


def limited_shares(loop: ClosedLoop, pair: tuple[str, str], count: int) -> tuple[float, float]:
    """Return the greatest torque and change of torque behind the limits, as shares of them."""
    given = np.array([given for _, given in switched(loop, pair, count)])
    step = TORQUE_RATE * loop.world.timestep_ns * 1e-9
    effort = np.abs(given) / loop.model.effort_limit
    return float(np.max(effort)), float(np.max(np.abs(np.diff(given, axis=1)))) / step


def unlimited_loop() -> ClosedLoop:
    """Return an arm whose torque may change as fast as its laws ask."""
    return ClosedLoop(start=HOME)


def limited_loop() -> ClosedLoop:
    """Return an arm whose torque may change but slowly."""
    changes: dict[str, Any] = {'limits.torque_rate': [TORQUE_RATE] * HOME.size}
    return ClosedLoop(start=HOME, changes=changes)


def switches(states: int) -> Iterator[Figure]:
    """Give the greatest steps of torque over all pairs of modes.

    Args:
        states: Random states for each pair.
    """
    loop = unlimited_loop()
    worst = np.max([step_share(loop, pair, states) for pair in PAIRS])
    yield Figure('torque_step_share', float(worst), STEP_SHARE)
    loop = limited_loop()
    effort, rate = np.max([limited_shares(loop, pair, 1) for pair in PAIRS], axis=0)
    yield Figure('limited_torque_share', float(effort), 1.0)
    yield Figure('limited_rate_share', float(rate), 1.0 + _ROUND_OFF)


def _came_to(loop: ClosedLoop, mode: str, rng: np.random.Generator) -> bool:
    """Run a mode from a random state until a random instant; False where that cannot be used."""
    loop.restart(*_random_state(loop, rng))
    try:
        loop.controller.select(mode)
    except RefusedError:
        return False
    loop.run(int(rng.integers(20, 600)))
    calm = (np.abs(loop.v) <= loop.model.velocity_limit).all()
    regular = loop.controller.smallest_singular_value > 0.05
    return bool(calm and regular and not loop.touches)


def _random_state(loop: ClosedLoop, rng: np.random.Generator) -> tuple[Array, Array]:
    """A posture within the limits, above the floor and not singular, at up to the speed limits."""
    model, arm = loop.model, loop.controller.config.arm
    lower = np.maximum(model.lower_position_limit, -2.5) + 0.3
    upper = np.minimum(model.upper_position_limit, 2.5) - 0.3
    while True:
        q = rng.uniform(lower, upper)
        if arm.smallest_singular_value(q) > 0.05 and arm.placement(q).translation[2] > 0.2:
            return q, rng.uniform(-1.0, 1.0, model.nv) * model.velocity_limit
