"""SO(3): group axioms, exponential and logarithm, the rotation half of Lynch & Park's table."""

from math import atan2, cos, pi, sin, sqrt

import numpy as np
import pytest
from hypothesis import strategies as st
from spatial_samples import (
    angles,
    angles_near_pi,
    assert_close,
    axes,
    derivative,
    exact_exp,
    holds_for,
    rotation_vectors,
    rotations,
    small_angles,
    vectors,
)

from icir_control.errors import InvalidValueError
from icir_control.spatial import (
    exp3,
    log3,
    nearest_rotation,
    quaternion_from_rotation,
    rotation,
    rotation_from_quaternion,
    rotation_from_rpy,
    rpy_from_rotation,
    skew,
    unskew,
)


@holds_for(a=rotations, b=rotations, c=rotations)
def test_rotations_are_a_group(a, b, c):
    assert_close((a @ b).T @ (a @ b), np.eye(3))
    assert np.linalg.det(a @ b) == pytest.approx(1.0, abs=1e-14)
    assert_close((a @ b) @ c, a @ (b @ c))
    assert_close(a @ np.eye(3), a, 0.0)
    assert_close(a @ a.T, np.eye(3))
    assert_close(np.linalg.inv(a), a.T)


@holds_for(w=vectors, x=vectors, r=rotations)
def test_skew_identities(w, x, r):
    assert_close(skew(w), -skew(w).T, 0.0)
    assert_close(skew(w) @ x, np.cross(w, x))
    assert_close(skew(w) @ x, -skew(x) @ w)
    assert_close(skew(w) @ skew(x), (skew(x) @ skew(w)).T)
    assert_close(r @ skew(w) @ r.T, skew(r @ w))
    assert_close(unskew(skew(w)), w, 0.0)


@holds_for(a=vectors)
def test_square_of_the_cross_product(a):
    x, y, z = a
    square = [
        [-y * y - z * z, x * y, x * z],
        [x * y, -x * x - z * z, y * z],
        [x * z, y * z, -x * x - y * y],
    ]
    assert_close(skew(a) @ skew(a), square)


@holds_for(phi=rotation_vectors)
def test_exp3_is_the_matrix_exponential(phi):
    assert_close(exp3(phi), exact_exp(skew(phi)), 1e-15)


@holds_for(axis=axes, angle=angles)
def test_rodrigues_formula(axis, angle):
    w = skew(axis)
    formula = np.eye(3) + sin(angle) * w + (1 - cos(angle)) * w @ w
    assert_close(rotation(axis, angle), formula)
    assert_close(rotation(5.0 * axis, angle), formula)
    assert_close(exp3(axis * angle), formula)


@holds_for(phi=rotation_vectors)
def test_log3_undoes_exp3(phi):
    back = log3(exp3(phi))
    if np.linalg.norm(phi) > pi - 1e-14 and back @ phi < 0.0:
        back = -back  # at a half turn both signs are right
    assert_close(back, phi, 1e-15)


@holds_for(axis=axes, angle=small_angles)
def test_log3_keeps_every_digit_near_zero(axis, angle):
    phi = axis * angle
    subnormal = 5e-324  # the smallest number has no digits to keep
    assert np.abs(log3(exp3(phi)) - phi).max() <= 4e-16 * angle + subnormal


@holds_for(axis=axes, angle=angles_near_pi)
def test_log3_keeps_the_distance_to_pi(axis, angle):
    """arccos of the trace would lose half of the digits here."""
    assert np.linalg.norm(log3(rotation(axis, angle))) == pytest.approx(angle, abs=1e-15)


@holds_for(r=rotations)
def test_exp3_undoes_log3(r):
    phi = log3(r)
    assert np.linalg.norm(phi) <= pi * (1 + 1e-15)
    assert_close(exp3(phi), r, 2e-15)


@pytest.mark.parametrize('diagonal', [(1, -1, -1), (-1, 1, -1), (-1, -1, 1)])
def test_log3_of_exact_half_turns(diagonal):
    phi = log3(np.diag(diagonal))
    assert np.abs(phi).tolist() == [pi if entry == 1 else 0.0 for entry in diagonal]


def test_log3_takes_quaternions():
    r = rotation((1.0, 2.0, -2.0), 2.5)
    assert np.abs(log3(quaternion_from_rotation(r)) - log3(r)).max() <= 1e-15
    assert np.abs(log3(-quaternion_from_rotation(r)) - log3(r)).max() <= 1e-15


def test_log3_of_the_identity_is_zero():
    assert log3(np.eye(3)).tolist() == [0.0, 0.0, 0.0]


@holds_for(ab=rotations, bc=rotations, p=vectors)
def test_change_of_frame(ab, bc, p):
    assert_close((ab @ bc) @ p, ab @ (bc @ p))


@holds_for(axis=axes, angle=angles, r=rotations)
def test_left_and_right_multiplication_turn_about_different_axes(axis, angle, r):
    turn = rotation(axis, angle)
    # R R_sb turns about the axis in {s}: as rotation of space it is `turn` itself.
    assert_close((turn @ r) @ r.T, turn)
    # R_sb R turns about the axis in {b}: as rotation of space it is that about R_sb w.
    assert_close((r @ turn) @ r.T, rotation(r @ axis, angle))


