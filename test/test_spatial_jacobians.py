"""Right Jacobians of SO(3) and SE(3), those of roll, pitch and yaw: inverses and meaning."""

from math import pi

import numpy as np
import pytest
from hypothesis import strategies as st
from spatial_samples import (
    angles,
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
    rotation_from_rpy,
    rpy_jacobian,
    rpy_jacobian_inverse,
    rpy_jacobian_time_derivative,
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


pitches_near_a_quarter = st.tuples(
    st.sampled_from([-pi / 2, pi / 2]), st.floats(-7.0, -1.0), st.sampled_from([-1.0, 1.0])
).map(lambda sample: sample[0] + sample[2] * 10.0 ** sample[1])
roll_pitch_yaw = st.tuples(
    st.floats(-7.0, 7.0), st.one_of(st.floats(-7.0, 7.0), pitches_near_a_quarter), angles
).map(np.array)
at_the_singularity = st.sampled_from([-pi / 2, pi / 2, 1.5 * pi]).map(
    lambda pitch: np.array([0.4, pitch, -1.2])
)


@holds_for(rpy=st.one_of(roll_pitch_yaw, at_the_singularity), rate=vectors)
def test_rpy_jacobian_maps_rates_to_the_angular_velocity(rpy, rate):
    R, R_dot = rotation_from_rpy(rpy), derivative(lambda t: rotation_from_rpy(rpy + rate * t))
    omega = rpy_jacobian(rpy) @ rate
    assert_close(skew(omega), R_dot @ R.T, 1e-10)
    assert_close(skew(R.T @ omega), R.T @ R_dot, 1e-10)  # in the axes of the body


@holds_for(rpy=roll_pitch_yaw)
def test_rpy_jacobian_inverse(rpy):
    inverse, size = rpy_jacobian_inverse(rpy), 1.0 / abs(np.cos(rpy[1]))
    assert_close(inverse @ rpy_jacobian(rpy), np.eye(3), 4e-16 * max(10.0, size))
    assert_close(rpy_jacobian(rpy) @ inverse, np.eye(3), 4e-16 * max(10.0, size))


@holds_for(rpy=st.one_of(roll_pitch_yaw, at_the_singularity), rate=vectors, acceleration=vectors)
def test_rpy_jacobian_time_derivative(rpy, rate, acceleration):
    rate_of_j = rpy_jacobian_time_derivative(rpy, rate)
    assert_close(rate_of_j, derivative(lambda t: rpy_jacobian(rpy + rate * t)), 1e-10)

    def omega(t):
        there = rpy + rate * t + 0.5 * acceleration * t * t
        return rpy_jacobian(there) @ (rate + acceleration * t)

    alpha = rpy_jacobian(rpy) @ acceleration + rate_of_j @ rate
    assert_close(alpha, derivative(omega), 1e-9)
    # in the axes of the body
    body = derivative(lambda t: rotation_from_rpy(rpy + rate * t).T @ rpy_jacobian(rpy + rate * t))
    J, R = rpy_jacobian(rpy), rotation_from_rpy(rpy)
    assert_close(R.T @ (rate_of_j - skew(J @ rate) @ J), body, 1e-9)


@pytest.mark.parametrize('pitch', [pi / 2, -pi / 2, pi / 2 - 5e-9, 5e-9 - pi / 2, 2.5 * pi])
def test_the_inverse_rpy_jacobian_is_refused_where_two_axes_are_one(pitch):
    with pytest.raises(InvalidValueError, match=r'rpy = .* a pitch that is not \+-pi/2'):
        rpy_jacobian_inverse([0.3, pitch, 2.0])
    beside = [0.3, pitch + 2e-8, 2.0]
    product = rpy_jacobian_inverse(beside) @ rpy_jacobian(beside)
    assert_close(product, np.eye(3), 1e-7)


def test_rpy_is_checked():
    for function in (rpy_jacobian, rpy_jacobian_inverse):
        with pytest.raises(InvalidValueError, match=r'rpy .*3 finite numbers'):
            function([0.0, np.nan, 0.0])
    with pytest.raises(InvalidValueError, match=r'rpy = .*3 finite numbers'):
        rpy_jacobian_time_derivative(np.zeros(4), np.zeros(3))
    with pytest.raises(InvalidValueError, match=r'rpy_dot = .*3 finite numbers'):
        rpy_jacobian_time_derivative(np.zeros(3), 1.0)
