"""How the yielding modes yield: the spring of `impedance`, the release of `float`."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from icir_control.app.closed_loop import HOME, ClosedLoop
from icir_control.app.measurement import Array, Metric, angle_between
from icir_control.app.promises.accuracy import GAIN, PLANTS, observed
from icir_control.simulation import Plant

_REST = 1e-3  # rad/s, below which a joint counts as at rest


def push_difference(mode: str, axis: int) -> float:
    """Return how much the observer changes the displacement by 10 N, as a share of it."""

    def displacement(gain: float) -> Array:
        loop = observed(Plant(), gain)
        loop.go('home', 2.2)
        loop.go(mode, 0.5)
        return loop.pushed(10.0 * np.eye(6)[axis], 1.0)[:3]

    free = displacement(0.0)
    return float(np.abs(displacement(GAIN) - free).max() / abs(free[axis]))


def observer_under_push() -> Iterator[Metric]:
    """Give what the observer changes where the arm yields: it must not cancel a hand."""
    for mode in ('float', 'impedance'):
        worst = max(push_difference(mode, axis) for axis in range(3))
        yield Metric(f'{mode}_difference', worst, upper=0.1)


def stiffness_error(loop: ClosedLoop, axis: int, seconds: float) -> float:
    """Push an arm in `impedance` with 5 N or 0.5 N m, and compare how far it goes with wrench / K.

    Args:
        loop: The arm.
        axis: 0 to 5: force along x, y, z, moment about them.
        seconds: How long; the arm then rests.

    Returns:
        The difference as a share of wrench / K, the greatest of the axes of the same kind.
    """
    size, kind = (5.0, slice(0, 3)) if axis < 3 else (0.5, slice(3, 6))
    law: Any = loop.controller.config.modes['impedance'].law
    stiffness = np.array(law.stiffness)
    expected = size * np.eye(6)[axis] / stiffness
    moved = loop.pushed(size * np.eye(6)[axis], seconds)
    return float(np.abs(moved - expected)[kind].max() / expected[axis])


def exact_stiffness_error(axis: int) -> float:
    """Return the stiffness error of an arm that is as its model says."""
    loop = ClosedLoop(start=HOME)
    loop.go('impedance', 1.0)
    return stiffness_error(loop, axis, 3.0)


def heavy_stiffness_error(axis: int) -> float:
    """Return that of an arm 10 % heavier, whose observer has learnt the weight at rest."""
    loop = observed(PLANTS['mass'])
    loop.go('home', 2.5)
    loop.go('impedance', 2.0)
    return stiffness_error(loop, axis, 4.0)


def stiffness() -> Iterator[Metric]:
    """Give the errors of the displacement under a constant wrench."""
    force, moment = range(3), range(3, 6)
    yield Metric('force_error', max(map(exact_stiffness_error, force)), upper=0.005)
    yield Metric('moment_error', max(map(exact_stiffness_error, moment)), upper=0.005)
    yield Metric('heavier_arm_error', max(map(heavy_stiffness_error, range(6))), upper=0.05)


def released(axis: int) -> tuple[float, float, float]:
    """Push a floating arm with 10 N for a second, and let go.

    Returns:
        How far the tool went along the push [m], how far it turned at most [rad], and how long
        after the release a joint still moved [s].
    """
    loop = ClosedLoop(start=HOME)
    loop.go('float', 0.5)
    held = loop.placement.rotation
    displacement = loop.pushed(10.0 * np.eye(6)[axis], 1.0)[axis]
    pushed, after = loop.log, loop.run(3000)
    arm = loop.controller.config.arm
    q = np.concatenate([pushed['position'], after['position']])
    turned = angle_between(held, np.array([arm.placement(row).rotation for row in q]))
    moving = np.flatnonzero(np.abs(after['velocity']).max(axis=1) > _REST)
    rest = (moving[-1] + 1) * 1e-3 if moving.size else 0.0
    return float(displacement), float(np.max(turned)), float(rest)


def release() -> Iterator[Metric]:
    """Give how a floating arm comes to rest after a push."""
    displacements, turned, rest = zip(*map(released, range(3)), strict=True)
    yield Metric('displacement', min(displacements), 'm', 0.25, 0.015)
    yield Metric('rotation', max(turned), 'rad', np.radians(0.5))
    yield Metric('rest_after', max(rest), 's', 2.0)
