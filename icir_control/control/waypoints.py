"""A motion through points at given times, as a planner sends it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from icir_control.control.arm import ROUNDING, Arm
from icir_control.control.law import Plan, Start
from icir_control.errors import RefusedError
from icir_control.parameter import FloatArray
from icir_control.trajectory import JointTrajectory, smooth_velocities, spline

HOLD_TIME = 0.5
"""[s] In which a joint that is not part of the motion comes to rest."""

AT_REST = 1e-9
"""[rad/s or m/s] Below which the last point is at rest."""

SHORTEST, LARGEST = 1e-6, 1e6
"""[s] Between two points; of any number, beyond which the arithmetic would overflow."""

SAMPLES = 800
"""Of a motion, to look for limits; 20 at most between two points, and 4 at least."""

MOST_POINTS = 1000
"""A plan for so many takes a tenth of a second, in which no state is answered."""

FINE, WAYS = 100, 4000
"""Of a polynomial, between which its joints go straight, but for 1e-4 of the way; of all."""

MOST_AHEAD = 3600.0
"""[s] From now, that a trajectory may begin: an hour."""

SPEED_SHARE = 1.01
"""Of a velocity limit: planners go to it at their points, and the spline a little beyond."""


@dataclass(frozen=True)
class Waypoints:
    """Points of some joints, each a time after the start.

    Attributes:
        joints: (m) names; the other joints rest.
        times: (k,) from the start on, increasing [s].
        positions: (k, m) [rad or m].
        velocities: (k, m), at rest in the last point; None for those of the cubic spline whose
            acceleration is continuous.
        accelerations: (k, m), which make it a spline of quintics; None for cubics.
        start_time: [s]; None for now.
    """

    joints: tuple[str, ...]
    times: Any
    positions: Any
    velocities: Any = None
    accelerations: Any = None
    start_time: float | None = None

    def __post_init__(self) -> None:
        """Refuse what is no motion of any arm.

        Raises:
            RefusedError: Says which point is wrong, and what would be valid.
        """
        for name in ('times', 'positions', 'velocities', 'accelerations'):
            if getattr(self, name) is not None:
                try:
                    array = np.asarray(getattr(self, name), dtype=float)
                except (TypeError, ValueError):
                    raise _invalid(f'{name} are no array of numbers') from None
                object.__setattr__(self, name, array)
        if self.times.ndim != 1:
            raise _invalid(f'times have shape {self.times.shape}; expected one for each point')
        if not 0 < len(self.times) <= MOST_POINTS:
            raise _invalid(f'it has {len(self.times)} points; expected 1 to {MOST_POINTS}')
        times = self.times
        if not (times[0] >= 0.0 and (np.diff(times) >= SHORTEST).all() and times[-1] <= LARGEST):
            raise _invalid(f'times from start {times.tolist()} do not increase from 0 on')
        shape = len(self.times), len(self.joints)
        for name in ('positions', 'velocities', 'accelerations'):
            values = getattr(self, name)
            if values is None and name != 'positions':
                continue
            if values.shape != shape or not (np.abs(values) <= LARGEST).all():
                raise _invalid(
                    f'{name} are not {shape[1]} numbers for each point, at most {LARGEST:g}'
                )
        if self.accelerations is not None and self.velocities is None:
            raise _invalid('accelerations without velocities')
        if self.velocities is not None and np.abs(self.velocities[-1]).max(initial=0.0) > AT_REST:
            raise _invalid(
                f'the last point has velocities {self.velocities[-1].tolist()}; expected rest'
            )


def plan_waypoints(arm: Arm, start: Start, waypoints: Waypoints) -> Plan:
    """Plan the motion from where the reference is, through the points that are still to come.

    Args:
        arm: The arm.
        start: Where it begins.
        waypoints: Where it leads.

    Raises:
        RefusedError: Joints that the arm does not have, or all points in the past.
        PositionLimitError: A way outside the position limits.
        ClearanceError: A way on which links come too near each other.
    """
    columns = _columns(arm, waypoints.joints)
    begin = start.time if waypoints.start_time is None else waypoints.start_time
    if begin > start.time + MOST_AHEAD:
        raise _invalid(
            f'it starts at {begin:.3f} s, {begin - start.time:.3g} s ahead of simulation time; '
            f'expected at most {MOST_AHEAD:g} s, or zero for now'
        )
    times = begin + waypoints.times
    ahead = times > start.time + 0.5 * start.period
    if not ahead.any():
        raise RefusedError(
            f'the trajectory ends in the past: at {times[-1]:.3f} s, and it is {start.time:.3f} s',
            reason='old_trajectory',
        )

    def knots(first: Any, given: Any, rest: Any) -> FloatArray:
        values = np.tile(np.asarray(rest, dtype=float), (1 + int(ahead.sum()), 1))
        values[1:, columns] = given[ahead]
        values[0] = first
        return values

    times = np.array([start.time, *times[ahead]])
    stop_time = min(HOLD_TIME, float(times[1] - times[0]))
    zero = np.zeros(arm.nv)
    rest = start.q + 0.5 * stop_time * start.v
    q = knots(start.q, waypoints.positions, rest)
    others = np.setdiff1d(np.arange(arm.nv), columns)
    if waypoints.velocities is None:
        v = smooth_velocities(times, q, start.v, zero)
        v[1:, others] = 0.0
    else:
        v = knots(start.v, waypoints.velocities, zero)
    a = None
    if waypoints.accelerations is not None:
        a = knots(start.a, waypoints.accelerations, zero)
    if start.v[others].any() and stop_time < times[1] - times[0]:
        # The joints that are to rest do not take as long as the first point is away.
        stopped = start.time + stop_time
        first = spline(times[:2], q[:2], v[:2], None if a is None else a[:2])[0]
        at_stop = first.sample(stopped)
        times = np.insert(times, 1, stopped)
        q, v = (
            np.insert(all_, 1, one, axis=0) for all_, one in zip((q, v), at_stop, strict=False)
        )
        a = None if a is None else np.insert(a, 1, at_stop[2], axis=0)
        q[1, others], v[1, others] = rest[others], 0.0
        if a is not None:
            a[1, others] = 0.0
    segments = spline(times, q, v, a)
    _check(arm, start, segments)
    return Plan(segments[0], float(times[-1] - start.time), then=segments[1:])


def _columns(arm: Arm, joints: tuple[str, ...]) -> list[int]:
    """Return which joints of the arm the points are of.

    Raises:
        RefusedError: Unknown ones, one twice, or none.
    """
    names = list(arm.model.joint_names)
    unknown = [name for name in joints if name not in names]
    if unknown or not joints or len(set(joints)) < len(joints):
        raise RefusedError(
            f'the trajectory is of joints {list(joints)}; expected some of {", ".join(names)},'
            ' each once',
            reason='invalid_joints',
        )
    return [names.index(name) for name in joints]


def _check(arm: Arm, start: Start, segments: tuple[JointTrajectory, ...]) -> None:
    """Refuse a motion beyond the limits of position, velocity or effort.

    Raises:
        RefusedError: Says which joint is beyond which limit, and when.
    """
    model = arm.model
    speed_limit = np.maximum(model.velocity_limit, np.abs(start.v)) * SPEED_SHARE
    count = min(max(SAMPLES // len(segments), 4), 20)
    times, q, v = _samples(segments, count + 1)
    lower = np.minimum(model.lower_position_limit, start.q) - ROUNDING
    upper = np.maximum(model.upper_position_limit, start.q) + ROUNDING
    is_outside = ((q < lower) | (q > upper)).any(axis=1)
    if is_outside.any():
        k = int(np.argmax(is_outside))
        arm.check_limits(f'the trajectory, {times[k] - start.time:.3g} s from now,', q[k], start.q)
    share = np.abs(v) / speed_limit
    if share.max() > 1.0:
        k, i = map(int, np.unravel_index(np.argmax(share), share.shape))
        limit, unit = float(model.velocity_limit[i]), 'm/s' if arm.translates[i] else 'rad/s'
        slower = np.ceil(100.0 * share[k, i]) / 100.0
        raise RefusedError(
            f'the trajectory, {times[k] - start.time:.3g} s from now, moves '
            f'{model.joint_names[i]} at {v[k, i]:.4g} {unit}, its limit is {limit:.4g} {unit}; '
            f'{slower:g} times slower it would not',
            reason='velocity_limit',
            joint=model.joint_names[i],
            value=float(v[k, i]),
            lower=-limit,
            upper=limit,
        )
    for segment in segments:
        samples = segment.start_time + np.linspace(0.0, segment.duration, count + 1)
        stretch, i = arm.stretch(segment, samples)
        if stretch > 1.0:
            raise RefusedError(
                f'the trajectory, {segment.start_time - start.time:.3g} s from now, needs more'
                f' torque than there is at {model.joint_names[i]}; {stretch:.3g} times slower it'
                ' would not',
                reason='effort_limit',
                joint=model.joint_names[i],
            )
    _, way, _ = _samples(segments, min(max(WAYS // len(segments), 3), FINE))
    arm.check_friction('the trajectory', way)
    arm.check_weight('the trajectory', way)
    arm.check_clearance('the trajectory', way)


def _samples(
    segments: tuple[JointTrajectory, ...], count: int
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return times (n,), positions, velocities (n, nv): `count` samples of each polynomial."""
    coefficients = np.array([one.coefficients for one in segments])
    starts, durations = np.array([(one.start_time, one.duration) for one in segments]).T
    t = durations[:, None] * np.linspace(0.0, 1.0, count)
    powers = t[:, :, None] ** np.arange(6)
    rates = np.zeros_like(powers)
    rates[:, :, 1:] = np.arange(1, 6) * powers[:, :, :-1]
    q, v = (np.einsum('sck,snk->scn', one, coefficients) for one in (powers, rates))
    nv = coefficients.shape[1]
    return (starts[:, None] + t).ravel(), q.reshape(-1, nv), v.reshape(-1, nv)


def _invalid(why: str) -> RefusedError:
    return RefusedError(f'the trajectory is not valid: {why}', reason='invalid_trajectory')
