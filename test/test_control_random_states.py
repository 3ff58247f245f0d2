"""Switching between every two modes at random states, in mid-motion."""

from itertools import product

import numpy as np
import pytest
from closed_loop import HOME, ClosedLoop, model_of

from icir_control.errors import RefusedError

MODES = ('gravity', 'home', 'ready', 'down', 'float', 'impedance', 'jog', 'hold')
LIMIT = model_of().effort_limit
SPEED_LIMIT = model_of().velocity_limit
PAIRS = list(product(MODES, MODES))
STATES = 4
"""To be switched in, for every pair."""

STEP_BOUND = 0.5 * LIMIT
"""[N m] Of the change of torque per tick before limits: 19.5, in the wrist 4.5."""

TORQUE_RATE = 100.0
"""[N m/s] For the test of the limiter, 0.1 N m in a tick: far below what a switch asks for."""


def place(loop, q, v) -> None:
    """Put the arm into a state, moving."""
    loop.world.reset(q)
    loop.world.data.qvel[:] = v
    loop.world.read(loop.q, loop.v, loop.effort)
    np.testing.assert_array_equal(loop.v, v)
    loop.controller.restart(loop.time, loop.q, loop.v)
    loop.run(1)


def random_state(loop, rng) -> tuple[np.ndarray, np.ndarray]:
    """A posture within the limits, above the floor and not singular, at up to the speed limits."""
    model, arm = loop.model, loop.controller.config.arm
    lower = np.maximum(model.lower_position_limit, -2.5) + 0.3
    upper = np.minimum(model.upper_position_limit, 2.5) - 0.3
    while True:
        q = rng.uniform(lower, upper)
        if arm.smallest_singular_value(q) > 0.05 and arm.placement(q).translation[2] > 0.2:
            return q, rng.uniform(-1.0, 1.0, model.nv) * SPEED_LIMIT


def touches(loop) -> bool:
    """Whether the arm has run into the floor or into itself, of which no law knows."""
    return loop.world.data.ncon > 0


def came_to(loop, mode: str, rng) -> bool:
    """Run a mode from a random state until a random instant; False where that cannot be used."""
    place(loop, *random_state(loop, rng))
    try:
        loop.controller.select(mode)
    except RefusedError:
        return False
    loop.run(int(rng.integers(20, 600)))
    calm = (np.abs(loop.v) <= SPEED_LIMIT).all()
    regular = loop.controller.smallest_singular_value > 0.05
    return bool(calm and regular and not touches(loop))


def switched(loop, pair: tuple[str, str], count: int):
    """Yield, for a number of states, the ticks from the last one before a switch to 80 ms on."""
    first, second = pair
    rng = np.random.default_rng([MODES.index(first), MODES.index(second)])
    found = 0
    for _ in range(60 * count):
        if found == count:
            return
        if not came_to(loop, first, rng):
            continue
        before = loop.recording.torque_unsaturated[-1], loop.controller.torque.copy()
        try:
            loop.controller.select(second)
        except RefusedError:
            continue
        asked, given = [before[0]], [before[1]]
        for _ in range(80):
            loop.step()
            asked.append(loop.recording.torque_unsaturated[-1])
            given.append(loop.controller.torque.copy())
        if touches(loop):
            continue
        found += 1
        yield np.array(asked), np.array(given)
    raise AssertionError(f'{pair}: only {found} of {count} states can be switched in')


@pytest.fixture(scope='module')
def free():
    return ClosedLoop(start=HOME)


@pytest.fixture(scope='module')
def limited():
    return ClosedLoop(start=HOME, limits__torque_rate=[TORQUE_RATE] * 6)


@pytest.mark.parametrize('pair', PAIRS, ids=' to '.join)
def test_no_switch_asks_for_a_leap_of_torque(free, pair):
    for asked, given in switched(free, pair, STATES):
        assert (np.abs(np.diff(asked, axis=0)) < STEP_BOUND).all()
        assert (np.abs(given) <= LIMIT).all()


@pytest.mark.parametrize('pair', PAIRS, ids=' to '.join)
def test_behind_the_limiter_every_torque_is_within_effort_and_rate(limited, pair):
    for asked, given in switched(limited, pair, 1):
        assert np.isfinite(asked).all()
        assert (np.abs(given) <= LIMIT).all()
        assert np.abs(np.diff(given, axis=0)).max() <= TORQUE_RATE * 1e-3 + 1e-12
