"""How fast the dynamics are from Python, beside Pinocchio's own bindings, in one run.

Robots from two to 44 degrees of freedom: this package's Gen3, and arms, hands and humanoids of
PyPI's `example-robot-data`. Both sides compute the same quantities at the same state, and must
agree before they are timed. They take turns, call by call in short rounds, and the best round of
each counts, so that neither other work on the machine nor its clock favours one.

The bundle is what a torque controller needs each tick: M, nle, and of the tool's frame the
placement, the twist, the LOCAL Jacobian and the classical acceleration dJ v. Both sides make the
calls that this takes; M and nle are views into the data then, on our side all the rest as well.
"""

import argparse
import json
import logging
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import distribution, version
from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin
from rich.console import Console
from rich.progress import track
from rich.table import Table

from icir_control import dynamics as icir
from icir_control.share import share_directory

ROBOTS = {
    'Pendulum 2': ('double_pendulum_description/urdf', 'double_pendulum.urdf', 'link2'),
    'Gen3 6': ('', 'gen3_6dof.urdf', 'end_effector_link'),
    'xArm 7': ('xarm_description/urdf', 'xarm7.urdf', 'link_eef'),
    'Panda 9': ('panda_description/urdf', 'panda.urdf', 'panda_hand'),
    'Solo 12': ('solo_description/robots', 'solo12.urdf', 'FL_FOOT'),
    'Allegro 16': ('allegro_hand_description/urdf', 'allegro_left_hand.urdf', 'link_15.0_tip'),
    'Baxter 19': ('baxter_description/urdf', 'baxter.urdf', 'left_gripper'),
    'Talos 32': ('talos_data/robots', 'talos_reduced.urdf', 'gripper_right_base_link'),
    'Talos 44': ('talos_data/robots', 'talos_full_v2.urdf', 'gripper_right_base_link'),
}
"""Folder in `example-robot-data` (none for ours), file, and the frame of the tool."""

ROUNDS, CALLS = 200, 100
LOCAL = icir.ReferenceFrame.LOCAL
START = """
import sys, time
clock = time.perf_counter
begin = clock()
from icir_control import dynamics
imported = clock()
model = dynamics.load_urdf(sys.argv[1])
loaded = clock()
data = model.create_data()
dynamics.compute_all_terms(model, data, model.neutral(), [0.0] * model.nv)
print(imported - begin, loaded - imported, clock() - loaded)
"""


def path_of(robot: str) -> Path:
    """Return the URDF of a robot."""
    folder, file, _ = ROBOTS[robot]
    if not folder:
        return share_directory() / 'urdf' / file
    data = distribution('example-robot-data').locate_file('cmeel.prefix/share/example-robot-data')
    return Path(data) / 'robots' / folder / file


