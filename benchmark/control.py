"""How long a control tick takes from Python, beside the same law on Pinocchio and numpy.

Both sides get the same states, recorded on the simulated arm while its tool moves 5 cm down, and
must agree on the torques before they are timed; then they take turns, and the best round of each
counts. The law comes in two forms: the tutorial's (slide "Task space position control"), which is
a law in Python on our side, too (`docs/comparison_laws.py`); and the law `task` of this package,
compiled, whose reference is found by inverse kinematics a period ahead.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.table import Table

from icir_control.app.closed_loop import HOME, ClosedLoop
from icir_control.app.promises.accuracy import HOME_7DOF
from icir_control.app.robot import RobotFiles
from icir_control.control import Controller
from icir_control.simulation import Plant

sys.path.append(str(Path(__file__).resolve().parent.parent / 'docs'))
from comparison_laws import TASK_KD, TASK_KP

PERIOD = 1e-3  # s
TICKS, ROUNDS = 500, 15
ASKED = 10.0
"""Times that a tick must at least be faster than the law on Pinocchio and numpy."""

HOMES = {'gen3_6dof': HOME, 'gen3_7dof': HOME_7DOF}
LAWS = ('gravity', 'home', 'down', 'float', 'impedance')
State = tuple[float, np.ndarray, np.ndarray]
Changes = dict[str, Any]


def record(robot: str, mode: str, changes: Changes) -> tuple[Controller, list[State]]:
    """Run a mode on the plant from home; return its controller, and the states of its ticks."""
    loop = ClosedLoop(
        robot,
        start=HOMES[robot],
        plant=Plant(delay_steps=changes.get('predictor.delay_steps', 0)),
        changes=changes,
    )
    log = loop.go(mode, TICKS * PERIOD)
    return loop.controller, list(zip(log.time, log['position'], log['velocity'], strict=True))


def start(controller: Controller, mode: str, state: State) -> None:
    """Begin a mode at a state."""
    controller.restart(*state)
    controller.select(mode)


class Tutorial:
    """The tutorial's task-space law as one writes it with Pinocchio's Python bindings."""

    def __init__(self, controller: Controller, state: State) -> None:
        # The tutorial's URDF gives every joint one coordinate; Pinocchio would take two for a
        # continuous one, and more time to fill them in.
        urdf = RobotFiles.of('gen3_6dof').description().replace('"continuous"', '"revolute"')
        self.model = pin.buildModelFromXML(urdf)
        self.data = self.model.createData()
        self.frame = self.model.getFrameId('end_effector_link')
        law = controller.config.modes['down'].law
        self.kp, self.kd = self.gains(controller)
        self.start_time, q, _ = state
        self.duration = law.duration
        pin.framesForwardKinematics(self.model, self.data, q)
        self.start = self.data.oMf[self.frame].copy()
        self.way, self.turn = np.array(law.translation), np.zeros(3)

    def gains(self, controller: Controller) -> tuple[np.ndarray, np.ndarray]:
        """Return kp and kd: those of the tutorial, as on our side."""
        return TASK_KP, TASK_KD

    def goal(self, time: float) -> pin.SE3:
        """Return the pose of the cubic."""
        s = min(max((time - self.start_time) / self.duration, 0.0), 1.0)
        share = s * s * (3.0 - 2.0 * s)
        rotation = self.start.rotation @ pin.exp3(share * self.turn)
        return pin.SE3(rotation, self.start.translation + share * self.way)

    def tick(self, time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the torque."""
        model, data, frame = self.model, self.data, self.frame
        goal = self.goal(time)
        pin.computeAllTerms(model, data, q, v)
        pose = pin.updateFramePlacement(model, data, frame)
        twist = pin.getFrameVelocity(model, data, frame, pin.LOCAL)
        drift = pin.getFrameClassicalAcceleration(model, data, frame, pin.LOCAL)
        J = pin.getFrameJacobian(model, data, frame, pin.LOCAL)
        wanted = self.kp * error_in_se3(pose, goal) - self.kd * twist.vector
        ddq = np.linalg.pinv(J) @ (wanted - drift.vector)
        return data.M @ ddq + data.nle


