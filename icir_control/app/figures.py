"""The figures of a run: how well each mode did what it is for, and what is good enough."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from icir_control.app.plan import Phase, Push
from icir_control.app.recording import Recording
from icir_control.app.replay import Replay
from icir_control.control import ControllerConfig, Law, Mode
from icir_control.control.laws import Float, Gravity, Impedance, Joint, Task
from icir_control.spatial import log3


@dataclass(frozen=True)
class Figure:
    """One measured number and the bounds that it must keep.

    Attributes:
        name: What it is, with its unit.
        value: In SI units; not a number where it could not be measured.
        upper: Greatest good value.
        lower: Least good value.
    """

    name: str
    value: float
    upper: float
    lower: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether the value is within its bounds."""
        return bool(self.lower <= self.value <= self.upper)


@dataclass(frozen=True)
class Part:
    """A phase of the run with the rows that belong to it.

    Attributes:
        phase: The phase.
        mode: Its mode, as configured.
        rows: Which rows of the recording and the replay are of it.
        recording: The whole run.
        replay: The controller's view of it.
        joint_names: In the order of v.
        effort_limit: (nv,) [N m or N].
    """

    phase: Phase
    mode: Mode
    rows: slice
    recording: Recording
    replay: Replay
    joint_names: tuple[str, ...]
    effort_limit: NDArray[np.float64]

    @property
    def has_run(self) -> bool:
        """Whether its mode ran, all the time."""
        return self.rows.start < self.rows.stop


def parts_of(
    phases: tuple[Phase, ...], config: ControllerConfig, recording: Recording, replay: Replay
) -> list[Part]:
    """Return the phases with their rows; one whose mode did not run has none."""
    parts = []
    for phase in phases:
        first, last = (_row_at(recording.time, moment) for moment in (phase.start, phase.end))
        ran = bool(np.all(replay.mode[first:last] == phase.mode))
        rows = slice(first, last if ran else first)
        mode, model = config.modes[phase.mode], config.arm.model
        parts.append(
            Part(phase, mode, rows, recording, replay, model.joint_names, model.effort_limit)
        )
    return parts


def figures_of(part: Part) -> list[Figure]:
    """Return the figures of one phase, by the law of its mode."""
    if not part.has_run:
        return [Figure('ran', np.nan, upper=1.0, lower=1.0)]
    return [
        *_BY_LAW[type(part.mode.law)](part),
        Figure('peak_torque_fraction', _torque_fraction(part), 1.0),
    ]


def run_figures(recording: Recording, replay: Replay) -> list[Figure]:
    """Return the figures of the run itself: that nothing was lost, and that the replay is it."""
    return [
        Figure('lost_states', recording.lost, 0.0),
        Figure('command_difference_nm', replay.command_difference(recording), 1e-9),
        Figure('reference_difference_m', replay.reference_difference(recording), 1e-9),
    ]


def _gravity(part: Part) -> Iterator[Figure]:
    q = part.recording.position[part.rows]
    yield Figure('drift_rad', float(np.max(np.abs(q - q[0]))), 1e-6)


def _joint(part: Part) -> Iterator[Figure]:
    error = joint_error(part)
    goal = np.deg2rad(part.mode.law.figures['target_deg'])
    yield Figure('peak_joint_error_rad', float(np.max(np.abs(error))), 20e-6)
    yield Figure('rms_joint_error_rad', float(np.sqrt(np.mean(error**2))), 20e-6)
    final = part.recording.position[part.rows][-1] - goal
    yield Figure('final_joint_error_rad', float(np.max(np.abs(final))), 1e-4)


def _task(part: Part) -> Iterator[Figure]:
    position, rotation = pose_error(part)
    travelled = part.replay.translation[part.rows]
    missed = travelled[-1] - travelled[0] - np.array(part.mode.law.figures['translation'])
    yield Figure('peak_position_error_m', float(np.max(position)), 3e-6)
    yield Figure('rms_position_error_m', float(np.sqrt(np.mean(position**2))), 3e-6)
    yield Figure('peak_rotation_error_rad', float(np.max(rotation)), 1e-4)
    yield Figure('final_position_error_m', float(np.max(np.abs(missed))), 50e-6)


def _float(part: Part) -> Iterator[Figure]:
    ways = [
        part.replay.translation[last] - part.replay.translation[first]
        for first, last in _rows_of_pushes(part)
    ]
    yield Figure('displacement_m', float(np.max(np.linalg.norm(ways, axis=1))), 0.25, 0.015)
    yield Figure('rotation_error_rad', float(np.max(pose_error(part)[1])), 5e-3)


def _impedance(part: Part) -> Iterator[Figure]:
    """Compare where the spring has come to rest under each push with K^-1 f."""
    replay, errors, ways, turns = part.replay, [], [], []
    for push, (first, last) in zip(part.phase.pushes, _rows_of_pushes(part), strict=True):
        way = replay.translation[last] - replay.translation_reference[last]
        goal = _spring_deflection(part, push, replay.rotation[first])
        errors.append(np.linalg.norm(way - goal) / np.linalg.norm(goal))
        ways.append(np.linalg.norm(way))
        turns.append(_angle(replay.rotation_reference[last], replay.rotation[last]))
    yield Figure('displacement_m', float(max(ways)), 0.25)
    yield Figure('stiffness_error', float(max(errors)), 0.05)
    yield Figure('rest_rotation_error_rad', max(turns), 5e-3)


_BY_LAW: dict[type[Law], Callable[[Part], Iterator[Figure]]] = {
    Gravity: _gravity,
    Joint: _joint,
    Task: _task,
    Float: _float,
    Impedance: _impedance,
}


def joint_error(part: Part) -> NDArray[np.float64]:
    """Return measured minus reference position, (n, nv) [rad or m]."""
    return part.recording.position[part.rows] - part.replay.position_reference[part.rows]


def pose_error(part: Part) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the distance [m] and the angle [rad] from reference to end effector, both (n,)."""
    replay, rows = part.replay, part.rows
    distance = np.linalg.norm(
        replay.translation[rows] - replay.translation_reference[rows], axis=1
    )
    turns = zip(replay.rotation_reference[rows], replay.rotation[rows], strict=True)
    return distance, np.array([_angle(*turn) for turn in turns])


def _angle(R_a: NDArray[np.float64], R_b: NDArray[np.float64]) -> float:
    """Return the angle between two orientations [rad]."""
    return float(np.linalg.norm(log3(R_a.T @ R_b)))


def _spring_deflection(
    part: Part, push: Push, R_base_tool: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return how far the mode's spring gives way to a push, K^-1 f, (3,) in base axes [m]."""
    figures = part.mode.law.figures
    stiffness = np.array(figures['stiffness'])[:3]
    if figures['axes'] == 'tool':
        return R_base_tool @ (push.wrench[:3] / stiffness)
    return R_base_tool @ push.wrench[:3] / stiffness


def _rows_of_pushes(part: Part) -> list[tuple[int, int]]:
    """Return the rows of the states at which each push begins and ends."""
    time = part.recording.time
    return [(_row_at(time, push.start), _row_at(time, push.end)) for push in part.phase.pushes]


def _row_at(time: NDArray[np.float64], moment: float) -> int:
    """Return the first row at or after a moment, which round-off does not move."""
    return int(np.searchsorted(time, moment - 1e-9))


def _torque_fraction(part: Part) -> float:
    torque = part.replay.torque_unsaturated[part.rows]
    return float(np.max(np.abs(torque) / part.effort_limit))
