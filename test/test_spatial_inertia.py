"""Spatial inertia: the formulas of cheat sheet and article, and clouds of points as oracle."""

import numpy as np
import pytest
from hypothesis import strategies as st
from spatial_samples import (
    assert_close,
    derivative,
    forces,
    holds_for,
    inertias,
    motions,
    placements,
    vectors,
)

from icir_control.errors import InvalidValueError
from icir_control.spatial import SE3, Force, Inertia, Motion, exp6, skew

ONE = np.eye(3)

clouds = st.lists(
    st.tuples(st.floats(0.1, 5.0), vectors), min_size=1, max_size=6
)  # of (mass, position)


def body_of(cloud):
    """Put a body together from points, by addition of inertias."""
    total = Inertia.zero()
    for mass, position in cloud:
        total = total + Inertia.point_mass(mass, position)
    return total


@holds_for(y=inertias)
def test_matrix_form(y):
    m, c = y.mass, skew(y.com)
    assert_close(
        y.matrix, np.block([[m * ONE, m * c.T], [m * c, y.rotational + m * c @ c.T]]), 0.0
    )
    assert_close(y.matrix, y.matrix.T, 1e-15)
    assert np.linalg.eigvalsh(y.matrix).min() > 0.0


@holds_for(y=inertias)
def test_canonical_form_at_the_centre_of_mass(y):
    at_com = SE3.from_translation(y.com).act_inv(y)
    assert_close(at_com.matrix[:3, :3], y.mass * ONE)
    assert_close(at_com.matrix[:3, 3:], np.zeros((3, 3)))
    assert_close(at_com.matrix[3:, 3:], y.rotational)


@holds_for(ab=placements, y=inertias)
def test_change_of_frame_is_conjugation_by_the_actions(ab, y):
    """Y_a = X*_ab Y_b X_ab^-1."""
    moved = ab.act(y)
    assert_close(moved.matrix, ab.dual_action @ y.matrix @ np.linalg.inv(ab.action), 1e-12)
    assert ab.act_inv(moved).isclose(y, 1e-13)


@holds_for(ab=placements, y=inertias)
def test_change_of_frame_of_the_triplet(ab, y):
    r, p = ab.rotation, ab.translation
    there, back = ab.act(y), ab.act_inv(y)
    assert there.mass == back.mass == y.mass
    assert_close(there.com, p + r @ y.com)
    assert_close(there.rotational, r @ y.rotational @ r.T)
    assert_close(back.com, r.T @ (y.com - p))
    assert_close(back.rotational, r.T @ y.rotational @ r)


@holds_for(ab=placements, y=inertias)
def test_change_of_frame_in_blocks(ab, y):
    """The sheet's form from B to A, with the square of the new centre's cross product."""
    c = skew(ab.translation + ab.rotation @ y.com)
    m, turned = y.mass, ab.rotation @ y.rotational @ ab.rotation.T
    blocks = np.block([[m * ONE, m * c.T], [m * c, turned - m * c @ c]])
    assert_close(ab.act(y).matrix, blocks, 1e-13)


@holds_for(ab=placements, y=inertias, nu=motions)
def test_momentum_and_energy_do_not_depend_on_the_frame(ab, y, nu):
    there = ab.act(y) * ab.act(nu)
    assert_close(there.vector, ab.act(y * nu).vector, 1e-13)
    assert_close(ab.act(y).kinetic_energy(ab.act(nu)), y.kinetic_energy(nu), 1e-13)


@holds_for(y=inertias, nu=motions)
def test_motion_to_force_map(y, nu):
    m, c, i, v, w = y.mass, y.com, y.rotational, nu.linear, nu.angular
    momentum = y * nu
    assert isinstance(momentum, Force)
    assert_close(momentum.vector, y.matrix @ nu.vector)
    assert_close(momentum.linear, m * v - np.cross(m * c, w))
    moment = np.cross(m * c, v) + i @ w - np.cross(m * c, np.cross(c, w))
    assert_close(momentum.angular, moment)


@holds_for(y=inertias, nu=motions)
def test_bias_force_with_five_cross_products(y, nu):
    m, c, i, v, w = y.mass, y.com, y.rotational, nu.linear, nu.angular
    assert_close(y.bias_force(nu).vector, nu.cross(y * nu).vector, 1e-13)
    mcw = np.cross(m * c, w)
    linear = m * np.cross(w, v) - np.cross(w, mcw)
    angular = (
        np.cross(w, np.cross(m * c, v))
        + np.cross(w, i @ w)
        - np.cross(w, np.cross(c, mcw))
        - np.cross(v, mcw)
    )
    assert_close(y.bias_force(nu).vector, np.concatenate([linear, angular]), 1e-13)


@holds_for(y=inertias, nu=motions)
def test_kinetic_energy(y, nu):
    assert_close(y.kinetic_energy(nu), 0.5 * nu.vector @ y.matrix @ nu.vector, 1e-14)
    # at the centre of mass: w . I w / 2 + m v . v / 2
    at_com = SE3.from_translation(y.com).act_inv(nu)
    v, w = at_com.linear, at_com.angular
    assert_close(y.kinetic_energy(nu), 0.5 * w @ y.rotational @ w + 0.5 * y.mass * v @ v, 1e-13)


