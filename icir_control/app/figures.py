"""The figures of a run: how well each mode did what it is for, and what is good enough."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from icir_control.app.figure import Figure
from icir_control.app.parts import Part, angle_between, row_at
from icir_control.app.plan import Push
from icir_control.app.recording import Recording
from icir_control.app.replay import Replay
from icir_control.control import Law
from icir_control.control.laws import Float, Gravity, Hold, Impedance, Joint, Task


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
    yield _drift(part.position)


def _joint(part: Part) -> Iterator[Figure]:
    error = part.joint_error
    goal = np.deg2rad(part.mode.law.figures['target_deg'])
    yield Figure('peak_joint_error_rad', float(np.max(np.abs(error))), 20e-6)
    yield Figure('rms_joint_error_rad', float(np.sqrt(np.mean(error**2))), 20e-6)
    final = part.position[-1] - goal
    yield Figure('final_joint_error_rad', float(np.max(np.abs(final))), 1e-4)


def _hold(part: Part) -> Iterator[Figure]:
    """Compare the way to a halt with the planned one; from then on the arm must stand."""
    yield Figure('peak_joint_error_rad', float(np.max(np.abs(part.joint_error))), 20e-6)
    halt = row_at(part.time, part.phase.start + part.mode.law.figures['stop_time'])
    yield _drift(part.position[halt:])


def _task(part: Part) -> Iterator[Figure]:
    position, rotation = part.pose_error
    missed = (
        part.translation[-1] - part.translation[0] - np.array(part.mode.law.figures['translation'])
    )
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
    yield Figure('rotation_error_rad', float(np.max(part.pose_error[1])), 5e-3)


def _impedance(part: Part) -> Iterator[Figure]:
    """Compare where the spring has come to rest under each push with K^-1 f."""
    replay, errors, ways, turns = part.replay, [], [], []
    for push, (first, last) in zip(part.phase.pushes, _rows_of_pushes(part), strict=True):
        way = replay.translation[last] - replay.translation_reference[last]
        goal = _spring_deflection(part, push, replay.rotation[first])
        errors.append(np.linalg.norm(way - goal) / np.linalg.norm(goal))
        ways.append(np.linalg.norm(way))
        turns.append(angle_between(replay.rotation_reference[last], replay.rotation[last]))
    yield Figure('displacement_m', float(max(ways)), 0.25)
    yield Figure('stiffness_error', float(max(errors)), 0.05)
    yield Figure('rest_rotation_error_rad', max(turns), 5e-3)


_BY_LAW: dict[type[Law], Callable[[Part], Iterator[Figure]]] = {
    Gravity: _gravity,
    Joint: _joint,
    Hold: _hold,
    Task: _task,
    Float: _float,
    Impedance: _impedance,
}


def _drift(q: NDArray[np.float64]) -> Figure:
    """Return how far an arm that should stand has moved, from its positions (n, nv)."""
    return Figure('drift_rad', float(np.max(np.abs(q - q[0]))), 1e-6)


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
    return [(row_at(time, push.start), row_at(time, push.end)) for push in part.phase.pushes]


def _torque_fraction(part: Part) -> float:
    torque = part.replay.torque_unsaturated[part.rows]
    return float(np.max(np.abs(torque) / part.arm.model.effort_limit))
