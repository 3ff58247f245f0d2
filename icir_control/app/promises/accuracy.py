"""How exactly the arm follows: exact models, late torque, wrong models, seven joints."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from icir_control.app.closed_loop import HOME, ClosedLoop
from icir_control.app.measurement import Metric
from icir_control.simulation import Plant

FAST: Final = {'modes.down.translation': [0.2, 0.0, 0.0], 'modes.down.duration': 0.7}
"""A motion of the tool near the joints' speed limits."""

PLANTS: Final = {
    'mass': Plant(mass_scale=1.1),
    'damping': Plant(joint_damping=0.5),
    'friction': Plant(joint_friction=0.5),
    'payload': Plant(payload_mass=1.0),
}
"""Plants that differ from their model."""

GAIN: Final = 200.0  # 1/s
NOISE: Final = 1e-4  # rad/s
QUINTIC: Final = {'modes.home.profile': 'quintic', 'modes.home.duration': 2.41}
HOME_7DOF: Final = np.radians([0.0, 15.0, 180.0, -130.0, 0.0, 55.0, 90.0])


def exact_model() -> Iterator[Metric]:
    """Give the peak errors of three motions on a plant that is as the model says."""
    yield Metric('home', ClosedLoop().go('home', 2.5).joint_error(), 'rad', 1e-12)
    yield Metric('down', ClosedLoop(start=HOME).tool_error('down', 2.5)[0], 'm', 1e-10)
    fast = ClosedLoop(start=HOME, changes=FAST)
    yield Metric('fast_down', fast.tool_error('down', 1.5)[0], 'm', 1e-9)


def delayed() -> Iterator[Metric]:
    """Give the peak errors of two motions for each delay of the torque, with the predictor."""
    for steps in (1, 2, 3):
        plant, changes = Plant(delay_steps=steps), {'predictor.delay_steps': steps}
        loop = ClosedLoop(plant=plant, changes=changes)
        joints = loop.go('home', 3.0).joint_error(late=steps)
        yield Metric(f'home_{steps}_late', joints, 'rad', 5e-6)
        loop = ClosedLoop(start=HOME, plant=plant, changes=changes)
        loop.go('home', 0.5)
        tool, _ = loop.tool_error('down', 2.5, late=steps)
        yield Metric(f'down_{steps}_late', tool, 'm', 5e-6)


def home_ratio(
    plant: Plant, changes: Mapping[str, Any] | None = None, noise: float = 0.0
) -> float:
    """Return how many times smaller the observer makes the peak joint error of `home`.

    Args:
        plant: How the plant differs.
        changes: Parameters of the controller.
        noise: Of the measured velocities [rad/s].
    """
    noisy = replace(plant, velocity_noise=noise)

    def peak(gain: float) -> float:
        loop = ClosedLoop(plant=noisy, changes={**(changes or {}), 'observer.gain': gain})
        return loop.go('home', 3.0).joint_error()

    return peak(0.0) / peak(GAIN)


def tool_ratio(plant: Plant) -> float:
    """Return the same for the peak distance in `down`, from an arm that is held at home."""

    def peak(gain: float) -> float:
        loop = observed(plant, gain)
        loop.go('home', 2.5)
        return loop.tool_error('down', 2.5)[0]

    return peak(0.0) / peak(GAIN)


def observed(plant: Plant, gain: float = GAIN) -> ClosedLoop:
    """Return an arm at home that differs from its model, with an observer."""
    return ClosedLoop(start=HOME, plant=plant, changes={'observer.gain': gain})


def observer_in_joint_space(
    least: float, changes: Mapping[str, Any] | None = None, noise: float = 0.0
) -> Iterator[Metric]:
    """Give the ratios of `home`, each at least the first argument; the others as `home_ratio`."""
    for name, plant in PLANTS.items():
        yield Metric(f'{name}_ratio', home_ratio(plant, changes, noise), lower=least)


def observer_in_task_space() -> Iterator[Metric]:
    """Give the ratios of `down`."""
    for name, plant in PLANTS.items():
        yield Metric(f'{name}_ratio', tool_ratio(plant), lower=3.0 if name == 'friction' else 10.0)


def null_space() -> Iterator[Metric]:
    """Give how far the tool moves while the elbow goes to another posture, and how far that is."""
    loop = ClosedLoop('gen3_7dof', start=HOME_7DOF)
    before, q = loop.placement, loop.q.copy()
    loop.controller.select('elbow')
    moved = []
    for _ in range(6000):
        loop.step()
        moved.append(np.linalg.norm(loop.placement.translation - before.translation))
    yield Metric('tool', float(np.max(moved)), 'm', 1e-6)
    yield Metric('elbow', float(np.abs(loop.q - q).max()), 'rad', lower=np.radians(20.0))
