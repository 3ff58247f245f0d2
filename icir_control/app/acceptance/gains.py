"""Gains that change while the arm moves: calm, and never far off."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from icir_control.app.acceptance.closed_loop import HOME, READY, ClosedLoop
from icir_control.app.figure import Figure
from icir_control.simulation import Plant
from icir_control.spatial import SE3

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

MODES: Final = {'joint': 'home', 'task': 'jog', 'impedance': 'impedance'}
"""A mode of each law whose gains change."""

_LEG = 2.0  # s that each motion takes; then the next one begins
_EVERY = 10  # ticks between two changes


def worst_error(mode: str, legs: int, *, change: bool) -> tuple[float, int]:
    """Move an arm that is 10 % heavier than its model to and fro.

    Args:
        mode: The mode.
        legs: How many motions, each of 2 s.
        change: Whether the gains change at random, every 10 ms; else they are the softest.

    Returns:
        The greatest error: of the joints [rad], or of the tool [m, rad]; and in how many ticks
        the torque ran into its rate limit.
    """
    loop = _loop()
    loop.controller.update({name: (0.5 * centre).tolist() for name, centre in CENTRES.items()})
    loop.go('home', 2.0)
    loop.go(mode, 1.0)
    rng = np.random.default_rng(5)
    worst, limited = 0.0, 0
    ticks = round(_LEG / 1e-3)
    for k in range(legs * ticks):
        if k % ticks == 0:
            _next_motion(loop, mode, outward=k // ticks % 2 == 0)
        if change and k % _EVERY == 0:
            loop.controller.update(_random_gains(rng))
        loop.step()
        limited += loop.controller.rate_limited
        worst = np.maximum(worst, _error(loop, mode))
    return float(worst), limited


def error_ratio(mode: str, legs: int) -> tuple[float, int]:
    """Return how the error with changing gains compares with that of the softest ones.

    Args:
        mode: The mode.
        legs: How many motions, each of 2 s.

    Returns:
        The ratio, and the ticks at the rate limit in both runs.
    """
    softest, limited = worst_error(mode, legs, change=False)
    changing, limited_too = worst_error(mode, legs, change=True)
    return changing / softest, limited + limited_too


def changing_gains(legs: int) -> Iterator[Figure]:
    """Give the ratios of all laws.

    Args:
        legs: How many motions, each of 2 s.
    """
    limited = 0
    for law, mode in MODES.items():
        ratio, ticks = error_ratio(mode, legs)
        limited += ticks
        yield Figure(f'{law}_error_ratio', ratio, 3.0)
    yield Figure('rate_limited_ticks', limited, 0.0)


def _loop() -> ClosedLoop:
    shipped = ClosedLoop(start=HOME)
    rate = RATE_SHARE * shipped.model.effort_limit / 1e-3
    return ClosedLoop(
        start=HOME,
        plant=Plant(mass_scale=1.1),
        changes={
            'limits.torque_rate': rate.tolist(),
            'modes.impedance.duration': _LEG,
            'modes.jog.duration': _LEG,
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
