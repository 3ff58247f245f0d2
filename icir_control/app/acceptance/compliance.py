"""The modes that yield: what the spring of `impedance` and the calm of `float` are worth."""

from collections.abc import Iterator

import numpy as np

from icir_control.app.acceptance.closed_loop import HOME, ClosedLoop
from icir_control.app.acceptance.disturbance import PLANTS, observed
from icir_control.app.figure import Figure
from icir_control.spatial import log3

_REST = 1e-3  # rad/s, below which no joint is seen to move


def stiffness_error(loop: ClosedLoop, axis: int, seconds: float) -> float:
    """Push an arm in `impedance` with 5 N or 0.5 N m, and compare its way with wrench / K.

    Args:
        loop: The arm.
        axis: 0 to 5: force along x, y, z, moment about them.
        seconds: How long; the arm then rests.

    Returns:
        The difference as a share of wrench / K, the greatest of the axes of the same kind.
    """
    size, kind = (5.0, slice(0, 3)) if axis < 3 else (0.5, slice(3, 6))
    stiffness = np.array(loop.controller.config.modes['impedance'].law.figures['stiffness'])
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


def stiffness() -> Iterator[Figure]:
    """Give the errors of the displacement under a constant wrench."""
    yield Figure('force_error', max(map(exact_stiffness_error, range(3))), 0.005)
    yield Figure('moment_error', max(map(exact_stiffness_error, range(3, 6))), 0.005)
    yield Figure('heavier_arm_error', max(map(heavy_stiffness_error, range(6))), 0.05)


def released(axis: int) -> tuple[float, float, float]:
    """Push a floating arm with 10 N for a second, and let go.

    Returns:
        How far the tool went along the push [m], how far it turned at most [rad], and how long
        after the release a joint still moved [s].
    """
    loop = ClosedLoop(start=HOME)
    loop.go('float', 0.5)
    held = loop.placement.rotation
    way = loop.pushed(10.0 * np.eye(6)[axis], 1.0)[axis]
    pushed = loop.trace
    after = loop.run(3000)
    arm = loop.controller.config.arm
    turned = [
        np.linalg.norm(log3(held.T @ arm.placement(q).rotation)) for q in (*pushed.q, *after.q)
    ]
    moving = np.flatnonzero(np.abs(after.array('v')).max(axis=1) > _REST)
    rest = (moving[-1] + 1) * 1e-3 if moving.size else 0.0
    return float(way), float(np.max(turned)), float(rest)


def release() -> Iterator[Figure]:
    """Give how a floating arm comes to rest after a push."""
    ways, turned, rest = zip(*map(released, range(3)), strict=True)
    yield Figure('displacement_m', min(ways), 0.25, 0.015)
    yield Figure('rotation_rad', max(turned), np.radians(0.5))
    yield Figure('rest_after_s', max(rest), 2.0)