@holds_for(a=inertias, b=inertias, c=inertias)
def test_addition(a, b, c):
    assert_close((a + b).matrix, a.matrix + b.matrix)
    assert (a + b).isclose(b + a, 1e-14)
    assert ((a + b) + c).isclose(a + (b + c), 1e-14)
    assert (a + Inertia.zero()).isclose(a, 1e-15)
    assert (Inertia.zero() + Inertia.zero()) == Inertia.zero()


@holds_for(ca=placements, cb=placements, a=inertias, b=inertias, nu=motions)
def test_composite_body(ca, cb, a, b, nu):
    """Inertias add once they are in a common frame, and so do momenta and energies."""
    total = ca.act(a) + cb.act(b)
    separate = ca.act(a * ca.act_inv(nu)) + cb.act(b * cb.act_inv(nu))
    assert_close((total * nu).vector, separate.vector, 1e-13)


@holds_for(cloud=clouds, nu=motions)
def test_against_a_cloud_of_points(cloud, nu):
    """Sums over point masses, which know nothing of spatial algebra."""
    body = body_of(cloud)
    velocity = [nu.linear + np.cross(nu.angular, r) for _, r in cloud]
    energy = sum(0.5 * m * v @ v for (m, _), v in zip(cloud, velocity, strict=True))
    linear = sum(m * v for (m, _), v in zip(cloud, velocity, strict=True))
    angular = sum(m * np.cross(r, v) for (m, r), v in zip(cloud, velocity, strict=True))
    assert_close(body.kinetic_energy(nu), energy, 1e-13)
    assert_close((body * nu).linear, linear, 1e-13)
    assert_close((body * nu).angular, angular, 1e-13)
    mass = sum(m for m, _ in cloud)
    assert_close(body.mass, mass)
    assert_close(body.com, sum(m * r for m, r in cloud) / mass)


@holds_for(y=inertias, nu=motions, alpha=motions, ob=placements)
def test_equation_of_motion(y, nu, alpha, ob):
    """F_b = G_b dV_b/dt - [ad V_b]^T G_b V_b is the rate of the momentum in space."""
    wrench = y * alpha + y.bias_force(nu)

    def momentum_in_space(t):
        return (ob @ exp6(nu * t)).act(y * (nu + alpha * t)).vector

    assert_close(ob.act(wrench).vector, derivative(momentum_in_space), 1e-9)
    articles = (y * alpha).vector - nu.cross_matrix.T @ (y * nu).vector
    assert_close(wrench.vector, articles, 1e-13)


@holds_for(y=inertias, nu=motions, phi=forces)
def test_power_changes_the_energy(y, nu, phi):
    """With alpha from F = Y alpha + nu x Y nu, dE/dt = F . nu."""
    alpha = Motion.from_vector(np.linalg.solve(y.matrix, (phi - y.bias_force(nu)).vector))
    rate = derivative(lambda t: y.kinetic_energy(nu + alpha * t))
    assert_close(rate, phi.dot(nu), 1e-8)


def test_parallel_axis_theorem_in_one_dimension():
    """I_d = I_com + m d^2 about an axis at the distance d."""
    body = Inertia(3.0, [0.0, 0.0, 0.0], np.diag([0.2, 0.3, 0.4]))
    shifted = SE3.from_translation([0.5, 0.0, 0.0]).act(body)
    assert_close(np.diag(shifted.rotational_at_origin), [0.2, 0.3 + 0.75, 0.4 + 0.75])


@pytest.mark.parametrize(
    ('mass', 'com', 'rotational', 'message'),
    [
        (-1.0, np.zeros(3), ONE, r'mass = -1.0 .*not negative'),
        (float('nan'), np.zeros(3), ONE, 'mass = nan'),
        ('heavy', np.zeros(3), ONE, "mass = 'heavy'"),
        (1.0, np.zeros(2), ONE, r'com .*3 finite numbers'),
        (1.0, np.zeros(3), np.diag([1.0, 1.0, 2.1]), r'1, 1, 2.1'),
        (1.0, np.zeros(3), -ONE, 'principal moments'),
        (1.0, np.zeros(3), ONE + np.eye(3, k=1), 'symmetric'),
    ],
)
def test_impossible_bodies_are_refused(mass, com, rotational, message):
    with pytest.raises(InvalidValueError, match=message):
        Inertia(mass, com, rotational)


def test_thin_plates_rods_and_points_are_possible():
    for moments in ([1.0, 1.0, 2.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]):
        assert_close(np.diag(Inertia(1.0, np.zeros(3), np.diag(moments)).rotational), moments)


def test_inertia_multiplies_motions_only():
    body = Inertia.point_mass(1.0, [0.0, 0.0, 0.0])
    with pytest.raises(TypeError):
        body * Force.zero()
    with pytest.raises(TypeError):
        body + 1.0
