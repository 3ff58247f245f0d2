"""How exactly the arm follows: exact models, late torque, wrong models, seven joints.

Errors are measured from outside: against a path that is computed here, at the plant's clock, with
MuJoCo's pose of the tool.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from icir_control.app.closed_loop import HOME, ClosedLoop
from icir_control.app.measurement import Metric, angle_between
from icir_control.app.promises.plants import DEVIATIONS, TrackingResult, ratio, shipped, textbook
from icir_control.app.promises.textbook import KP, cubic, joint_motion_error, tool_motion_error
from icir_control.simulation import Plant
from icir_control.spatial import SE3, exp3

FAST: Final = {'modes.down.translation': [0.2, 0.0, 0.0], 'modes.down.duration': 0.7}
"""A motion of the tool near the joints' speed limits."""

PLANTS: Final = {
    'mass': Plant(mass_scale=1.1),
    'damping': Plant(joint_damping=0.5),
    'friction': Plant(joint_friction=0.5),
    'payload_at_5_cm': Plant(payload_mass=1.0, payload_offset=np.array([0.05, 0.0, 0.0])),
    'payload_at_10_cm': Plant(payload_mass=1.0, payload_offset=np.array([0.1, 0.0, 0.0])),
}
"""Plants that differ from their model, in one way each."""

ALL_ERRORS: Final = Plant(
    mass_scale=1.1,
    joint_damping=0.5,
    joint_friction=1.0,
    payload_mass=1.0,
    payload_offset=np.array([0.05, 0.0, 0.0]),
)

NOISE: Final = 1e-2  # rad/s
INTEGRAL: Final = 100.0 * KP  # 1/s^3
HOME_7DOF: Final = np.radians([0.0, 15.0, 180.0, -130.0, 0.0, 55.0, 90.0])


def exact_model() -> Iterator[Metric]:
    """Give the peak errors of three motions on a plant that is as the model says."""
    yield Metric('home', joint_motion_error(ClosedLoop(), 'home', 2.5, HOME), 'rad', 1e-12)
    distance, turn = tool_motion_error(ClosedLoop(start=HOME), 'down', 2.5)
    yield Metric('down', distance, 'm', 1e-10)
    yield Metric('down_turn', turn, 'rad', 1e-9)
    fast = ClosedLoop(start=HOME, changes=FAST)
    distance, _ = tool_motion_error(fast, 'down', 1.5, (0.2, 0.0, 0.0), 0.7)
    yield Metric('fast_down', distance, 'm', 1e-9)


def finer_plants() -> Iterator[Metric]:
    """Give the same where the physics is integrated finer, as the plant tells."""
    for name in ('rk4', 'five_substeps'):
        plant = Plant(**DEVIATIONS[name])
        yield Metric(f'{name}_home', shipped('home', plant).error, 'rad', 2e-7)
        yield Metric(f'{name}_down', shipped('down', plant).error, 'm', 2e-8)


def delayed() -> Iterator[Metric]:
    """Give the peak errors of two motions for each delay of the torque, with the predictor.

    From rest a path of acceleration a is a h^2 n (n + 1) / 2 ahead before the first torque of n
    periods ago arrives: 2.4 urad and 0.075 um for n = 1. The bounds are twice and four times that.
    The ratios are those to the errors without predictor.
    """
    for steps in (1, 2, 3):
        late = steps * (steps + 1) / 2
        joints, tool = delayed_errors(steps, steps)
        yield Metric(f'home_{steps}_late', joints, 'rad', 4.8e-6 * late)
        yield Metric(f'down_{steps}_late', tool, 'm', 3e-7 * late)
        without = delayed_errors(steps, 0)
        yield Metric(f'home_{steps}_ratio', joints / without[0], upper=1.0)
        yield Metric(f'down_{steps}_ratio', tool / without[1], upper=1.0)


