"""Changes while the arm moves: of the mode, from random states, and of the gains."""

from collections.abc import Iterator
from itertools import product
from typing import Final

import numpy as np

from icir_control.app.closed_loop import HOME, READY, ClosedLoop
from icir_control.app.measurement import Array, Metric, TimeSeries
from icir_control.errors import IcirError, RefusedError
from icir_control.simulation import Plant
from icir_control.spatial import SE3

MODES: Final = ('gravity', 'home', 'ready', 'down', 'float', 'impedance', 'jog', 'hold')
PAIRS: Final = tuple(product(MODES, MODES))

STEP_SHARE: Final = 0.5
"""Of the effort limit: the stated bound of the change of torque per tick, 19.5 and 4.5 N m."""

HARD_STEP_SHARE: Final = 7.0
"""The same in states that are singular, at position limits or beyond speed limits.

What is asked for there is more than the motors have; what they get is within their limits.
"""

TORQUE_RATE: Final = 100.0
"""[N m/s] For the limiter, 0.1 N m in a tick: far below what a switch would take."""

_TASK_KP = np.array([5000.0] * 3 + [25000.0] * 3)

CENTRES: Final = {
    'joint_gains.kp': np.full(6, 20000.0),
    'joint_gains.kd': np.full(6, 2.0 * np.sqrt(20000.0)),
    'task_gains.kp': _TASK_KP,
    'task_gains.kd': 2.0 * np.sqrt(_TASK_KP),
    'modes.impedance.stiffness': np.array([500.0] * 3 + [20.0] * 3),
}
"""Each gain stays between half and twice these: within a factor of 4."""

RATE_SHARE: Final = 0.05
"""Of the effort limit: how much a torque may change in a tick, 2 and 0.45 N m."""

GAIN_MODES: Final = {'joint': 'home', 'task': 'jog', 'impedance': 'impedance'}
"""A mode of each law whose gains change."""

_MOTION_TIME = 2.0  # s that each motion takes; then the next one begins
_CHANGE_PERIOD = 10  # ticks between two changes
_ROUND_OFF = 1e-9
_TICKS_AFTER = 80  # ticks after a switch
_MOST_TRIES = 60  # random states tried for each one that can be used


class TooFewStatesError(IcirError):
    """A pair of modes can hardly ever be switched."""


def switched(
    loop: ClosedLoop, pair: tuple[str, str], count: int, *, hard: bool = False
) -> Iterator[TimeSeries]:
    """Yield the ticks about a number of switches, always the same for the same pair.

    Args:
        loop: The arm.
        pair: The mode that runs, and the one that is switched to.
        count: In how many states.
        hard: Whether the states may be singular, at the position limits, and too fast.

    Yields:
        The log from the last tick before the switch on.

    Raises:
        TooFewStatesError: Most states cannot be used: refused, too fast, or in contact.
    """
    first, second = pair
    rng = np.random.default_rng([MODES.index(first), MODES.index(second)])
    found = 0
    for _ in range(_MOST_TRIES * count):
        if found == count:
            return
        if not _reach_state(loop, first, rng, hard=hard):
            continue
        try:
            loop.controller.select(second)
        except RefusedError:
            continue
        for _ in range(_TICKS_AFTER):
            loop.step()
        if not loop.touches:
            found += 1
            yield loop.log.take(slice(-_TICKS_AFTER - 1, None))
    raise TooFewStatesError(f'{pair}: only {found} of {count} states can be switched in')


def step_share(
    loop: ClosedLoop, pair: tuple[str, str], count: int, *, hard: bool = False
) -> float:
    """Return the greatest change of torque in a tick, before limits, as a share of the limit."""
    logs = switched(loop, pair, count, hard=hard)
    steps = [np.diff(log['torque_unsaturated'], axis=0) for log in logs]
    return float(np.max(np.abs(steps) / loop.model.effort_limit))


def limited_shares(loop: ClosedLoop, pair: tuple[str, str], count: int) -> tuple[float, float]:
    """Return the greatest torque and change of torque after the limits, as shares of them."""
    torque = np.array([log['torque'] for log in switched(loop, pair, count)])
    step = np.abs(np.diff(torque, axis=1)).max() / (TORQUE_RATE * loop.world.timestep_ns * 1e-9)
    return float(np.max(np.abs(torque) / loop.model.effort_limit)), float(step)


def limited_loop() -> ClosedLoop:
    """Return an arm at home whose torque may change slowly only."""
    return ClosedLoop(start=HOME, changes={'limits.torque_rate': [TORQUE_RATE] * HOME.size})


def switches(states: int) -> Iterator[Metric]:
    """Give the greatest steps of torque over all pairs of modes.

    Args:
        states: Random states for each pair.
    """
    loop = ClosedLoop(start=HOME)
    worst = np.max([step_share(loop, pair, states) for pair in PAIRS])
    yield Metric('torque_step_share', float(worst), upper=STEP_SHARE)
    worst = np.max([step_share(loop, pair, states, hard=True) for pair in PAIRS])
    yield Metric('hard_states_share', float(worst), upper=HARD_STEP_SHARE)
    loop = limited_loop()
    effort, rate = np.max([limited_shares(loop, pair, 1) for pair in PAIRS], axis=0)
    yield Metric('limited_torque_share', float(effort), upper=1.0)
    yield Metric('limited_rate_share', float(rate), upper=1.0 + _ROUND_OFF)


