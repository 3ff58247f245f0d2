"""Plants that differ from their model: what the disturbance observer makes of them."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from icir_control.app.acceptance.closed_loop import HOME, ClosedLoop
from icir_control.app.figure import Figure
from icir_control.simulation import Plant

PLANTS: Final[dict[str, dict[str, float]]] = {
    'mass': {'mass_scale': 1.1},
    'damping': {'joint_damping': 0.5},
    'friction': {'joint_friction': 0.5},
    'payload': {'payload_mass': 1.0},
}
GAIN: Final = 200.0  # 1/s
NOISE: Final = 1e-4  # rad/s
QUINTIC: Final = {'modes.home.profile': 'quintic', 'modes.home.duration': 2.41}


def home_ratio(
    plant: Mapping[str, float], changes: Mapping[str, Any] | None = None, noise: float = 0.0
) -> float:
    """Return how many times smaller the observer makes the peak joint error of `home`.

    Args:
        plant: How the plant differs.
        changes: Parameters of the controller.
        noise: Of the measured velocities [rad/s].
    """

    def peak(gain: float) -> float:
        loop = ClosedLoop(
            plant=Plant(**plant, velocity_noise=noise),
            changes={**(changes or {}), 'observer.gain': gain},
        )
        return loop.go('home', 3.0).joint_error()

    return peak(0.0) / peak(GAIN)


def tool_ratio(plant: Mapping[str, float]) -> float:
    """Return the same for the peak distance in `down`, from an arm that is held at home."""

    def peak(gain: float) -> float:
        loop = observed(plant, gain)
        loop.go('home', 2.5)
        return loop.tool_error('down', 2.5)[0]

    return peak(0.0) / peak(GAIN)


def observed(plant: Mapping[str, float], gain: float = GAIN) -> ClosedLoop:
    """Return an arm at home that differs from its model, with an observer."""
    return ClosedLoop(start=HOME, plant=Plant(**plant), changes={'observer.gain': gain})


def push_difference(mode: str, axis: int) -> float:
    """Return how much the observer changes the way that 10 N push the tool, as a share of it."""

    def way(gain: float) -> np.ndarray:
        loop = observed({}, gain)
        loop.go('home', 2.2)
        loop.go(mode, 0.5)
        return loop.pushed(10.0 * np.eye(6)[axis], 1.0)[:3]

    free = way(0.0)
    return float(np.abs(way(GAIN) - free).max() / abs(free[axis]))


def observer_in_joint_space() -> Iterator[Figure]:
    """Give the ratios of `home` with the cubic."""
    for name, plant in PLANTS.items():
        yield Figure(f'{name}_ratio', home_ratio(plant), lower=25.0)


def observer_with_quintic() -> Iterator[Figure]:
    """Give the ratios of `home` with the quintic."""
    for name, plant in PLANTS.items():
        yield Figure(f'{name}_ratio', home_ratio(plant, QUINTIC), lower=40.0)


def observer_with_noise() -> Iterator[Figure]:
    """Give the ratios of `home` where the measured velocities are noisy."""
    for name, plant in PLANTS.items():
        yield Figure(f'{name}_ratio', home_ratio(plant, noise=NOISE), lower=20.0)


def observer_in_task_space() -> Iterator[Figure]:
    """Give the ratios of `down`."""
    for name, plant in PLANTS.items():
        yield Figure(f'{name}_ratio', tool_ratio(plant), lower=3.0 if name == 'friction' else 10.0)


def observer_under_push() -> Iterator[Figure]:
    """Give what the observer changes where the arm yields: it must not cancel a hand."""
    for mode in ('float', 'impedance'):
        worst = max(push_difference(mode, axis) for axis in range(3))
        yield Figure(f'{mode}_difference', worst, 0.1)