class Pair:
    """One robot at one state, ours and Pinocchio's."""

    def __init__(self, robot: str) -> None:
        path, tip = path_of(robot), ROBOTS[robot][2]
        rng = np.random.default_rng(0)
        self.model = icir.load_urdf(path, mimic=False)  # as Pinocchio unless told otherwise
        self.data, self.bundle = self.model.create_data(), self.model.create_data(watch=tip)
        self.q = self.model.random_configuration(rng)
        self.v, self.a = rng.normal(size=(2, self.model.nv))
        self.frame = self.model.frame_id(tip)
        self.out = np.empty((6, self.model.nv))

        self.their_model = pin.buildModelFromUrdf(str(path))
        self.their_data = self.their_model.createData()
        self.their_frame = self.their_model.getFrameId(tip)
        joints = [self.their_model.joints[self.their_model.getJointId(n)]
                  for n in self.model.joint_names]  # fmt: skip
        self.order = [joint.idx_v for joint in joints]
        self.their_q = np.zeros(self.their_model.nq)
        for joint, angle in zip(joints, self.q, strict=True):
            circle = (np.cos(angle), np.sin(angle))
            part = circle if joint.nq == 2 else angle
            self.their_q[joint.idx_q : joint.idx_q + joint.nq] = part
        self.their_v, self.their_a = np.zeros((2, self.model.nv))
        self.their_v[self.order], self.their_a[self.order] = self.v, self.a

    def our_results(self) -> tuple[np.ndarray, ...]:
        """What the bundle gives: views that are there from the start, and refreshed."""
        data, watched = self.bundle, self.bundle.watched
        pose = watched.rotation, watched.position
        return data.M, data.nle, *pose, watched.twist, watched.jacobian, watched.drift

    def their_frame_results(self) -> tuple[Any, ...]:
        """What Pinocchio's bundle gives about the tool, besides M and nle."""
        model, data, frame = self.their_model, self.their_data, self.their_frame
        pose = pin.updateFramePlacement(model, data, frame)
        twist = pin.getFrameVelocity(model, data, frame, pin.LOCAL)
        jacobian = pin.getFrameJacobian(model, data, frame, pin.LOCAL)
        drift = pin.getFrameClassicalAcceleration(model, data, frame, pin.LOCAL)
        return pose, twist, jacobian, drift

    def check(self) -> None:
        """Make sure that both compute the same."""
        icir.compute_all_terms(self.model, self.bundle, self.q, self.v)
        M, nle, R, p, twist, jacobian, drift = self.our_results()
        pin.computeAllTerms(self.their_model, self.their_data, self.their_q, self.their_v)
        their_M, their_nle = self.their_data.M, self.their_data.nle
        full = np.triu(their_M) + np.triu(their_M, 1).T
        theirs = self.their_frame_results()
        pairs = (
            (M, full[np.ix_(self.order, self.order)]),
            (nle, their_nle[self.order]),
            (R, theirs[0].rotation),
            (p, theirs[0].translation),
            (twist, theirs[1].vector),
            (jacobian, theirs[2][:, self.order]),
            (drift, theirs[3].vector),
        )
        for ours, reference in pairs:
            np.testing.assert_allclose(ours, reference, atol=1e-10 * max(1, np.abs(M).max()))

    def quantities(self) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
        """Return the calls to compare, ours and theirs, by the quantity that they give."""
        m, d, q, v, a = self.model, self.data, self.q, self.v, self.a
        pm, pd, pq, pv, pa = (
            self.their_model, self.their_data, self.their_q, self.their_v, self.their_a,
        )  # fmt: skip
        frame, their, out = self.frame, self.their_frame, self.out
        watching = self.bundle

        def their_bundle() -> None:
            pin.computeAllTerms(pm, pd, pq, pv)
            pin.updateFramePlacement(pm, pd, their)
            pin.getFrameVelocity(pm, pd, their, pin.LOCAL)
            pin.getFrameJacobian(pm, pd, their, pin.LOCAL)
            pin.getFrameClassicalAcceleration(pm, pd, their, pin.LOCAL)

        def our_three() -> None:
            icir.compute_all_terms(m, d, q, v)
            icir.frame_jacobian(m, d, frame)
            icir.frame_classical_acceleration(m, d, frame)

        def their_three() -> None:
            pin.computeAllTerms(pm, pd, pq, pv)
            pin.getFrameJacobian(pm, pd, their, pin.LOCAL)
            pin.getFrameClassicalAcceleration(pm, pd, their, pin.LOCAL)

        return {
            'all terms, J and drift of the tool': (our_three, their_three),
            'the bundle': (lambda: icir.compute_all_terms(m, watching, q, v), their_bundle),
            'all terms': (
                lambda: icir.compute_all_terms(m, d, q, v),
                lambda: pin.computeAllTerms(pm, pd, pq, pv),
            ),
            'M': (lambda: icir.crba(m, d, q), lambda: pin.crba(pm, pd, pq)),
            'nle': (
                lambda: icir.nonlinear_effects(m, d, q, v),
                lambda: pin.nonLinearEffects(pm, pd, pq, pv),
            ),
            'gravity torque': (
                lambda: icir.gravity_torque(m, d, q),
                lambda: pin.computeGeneralizedGravity(pm, pd, pq),
            ),
            'forward kinematics (q)': (
                lambda: icir.forward_kinematics(m, d, q),
                lambda: pin.forwardKinematics(pm, pd, pq),
            ),
            'forward kinematics (q, v, a)': (
                lambda: icir.forward_kinematics(m, d, q, v, a),
                lambda: pin.forwardKinematics(pm, pd, pq, pv, pa),
            ),
            'J of all joints': (
                lambda: icir.forward_kinematics(m, d, q),
                lambda: pin.computeJointJacobians(pm, pd, pq),
            ),
            'J of the tool, once placed': (
                lambda: icir.frame_jacobian(m, d, frame, LOCAL, out),
                lambda: pin.getFrameJacobian(pm, pd, their, pin.LOCAL),
            ),
            'RNEA': (lambda: icir.rnea(m, d, q, v, a), lambda: pin.rnea(pm, pd, pq, pv, pa)),
            'ABA': (lambda: icir.aba(m, d, q, v, a), lambda: pin.aba(pm, pd, pq, pv, pa)),
            'derivatives of RNEA': (
                lambda: icir.rnea_derivatives(m, d, q, v, a),
                lambda: pin.computeRNEADerivatives(pm, pd, pq, pv, pa),
            ),
            'derivatives of ABA': (
                lambda: icir.aba_derivatives(m, d, q, v, a),
                lambda: pin.computeABADerivatives(pm, pd, pq, pv, pa),
            ),
            'M inverse': (lambda: icir.minverse(m, d, q), lambda: pin.computeMinverse(pm, pd, pq)),
            'centre of mass': (
                lambda: icir.center_of_mass(m, d, q),
                lambda: pin.centerOfMass(pm, pd, pq),
            ),
            'centroidal map, momentum': (
                lambda: icir.centroidal_momentum(m, d, q, v),
                lambda: pin.ccrba(pm, pd, pq, pv),
            ),
        }


