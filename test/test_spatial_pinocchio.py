"""Pinocchio as an optional oracle for meaning (its own rounding sets the tolerances)."""

import numpy as np
import pytest
from spatial_samples import (
    assert_close,
    forces,
    holds_for,
    inertias,
    motions,
    placements,
    rotation_vectors,
    twist_coordinates,
    vectors,
)

from icir_control.spatial import (
    exp3,
    exp6,
    log3,
    log6,
    right_jacobian3,
    right_jacobian6,
    rotation_from_rpy,
    rpy_jacobian,
    rpy_jacobian_inverse,
    rpy_jacobian_time_derivative,
)

try:
    import pinocchio as pin
except ImportError:
    pin = None

pytestmark = pytest.mark.skipif(pin is None, reason='the optional oracle `pin` is not installed')


def their(value):
    """Turn one of our values into Pinocchio's."""
    match type(value).__name__:
        case 'SE3':
            return pin.SE3(value.rotation, value.translation)
        case 'Motion':
            return pin.Motion(value.vector)
        case 'Force':
            return pin.Force(value.vector)
        case _:
            return pin.Inertia(value.mass, value.com, value.rotational)


@holds_for(
    ab=placements, ac=placements, nu=motions, mu=motions, phi=forces, y=inertias, z=inertias
)
def test_values_mean_the_same(ab, ac, nu, mu, phi, y, z):
    assert_close((ab @ ac).matrix, (their(ab) * their(ac)).homogeneous)
    assert_close(ab.inverse().matrix, their(ab).inverse().homogeneous)
    assert_close(ab.action, their(ab).action)
    assert_close(ab.dual_action, their(ab).dualAction)
    for x in (nu, phi):
        assert_close(ab.act(x).vector, their(ab).act(their(x)).vector)
        assert_close(ab.act_inv(x).vector, their(ab).actInv(their(x)).vector)
        assert_close(nu.cross(x).vector, their(nu).cross(their(x)).vector)
    assert_close(nu.cross(mu).vector, their(nu).cross(their(mu)).vector)
    assert_close(ab.act(y).matrix, their(ab).act(their(y)).matrix(), 1e-13)
    assert_close(ab.act_inv(y).matrix, their(ab).actInv(their(y)).matrix(), 1e-13)
    assert_close((y + z).matrix, (their(y) + their(z)).matrix(), 1e-13)
    assert_close((y * nu).vector, (their(y) * their(nu)).vector, 1e-13)
    assert_close(y.bias_force(nu).vector, their(y).vxiv(their(nu)).vector, 1e-13)
    assert_close(y.kinetic_energy(nu), their(y).vtiv(their(nu)) / 2, 1e-13)


@holds_for(phi=rotation_vectors, xi=twist_coordinates)
def test_exponentials_mean_the_same(phi, xi):
    assert_close(exp3(phi), pin.exp3(phi), 1e-14)
    assert_close(exp6(xi).matrix, pin.exp6(xi).homogeneous, 1e-12)
    assert_close(right_jacobian3(phi), pin.Jexp3(phi), 1e-11)
    if np.linalg.norm(xi[3:]) > 0.1:  # and its Jexp6 as many at small angles
        assert_close(right_jacobian6(xi), pin.Jexp6(xi), 1e-11)
    if np.linalg.norm(phi) < 3.1:  # Pinocchio's logarithms lose half of their digits near pi
        assert_close(log3(exp3(phi)), pin.log3(exp3(phi)), 1e-8)
    if np.linalg.norm(xi[3:]) < 3.1:
        assert_close(log6(exp6(xi)).vector, pin.log6(pin.exp6(xi)).vector, 1e-8)


@holds_for(rpy=vectors.filter(lambda rpy: abs(np.cos(rpy[1])) > 1e-6), rate=vectors)
def test_roll_pitch_and_yaw_mean_the_same(rpy, rate):
    world, body, R = pin.ReferenceFrame.WORLD, pin.ReferenceFrame.LOCAL, rotation_from_rpy(rpy)
    J, inverse = rpy_jacobian(rpy), rpy_jacobian_inverse(rpy)
    assert_close(R, pin.rpy.rpyToMatrix(rpy))
    assert_close(J, pin.rpy.computeRpyJacobian(rpy, world))
    assert_close(R.T @ J, pin.rpy.computeRpyJacobian(rpy, body))
    assert_close(inverse, pin.rpy.computeRpyJacobianInverse(rpy, world))
    theirs = pin.rpy.computeRpyJacobianTimeDerivative(rpy, rate, world)
    assert_close(rpy_jacobian_time_derivative(rpy, rate), theirs)
