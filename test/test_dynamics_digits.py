"""Mass matrix and bias torque beside Newton and Euler's equations with fifty digits."""

from decimal import Decimal, localcontext
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from icir_control import dynamics as icir

try:
    import pinocchio as pin
except ImportError:
    pin = None

ROOT = Path(__file__).resolve().parent.parent
URDFS = [
    ROOT / 'urdf' / 'gen3_6dof.urdf',
    ROOT / 'urdf' / 'gen3_7dof.urdf',
    ROOT / 'test' / 'data' / 'gantry.urdf',
]
DISTANCES = (0.0, 1e3, 1e6)  # m
ROUNDING = 2.0**-53


def exact(array):
    """Return floats as decimals of the same value."""
    return np.vectorize(Decimal, otypes=[object])(np.asarray(array, dtype=float))


@cache
def sine_and_cosine(x):
    """Return both by their series."""
    sums, term, n = [Decimal(0), Decimal(1)], Decimal(1), 0
    while abs(term) > Decimal('1e-60'):
        n += 1
        term = term * x / n
        sums[(n + 1) % 2] += term if n % 4 < 2 else -term
    return sums


def cross(a, b):
    return np.array(
        [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
    )


def torque(model, q, v, a, gravity):
    """Return the torque of a motion (nv,), each joint with one degree of freedom."""
    zero = exact(np.zeros(3))
    states = [(exact(np.eye(3)), zero, zero, zero, -exact(gravity))]
    for i, joint in enumerate(model.joints[1:]):
        R, p, omega, alpha, acceleration = states[joint.parent]
        r = R @ exact(joint.placement.translation)
        R = R @ exact(joint.placement.rotation)
        axis, local = R @ exact(joint.axis), exact(joint.axis)
        slides = joint.kind.lengths
        if slides:
            r = r + axis * q[i]
        acceleration = acceleration + cross(alpha, r) + cross(omega, cross(omega, r))
        if slides:
            acceleration = acceleration + axis * a[i] + 2 * cross(omega, axis * v[i])
        else:
            alpha = alpha + axis * a[i] + cross(omega, axis * v[i])
            omega = omega + axis * v[i]
            sine, cosine = sine_and_cosine(q[i])
            K = np.array([cross(local, e) for e in exact(np.eye(3))]).T
            R = R @ (exact(np.eye(3)) + sine * K + (1 - cosine) * K @ K)
        states.append((R, p + r, omega, alpha, acceleration))
    forces = [[zero, zero] for _ in states]  # and moments about the joint
    torques = exact(np.zeros(model.nv))
    for i in range(len(states) - 1, 0, -1):
        joint, inertia = model.joints[i], model.inertias[i]
        R, p, omega, alpha, acceleration = states[i]
        c = R @ exact(inertia.com)
        I = R @ exact(inertia.rotational) @ R.T
        force = Decimal(inertia.mass) * (
            acceleration + cross(alpha, c) + cross(omega, cross(omega, c))
        )
        moment = I @ alpha + cross(omega, I @ omega) + cross(c, force)
        force, moment = forces[i][0] + force, forces[i][1] + moment
        torques[i - 1] = (R @ exact(joint.axis)) @ (force if joint.kind.lengths else moment)
        above = forces[joint.parent]
        above[0], above[1] = (
            above[0] + force,
            above[1] + moment + cross(p - states[joint.parent][1], force),
        )
    return torques


def errors(model, q, v, M, nle):
    """Return the relative errors of M and of the bias torque."""
    with localcontext() as context:
        context.prec = 50
        q, v, rest = exact(q), exact(v), exact(np.zeros(model.nv))
        bias = torque(model, q, v, rest, model.gravity)
        columns = [torque(model, q, rest, unit, np.zeros(3)) for unit in exact(np.eye(model.nv))]
        return [
            float(np.abs(exact(found) - truth).max() / np.abs(truth).max())
            for found, truth in ((M, np.array(columns).T), (nle, bias))
        ]


def far_robot(path, distance):
    """Return the text of a URDF whose root is fixed far from the origin."""
    root = icir.root_link(icir.load_urdf(path))
    x, y, z = distance * np.array([0.6, -0.64, 0.48])
    return path.read_text().replace(
        '</robot>',
        f'<link name="far"/><joint name="afar" type="fixed"><origin xyz="{x} {y} {z}"/>'
        f'<parent link="far"/><child link="{root}"/></joint></robot>',
    )


@pytest.mark.parametrize('distance', DISTANCES)
@pytest.mark.parametrize('path', URDFS, ids=lambda path: path.stem)
def test_the_dynamics_are_right_to_the_last_digits(path, distance):
    """At any distance of the base; Pinocchio, where it is installed, loses no fewer digits."""
    text = far_robot(path, distance)
    model = icir.load_urdf(text)
    data, rng = model.create_data(), np.random.default_rng(0)
    for _ in range(2):
        q, v = model.random_configuration(rng), rng.uniform(-1.0, 1.0, model.nv)
        icir.compute_all_terms(model, data, q, v)
        ours = errors(model, q, v, data.M, data.nle)
        assert max(ours) < 32 * ROUNDING
        if pin is not None:
            theirs = errors(model, q, v, *pinocchio_terms(text, model, q, v))
            for one, other in zip(ours, theirs, strict=True):
                assert one <= 10 * max(other, ROUNDING)


def pinocchio_terms(text, model, q, v):
    """Return Pinocchio's M and bias torque in our order."""
    other = pin.buildModelFromXML(text)
    data, q_other, v_other = other.createData(), pin.neutral(other), np.zeros(other.nv)
    order = []
    for name, angle, speed in zip(model.joint_names, q, v, strict=True):
        joint = other.joints[other.getJointId(name)]
        part = (np.cos(angle), np.sin(angle)) if joint.nq == 2 else (angle,)
        q_other[joint.idx_q : joint.idx_q + joint.nq] = part
        v_other[joint.idx_v] = speed
        order.append(joint.idx_v)
    bias = pin.rnea(other, data, q_other, v_other, np.zeros(other.nv))[order]
    M = pin.crba(other, data, q_other)
    M = np.triu(M) + np.triu(M, 1).T
    return M[np.ix_(order, order)], bias
