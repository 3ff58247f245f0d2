"""Distances with their Jacobian, beside coal through Pinocchio's bindings; a contact's step.

Ten pairs of the hand at one state. Both sides compute placements, distances and the rows
n^T (J_a - J_b), and must agree before they are timed; they take turns, and the best round counts.
Pinocchio's bindings have no function for the rows: they are put together from its Jacobians, as
the exercise does. Beside that stand its distances alone.
"""

import time
from collections.abc import Callable

import numpy as np
import pinocchio as pin

from icir_control.collision import (
    CollisionPairs,
    distance,
    distance_jacobian,
    load_collision_shapes,
)
from icir_control.contact import ContactSimulator
from icir_control.dynamics import compute_all_terms, forward_kinematics, load_urdf
from icir_control.share import share_directory

PATH = share_directory() / 'urdf' / 'hand.urdf'
ROUNDS, CALLS = 200, 50
TIPS = ('finger13', 'finger23', 'finger33', 'thumb2')
PAIRS = [('wpalmt', tip) for tip in TIPS] + [
    ('thumb1', 'finger33'), ('thumb2', 'finger33'), ('thumb2', 'finger23'),
    ('finger13', 'finger23'), ('finger23', 'finger33'), ('wpalmb', 'finger33'),
]  # fmt: skip


class Theirs:
    """The same pairs with coal."""

    def __init__(self, pairs: CollisionPairs, order: list[str]) -> None:
        self.model = pin.buildModelFromUrdf(str(PATH))
        self.data = self.model.createData()
        self.geometry = pin.GeometryModel()
        for shape in pairs.shapes:
            joint = self.model.getJointId(shape.frame)
            place = pin.SE3(shape.placement.rotation, shape.placement.translation)
            solid = pin.hppfcl.Capsule(shape.shape.radius, getattr(shape.shape, 'length', 1e-12))
            self.geometry.addGeometryObject(pin.GeometryObject(shape.name, joint, place, solid))
        for names in pairs.names:
            ids = (self.geometry.getGeometryId(name) for name in names)
            self.geometry.addCollisionPair(pin.CollisionPair(*ids))
        self.geometry_data = self.geometry.createData()
        self.out = np.empty((len(pairs), self.model.nv))
        self.order = [self.model.joints[self.model.getJointId(name)].idx_v for name in order]

    def distances(self, q: np.ndarray) -> list[float]:
        """Return distances alone."""
        pin.computeDistances(self.model, self.data, self.geometry, self.geometry_data, q)
        return [result.min_distance for result in self.geometry_data.distanceResults]

    def rows(self, q: np.ndarray) -> np.ndarray:
        """Return the gradients of all distances."""
        model, data, geometry = self.model, self.data, self.geometry
        pin.computeJointJacobians(model, data, q)
        pin.computeDistances(model, data, geometry, self.geometry_data, q)
        for k, pair in enumerate(geometry.collisionPairs):
            result = self.geometry_data.distanceResults[k]
            normal = -result.normal  # from the first to the second
            row = 0.0
            for sign, shape, point in (
                (1.0, pair.first, result.getNearestPoint1()),
                (-1.0, pair.second, result.getNearestPoint2()),
            ):
                joint = geometry.geometryObjects[shape].parentJoint
                J = pin.getJointJacobian(model, data, joint, pin.WORLD)
                row = row + sign * (normal @ J[:3] + np.cross(point, normal) @ J[3:])
            self.out[k] = row
        return self.out


def best(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Return the time of one call of each [us], the best of many rounds in turns."""
    times = dict.fromkeys(calls, float('inf'))
    for _ in range(ROUNDS):
        for name, call in calls.items():
            begin = time.perf_counter()
            for _ in range(CALLS):
                call()
            times[name] = min(times[name], (time.perf_counter() - begin) / CALLS * 1e6)
    return times


def pressed_hand() -> ContactSimulator:
    """Return a hand with its three fingers and the thumb pressed on the palm."""
    model = load_urdf(PATH)
    pairs = CollisionPairs(model, load_collision_shapes(PATH), PAIRS)
    simulator = ContactSimulator(model, pairs)
    data, goal = model.create_data(), np.zeros(model.nv)
    goal[2:11] = 3 * (1.78, 1.79, 0.8)
    goal[11:] = 1.5, -2.9
    for _ in range(1500):
        compute_all_terms(model, data, simulator.q, simulator.v)
        ddq = 400.0 * (goal - simulator.q) - 40.0 * simulator.v
        simulator.step(data.M @ ddq + data.nle)
    return simulator


def main() -> None:
    """Compare, measure, and print."""
    model = load_urdf(PATH)
    pairs = CollisionPairs(model, load_collision_shapes(PATH), PAIRS)
    data, q = model.create_data(), np.full(model.nv, 0.4)
    theirs = Theirs(pairs, list(model.joint_names))
    their_q = np.empty(model.nv)
    their_q[theirs.order] = q
    rows = np.empty((len(pairs), model.nv))

    def ours() -> np.ndarray:
        forward_kinematics(model, data, q)
        return distance_jacobian(model, data, pairs, rows)

    np.testing.assert_allclose(ours(), theirs.rows(their_q)[:, theirs.order], atol=1e-5)
    np.testing.assert_allclose(distance(model, data, pairs), theirs.distances(their_q), atol=1e-7)
    calls = {
        'ours': ours,
        'coal, distances alone': lambda: theirs.distances(their_q),
        'coal': lambda: theirs.rows(their_q),
    }
    times = best(calls)
    print(f'{len(pairs)} pairs of the hand, distances and Jacobian [us]:')
    for name, figure in times.items():
        print(f'  {name:24} {figure:8.2f}   {figure / times["ours"]:6.1f} times ours')

    simulator = pressed_hand()
    tau = np.zeros(model.nv)
    compute_all_terms(model, data, simulator.q, simulator.v)
    tau[:] = data.nle
    tau[2:11] += 0.01
    step = best({'step': lambda: simulator.step(tau)})['step']
    print(
        f'a step of the contact simulator with {len(simulator.contacts)} contacts: {step:.1f} us, '
        f'{1000.0 / step:.0f} times real time at 1 ms'
    )


if __name__ == '__main__':
    main()
