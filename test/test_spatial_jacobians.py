"""Right Jacobians of SO(3) and SE(3): their series, inverses and meaning."""

from math import pi

import numpy as np
import pytest
from hypothesis import strategies as st
from spatial_samples import (
    assert_close,
    derivative,
    exact_right_jacobian,
    holds_for,
    motions,
    rotation_vectors,
    rotation_vectors_to_two_pi,
    twist_coordinates,
    vectors,
)

from icir_control.errors import InvalidValueError
from icir_control.spatial import (
    Motion,
    exp3,
    exp6,
    log3,
    log6,
    right_jacobian3,
    right_jacobian3_inverse,
    right_jacobian6,
    right_jacobian6_inverse,
    skew,
    vee,
)

twists_to_two_pi = st.tuples(vectors, rotation_vectors_to_two_pi).map(np.concatenate)


@holds_for(phi=rotation_vectors_to_two_pi)
def test_right_jacobian3_is_its_series(phi):
    assert_close(right_jacobian3(phi), exact_right_jacobian(skew(phi)), 1e-15)


@holds_for(xi=twists_to_two_pi)
def test_right_jacobian6_is_its_series(xi):
    ad = Motion.from_vector(xi).cross_matrix
    assert_close(right_jacobian6(xi), exact_right_jacobian(ad), 2e-15)
    assert_close(right_jacobian6(Motion.from_vector(xi)), right_jacobian6(xi), 0.0)


@holds_for(phi=rotation_vectors_to_two_pi)
def test_right_jacobian3_inverse(phi):
    inverse = right_jacobian3_inverse(phi)
    size = np.abs(inverse).max()
    assert_close(inverse @ right_jacobian3(phi), np.eye(3), 4e-15 * max(1.0, size))


@holds_for(xi=twists_to_two_pi)
def test_right_jacobian6_inverse(xi):
    inverse = right_jacobian6_inverse(xi)
    size = np.abs(inverse).max()
    assert_close(inverse @ right_jacobian6(xi), np.eye(6), 1e-14 * max(1.0, size))


@holds_for(phi=rotation_vectors, rate=vectors)
def test_right_jacobian3_maps_rates_to_body_velocity(phi, rate):
    r_dot = derivative(lambda t: exp3(phi + rate * t))
    body = exp3(phi).T @ r_dot
    assert_close(skew(right_jacobian3(phi) @ rate), body, 1e-10)
    # and the left one, its transpose, to the velocity in space
    assert_close(skew(right_jacobian3(phi).T @ rate), r_dot @ exp3(phi).T, 1e-10)


@holds_for(xi=twist_coordinates, rate=motions)
def test_right_jacobian6_maps_rates_to_the_body_twist(xi, rate):
    t_dot = derivative(lambda t: exp6(xi + rate.vector * t).matrix)
    body = exp6(xi).inverse().matrix @ t_dot
    body[:3, :3] = 0.5 * (body[:3, :3] - body[:3, :3].T)
    assert_close(right_jacobian6(xi) @ rate.vector, vee(body).vector, 1e-9)


@holds_for(xi=twist_coordinates)
def test_left_jacobian_is_the_right_one_of_the_opposite(xi):
    """J_l(xi) = J_r(-xi) = Ad(exp(xi)) J_r(xi)."""
    assert_close(right_jacobian6(-xi), exp6(xi).action @ right_jacobian6(xi), 1e-14)


@holds_for(phi=rotation_vectors.filter(lambda a: np.linalg.norm(a) < 3.0), rate=vectors)
def test_right_jacobian3_inverse_is_the_derivative_of_log3(phi, rate):
    step = derivative(lambda t: log3(exp3(phi) @ exp3(rate * t)))
    assert_close(right_jacobian3_inverse(phi) @ rate, step, 1e-8)


@holds_for(xi=twist_coordinates.filter(lambda a: np.linalg.norm(a[3:]) < 3.0), rate=motions)
def test_right_jacobian6_inverse_is_the_derivative_of_log6(xi, rate):
    step = derivative(lambda t: log6(exp6(xi) @ exp6(rate * t)).vector)
    assert_close(right_jacobian6_inverse(xi) @ rate.vector, step, 1e-7)


def test_jacobians_at_zero_are_the_identity():
    assert_close(right_jacobian3(np.zeros(3)), np.eye(3), 0.0)
    assert_close(right_jacobian3_inverse(np.zeros(3)), np.eye(3), 0.0)
    assert_close(right_jacobian6(np.zeros(6)), np.eye(6), 0.0)
    assert_close(right_jacobian6_inverse(np.zeros(6)), np.eye(6), 0.0)


@pytest.mark.parametrize('turns', [1, 2, 3])
def test_inverse_jacobians_refuse_full_turns(turns):
    phi = np.array([0.0, 0.0, 2 * pi * turns])
    with pytest.raises(InvalidValueError, match='full turn'):
        right_jacobian3_inverse(phi)
    with pytest.raises(InvalidValueError, match='full turn'):
        right_jacobian6_inverse(np.concatenate([np.ones(3), phi]))
    # beside it the inverse exists again
    beside = 1.1 * phi
    assert_close(right_jacobian3_inverse(beside) @ right_jacobian3(beside), np.eye(3), 1e-13)


@pytest.mark.parametrize('function', [exp6, right_jacobian6, right_jacobian6_inverse])
def test_coordinates_are_checked(function):
    with pytest.raises(InvalidValueError, match=r'xi .*6 finite numbers'):
        function(np.zeros(3))