@holds_for(w=vectors, r=rotations)
def test_angular_velocity_in_space_and_in_the_body(w, r):
    rate = derivative(lambda t: r @ exp3(w * t))
    assert_close(r.T @ rate, skew(w), 1e-11)
    assert_close(rate @ r.T, skew(r @ w), 1e-11)


@holds_for(axis=axes, rate=st.floats(-3.0, 3.0))
def test_angular_velocity_of_a_turn_is_axis_times_rate(axis, rate):
    assert_close(derivative(lambda t: rotation(axis, rate * t)), skew(axis * rate), 1e-11)


@holds_for(axis=axes, angle=angles)
def test_quaternion_of_a_turn(axis, angle):
    q = quaternion_from_rotation(rotation(axis, angle))
    expected = np.append(sin(angle / 2) * axis, cos(angle / 2))
    if q @ expected < 0.0:
        expected = -expected  # at a half turn both signs are right
    assert_close(q, expected)
    assert q[3] >= 0.0


@holds_for(r=rotations)
def test_quaternion_round_trip(r):
    q = quaternion_from_rotation(r)
    assert np.linalg.norm(q) == pytest.approx(1.0, abs=1e-15)
    assert_close(rotation_from_quaternion(q), r)
    assert_close(rotation_from_quaternion(-q), r)


def test_quaternion_order_is_x_y_z_w():
    quarter_about_z = rotation_from_quaternion([0.0, 0.0, sqrt(0.5), sqrt(0.5)])
    assert_close(quarter_about_z, [[0, -1, 0], [1, 0, 0], [0, 0, 1]])


@holds_for(rpy=vectors)
def test_rpy_is_about_fixed_axes_in_that_order(rpy):
    about_x, about_y, about_z = (
        rotation(axis, angle) for axis, angle in zip(np.eye(3), rpy, strict=True)
    )
    assert_close(rotation_from_rpy(rpy), about_z @ about_y @ about_x)


@holds_for(r=rotations)
def test_rpy_round_trip(r):
    rpy = rpy_from_rotation(r)
    assert abs(rpy[1]) <= pi / 2
    assert_close(rotation_from_rpy(rpy), r)


@holds_for(roll=angles, yaw=angles, sign=st.sampled_from([1.0, -1.0]), off=small_angles)
def test_rpy_round_trip_with_the_nose_up(roll, yaw, sign, off):
    r = rotation_from_rpy([roll, sign * (pi / 2 - off), yaw])
    assert_close(rotation_from_rpy(rpy_from_rotation(r)), r)


@holds_for(r=rotations, noise=vectors)
def test_nearest_rotation_mends_noise(r, noise):
    symmetric = np.diag(1.0 + 0.1 * noise)
    # R S with S symmetric and positive: R is its polar factor, the nearest rotation.
    assert_close(nearest_rotation(r @ symmetric), r)


def test_nearest_rotation_is_never_a_reflection():
    assert np.linalg.det(nearest_rotation(np.diag([3.0, 2.0, -1.0]))) == pytest.approx(1.0)
    with pytest.raises(InvalidValueError, match='single rotation'):
        nearest_rotation(np.zeros((3, 3)))
    with pytest.raises(InvalidValueError, match='single rotation'):
        nearest_rotation(-np.eye(3))


@pytest.mark.parametrize(
    ('function', 'argument', 'message'),
    [
        (skew, [1.0, 2.0], r'3 finite numbers'),
        (skew, ['a', 'b', 'c'], r'vector = .*finite numbers'),
        (skew, [1.0, 2.0, float('nan')], 'finite numbers'),
        (unskew, np.eye(3), 'skew-symmetric'),
        (exp3, [0.0, 0.0, float('inf')], 'phi'),
        (exp3, [0.0, 0.0, 10**400], 'phi'),
        (exp3, [0.0, 0.0, 1e200], 'none above 1e[+]100'),
        (log3, 2.0 * np.eye(3), 'nearest_rotation'),
        (log3, np.diag([1.0, 1.0, -1.0]), 'det R = 1'),
        (log3, np.eye(4), r'shape \(3, 3\)'),
        (log3, [[1.0], [1.0, 2.0]], r'shape \(3, 3\)'),
        (log3, [0.0, 0.0, 0.0, 2.0], 'quaternion'),
        (rpy_from_rotation, np.zeros((3, 3)), 'rotation'),
        (rotation_from_quaternion, [0.0, 0.0, 0.0, 2.0], 'unit quaternion'),
        (rotation_from_quaternion, [0.0, 0.0, 0.0, 0.0], 'unit quaternion'),
        (rotation_from_rpy, 0.3, 'rpy'),
    ],
)
def test_bad_arguments_are_answered_with_what_is_valid(function, argument, message):
    with pytest.raises(InvalidValueError, match=message):
        function(argument)


def test_rotation_refuses_a_zero_axis_and_takes_any_other_length():
    with pytest.raises(InvalidValueError, match='axis'):
        rotation([0.0, 0.0, 0.0], 1.0)
    with pytest.raises(InvalidValueError, match='angle'):
        rotation([0.0, 0.0, 1.0], float('nan'))
    for length in (1e-300, 1e300):
        turned = rotation([0.0, 0.0, length], 0.5)
        assert atan2(turned[1, 0], turned[0, 0]) == pytest.approx(0.5, abs=1e-15)