def best(ours: Callable[[], object], theirs: Callable[[], object]) -> tuple[float, float]:
    """Return the time of one call of each [us], the best of many rounds in turns."""
    times = [float('inf'), float('inf')]
    for _ in range(ROUNDS):
        for i, call in enumerate((ours, theirs)):
            begin = time.perf_counter()
            for _ in range(CALLS):
                call()
            times[i] = min(times[i], time.perf_counter() - begin)
    return times[0] / CALLS * 1e6, times[1] / CALLS * 1e6


def measure_calls(robots: list[str]) -> dict[str, dict[str, tuple[float, float]]]:
    """Return ours and theirs [us] by robot and quantity."""
    figures: dict[str, dict[str, tuple[float, float]]] = {}
    for robot in robots:
        pair = Pair(robot)
        pair.check()
        calls = track(pair.quantities().items(), f'{robot:10}', transient=True)
        figures[robot] = {name: best(*both) for name, both in calls}
    return figures


def measure_start() -> dict[str, list[float]]:
    """Return seconds to import, to load a URDF, and to the first result: cold, then warm."""
    figures = {}
    with tempfile.TemporaryDirectory() as cache:
        environment = os.environ | {'XDG_CACHE_HOME': cache}
        environment.pop('NUMBA_CACHE_DIR', None)
        command = [sys.executable, '-c', START, str(path_of('Gen3 6'))]
        for start in ('cold', 'warm', 'warm again'):
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, check=True
            )
            figures[start] = [float(x) for x in done.stdout.split()]
    return figures


def show(console: Console, figures: dict, starts: dict[str, list[float]]) -> None:
    """Print the tables."""
    table = Table(title='us per call: ours / Pinocchio = how many times faster')
    table.add_column('')
    for robot in figures:
        table.add_column(robot, justify='right')
    for name in next(iter(figures.values())):
        cells = []
        for robot in figures:
            ours, theirs = figures[robot][name]
            cells.append(f'{ours:.2f} / {theirs:.2f} = [bold]{theirs / ours:.1f}[/bold]')
        table.add_row(name, *cells)
    console.print(table)

    table = Table(title='s from a fresh interpreter to the first result (Gen3, all terms)')
    for column in ('cache', 'import', 'load the URDF', 'first result', 'together'):
        table.add_column(column, justify='left' if column == 'cache' else 'right')
    for start, parts in starts.items():
        table.add_row(start, *(f'{part:.2f}' for part in (*parts, sum(parts))))
    console.print(table)


def machine() -> str:
    """Return what the figures come from."""
    model = platform.processor() or platform.machine()
    for line in Path('/proc/cpuinfo').read_text().splitlines() if os.name == 'posix' else ():
        if line.startswith('model name'):
            model = line.partition(':')[2].strip()
            break
    packages = ', '.join(f'{name} {version(name)}' for name in ('numba', 'numpy', 'pin'))
    return f'{model}, {os.cpu_count()} cores, Python {platform.python_version()}, {packages}'


def main(arguments: list[str] | None = None) -> None:
    """Measure, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition('\n')[0])
    parser.add_argument('--robots', nargs='+', choices=ROBOTS, default=list(ROBOTS))
    parser.add_argument('--json', type=Path, help='write the figures there too')
    options = parser.parse_args(arguments)
    # Which joints mimic others does not matter here.
    logging.getLogger('icir_control').setLevel(logging.ERROR)
    console = Console(width=None if sys.stdout.isatty() else 240)
    console.print(machine())
    figures, starts = measure_calls(options.robots), measure_start()
    show(console, figures, starts)
    if options.json:
        report = {'machine': machine(), 'calls_us': figures, 'start_s': starts}
        options.json.write_text(json.dumps(report, indent=2))


if __name__ == '__main__':
    main()
