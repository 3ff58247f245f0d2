"""Plants that are not the model: the shipped controller beside a textbook law, in one run.

Both get the same plant, the same noise and the same path. The textbook law (`ComputedTorque`) has
the gains of the shipped controller and is given the path exactly; for `down` it gets the joints of
the straight line by inverse kinematics. Peak errors are measured from outside: joints against the
cubic for `home`, MuJoCo's pose of the tool against the line for `down`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import numpy as np

from icir_control.app.closed_loop import HOME, UPRIGHT, ClosedLoop
from icir_control.app.measurement import Array, Metric, TimeSeries
from icir_control.app.promises.textbook import (
    ComputedTorque,
    joint_error,
    joint_reference,
    tool_error,
    tool_reference,
)
from icir_control.errors import DivergenceError
from icir_control.simulation import Plant

_PERIOD = 1e-3  # s
_DURATION = 2.0  # s of both motions
_AFTER = 0.5  # s that the arm is watched after its motion
_WAY = np.array([0.0, 0.0, -0.05])  # m, of `down`
_STILL = 300  # ticks that the arm is held upright before `home`
_HELD = 2000  # ticks that it is held at home before `down`
_SEED = 1
_BEGINNINGS = (0, 2, 4, 6)  # ticks that motions on encoders begin later

DEVIATIONS: Final[dict[str, dict[str, Any]]] = {
    'heavier': {'mass_scale': 1.1},
    'lighter': {'mass_scale': 0.9},
    'damping': {'joint_damping': 0.5},
    'friction': {'joint_friction': 1.0},
    'payload_at_5_cm': {'payload_mass': 1.0, 'payload_offset': [0.05, 0.0, 0.0]},
    'payload_at_10_cm': {'payload_mass': 1.0, 'payload_offset': [0.1, 0.0, 0.0]},
    'rotors_0.005': {'rotor_inertia': 0.005},
    'rotors_0.05': {'rotor_inertia': 0.05},
    'delay_1': {'delay_steps': 1},
    'delay_2': {'delay_steps': 2},
    'noise': {'position_noise': 1e-4, 'velocity_noise': 1e-2},
    'encoders': {'encoder_bits': 17},
    'rk4': {'integrator': 'rk4'},
    'five_substeps': {'substeps': 5},
    'implicitfast': {'integrator': 'implicitfast'},
}
"""What a plant may have beyond the model; kg, N m s/rad, N m, m, kg m^2, rad, rad/s."""

_ALTERNATIVES = (
    ('heavier', 'lighter', ''),
    ('damping', ''),
    ('friction', ''),
    ('payload_at_5_cm', 'payload_at_10_cm', ''),
    ('rotors_0.005', 'rotors_0.05', ''),
    ('delay_1', 'delay_2', ''),
    ('noise', 'encoders', '', ''),
    ('rk4', 'five_substeps', 'implicitfast', ''),
)
"""A combination takes one of each; nothing stands for none."""


HOME_BOUNDS: Final = {
    'heavier': 0.2,
    'lighter': 0.2,
    'damping': 0.3,
    'friction': 0.4,
    'payload_at_5_cm': 0.2,
    'payload_at_10_cm': 0.2,
    'rotors_0.005': 0.2,
    'rotors_0.05': 0.1,
    'noise': 0.8,
    'encoders': 0.4,
    'median': 0.5,
}
"""Of the ratios for `home`, where they are not 1."""

DOWN_BOUNDS: Final = {
    'rotors_0.005': 0.3,
    'rotors_0.05': 0.4,
    'noise': 1.01,
    'encoders': 1.02,
    'median': 0.25,
}
"""The same for `down`, where both answer noise alike; what is left is chance."""

TOO_FAST: Final = 1.2
"""Share of the velocity limit beyond which the shipped watchdog brakes."""

_COMBINED = 'combination '


@dataclass(frozen=True)
class TrackingResult:
    """How a motion went.

    Attributes:
        error: Greatest distance from the path [rad or m]; infinite where the plant diverged.
        speed_share: Greatest joint speed, as a share of its limit.
    """

    error: float
    speed_share: float


def combinations(count: int) -> Iterator[Plant]:
    """Yield plants with two deviations or more, always the same ones."""
    rng = np.random.default_rng(_SEED)
    while count:
        names = [name for one in _ALTERNATIVES if (name := str(rng.choice(one)))]
        if len(names) > 1:
            count -= 1
            yield Plant(
                **{key: value for name in names for key, value in DEVIATIONS[name].items()}
            )


def shipped(mode: str, plant: Plant, changes: Mapping[str, Any] | None = None) -> TrackingResult:
    """Run `home` from upright, or `down` from home, with the controller as it ships.

    With encoders the error of `down` is less than a count, and chance: it is the mean of some
    motions, which begin a few ticks apart.

    Args:
        mode: `home` or `down`.
        plant: How the plant differs.
        changes: Parameters of the controller that differ after all.
    """
    later = _BEGINNINGS if mode == 'down' and plant.encoder_bits else (0,)
    motions = [_motion(mode, plant, changes, ticks) for ticks in later]
    return TrackingResult(
        float(np.mean([motion.error for motion in motions])),
        max(motion.speed_share for motion in motions),
    )


def _motion(
    mode: str, plant: Plant, changes: Mapping[str, Any] | None, later: int
) -> TrackingResult:
    before, start, held = _beginning(mode)
    changes = {'initial_mode': held, **(changes or {})}
    loop = ClosedLoop(start=start, plant=plant, changes=changes)
    try:
        loop.run(before + later)
        begin = loop.time
        log = loop.go(mode, _DURATION + _AFTER)
    except DivergenceError:
        return TrackingResult(np.inf, np.inf)
    return _outcome(loop, mode, log, begin)


def textbook(mode: str, plant: Plant, ki: float = 0.0) -> TrackingResult:
    """Run the same with the textbook law.

    Args:
        mode: `home` or `down`.
        plant: How the plant differs.
        ki: Of an integral of the error [1/s^3].
    """
    before, start, _ = _beginning(mode)
    loop = ClosedLoop(start=start, plant=plant)
    world, law = loop.world, ComputedTorque(loop.model, ki=ki)
    world.reset(start)
    q, v, effort = np.zeros((3, loop.model.nv))
    world.read(q, v, effort)
    # As any law it takes the arm from where it measures it.
    references = _down_references() if mode == 'down' else _home_references(q.copy())
    begin, rows = loop.time + before * _PERIOD, []
    try:
        for reference in references:
            world.read(q, v, effort)
            rows.append((loop.time, world.position, world.velocity))
            world.step(law.torque(reference, q, v, _PERIOD))
    except DivergenceError:
        return TrackingResult(np.inf, np.inf)
    time, position, velocity = (np.array(column[before:]) for column in zip(*rows, strict=True))
    log = TimeSeries(time, {'position': position, 'velocity': velocity})
    return _outcome(loop, mode, log, begin)


def ratio(ours: TrackingResult, theirs: TrackingResult) -> float:
    """Return how many times the error of another law ours is; 0 where only the other diverged."""
    if np.isinf(theirs.error):
        return 1.0 if np.isinf(ours.error) else 0.0
    return ours.error / theirs.error


def beside_textbook(mode: str, combined: int, bounds: dict[str, float]) -> Iterator[Metric]:
    """Give the ratios of the peak errors, shipped controller to textbook law.

    Args:
        mode: `home` or `down`.
        combined: How many combinations of deviations.
        bounds: Those other than 1, by deviation, or `combinations`, `median`, `too_fast`.
    """
    ratios, too_fast = {}, 0
    plants = {name: Plant(**deviation) for name, deviation in DEVIATIONS.items()}
    plants |= {f'{_COMBINED}{i}': plant for i, plant in enumerate(combinations(combined))}
    for name, plant in plants.items():
        ours, theirs = shipped(mode, plant), textbook(mode, plant)
        ratios[name] = ratio(ours, theirs)
        too_fast += ours.speed_share > TOO_FAST >= theirs.speed_share
    for name in DEVIATIONS:
        yield Metric(name, ratios[name], upper=bounds.get(name, 1.0))
    worst = max(value for name, value in ratios.items() if name.startswith(_COMBINED))
    yield Metric('combinations', worst, upper=bounds.get('combinations', 1.0))
    median = float(np.median([*ratios.values()]))
    yield Metric('median', median, upper=bounds.get('median', 1.0))
    yield Metric('too_fast', too_fast, upper=bounds.get('too_fast', 0.0))


def _beginning(mode: str) -> tuple[int, Array, str]:
    """Return ticks before the motion, posture then, and the mode that holds the arm there."""
    return (_STILL, UPRIGHT, 'hold') if mode == 'home' else (_HELD, HOME, 'home')


def _times(before: int) -> Array:
    return _PERIOD * np.arange(-before, round((_DURATION + _AFTER) / _PERIOD), dtype=float)


def _home_references(start: Array) -> Array:
    return joint_reference(_times(_STILL), start, HOME, _DURATION)


@cache
def _down_references() -> Array:
    loop = ClosedLoop(start=HOME)
    return tool_reference(loop.model, loop.tool, _times(_HELD), HOME, _WAY, _DURATION)


def _outcome(loop: ClosedLoop, mode: str, log: TimeSeries, begin: float) -> TrackingResult:
    if mode == 'home':
        error = joint_error(log, begin, UPRIGHT, HOME, _DURATION)
    else:
        error, _ = tool_error(loop.world, log, begin, HOME, _WAY, _DURATION)
    share = np.abs(log['velocity']).max(axis=0) / loop.model.velocity_limit
    return TrackingResult(error, float(share.max()))
