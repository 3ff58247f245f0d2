"""A plan for an arm of which no more is known than its files: each mode is tried beforehand.

The simulated arm and its controller run in one process, without ROS. They tell which modes the
controller accepts, and how long each takes. In lockstep the run over ROS 2 then goes the same way.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from icir_control.app.closed_loop import ClosedLoop
from icir_control.app.demo.metrics import check_metrics, needs_pushes, spring_of
from icir_control.app.demo.plan import DemoPlan, Phase, Push
from icir_control.app.measurement import Array
from icir_control.errors import RefusedError

_GRID: Final = 0.5  # s, of which all times are multiples
_SHORTEST = 1.0  # s, of a phase
_LONGEST_MOTION = 60.0  # s that a motion is waited for
_LONGEST_PUSH = 5.0  # s that a spring is waited for
_GUIDED = 1.0  # s for which an arm is guided
_STILL = 1e-4  # m/s and rad/s of the tool

_STEP = 0.01  # m, of a mode that would stand
_TORQUE_SHARE = 0.05  # that a push takes of the torque to spare, beside dry friction
_MOST_HELD = 0.5  # of the torque to spare, that dry friction may bear
_SPRING_TRAVEL, _GUIDED_TRAVEL = 0.01, 0.1  # m that a push moves the tool, at most
_LEAST_TRAVEL = 1e-3  # m


def rehearsed(loop: ClosedLoop) -> DemoPlan:
    """Return a plan in which each mode runs that the controller accepts.

    A mode that is refused is tried again after each of the others. Those in which a push moves the
    arm come late, and the halt of an arm that was pushed last.

    Args:
        loop: At its start.

    Raises:
        UnknownNameError, ConfigurationError: A law names a metric that cannot be measured.
    """
    for mode in loop.controller.config.modes.values():
        check_metrics(mode.law)
    return _Rehearsal(loop).plan()


class _Rehearsal:
    """Modes that are tried one after the other, and what came of it."""

    def __init__(self, loop: ClosedLoop) -> None:
        self._loop, self._controller = loop, loop.controller
        self._arm = loop.controller.config.arm
        self._time = 0.0
        self._touches = False
        self._phases: list[Phase] = []
        self._changes: dict[str, Any] = {}
        self._notes: dict[str, str] = {}

    def plan(self) -> DemoPlan:
        """Try the initial mode, and then the others."""
        initial = self._controller.mode
        law = self._law(initial)
        forces = self._forces(law)
        self._perform(initial, forces, self._bounds(law, forces))
        names = [name for name in self._controller.mode_names if name != initial]
        for rank in range(3):
            waiting = [name for name in names if _rank(self._law(name)) == rank]
            while accepted := next(filter(self._try, waiting), None):
                waiting.remove(accepted)
        return DemoPlan(tuple(self._phases), self._changes, self._notes)

    def _try(self, name: str) -> bool:
        """Run a mode if the controller accepts it, and return whether it does."""
        law, changes = self._law(name), {}
        if way := law.unset.get('way'):
            changes[f'modes.{name}.{way}'] = self._easy_step()
            self._controller.update(changes)
        forces = self._forces(law)
        if not forces and needs_pushes(law):
            self._notes[name] = (
                f'left out: no push that takes {_TORQUE_SHARE:.0%} of the torque to spare would '
                f'move the tool by {_LEAST_TRAVEL * 1e3:g} mm'
            )
            return False
        bounds = self._bounds(law, forces)
        try:
            self._controller.select(name)
        except RefusedError as error:
            self._notes[name] = f'left out: {error}'
            return False
        self._notes.pop(name, None)
        self._changes |= changes
        self._perform(name, forces, bounds)
        return True

    def _perform(
        self, name: str, forces: dict[int, float], bounds: dict[str, tuple[float, float]]
    ) -> None:
        """Run a mode, which the controller has entered, to its end, and push the arm."""
        controller, start, pushes = self._controller, self._time, []
        self._touches = False

        def has_arrived() -> bool:
            return controller.mode != name or controller.motion_left == 0.0

        def is_still() -> bool:
            return controller.mode != name or self._is_still()

        self._advance(has_arrived, _LONGEST_MOTION)
        guided = self._law(name).GUIDED
        for axis, force in forces.items():
            push = Push(self._time, 0.0, axis, force)
            self._loop.world.push(self._loop.tool, push.wrench)
            self._advance(is_still, _GUIDED if guided else _LONGEST_PUSH, _GUIDED)
            self._loop.world.clear_push(self._loop.tool)
            pushes.append(Push(push.start, self._time - push.start, axis, force))
            if not guided:  # else the arm is left to the next mode as it moves
                self._advance(is_still, _LONGEST_PUSH)
        if not guided:
            self._advance(lambda: self._time - start >= _SHORTEST, _SHORTEST)
        if controller.mode != name:
            self._notes[name] = '; '.join(event.text for event in controller.take_events())
        elif self._touches:
            self._notes[name] = (
                'the arm touches itself, the floor or a joint limit: shown without bounds'
            )
        controller.take_events()
        self._phases.append(Phase(name, start, self._time, tuple(pushes), bounds, self._touches))

    def _advance(
        self, has_ended: Callable[[], bool], longest: float, shortest: float = _GRID
    ) -> None:
        """Let time pass by multiples of the grid until something has ended [s]."""
        begin, loop = self._time, self._loop
        while True:
            self._time += _GRID
            while loop.world.time_ns < self._time * 1e9:
                loop.step()
                self._touches |= loop.touches
            self._touches |= self._is_pushed_back()
            passed = self._time - begin
            if passed >= longest or (passed >= shortest and has_ended()):
                return

    def _law(self, name: str) -> Any:
        return self._controller.config.modes[name].law

    def _is_pushed_back(self) -> bool:
        """Return whether a joint is so near a limit that a mode that yields keeps it off."""
        mode = self._controller.config.modes.get(self._controller.mode)
        if mode is None or mode.law.TRACKS:
            return False
        model, q = self._arm.model, self._loop.q
        margin = self._controller.config.position_margin
        room = np.minimum(q - model.lower_position_limit, model.upper_position_limit - q)
        return bool((room < margin).any())

    def _is_still(self) -> bool:
        twist = self._arm.jacobian(self._loop.q) @ self._loop.v
        return bool(np.linalg.norm(twist) < _STILL)

    def _easy_step(self) -> list[float]:
        """Return the way, in base axes [m], along which the joints move the tool most easily."""
        R_tool_world = self._arm.placement(self._loop.q).rotation.T
        R_base_tool = (R_tool_world @ self._arm.T_world_base.rotation).T
        directions = np.linalg.svd(R_base_tool @ self._arm.jacobian(self._loop.q)[:3])[0]
        return [round(x, 6) for x in (_STEP * directions[:, 0]).tolist()]

    def _forces(self, law: Any) -> dict[int, float]:
        """Return the force [N] of a push along each of the tool's axes that is worth one."""
        if not needs_pushes(law):
            return {}
        q = self._loop.q
        J, weight = self._arm.jacobian(q), self._loop.world.bias(q, np.zeros_like(q))
        spare = _TORQUE_SHARE * (self._arm.model.effort_limit - np.abs(weight))
        force = np.min(spare / np.maximum(np.abs(J[:3]), 1e-9), axis=1)
        if law.GUIDED:
            yields, held = self._guiding(law)
            travel = np.diag(yields)
        else:
            _, _, yields = spring_of(law, q)
            travel, held = np.diag(J @ yields @ J.T)[:3], np.zeros(3)
        most = _GUIDED_TRAVEL if law.GUIDED else _SPRING_TRAVEL
        beyond = np.minimum(force, most / np.maximum(travel, 1e-9))
        ways = np.where(held < force * _MOST_HELD / _TORQUE_SHARE, beyond * travel, 0.0)
        axes = [int(np.argmax(ways))] if law.GUIDED else range(3)
        return {i: float(f'{held[i] + beyond[i]:.3g}') for i in axes if ways[i] > _LEAST_TRAVEL}

    def _guiding(self, law: Any) -> tuple[Array, Array]:
        """Return how a push moves a tool that follows a hand, and what friction bears of it.

        Free to move every way it has J ddq = -d v + J M^-1 J^T f. What the joints lose resists a
        motion in which the tool does not turn, J dq = (v, 0): damping by J^+T D J^+ v, dry
        friction by a force whose power is that of the friction, or by less.

        Args:
            law: Of the mode.

        Returns:
            (3, 3) in the tool's axes [m/N], and (3,) along them [N].
        """
        q, model = self._loop.q, self._arm.model
        J = self._arm.jacobian(q)
        mobility = J[:3] @ np.linalg.solve(self._loop.world.mass_matrix(q), J[:3].T)
        joints = np.linalg.pinv(J)[:, :3]
        damping = max(law.damping_rate, 1.0 / _GUIDED) * np.linalg.pinv(mobility)
        damping += joints.T @ (model.joint_damping[:, None] * joints)
        yields = _GUIDED * np.linalg.pinv(damping)
        lost = model.joint_friction @ np.abs(joints @ yields)
        return yields, lost / np.maximum(np.diag(yields), 1e-9)

    def _turning(self, force: float) -> float:
        """Return how far a force of any direction turns a tool that is not to turn [rad].

        It has J ddq = -kp e + J M^-1 tau, with friction in tau that may act either way.
        """
        q = self._loop.q
        J, friction = self._arm.jacobian(q), self._arm.model.joint_friction
        kp = self._controller.config.task_gains[0][3:]
        turned = np.linalg.solve(self._loop.world.mass_matrix(q), J[3:].T).T / kp[:, None]
        by_friction = np.linalg.norm(np.abs(turned) @ friction)
        return float(force * np.linalg.norm(turned @ J[:3].T, 2) + by_friction)

    def _bounds(self, law: Any, forces: dict[int, float]) -> dict[str, tuple[float, float]]:
        """Return the bounds of how far a hand moves and turns a tool that it moves freely.

        The arm's inertia changes on the way. How much it turns depends on the direction so much
        that the bound is that of the worst.
        """
        J = self._arm.jacobian(self._loop.q)
        if not (law.GUIDED and forces) or np.linalg.matrix_rank(J, law.singularity_threshold) < 6:
            return {}
        ((axis, force),) = forces.items()
        yields, held = self._guiding(law)
        least, most = (float(f * yields[axis, axis]) for f in (force - held[axis], force))
        turn = self._turning(force)
        return {'displacement': (0.5 * least, 2.0 * most), 'rotation_error': (0.0, 2.0 * turn)}


def _rank(law: Any) -> int:
    """Return when a mode comes: first, or where a push has moved the arm, or to halt it."""
    return 2 if law.HALTS else int(law.GUIDED)
