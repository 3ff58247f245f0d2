"""How the yielding modes yield: the spring of `impedance`, the release of `float`."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from icir_control.app.closed_loop import HOME, ClosedLoop
from icir_control.app.measurement import Array, Metric, angle_between
from icir_control.simulation import Plant

STIFFNESS: Final = np.array([300.0, 800.0, 1500.0, 10.0, 20.0, 40.0])
"""Of the spring that is measured, another one along and about each axis [N/m, N m/rad]."""

EXACT: Final = Plant()
HEAVIER: Final = Plant(mass_scale=1.1)
LOADED: Final = Plant(payload_mass=0.5, payload_offset=np.array([0.05, 0.0, 0.0]))

BOUNDS: Final = 0.05, 0.02
"""Of the static stiffness on a plant that is not the model: error of an axis, coupling of two."""

_PUSH = np.array([5.0] * 3 + [0.5] * 3)  # N, N m
_REST = 1e-3  # rad/s, below which a joint counts as at rest


def displacement(mode: str, plant: Plant, wrench: Array, seconds: float) -> Array:
    """Push an arm that was held at home before, and return how far its tool went.

    Args:
        mode: That yields.
        plant: How the plant differs; its observer learns the weight while the arm is held.
        wrench: (6,) force and moment in axes of the world [N, N m].
        seconds: How long.

    Returns:
        (6,) translation and rotation vector in axes of the world [m, rad].
    """
    changes = {'modes.impedance.stiffness': STIFFNESS.tolist()}
    loop = ClosedLoop(start=HOME, plant=plant, changes=changes)
    loop.go('home', 2.5)
    loop.go(mode, 1.0)
    return loop.pushed(wrench, seconds)


def drift(mode: str, plant: Plant, seconds: float) -> Array:
    """Return how far the tool goes without a push: (6,) as `displacement`."""
    key = mode, repr(plant), seconds
    if key not in _drifts:
        _drifts[key] = displacement(mode, plant, np.zeros(6), seconds)
    return _drifts[key]


_drifts: dict[tuple[str, str, float], Array] = {}


def push_difference(mode: str, axis: int) -> float:
    """Return how much less or more a heavier arm gives way to 10 N than an exact one.

    Its observer has learnt the weight. Were it to cancel the hand, too, it would not give way.

    Args:
        mode: `float` or `impedance`.
        axis: 0, 1 or 2 for a force along x, y or z.

    Returns:
        The greatest difference along an axis, as a share of what the exact arm goes.
    """
    push = 10.0 * np.eye(6)[axis]
    exact = displacement(mode, EXACT, push, 1.0)[:3]
    pushed = displacement(mode, HEAVIER, push, 1.0) - drift(mode, HEAVIER, 1.0)
    return float(np.abs(pushed[:3] - exact).max() / abs(exact[axis]))


def observer_under_push() -> Iterator[Metric]:
    """Give what weight and observer change where the arm yields: a hand must not be cancelled."""
    for mode in ('float', 'impedance'):
        worst = max(push_difference(mode, axis) for axis in range(3))
        yield Metric(f'{mode}_difference', worst, upper=0.1)


def stiffness_errors(
    axis: int, plant: Plant | None = None, seconds: float = 4.0
) -> tuple[float, float]:
    """Push an arm in `impedance` with 5 N or 0.5 N m, and compare how far it goes with wrench / K.

    Args:
        axis: 0 to 5: force along x, y, z, moment about them.
        plant: How the plant differs.
        seconds: Until the arm has come to rest. Joints with dry friction creep for longer.

    Returns:
        The difference along (or about) this axis as a share of wrench / K, and the greatest
        motion along and about the others as such a share: of sqrt(K_i K_j) times it, so that
        metres and radians compare.
    """
    plant, wrench = plant or EXACT, _PUSH * np.eye(6)[axis]
    moved = displacement('impedance', plant, wrench, seconds)
    moved -= drift('impedance', plant, seconds)
    share = np.sqrt(STIFFNESS * STIFFNESS[axis]) * moved / _PUSH[axis]
    return float(abs(share[axis] - 1.0)), float(np.abs(np.delete(share, axis)).max())


def stiffness() -> Iterator[Metric]:
    """Give the errors of the displacement under a constant wrench, with an anisotropic spring."""
    exact = np.array([stiffness_errors(axis) for axis in range(6)])
    yield Metric('force_error', float(exact[:3, 0].max()), upper=0.005)
    yield Metric('moment_error', float(exact[3:, 0].max()), upper=0.005)
    yield Metric('coupling', float(exact[:, 1].max()), upper=0.02)
    for name, plant in (('heavier_arm', HEAVIER), ('load_off_axis', LOADED)):
        worst = np.max([stiffness_errors(axis, plant) for axis in range(6)], axis=0)
        for kind, value, bound in zip(('error', 'coupling'), worst, BOUNDS, strict=True):
            yield Metric(f'{name}_{kind}', float(value), upper=bound)


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
