"""Motions and forces: their products, the pairing, and what the products mean."""

import numpy as np
import pytest
from spatial_samples import (
    assert_close,
    derivative,
    forces,
    holds_for,
    motions,
    placements,
    scalars,
)

from icir_control.errors import InvalidValueError
from icir_control.spatial import Force, Motion, exp6, hat, skew

ZERO = np.zeros((3, 3))


@holds_for(a=motions, b=motions)
def test_motion_cross_motion(a, b):
    product = a.cross(b)
    assert_close(product.linear, np.cross(a.linear, b.angular) + np.cross(a.angular, b.linear))
    assert_close(product.angular, np.cross(a.angular, b.angular))
    assert_close(a.cross_matrix @ b.vector, product.vector)
    assert_close(b.cross(a).vector, -product.vector)
    assert_close(a.cross(a).vector, np.zeros(6))


@holds_for(nu=motions, phi=forces)
def test_motion_cross_force(nu, phi):
    product = nu.cross(phi)
    assert isinstance(product, Force)
    assert_close(product.linear, np.cross(nu.angular, phi.linear))
    moment = np.cross(nu.angular, phi.angular) + np.cross(nu.linear, phi.linear)
    assert_close(product.angular, moment)
    assert_close(nu.dual_cross_matrix @ phi.vector, product.vector)


@holds_for(a=motions, b=motions, phi=forces)
def test_articles_cross_products_have_the_angular_part_first(a, b, phi):
    """[ad V] = [[[w], 0], [[v], [w]]]; on a force it is -[ad V]^T."""
    ad = np.block([[skew(a.angular), ZERO], [skew(a.linear), skew(a.angular)]])
    assert_close(a.cross(b).angular_first, ad @ b.angular_first)
    assert_close(a.cross(phi).angular_first, -ad.T @ phi.angular_first)


@holds_for(a=motions, b=motions)
def test_motion_cross_motion_is_the_lie_bracket(a, b):
    assert_close(hat(a) @ hat(b) - hat(b) @ hat(a), hat(a.cross(b)))


@holds_for(a=motions, b=motions, c=motions)
def test_jacobi_identity(a, b, c):
    total = a.cross(b.cross(c)) + b.cross(c.cross(a)) + c.cross(a.cross(b))
    assert_close(total.vector, np.zeros(6), 1e-12)


@holds_for(a=motions, b=motions, phi=forces)
def test_both_cross_products_keep_the_power(a, b, phi):
    """d/dt (phi . b) = 0 where both are fixed in a body: (a x b) . phi + b . (a x phi) = 0."""
    assert_close(a.cross(b).dot(phi), -b.dot(a.cross(phi)), 1e-13)


@holds_for(ab=placements, x=motions, y=motions, phi=forces)
def test_cross_products_change_frame_with_their_factors(ab, x, y, phi):
    assert_close(ab.act(x.cross(y)).vector, ab.act(x).cross(ab.act(y)).vector, 1e-13)
    assert_close(ab.act(x.cross(phi)).vector, ab.act(x).cross(ab.act(phi)).vector, 1e-13)


@holds_for(ab=placements, nu=motions, x=motions, phi=forces)
def test_cross_products_are_rates_of_what_is_fixed_in_a_moving_body(ab, nu, x, phi):
    """dX/dt = X [nu x] and dX*/dt = X* [nu x*] for the twist nu in body axes."""

    def placed(t):
        return ab @ exp6(nu * t)

    motion_rate = derivative(lambda t: placed(t).act(x).vector)
    force_rate = derivative(lambda t: placed(t).act(phi).vector)
    assert_close(motion_rate, ab.act(nu.cross(x)).vector, 1e-10)
    assert_close(force_rate, ab.act(nu.cross(phi)).vector, 1e-10)


@holds_for(ab=placements, nu=motions, alpha=motions)
def test_classical_acceleration_is_that_of_the_origin(ab, nu, alpha):
    """The body's twist is nu + alpha t in body axes; its origin accelerates by v' + w x v."""
    classical = alpha.classical(nu)

    def velocity_of_origin(t):
        # to second order; what is left out has no first derivative at t = 0
        rotation = (ab @ exp6(nu * t)).rotation
        return rotation @ (nu + alpha * t).linear

    assert_close(ab.rotation @ classical.linear, derivative(velocity_of_origin), 1e-10)
    assert_close(classical.angular, alpha.angular, 0.0)


@holds_for(a=motions, b=motions, s=scalars, phi=forces, psi=forces)
def test_vector_space(a, b, s, phi, psi):
    assert_close((a + b).vector, a.vector + b.vector, 0.0)
    assert_close((a - b).vector, a.vector - b.vector, 0.0)
    assert (-a) == a * -1.0
    assert s * a == a * s == Motion.from_vector(s * a.vector)
    assert np.float64(s) * a == s * a
    assert_close((a / 4.0).vector, a.vector / 4.0, 0.0)
    assert a + Motion.zero() == a
    assert_close((phi + psi).vector, phi.vector + psi.vector, 0.0)
    assert_close(a.dot(phi + psi), a.dot(phi) + a.dot(psi), 1e-14)
    assert a.vector.tolist() == [*a.linear, *a.angular]


def test_motions_and_forces_do_not_mix():
    motion, force = Motion([1, 2, 3], [4, 5, 6]), Force([1, 2, 3], [4, 5, 6])
    with pytest.raises(TypeError):
        motion + force
    with pytest.raises(TypeError):
        force - motion
    assert motion != force
    with pytest.raises(InvalidValueError, match='a Force'):
        motion.dot(motion)
    with pytest.raises(InvalidValueError, match='a Motion'):
        force.dot(force)
    with pytest.raises(InvalidValueError, match='a Motion or a Force'):
        motion.cross(motion.vector)
    with pytest.raises(TypeError):
        motion * motion
    with pytest.raises(TypeError):
        motion / force
    with pytest.raises(InvalidValueError, match='a Motion'):
        motion.isclose(force)
