"""How well each mode did what it is for, measured on the recorded states of a run.

The controller's topics show its reference every 10 ms at most. The controller is deterministic:
given the recorded states again (`replay`), it goes through the same references and commands. That
they are those of the run is measured too (`run_metrics`).

Where a law tracks a path, the reference is that path itself, planned here once more from the
state at the switch. How the controller followed its own plan in the run has no part in it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from icir_control.app.demo.plan import Phase
from icir_control.app.demo.run import Run
from icir_control.app.measurement import Array, Metric, TimeSeries, angle_between, by_unit
from icir_control.control import Controller, ControllerConfig, Law, Start
from icir_control.errors import ConfigurationError, UnknownNameError
from icir_control.simulation import Plant, World
from icir_control.spatial import log3
from icir_control.trajectory import JointTrajectory, SE3Trajectory

_OF_RUN = 'command_difference'  # what a law may name beside `_MEASURES`; one of the whole run
_RANK = 1e-8  # least eigenvalue of a stiffness of the joints that counts, relative to the largest


def replay(states: TimeSeries, controller: Controller) -> TimeSeries:
    """Give recorded states to a fresh controller, configured as in the run.

    Args:
        states: With `position` and `velocity`.
        controller: Restarted here.

    Returns:
        The states with the controller's view of them as further columns: `mode`, its name;
        `position_reference`, `velocity_reference` (n, nv); `rotation` (n, 3, 3) and `translation`
        (n, 3) of the end effector in the base frame [m], and the same of its reference; `torque`
        (n, nv) after the limits and `torque_unsaturated` before them [N m or N].
    """
    first = states['position'][0], states['velocity'][0]
    controller.restart(states.time[0], *first, Plant().euler_steps)
    rows = []
    for time, q, v in zip(states.time, states['position'], states['velocity'], strict=True):
        controller.tick(time, q, v)
        current, reference = controller.current_pose, controller.reference_pose
        rows.append(
            {
                'time': time,
                'mode': controller.mode,
                'position_reference': controller.position_reference.copy(),
                'velocity_reference': controller.velocity_reference.copy(),
                'rotation': current.rotation,
                'translation': current.translation,
                'rotation_reference': reference.rotation,
                'translation_reference': reference.translation,
                'torque': controller.torque.copy(),
                'torque_unsaturated': controller.torque_unsaturated.copy(),
            }
        )
    return states.with_columns(TimeSeries.from_rows(rows).columns)


@dataclass(frozen=True)
class PhaseData:
    """What of a run belongs to one phase.

    Attributes:
        phase: The phase.
        law: Of its mode.
        rows: The columns of `replay` in this phase; none where its mode did not run all the time.
            A reference that the law tracks is its path, planned anew. Further columns are
            `position_error` (n,) [m] and `rotation_error` (n,) [rad] between the end effector and
            its reference, and `at_rest` (n,), whether the reference has come to its end.
        run: All rows of the run.
        duration: Of that path [s].
    """

    phase: Phase
    law: Any
    rows: TimeSeries
    run: TimeSeries
    duration: float

    def has_run(self) -> bool:
        """Return whether the mode ran all the time."""
        return len(self.rows) > 0


def split(
    series: TimeSeries, phases: tuple[Phase, ...], config: ControllerConfig
) -> dict[str, PhaseData]:
    """Return the parts of a run by mode.

    Args:
        series: As `replay` returns it.
        phases: In the order of time.
        config: Of the run's controller.
    """
    parts = {}
    for phase in phases:
        law = config.modes[phase.mode].law
        rows = series.between(phase.start, phase.end)
        if len(rows) and (rows['mode'] == phase.mode).all():
            rows, duration = _with_references(rows, law)
        else:
            rows, duration = rows.take(slice(0)), np.nan
        parts[phase.mode] = PhaseData(phase, law, rows, series, duration)
    return parts


def phase_metrics(part: PhaseData) -> list[Metric]:
    """Return the metrics of a phase: those that its law names, and the greatest torque."""
    if not part.has_run():
        return [Metric('ran', np.nan, upper=1.0, lower=1.0)]
    law = part.law
    check_metrics(law)
    named = [name for name in law.METRICS if name in _MEASURES]
    metrics = [metric for name in named for metric in _MEASURES[name](part)]
    share = np.abs(part.rows['torque_unsaturated']) / law.arm.model.effort_limit
    metrics.append(Metric('peak_torque_fraction', float(share.max()), upper=1.0))
    if part.phase.touches:
        return [Metric(metric.name, metric.value, metric.unit) for metric in metrics]
    return metrics


def check_metrics(law: Law) -> None:
    """Check that the metrics that a law names are there, and can be measured of it.

    Raises:
        UnknownNameError: It names one that there is not.
        ConfigurationError: It lacks an attribute that one of them needs.
    """
    name = type(law).__name__
    for metric in law.METRICS:
        if metric not in {*_MEASURES, _OF_RUN}:
            raise UnknownNameError(f'metric of {name}', metric, [*_MEASURES, _OF_RUN])
        needed = _NEEDED.get(metric, ())
        if missing := [one for one in needed if getattr(law, one, False) is False]:
            raise ConfigurationError(
                f'metric {metric!r} of {name} needs the attribute {missing[0]!r} of it'
            )


def needs_pushes(law: Law) -> bool:
    """Return whether a metric that a law names is measured on an arm that is pushed."""
    return not _OF_PUSHES.isdisjoint(law.METRICS)


def run_metrics(
    run: Run,
    series: TimeSeries,
    parts: Mapping[str, PhaseData],
    config: ControllerConfig,
    world: World,
) -> list[Metric]:
    """Return the metrics of the whole run: that no state is missing, and that the replay is it.

    `replay_difference` shows that the run's commands are those of the same code. That they are
    those of its equation shows `command_difference`: for the modes that go to a posture, with
    MuJoCo's dynamics. It is left out where no such mode runs freely.

    Args:
        run: The run.
        series: Its states, as `replay` returns them.
        parts: Of that series, by mode.
        config: Of the run's controller.
        world: With the arm; its dynamics.
    """
    replayed = np.abs(series['torque'][:-1] - series['effort'][1:]).max()
    differences = [
        command_difference(part, config, world)
        for before, part in zip([None, *parts.values()], parts.values(), strict=False)
        if _is_free_motion(part, before)
    ]
    published, reference = run.published_reference, np.nan
    if len(published):
        rows = np.searchsorted(series.time, published.time)
        offset = series['translation_reference'][rows] - published['translation']
        reference = np.linalg.norm(offset, axis=1).max()
    metrics = [
        Metric('lost_states', run.lost, upper=0.0),
        Metric('replay_difference', float(replayed), 'N m', 1e-9),
    ]
    if differences:
        greatest = float(np.max(differences))
        metrics.append(Metric(_OF_RUN, greatest, 'N m', 1e-6))
    return [*metrics, Metric('reference_difference', float(reference), 'm', 1e-9)]


def command_difference(part: PhaseData, config: ControllerConfig, world: World) -> float:
    """Return how far the commands of a motion to a posture are from its equation at most [N m].

    tau = M (a_r + kp (q_r - q) + kd (v_r - v)) + nle, where v_r and a_r are differences of the
    path from where the arm was. M and nle are MuJoCo's, the path is written here once more. A
    joint's viscous damping D acts at the end of a step: M is M + h D, and nle has D v.

    Args:
        part: Of a law that goes to its `target` by its `profile`, as `joint` does.
        config: Of the run's controller.
        world: With the arm.
    """
    if not part.has_run():
        return np.nan
    rows, law, start = part.rows, part.law, part.rows['position'][0]
    period = float(np.min(np.diff(rows.time)))
    # A tick more at both ends, where the reference rests.
    u = np.clip(np.arange(-1, len(rows) + 1) * period / part.duration, 0.0, 1.0)
    share = {'cubic': 3.0 * u**2 - 2.0 * u**3, 'quintic': 10.0 * u**3 - 15.0 * u**4 + 6.0 * u**5}
    path = start + np.outer(share[law.profile], law.target - start)
    steps = np.diff(path, axis=0) / period
    kp, kd = config.joint_gains
    q, v = rows['position'], rows['velocity']
    ddq = np.diff(steps, axis=0) / period + kp * (path[1:-1] - q) + kd * (steps[:-1] - v)
    damping = law.arm.model.joint_damping
    torque = [
        world.mass_matrix(q_k) @ ddq_k + damping * (v_k + period * ddq_k) + world.bias(q_k, v_k)
        for q_k, v_k, ddq_k in zip(q, v, ddq, strict=True)
    ]
    return float(np.abs(torque[:-1] - rows['effort'][1:]).max())


def _is_free_motion(part: PhaseData, before: PhaseData | None) -> bool:
    """Return whether a posture is gone to from rest, and nothing but the motors acts.

    An arm that was pushed may move on until a mode that tracks has stopped it.
    """
    if _OF_RUN not in part.law.METRICS or part.phase.touches:
        return False
    was_pushed = before is not None and before.phase.pushes and not before.law.TRACKS
    return not (was_pushed or part.law.arm.model.joint_friction.any())


def _with_references(part: TimeSeries, law: Law) -> tuple[TimeSeries, float]:
    """Add the columns that `PhaseData.rows` promises, and return how long the path takes [s]."""
    paths = _tracked_paths(part, law) if law.TRACKS else ()
    at_rest = np.ones(len(part), dtype=bool)
    duration = sum(path.duration for path in paths)
    if paths:
        at_rest[: part.row_at(paths[0].start_time + duration)] = False
    first = paths[0] if paths else None
    if isinstance(first, JointTrajectory):
        starts = [path.start_time for path in paths]
        running = np.maximum(np.searchsorted(starts, part.time, side='right') - 1, 0)
        positions = [paths[i].position(t) for i, t in zip(running, part.time, strict=True)]
        part = part.with_columns({'position_reference': np.array(positions)})
    elif isinstance(first, SE3Trajectory):
        T_base_world = law.arm.T_world_base.inverse()
        poses = [T_base_world @ first.placement(time) for time in part.time]
        part = part.with_columns(
            {
                'rotation_reference': np.array([pose.rotation for pose in poses]),
                'translation_reference': np.array([pose.translation for pose in poses]),
            }
        )
    offset = part['translation'] - part['translation_reference']
    columns = {
        'position_error': np.linalg.norm(offset, axis=1),
        'rotation_error': angle_between(part['rotation'], part['rotation_reference']),
        'at_rest': at_rest,
    }
    return part.with_columns(columns), duration


def _tracked_paths(part: TimeSeries, law: Law) -> tuple[Any, ...]:
    """Return the path that a law plans from the reference at the switch, in its segments."""
    q, v = part['position_reference'][0], part['velocity_reference'][0]
    period = float(np.min(np.diff(part.time)))
    plan = law.plan(Start(float(part.time[0]), q, v, *law.arm.motion(q, v), period))
    return (plan.path, *plan.then) if plan.path else ()


def spring_of(law: Any, q: Array) -> tuple[Array, Array, Array]:
    """Return what a spring at the tool is to the joints.

    Args:
        law: With its `stiffness` and their `axes`.
        q: (nv,) [rad or m].

    Returns:
        K (6, 6) in the tool's axes; J (6, nv); and (J^T K J)^-1 (nv, nv), how far a torque moves
        the joints. Where the joints can move the tool every way, J (J^T K J)^-1 J^T is K^-1.
    """
    arm, K = law.arm, np.diag(law.stiffness)
    J = arm.jacobian(q)
    if law.axes == 'base':
        R_tool_base = arm.placement(q).rotation.T @ arm.T_world_base.rotation
        turn = np.kron(np.eye(2), R_tool_base)
        K = turn @ K @ turn.T
    return K, J, np.linalg.pinv(J.T @ K @ J, rcond=_RANK, hermitian=True)


# --- What a law may name in `METRICS` ---------------------------------------------------------


def _drift(part: PhaseData) -> Iterator[Metric]:
    """How far an arm that should stand has moved; from when its reference, if any, rests."""
    q = part.rows['position'][part.rows['at_rest']]
    for unit, moved in by_unit(part.law.arm.translates, q - q[0]):
        yield Metric('drift', float(np.abs(moved).max()), unit, 1e-6)


def _joint_error(part: PhaseData) -> Iterator[Metric]:
    errors = part.rows['position'] - part.rows['position_reference']
    for unit, error in by_unit(part.law.arm.translates, errors):
        yield Metric('peak_joint_error', float(np.abs(error).max()), unit, 20e-6)
        yield Metric('rms_joint_error', float(np.sqrt(np.mean(error**2))), unit, 20e-6)


def _joint_goal(part: PhaseData) -> Iterator[Metric]:
    missed = part.rows['position'][-1:] - part.law.target
    for unit, final in by_unit(part.law.arm.translates, missed):
        yield Metric('final_joint_error', float(np.abs(final).max()), unit, 1e-4)


def _pose_error(part: PhaseData) -> Iterator[Metric]:
    distance, turn = part.rows['position_error'], part.rows['rotation_error']
    # Fewer than six joints follow a pose by a damped inverse.
    bound = 3e-6 if part.law.arm.nv >= 6 else 1e-4
    yield Metric('peak_position_error', float(distance.max()), 'm', bound)
    yield Metric('rms_position_error', float(np.sqrt(np.mean(distance**2))), 'm', bound)
    yield Metric('peak_rotation_error', float(turn.max()), 'rad', 1e-4)


def _pose_goal(part: PhaseData) -> Iterator[Metric]:
    way = part.rows['translation'][-1] - part.rows['translation'][0]
    missed = np.abs(way - part.law.translation).max()
    yield Metric('final_position_error', float(missed), 'm', 50e-6)


def _hand_guiding(part: PhaseData) -> Iterator[Metric]:
    """How far pushes move an arm that follows a hand, and how far they turn it."""
    run, pushes = part.run, part.phase.pushes
    first = [run.row_at(push.start) for push in pushes]
    last = [run.row_at(push.end) for push in pushes]
    displacements = run['translation'][last] - run['translation'][first]
    farthest = float(np.linalg.norm(displacements, axis=1).max())
    turn = float(part.rows['rotation_error'].max())
    for name, value, unit in (
        ('displacement', farthest, 'm'),
        ('rotation_error', turn, 'rad'),
    ):
        lower, upper = part.phase.bounds.get(name, (0.0, np.inf))
        yield Metric(name, value, unit, upper, lower)


def _stiffness(part: PhaseData) -> Iterator[Metric]:
    """How far the spring is from rest under each push: there is J^T (f - K x) = 0.

    Dry friction may hold the joints; what it can bear of that torque does not count.
    """
    run, law = part.run, part.law
    friction = law.arm.model.joint_friction
    errors, displacements, turns = [], [], []
    for push in part.phase.pushes:
        last = run.row_at(push.end)
        R_base_tool, R_base_reference = run['rotation'][last], run['rotation_reference'][last]
        offset = run['translation'][last] - run['translation_reference'][last]
        turn = log3(R_base_reference.T @ R_base_tool)
        K, J, yields = spring_of(law, run['position'][last])
        torque = J.T @ (push.wrench - K @ np.concatenate([R_base_tool.T @ offset, turn]))
        torque -= np.clip(torque, -friction, friction)
        expected, missed = J @ yields @ J.T @ push.wrench, J @ yields @ torque
        errors.append(np.linalg.norm(missed[:3]) / np.linalg.norm(expected[:3]))
        turns.append(np.linalg.norm(missed[3:]))
        displacements.append(np.linalg.norm(offset))
    yield Metric('displacement', float(np.max(displacements)), 'm', 0.25)
    yield Metric('stiffness_error', float(np.max(errors)), upper=0.05)
    yield Metric('rest_rotation_error', float(np.max(turns)), 'rad', 5e-3)


_MEASURES: dict[str, Callable[[PhaseData], Iterator[Metric]]] = {
    'drift': _drift,
    'joint_error': _joint_error,
    'joint_goal': _joint_goal,
    'pose_error': _pose_error,
    'pose_goal': _pose_goal,
    'hand_guiding': _hand_guiding,
    'stiffness': _stiffness,
}

_OF_PUSHES = {'hand_guiding', 'stiffness'}
"""Metrics of what a push does to the arm."""

_NEEDED = {
    'joint_goal': ('target',),
    'pose_goal': ('translation',),
    'hand_guiding': ('GUIDED', 'damping_rate', 'singularity_threshold'),
    'stiffness': ('stiffness', 'axes'),
    _OF_RUN: ('target', 'profile'),
}
"""Attributes that a law has for a metric, as the law that ships with it; see its docstring.

One that is False counts as missing.
"""
