"""Errors on random plants along random paths, beside those of a textbook's law: ratio of peaks.

The paths are sums of windowed sines, which no mode of the controller plans; where a ratio is
above 1 the plant is shown, with what the controller said.

    python benchmark/wrong_plants.py [robot [number [seed]]]
"""

import sys
from itertools import islice

import numpy as np
from rich.console import Console
from scipy.interpolate import CubicSpline, PPoly

from icir_control.app.closed_loop import ClosedLoop
from icir_control.app.promises import plants
from icir_control.app.promises.textbook import ComputedTorque
from icir_control.control import Waypoints
from icir_control.errors import DivergenceError
from icir_control.simulation import Plant

DURATION, HELD, AFTER, PERIOD = 6.0, 0.3, 0.2, 1e-3  # s
FASTEST = 0.45
"""Share of its velocity limit that the sine of a joint has at most."""


def random_path(rng: np.random.Generator, velocity_limit: np.ndarray) -> PPoly:
    """Return the joints (nv,) over the duration, at rest where it begins and ends [rad]."""
    n, times = velocity_limit.size, np.arange(0.0, DURATION + PERIOD, 0.02)
    middle, rate, phase = (
        rng.uniform(-0.4, 0.4, n),
        2.0 * np.pi * rng.uniform(0.15, 0.6, n),
        rng.uniform(0.0, 2.0 * np.pi, n),
    )
    way = np.minimum(rng.uniform(0.02, 0.4, n), FASTEST * velocity_limit / rate)
    window = np.sin(np.pi * times / DURATION)[:, None] ** 2
    swings = way * window * np.sin(rate * times[:, None] + phase)
    return CubicSpline(times, middle + swings, bc_type='clamped')


def shipped(robot: str, plant: Plant, path: PPoly) -> tuple[float, list[str]]:
    """Return the peak error of the shipped controller [rad], and what it said."""
    loop = ClosedLoop(robot, start=path(0.0), plant=plant)
    loop.go('hold', HELD)
    times, begin = path.x[1:], loop.time
    loop.controller.follow(Waypoints(loop.model.joint_names, times, path(times)))
    try:
        log = loop.run(round((DURATION + AFTER) / PERIOD))
    except DivergenceError as error:
        return np.inf, [str(error)]
    off = log['position'] - path(np.clip(log.time - begin, 0.0, DURATION))
    return float(np.abs(off).max()), [event.text for event in loop.controller.take_events()]


def textbook(robot: str, plant: Plant, path: PPoly) -> float:
    """Return the peak error of computed torque that is told the path [rad]."""
    loop = ClosedLoop(robot, start=path(0.0), plant=plant)
    world, law, error = loop.world, ComputedTorque(loop.model), 0.0
    world.reset(path(0.0))
    q, v, effort = np.zeros((3, loop.model.nv))
    for time in np.clip(np.arange(-HELD, DURATION + AFTER, PERIOD), 0.0, DURATION):
        reference = np.array([path(time), path(time, 1), path(time, 2) * (0.0 < time < DURATION)])
        world.read(q, v, effort)
        error = max(error, float(np.abs(world.position - reference[0]).max()))
        try:
            world.step(law.torque(reference, q, v, PERIOD))
        except DivergenceError:
            return np.inf
    return error


def main(robot: str = 'gen3_7dof', number: int = 10, seed: int = 0) -> None:
    """Print the ratios."""
    console, rng, ratios = Console(), np.random.default_rng(seed), []
    limit = ClosedLoop(robot).model.velocity_limit
    for plant in islice(plants.combinations(number), number):
        path = random_path(rng, limit)
        (ours, said), theirs = shipped(robot, plant, path), textbook(robot, plant, path)
        ratios.append(ours / theirs)
        if ratios[-1] > 1.0:
            default = Plant()
            named = [
                f'{name}={value}'
                for name, value in vars(plant).items()
                if np.any(value != getattr(default, name))
            ]
            console.print(f'{ratios[-1]:.2f} ({theirs:.2g} rad): {" ".join(named)}', *said)
    console.print(
        f'{robot}, {number} plants: median {np.median(ratios):.2f}, '
        f'{np.mean(np.array(ratios) > 1.0):.0%} above 1, worst {max(ratios):.2f}'
    )


if __name__ == '__main__':
    main(*(kind(word) for kind, word in zip((str, int, int), sys.argv[1:], strict=False)))