def worst_error(mode: str, motions: int, *, change: bool) -> tuple[float, int]:
    """Move an arm that is 10 % heavier than its model to and fro.

    Args:
        mode: The mode.
        motions: How many motions, each of 2 s.
        change: Whether the gains change at random, every 10 ms; else they are the softest.

    Returns:
        The greatest error: of the joints [rad], or of the tool [m, rad]; and in how many ticks
        the torque ran into its rate limit.
    """
    loop = _heavy_loop()
    loop.controller.update({name: (0.5 * centre).tolist() for name, centre in CENTRES.items()})
    loop.go('home', 2.0)
    loop.go(mode, 1.0)
    rng = np.random.default_rng(5)
    worst, limited = 0.0, 0
    ticks = round(_MOTION_TIME / 1e-3)
    for k in range(motions * ticks):
        if k % ticks == 0:
            _next_motion(loop, mode, outward=k // ticks % 2 == 0)
        if change and k % _CHANGE_PERIOD == 0:
            loop.controller.update(_random_gains(rng))
        loop.step()
        limited += loop.controller.rate_limited
        worst = np.maximum(worst, _error(loop, mode))
    return float(worst), limited


def error_ratio(mode: str, motions: int) -> tuple[float, int]:
    """Return how the error with changing gains compares with that of the softest ones.

    Args:
        mode: The mode.
        motions: How many motions, each of 2 s.

    Returns:
        The ratio, and the ticks at the rate limit in both runs.
    """
    softest, limited = worst_error(mode, motions, change=False)
    changing, limited_too = worst_error(mode, motions, change=True)
    return changing / softest, limited + limited_too


def changing_gains(motions: int) -> Iterator[Metric]:
    """Give the ratios of all laws.

    Args:
        motions: How many motions, each of 2 s.
    """
    limited = 0
    for law, mode in GAIN_MODES.items():
        ratio, ticks = error_ratio(mode, motions)
        limited += ticks
        yield Metric(f'{law}_error_ratio', ratio, upper=3.0)
    yield Metric('rate_limited_ticks', limited, upper=0.0)


def _reach_state(loop: ClosedLoop, mode: str, rng: np.random.Generator, *, hard: bool) -> bool:
    """Run a mode from a random state for a random time; return whether a switch may follow."""
    loop.restart(*_random_state(loop, rng, hard=hard))
    try:
        loop.controller.select(mode)
    except RefusedError:
        return False
    loop.run(int(rng.integers(20, 600)))
    if hard:
        return not loop.touches
    slow = (np.abs(loop.v) <= loop.model.velocity_limit).all()
    regular = loop.controller.smallest_singular_value > 0.05
    return bool(slow and regular and not loop.touches)


def _random_state(
    loop: ClosedLoop, rng: np.random.Generator, *, hard: bool
) -> tuple[Array, Array]:
    """A posture within the limits, above the floor, at up to the speed limits.

    Unless it may be a hard one it is well within the limits and not singular.
    """
    model, arm = loop.model, loop.controller.config.arm
    margin, least = (0.0, 0.0) if hard else (0.3, 0.05)
    lower = np.maximum(model.lower_position_limit, -2.5) + margin
    upper = np.minimum(model.upper_position_limit, 2.5) - margin
    while True:
        q = rng.uniform(lower, upper)
        if arm.smallest_singular_value(q) >= least and arm.placement(q).translation[2] > 0.2:
            return q, rng.uniform(-1.0, 1.0, model.nv) * model.velocity_limit


def _heavy_loop() -> ClosedLoop:
    rate = RATE_SHARE * ClosedLoop(start=HOME).model.effort_limit / 1e-3
    return ClosedLoop(
        start=HOME,
        plant=Plant(mass_scale=1.1),
        changes={
            'limits.torque_rate': rate.tolist(),
            'modes.impedance.duration': _MOTION_TIME,
            'modes.jog.duration': _MOTION_TIME,
        },
    )


def _random_gains(rng: np.random.Generator) -> dict[str, list[float]]:
    return {
        name: (centre * 4.0 ** rng.uniform(-0.5, 0.5, 6)).tolist()
        for name, centre in CENTRES.items()
    }


def _next_motion(loop: ClosedLoop, mode: str, *, outward: bool) -> None:
    """Send the arm on, there or back, so that it never rests."""
    if mode == 'home':
        loop.controller.set_target_joints(READY if outward else HOME)
        return
    way = np.array([0.06, 0.08, 0.10]) * (1.0 if outward else -1.0)
    goal = loop.controller.reference_pose
    loop.controller.set_target_pose(SE3(goal.rotation, goal.translation + way))


def _error(loop: ClosedLoop, mode: str) -> float:
    """Joints off their reference [rad], or the tool off its own [m, rad]."""
    if mode == 'home':
        return float(np.abs(loop.controller.tracking_error[0]).max())
    return float(np.linalg.norm(loop.controller.tool_error.vector))