class Matched(Tutorial):
    """The same with a reference that matches the plant's integrator, two Newton steps a tick."""

    def __init__(self, controller: Controller, state: State) -> None:
        super().__init__(controller, state)
        self.before = self.now = self.after = state[1]

    def gains(self, controller: Controller) -> tuple[np.ndarray, np.ndarray]:
        """Return kp and kd: those of the controller."""
        return controller.config.task_gains

    def tick(self, time: float, q: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the torque; to be called at every period, from the first on."""
        model, data, frame = self.model, self.data, self.frame
        self.before, self.now = self.now, self.after
        self.after = self.follow(self.goal(time + PERIOD), 2.0 * self.now - self.before)
        v_reference = (self.now - self.before) / PERIOD
        a_reference = (self.after - 2.0 * self.now + self.before) / PERIOD**2
        pin.computeAllTerms(model, data, q, v)
        pose = pin.updateFramePlacement(model, data, frame)
        J = pin.getFrameJacobian(model, data, frame, pin.LOCAL)
        error = self.kp * error_in_se3(pose, self.goal(time))
        error += self.kd * (J @ (v_reference - v))
        ddq = a_reference + np.linalg.pinv(J) @ error
        return data.M @ ddq + data.nle

    def follow(self, goal: pin.SE3, q: np.ndarray) -> np.ndarray:
        """Return the joint positions of a pose near those of q."""
        model, data, frame = self.model, self.data, self.frame
        for _ in range(2):
            pin.computeJointJacobians(model, data, q)
            pose = pin.updateFramePlacement(model, data, frame)
            J = pin.getFrameJacobian(model, data, frame, pin.LOCAL)
            q = q + np.linalg.solve(J, error_in_se3(pose, goal))
        return q


def error_in_se3(pose: pin.SE3, goal: pin.SE3) -> np.ndarray:
    """Return the error of the slides, in the axes of the pose."""
    miss = pose.actInv(goal)
    return np.concatenate([miss.translation, pin.log3(miss.rotation)])


def replay(tick: Callable[..., np.ndarray], states: list[State]) -> np.ndarray:
    """Return the torques at all states, (ticks, nv)."""
    return np.array([tick(*state).copy() for state in states])


def bare(controller: Controller) -> Callable[[np.ndarray], None]:
    """Return the compiled call alone: a row (time, q, v) to the torque in the record."""
    workspace, nv = controller._engine.workspace, len(controller.torque)

    def call(row: np.ndarray) -> None:
        workspace.take_state(row[0], row[1 : 1 + nv], row[1 + nv :])
        workspace.run()

    return call


def seconds(tick: Callable[..., object], inputs: list[tuple]) -> float:
    """Return the time of one tick over all inputs."""
    begin = time.perf_counter()
    for values in inputs:
        tick(*values)
    return (time.perf_counter() - begin) / len(inputs)


def agree(our_law: str, their_law: type[Tutorial]) -> tuple[Controller, list[State]]:
    """Return a controller and states at which both sides give the same torques.

    Raises:
        AssertionError: They do not.
    """
    ours, states = record('gen3_6dof', 'down', {'modes.down.law': our_law})
    start(ours, 'down', states[0])
    torques = replay(ours.tick, states)
    np.testing.assert_allclose(torques, replay(their_law(ours, states[0]).tick, states), atol=1e-6)
    return ours, states


def compare(our_law: str, their_law: type[Tutorial]) -> dict[str, float]:
    """Return us per tick of a law: ours, our compiled call alone if there is one, and theirs."""
    ours, states = agree(our_law, their_law)
    rows = [(np.concatenate([[t], q, v]),) for t, q, v in states]
    is_compiled = ':' not in our_law
    times: dict[str, list[float]] = {'pinocchio': [], 'tick': []}
    for _ in range(ROUNDS):
        times['pinocchio'].append(seconds(their_law(ours, states[0]).tick, states))
        start(ours, 'down', states[0])
        times['tick'].append(seconds(ours.tick, states))
        if is_compiled:
            start(ours, 'down', states[0])
            times.setdefault('compiled', []).append(seconds(bare(ours), rows))
    return {name: min(values) * 1e6 for name, values in times.items()}


def laws() -> dict[str, dict[str, float]]:
    """Return us per tick by law, for each arm and with observer and predictor at work."""
    ways = {
        'six joints': ('gen3_6dof', {}),
        'without clearance': ('gen3_6dof', {'clearance': 0.0}),
        'observer on': ('gen3_6dof', {'observer.gain': 200.0}),
        'predictor, 3 steps': ('gen3_6dof', {'predictor.delay_steps': 3}),
        'seven joints': ('gen3_7dof', {}),
    }
    times_by_law: dict[str, dict[str, float]] = {}
    for way, (robot, changes) in ways.items():
        for mode in LAWS:
            controller, states = record(robot, mode, changes)
            times = []
            for _ in range(ROUNDS):
                start(controller, mode, states[0])
                times.append(seconds(controller.tick, states))
            name = type(controller.config.modes[mode].law).__name__.lower()
            times_by_law.setdefault(name, {})[way] = min(times) * 1e6
    return times_by_law


def show(
    console: Console, by_form: dict[str, dict[str, float]], by_law: dict[str, dict[str, float]]
) -> None:
    """Print the tables."""
    table = Table(title='the task-space law from (t, q, v) to torque: us = times faster')
    table.add_column('')
    for form in by_form:
        table.add_column(form, justify='right')
    for name, words in WAYS.items():
        cells = []
        for times in by_form.values():
            if name not in times:
                cells.append('')
                continue
            ratio = times['pinocchio'] / times[name]
            faster = '' if name == 'pinocchio' else f' = [bold]{ratio:.1f}[/bold]'
            cells.append(f'{times[name]:.2f}{faster}')
        table.add_row(words, *cells)
    table.caption = f'asked of Controller.tick: {ASKED:g} times'
    console.print(table)

    table = Table(title='us per Controller.tick, by law')
    table.add_column('')
    for way in next(iter(by_law.values())):
        table.add_column(way, justify='right')
    for name, by_way in by_law.items():
        table.add_row(name, *(f'{value:.2f}' for value in by_way.values()))
    console.print(table)


FORMS = {
    "the tutorial's, ours in Python": ('comparison_laws:TutorialTask', Tutorial),
    'matched (law task)': ('task', Matched),
}
WAYS = {
    'pinocchio': 'Pinocchio and numpy',
    'tick': 'Controller.tick',
    'compiled': 'its compiled call alone',
}


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--json', type=Path, help='write the numbers there too')
    options = parser.parse_args(arguments)
    by_form = {name: compare(*form) for name, form in FORMS.items()}
    by_law = laws()
    show(Console(width=None if sys.stdout.isatty() else 100), by_form, by_law)
    if options.json:
        options.json.write_text(json.dumps({'forms_us': by_form, 'laws_us': by_law}, indent=2))


if __name__ == '__main__':
    main()
