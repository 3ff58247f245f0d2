"""A simulator of a model in contact: Gauss's principle, solved as a quadratic program each step.

Of all accelerations that the contacts allow, the true one is the nearest to the free acceleration
ddq0 in the metric of the mass matrix:

    min 1/2 (ddq - ddq0)^T M (ddq - ddq0)   such that the contacts do not close further

The multipliers of the constraints are the contact forces.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from quadprog import solve_qp

from icir_control.collision import (
    CollisionPairs,
    distance_bias,
    distance_jacobian,
    tangent_jacobian,
)
from icir_control.dynamics import Model, Simulation, aba, compute_all_terms, integrate
from icir_control.dynamics.kernels.checked import LARGEST
from icir_control.dynamics.simulate import TorqueLaw
from icir_control.errors import InvalidValueError, SimulationError, UnknownNameError
from icir_control.spatial.arrays import Array, checked, checked_scalar

Indices = NDArray[np.intp]
SCHEMES = ('velocity', 'seed', 'seed_with_bias')
IMPACTS = ('least energy', 'projection', 'none')
_OPENING = -1e-9
"""Contacts that close more slowly [m/s] are at rest."""


class Contact(NamedTuple):
    """A contact that took part in a step.

    Attributes:
        names: The two shapes, or a joint and which limit of it.
        distance: At the beginning of the step [m]; of a joint from its limit [rad or m].
        force: Along the normal, 0 or more [N]; of a joint limit [N m or N].
    """

    names: tuple[str, str]
    distance: float
    force: float


@dataclass(frozen=True, eq=False)
class ContactSimulation(Simulation):
    """What happened, with its contacts.

    Attributes:
        distance: Of each pair, then of each joint limit, (n + 1, m) [m or rad].
        force: Along the normals (n, m) [N or N m]; row k acted from `time[k]` to `time[k + 1]`.
    """

    distance: Array
    force: Array


class ContactSimulator:
    """Steps a model under torques, contacts and joint limits.

    With h the timestep, and d, J distances and their gradients of all pairs that are near:

    - `velocity` (default) constrains the velocity at the end of the step, J v+ >= -d / h: contacts
      may close, and not further than that; it contains the inelastic impact.
    - `seed` is the tutorial's J ddq >= -d, which neglects dJ/dt v and hardly pushes.
    - `seed_with_bias` is J ddq + dJ/dt v >= -d.

    Friction is a cone with four edges in the same program, for each a row (J + mu T) v+ >= -d / h
    with T the relative velocity along a tangent (Anitescu, Math. Program. 105, 2006). A sliding
    contact then opens with mu times its speed, a distance of the order of h.

    Attributes:
        model: The model.
        pairs: The pairs of shapes.
        time: [s].
        q: Configuration (nq,).
        v: Velocity (nv,).
        distance: Distances of all pairs, then of all joint limits, at the last step's beginning.
        force: Forces of the last step along the normals, in the same order.
        names: What these belong to.
    """

    def __init__(
        self,
        model: Model,
        pairs: CollisionPairs,
        *,
        timestep: float = 1e-3,
        scheme: str = 'velocity',
        impact: str = 'least energy',
        restitution: float = 0.0,
        friction: float | Mapping[tuple[str, str], float] = 0.0,
        margin: float = 1e-3,
    ) -> None:
        """Stand in neutral configuration, at rest.

        Args:
            model: The model.
            pairs: Pairs of its shapes.
            timestep: h [s].
            scheme: One of `SCHEMES`.
            impact: `least energy`, the tutorial's `projection` (see `impact`), or `none`. It
                happens once a contact is near that was not; with `velocity`, whose program holds
                the inelastic impact already, once one would close in the step.
            restitution: Of all contacts, from 0 to 1, with the impact of least energy.
            friction: Coefficient of all pairs, or of each by the names of its shapes; others have
                none.
            margin: Contacts nearer than this are near [m or rad].

        Raises:
            InvalidValueError: A value is not what is said above.
            UnknownNameError: There is no such scheme, impact or pair.
        """
        if scheme not in SCHEMES:
            raise UnknownNameError('scheme', scheme, SCHEMES)
        if impact not in IMPACTS:
            raise UnknownNameError('impact', impact, IMPACTS)
        for name, value in (('timestep', timestep), ('margin', margin)):
            checked_scalar(name, value, 'a positive number', above=0.0)
        expected = 'a number from 0 to 1'
        if checked_scalar('restitution', restitution, expected, lowest=0.0) > 1.0:
            raise InvalidValueError('restitution', restitution, expected)
        if restitution and impact != 'least energy':
            raise InvalidValueError('restitution', restitution, "0, or impact 'least energy'")
        self.model, self.pairs = model, pairs
        self._h, self._margin = float(timestep), float(margin)
        self._scheme, self._impact, self._restitution = scheme, impact, float(restitution)
        self._data = model.create_data()
        self._take_limits()
        self._friction = _coefficients(pairs, friction, len(self.names))
        self._has_friction = bool(self._friction.any())
        if self._has_friction and scheme != 'velocity':
            raise InvalidValueError('friction', friction, "0, or scheme 'velocity'")
        self.restart(model.neutral())

    def _take_limits(self) -> None:
        """Make room for all constraints, and fill the rows of joint limits."""
        model, names = self.model, list(self.pairs.names)
        sides, coordinates, bounds, columns = [], [], [], []
        for joint in model.joints[1:]:
            if joint.kind.has_quaternion:
                continue
            for i in range(joint.nq):
                for sign, limit, name in (
                    (1.0, joint.lower, 'lower'),
                    (-1.0, joint.upper, 'upper'),
                ):
                    if isfinite(limit[i]):
                        names.append((joint.name, f'{name} limit'))
                        sides.append(sign)
                        bounds.append(limit[i])
                        coordinates.append(joint.index_q + i)
                        columns.append(joint.index_v + i)
        self.names = tuple(names)
        self._sides, self._bounds = np.array(sides), np.array(bounds)
        self._coordinates = np.array(coordinates, dtype=int)
        count = len(names)
        self._J, self._bias = np.zeros((count, model.nv)), np.zeros(count)
        self._J[np.arange(len(self.pairs), count), columns] = sides
        self._J_pairs = self._J[: len(self.pairs)]
        self._bias_pairs = self._bias[: len(self.pairs)]
        self.distance, self.force = np.zeros(count), np.zeros(count)

    def restart(self, q: Any, v: Any = None, time: float = 0.0) -> None:
        """Stand at a configuration (nq,), at rest or with a velocity (nv,), at a time [s].

        Raises:
            InvalidValueError: A vector does not fit, or the time is none.
        """
        time = checked_scalar('time', time)
        q = checked('q', q, (self.model.nq,))
        v = np.zeros(self.model.nv) if v is None else checked('v', v, (self.model.nv,))
        compute_all_terms(self.model, self._data, q, v)
        self.q, self.v, self.time = q, v, time
        self._was_near = np.zeros(len(self.names), dtype=bool)
        self.force[:] = 0.0
        self._measure(q)

    @property
    def contacts(self) -> list[Contact]:
        """The contacts with a force in the last step."""
        return [
            Contact(self.names[k], float(self.distance[k]), float(self.force[k]))
            for k in np.flatnonzero(self.force > 0.0)
        ]

    def _measure(self, q: Array) -> None:
        """Write all distances and their gradients, after placements."""
        distance_jacobian(self.model, self._data, self.pairs, self._J_pairs)
        self.distance[: len(self.pairs)] = self.pairs.distance
        self.distance[len(self.pairs) :] = self._sides * (q[self._coordinates] - self._bounds)

    def step(self, tau: Any) -> None:
        """Move on by one timestep under torques tau (nv,).

        Raises:
            InvalidValueError: The torque does not fit.
            SimulationError: Contacts contradict each other, or the motion leaves all bounds; the
                state stays what it was.
        """
        tau = checked('tau', tau, (self.model.nv,))
        model, data, h, q = self.model, self._data, self._h, self.q
        compute_all_terms(model, data, q, self.v)
        M = data.M
        self._measure(q)
        v, near = self._after_impact(M, self.v)
        ddq = aba(model, data, q, v, tau)
        force = np.zeros_like(self.force)
        if self._scheme == 'velocity':
            free = v + h * ddq
            rate = self._J @ free
            near = self.distance + h * np.minimum(rate, 0.0) < self._margin
            closing = np.flatnonzero(near)
            ends = (h * rate + self.distance)[closing]
            if closing.size and (self._has_friction or ends.min() < 0.0):
                free = self._solve(M, free, closing, -self.distance[closing] / h, force)
                force /= h
            v = free
        else:
            closing = np.flatnonzero(near)
            if closing.size:
                lowest = -self.distance[closing]
                if self._scheme == 'seed_with_bias':
                    compute_all_terms(model, data, q, v)
                    distance_bias(model, data, self.pairs, self._bias_pairs)
                    lowest -= self._bias[closing]
                ddq = self._solve(M, ddq, closing, lowest, force)
            v = v + h * ddq
        if not np.abs(v).max() < LARGEST:
            raise SimulationError(f'the motion left all bounds at {self.time:.6g} s')
        self.q, self.v = integrate(model, q, h * v), v
        self.time += h
        self.force, self._was_near = force, near

    def _after_impact(self, M: Array, v: Array) -> tuple[Array, Any]:
        """Return the velocity after the impacts of new contacts, and which contacts are near."""
        near = self.distance < self._margin
        is_contained = self._scheme == 'velocity' and self._impact == 'least energy'
        if self._impact == 'none' or (is_contained and not self._restitution):
            return v, near
        if self._scheme == 'velocity':
            rate = self._J @ v
            near = near & self._was_near | (self.distance + self._h * rate < 0.0)
            is_new = ((rate < _OPENING) & near).any()
        else:
            is_new = (near & ~self._was_near).any()
        if not is_new:
            return v, near
        J = self._J[near]
        if self._impact == 'projection':
            return project_velocity(J, v), near
        return impact(M, J, v, self._restitution), near

    def _solve(self, M: Array, x: Array, closing: Indices, lowest: Array, force: Array) -> Array:
        """Return what is nearest to x in the metric of M with J x >= lowest; fill forces."""
        J, owners = self._J[closing], closing
        if self._has_friction:
            T = tangent_jacobian(self.model, self._data, self.pairs)
            J, lowest, owners = self._cone(closing, lowest, T)
        try:
            solution = solve_qp(M, M @ x, np.ascontiguousarray(J.T), lowest)
        except ValueError as error:
            shown = ', '.join(
                f'{" and ".join(self.names[k])} ({self.distance[k]:.3g})' for k in closing
            )
            raise SimulationError(
                f'no motion satisfies all contacts at {self.time:.6g} s: {error}; contacts with '
                f'their distances [m or rad]: {shown}'
            ) from None
        force[:] = np.bincount(owners, solution[4], force.size)
        return solution[0]

    def _cone(self, closing: Indices, lowest: Array, T: Array) -> tuple[Array, Array, Indices]:
        """Replace each row of a pair with friction by the four edges of its cone."""
        rows, bounds, owners = [], [], []
        for k, bound in zip(closing.tolist(), lowest.tolist(), strict=True):
            edges = [self._J[k]]
            if self._friction[k]:
                slide = self._friction[k] * T[2 * k : 2 * k + 2]
                edges = [self._J[k] + sign * t for t in slide for sign in (1.0, -1.0)]
            rows += edges
            bounds += len(edges) * [bound]
            owners += len(edges) * [k]
        return np.array(rows), np.array(bounds), np.array(owners)

    def simulate(self, torque: TorqueLaw, duration: float) -> ContactSimulation:
        """Step under a law of torque, as `dynamics.simulate`.

        Args:
            torque: From time, q and v to the torque; asked once a step.
            duration: How long [s]; rounded to whole steps.

        Raises:
            InvalidValueError, SimulationError: As `step`.
        """
        checked_scalar('duration', duration, 'a positive number of seconds', above=0.0)
        steps = max(1, round(duration / self._h))
        time = self.time + self._h * np.arange(steps + 1)
        q, v = np.empty((steps + 1, self.model.nq)), np.empty((steps + 1, self.model.nv))
        tau = np.empty((steps, self.model.nv))
        distances, forces = (np.empty((n, len(self.names))) for n in (steps + 1, steps))
        for k in range(steps):
            q[k], v[k] = self.q, self.v
            tau[k] = checked(
                'tau', torque(float(time[k]), self.q.copy(), self.v.copy()), (self.model.nv,)
            )
            self.step(tau[k])
            distances[k], forces[k] = self.distance, self.force
        q[steps], v[steps] = self.q, self.v
        compute_all_terms(self.model, self._data, self.q, self.v)
        self._measure(self.q)
        distances[steps] = self.distance
        return ContactSimulation(time, q, v, tau, distances, forces)


def _coefficients(pairs: CollisionPairs, friction: Any, count: int) -> Array:
    """Return a coefficient of friction for each constraint."""
    values: Iterable[tuple[tuple[str, str], Any]]
    values = (
        friction.items() if isinstance(friction, Mapping) else [(n, friction) for n in pairs.names]
    )
    places = {frozenset(names): k for k, names in enumerate(pairs.names)}
    coefficients = np.zeros(count)
    for names, value in values:
        if frozenset(names) not in places:
            raise UnknownNameError('pair', names, (f'{a} and {b}' for a, b in pairs.names))
        coefficients[places[frozenset(names)]] = checked_scalar(
            'friction', value, 'a coefficient of 0 or more', lowest=0.0
        )
    return coefficients


def project_velocity(J: Array, v: Array) -> Array:
    """Return v - J^+ J v: no velocity along any contact, whether it closes or opens.

    The simplest inelastic impact. It is orthogonal in the joints' own units and not in the metric
    of the mass matrix, so that it can add energy.

    Args:
        J: Gradients of the contacts' distances (n, nv).
        v: Velocity before the impact (nv,).
    """
    return v - np.linalg.pinv(J) @ (J @ v)


def impact(M: Array, J: Array, v: Array, restitution: float = 0.0) -> Array:
    """Return the velocity after an impact without friction; its energy never rises.

    Moreau's impact: with P the projection on the velocities that open or keep all contacts,
    J v >= 0, in the metric of M,

        v+ = (1 + e) P(v) - e v,

    and P once more where that closes another contact. P takes away the least energy that the
    contacts allow, v - P(v) is perpendicular to P(v), and so the energy that is left of that part
    is e^2 times what it had.

    Args:
        M: Mass matrix (nv, nv).
        J: Gradients of the contacts' distances (n, nv).
        v: Velocity before the impact (nv,).
        restitution: e, from 0 (inelastic) to 1 (no energy is lost).

    Raises:
        InvalidValueError: The restitution is not from 0 to 1, or an array is of another shape.
    """
    if not 0.0 <= restitution <= 1.0:
        raise InvalidValueError('restitution', restitution, 'a number from 0 to 1')
    nv, count = np.asarray(v, dtype=object).size, np.asarray(J, dtype=object).shape[:1]
    v, M, J = checked('v', v, (nv,)), checked('M', M, (nv, nv)), checked('J', J, (*count, nv))
    after = _open(M, J, v)
    if restitution:
        after = _open(M, J, (1.0 + restitution) * after - restitution * v)
    return after


def _open(M: Array, J: Array, v: Array) -> Array:
    """Return the velocity that is nearest to v in the metric of M, and closes no contact."""
    if (J @ v >= 0.0).all():
        return v
    return solve_qp(M, M @ v, np.ascontiguousarray(J.T), np.zeros(len(J)))[0]