def delayed_errors(
    steps: int, predicted: int, more: Mapping[str, Any] | None = None
) -> tuple[float, float]:
    """Return how far `home` and `down` are from their paths at the clock's time at most.

    Args:
        steps: Periods of delay.
        predicted: Those that the controller predicts over.
        more: Parameters of the controller that differ.

    Returns:
        Of a joint [rad] and of the tool [m].
    """
    plant = Plant(delay_steps=steps)
    changes = {**(more or {}), 'predictor.delay_steps': predicted}
    joints = joint_motion_error(ClosedLoop(plant=plant, changes=changes), 'home', 3.0, HOME)
    loop = ClosedLoop(start=HOME, plant=plant, changes=changes)
    loop.go('home', 0.5)
    distance, _ = tool_motion_error(loop, 'down', 2.5)
    return joints, distance


_DRAWS = 4  # of the noise, whose peaks are chance


def observer_ratio(mode: str, plant: Plant) -> float:
    """Return how many times smaller the observer makes the peak error of the same law.

    In noise it is the mean of some draws.

    Args:
        mode: `home`, error of the joints, or `down`, error of the tool.
        plant: How the plant differs.
    """
    draws = range(_DRAWS) if plant.velocity_noise else [plant.noise_seed]
    plants = [replace(plant, noise_seed=seed) for seed in draws]
    off = {'observer.gain': 0.0}
    return float(np.mean([ratio(shipped(mode, p, off), shipped(mode, p)) for p in plants]))


def observer(mode: str, least: float, noise: float = 0.0) -> Iterator[Metric]:
    """Give the ratios of `observer_ratio` for one error of the model at a time.

    Args:
        mode: `home` or `down`.
        least: Each of them.
        noise: Of the measured velocities [rad/s].
    """
    for name, plant in PLANTS.items():
        noisy = replace(plant, velocity_noise=noise)
        yield Metric(f'{name}_ratio', observer_ratio(mode, noisy), lower=least)


def beside_integral_action() -> Iterator[Metric]:
    """Give ratios of peak errors, shipped controller to a PID with ki = 100 kp.

    The PID is the better one where it is stable. With a load off the axis alone it is not.
    """

    def compared(mode: str, plant: Plant) -> float:
        pid = textbook(mode, plant, INTEGRAL)
        return ratio(
            shipped(mode, plant), pid if pid.error < 0.5 else TrackingResult(np.inf, np.inf)
        )

    for noise, name in ((0.0, 'all_errors'), (NOISE, 'with_noise')):
        plant = replace(ALL_ERRORS, velocity_noise=noise)
        yield Metric(f'{name}_home', compared('home', plant), upper=10.0)
        yield Metric(f'{name}_down', compared('down', plant), upper=3.0)
    yield Metric('payload_home', compared('home', PLANTS['payload_at_5_cm']), upper=1.0)


JOG: Final = (((0.0, 0.01, 0.0), 0.0), ((-0.01, 0.0, -0.01), 0.0), ((0.0, 0.0, 0.0), 0.09))
"""Steps of the tool [m], and its turns about its own z [rad]."""


def jog() -> Iterator[Metric]:
    """Give how far the tool is off its steps, each half a second, on an exact plant."""
    loop = ClosedLoop(start=HOME)
    loop.go('jog', 0.1)
    distances, turns, ways = [], [], []
    pose = loop.world.frame_placement(HOME)
    for way, turn in JOG:
        R, p = pose[:, :3], pose[:, 3]
        loop.controller.set_target_pose(SE3(R @ exp3([0.0, 0.0, turn]), p + way))
        begin, log = loop.time, loop.run(600)
        share = cubic(log.time - begin, 0.5)[0]
        poses = np.array([loop.world.frame_placement(q) for q in log['position']])
        distances.append(np.linalg.norm(poses[:, :, 3] - p - np.outer(share, way), axis=1).max())
        expected = R @ np.array([exp3([0.0, 0.0, turn * part]) for part in share])
        turns.append(angle_between(poses[:, :, :3], expected).max())
        pose = poses[-1]
        ways.append(np.linalg.norm(pose[:, 3] - p))
    yield Metric('distance', float(max(distances)), 'm', 1e-10)
    yield Metric('turn', float(max(turns)), 'rad', 1e-9)
    yield Metric('way', float(sum(ways)), 'm', 0.0242, 0.0241)


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
