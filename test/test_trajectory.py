"""Trajectories: their ends, their derivatives by differences, and the tutorial's formulas."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from spatial_samples import rounded_placement

from icir_control.errors import InvalidValueError, UnknownNameError
from icir_control.spatial import SE3, Motion, exp3, log3
from icir_control.trajectory import (
    PROFILES,
    JointTrajectory,
    SE3Trajectory,
    cubic,
    smooth_velocities,
    spline,
    stop,
)

numbers = st.floats(-3.0, 3.0)
triples = st.tuples(numbers, numbers, numbers).map(np.array)
durations = st.floats(0.2, 5.0)
turns = triples.map(lambda phi: phi if np.linalg.norm(phi) < 3.0 else phi / 2.0)


@pytest.mark.parametrize('profile', PROFILES)
@given(start=triples, velocity=triples, goal=triples, duration=durations)
def test_joint_trajectory_meets_both_ends(profile, start, velocity, goal, duration):
    path = JointTrajectory.to_rest(1.0, duration, start, velocity, goal, profile=profile)
    q, v, _ = path.sample(1.0)
    np.testing.assert_allclose(q, start, atol=1e-13)
    np.testing.assert_allclose(v, velocity, atol=1e-12)
    q, v, _ = path.sample(1.0 + duration * (1.0 - 1e-12))
    np.testing.assert_allclose(q, goal, atol=1e-10)
    np.testing.assert_allclose(v, 0.0, atol=1e-9)


@pytest.mark.parametrize('profile', PROFILES)
@given(start=triples, velocity=triples, goal=triples, share=st.floats(0.01, 0.99))
def test_velocity_and_acceleration_are_the_derivatives(profile, start, velocity, goal, share):
    duration, step = 2.0, 1e-4
    path = JointTrajectory.to_rest(0.0, duration, start, velocity, goal, profile=profile)
    time = share * duration
    _, v, a = path.sample(time)
    before, now, after = (path.position(time + k * step) for k in (-1, 0, 1))
    np.testing.assert_allclose(v, (after - before) / (2 * step), atol=1e-5)
    np.testing.assert_allclose(a, (after - 2 * now + before) / step**2, atol=1e-4)


def test_cubic_is_the_tutorials():
    """The slide's own expression, with rest at both ends and half the way at half the time."""
    T, q0, qf = 2.0, 0.3, 1.1
    path = JointTrajectory.to_rest(0.0, T, [q0], [0.0], [qf])
    for t in np.linspace(0.0, T, 9):
        slide = q0 + 3 * (qf - q0) / T**2 * t**2 - 2 * (qf - q0) / T**3 * t**3
        assert path.position(t)[0] == pytest.approx(slide, abs=1e-15)
    assert path.position(T / 2)[0] == pytest.approx((q0 + qf) / 2, abs=1e-15)


def test_peak_velocities():
    times = np.linspace(0.0, 2.0, 2001)
    for profile, peak in (('cubic', 1.5), ('quintic', 1.875)):
        path = JointTrajectory.to_rest(0.0, 2.0, [0.0], [0.0], [1.0], profile=profile)
        assert max(path.sample(t)[1][0] for t in times) == pytest.approx(peak / 2.0, rel=1e-6)


def test_quintic_does_not_accelerate_at_its_ends():
    path = JointTrajectory.to_rest(0.0, 2.0, [0.2], [0.7], [1.0], profile='quintic')
    assert path.sample(0.0)[2][0] == pytest.approx(0.0, abs=1e-14)
    assert path.sample(2.0 - 1e-9)[2][0] == pytest.approx(0.0, abs=1e-7)


@given(start=triples, velocity=triples, duration=durations)
def test_stop_halves_the_way_of_going_on(start, velocity, duration):
    path = JointTrajectory(0.0, duration, stop(start, velocity, duration))
    _, v, a = path.sample(0.0)
    np.testing.assert_allclose(v, velocity, atol=1e-13)
    np.testing.assert_allclose(a, 0.0, atol=1e-13)
    np.testing.assert_allclose(
        path.position(duration), start + velocity * duration / 2, atol=1e-12
    )
    _, v, a = path.sample(duration * (1 - 1e-12))
    np.testing.assert_allclose([v, a], 0.0, atol=1e-8)


@given(start=triples, velocity=triples, goal=triples)
def test_path_goes_on_backwards_and_rests_at_its_end(start, velocity, goal):
    path = JointTrajectory.to_rest(0.0, 1.0, start, velocity, goal)
    np.testing.assert_allclose(path.position(-0.5), start - 0.5 * velocity, atol=1e-14)
    _, v, a = path.sample(-1e-16)
    np.testing.assert_allclose(v, velocity, atol=1e-14)
    np.testing.assert_array_equal(a, 0.0)
    assert np.array_equal(path.position(1.0), path.position(7.0))


@settings(max_examples=50)
@given(p0=triples, phi0=turns, p1=triples, phi1=turns, v=triples, omega=triples)
def test_se3_trajectory_meets_both_ends(p0, phi0, p1, phi1, v, omega):
    start, goal = SE3(exp3(phi0), p0), SE3(exp3(phi1), p1)
    path = SE3Trajectory.to_rest(3.0, 2.0, start, Motion(v, omega), goal)
    placement, twist, _ = path.sample(3.0)
    np.testing.assert_allclose(placement.translation, p0, atol=1e-14)
    np.testing.assert_allclose(placement.rotation, start.rotation, atol=1e-14)
    np.testing.assert_allclose(twist.vector, [*v, *omega], atol=1e-13)
    end = path.placement(5.0)
    np.testing.assert_allclose(end.translation, p1, atol=1e-13)
    np.testing.assert_allclose(end.rotation, goal.rotation, atol=1e-9)


@settings(max_examples=50)
@given(phi0=turns, phi1=turns, v=triples, omega=triples, time=st.floats(0.1, 1.9))
def test_se3_rates_are_the_derivatives(phi0, phi1, v, omega, time):
    start = SE3(exp3(phi0), np.zeros(3))
    path = SE3Trajectory.to_rest(
        0.0, 2.0, start, Motion(v, omega), SE3(exp3(phi1), np.array([1.0, 2.0, -1.0]))
    )
    step = 1e-4
    placement, twist, acceleration = path.sample(time)
    R = placement.rotation
    before, after = path.sample(time - step), path.sample(time + step)
    velocity = (after[0].translation - before[0].translation) / (2 * step)
    turn = log3(before[0].rotation.T @ after[0].rotation) / (2 * step)
    scale = 1.0 + np.linalg.norm(omega) ** 3
    np.testing.assert_allclose(R @ twist.linear, velocity, atol=1e-5)
    np.testing.assert_allclose(twist.angular, turn, atol=1e-6 * scale)
    # Classical: the derivative of the velocity in world axes.
    rate = (after[0].rotation @ after[1].linear - before[0].rotation @ before[1].linear) / (
        2 * step
    )
    np.testing.assert_allclose(R @ acceleration.linear, rate, atol=1e-5)
    spin = (after[1].angular - before[1].angular) / (2 * step)
    np.testing.assert_allclose(acceleration.angular, spin, atol=1e-5 * scale**2)


def test_rotation_is_about_one_axis_from_rest():
    goal = SE3(exp3(np.array([0.3, -0.4, 0.5])), np.zeros(3))
    identity = SE3(np.eye(3), np.zeros(3))
    path = SE3Trajectory.to_rest(0.0, 2.0, identity, Motion(np.zeros(3), np.zeros(3)), goal)
    shares = JointTrajectory.to_rest(0.0, 2.0, [0.0], [0.0], [1.0])
    for time in np.linspace(0.0, 2.0, 11):
        expected = shares.position(time)[0] * np.array([0.3, -0.4, 0.5])
        np.testing.assert_allclose(log3(path.placement(time).rotation), expected, atol=1e-14)


@pytest.mark.parametrize('duration', [0.0, -1.0, np.nan, np.inf, 1e-110, 1e120, '2'])
def test_bad_duration_is_refused(duration):
    with pytest.raises(InvalidValueError, match='seconds from 1e-09 to'):
        cubic([0.0], [0.0], [1.0], duration)
    with pytest.raises(InvalidValueError, match='seconds from 1e-09 to'):
        stop([0.0], [1.0], duration)
    with pytest.raises(InvalidValueError, match='times'):
        spline(
            [0.0, float(duration) if duration != '2' else 0.0], [[0.0], [1.0]], np.zeros((2, 1))
        )


def test_times_and_placements_that_are_none_are_refused():
    pose, still = SE3.identity(), Motion.zero()
    for time in (np.nan, np.inf, '0', None):
        with pytest.raises(InvalidValueError, match='start_time'):
            JointTrajectory.to_rest(time, 1.0, [0.0], [0.0], [1.0])
        with pytest.raises(InvalidValueError, match='start_time'):
            SE3Trajectory.to_rest(time, 1.0, pose, still, pose)
    with pytest.raises(InvalidValueError, match='expected one of type SE3'):
        SE3Trajectory.to_rest(0.0, 1.0, pose, still, np.eye(4))
    with pytest.raises(InvalidValueError, match='twist = .*one of type Motion'):
        SE3Trajectory.to_stop(0.0, 1.0, pose, np.zeros(6))


@pytest.mark.parametrize('profile', PROFILES)
@pytest.mark.parametrize('duration', [np.int32(200), np.uint8(10), np.int64(10000), 10**6, 1e-9])
def test_a_duration_of_any_type_is_a_number_of_seconds(profile, duration):
    """The powers of numpy's integers overflow without a word."""
    path = JointTrajectory.to_rest(0.0, duration, [0.0], [0.0], [1.0], profile=profile)
    assert type(path.duration) is float
    assert path.position(float(duration)) == pytest.approx(1.0)
    assert path.position(0.5 * float(duration)) == pytest.approx(0.5)


def test_a_path_between_placements_of_few_digits_can_be_sampled():
    rng, still = np.random.default_rng(0), Motion.zero()
    for _ in range(100):
        start, goal = rounded_placement(rng), rounded_placement(rng)
        path = SE3Trajectory.to_rest(0.0, 1.0, start, still, goal)
        for time in (0.0, 0.3, 0.7):
            path.sample(time)
        assert path.placement(1.0).isclose(goal)


def test_bad_arrays_and_profiles_are_refused():
    with pytest.raises(InvalidValueError, match='goal'):
        cubic([0.0, 0.0], [0.0, 0.0], [1.0], 1.0)
    with pytest.raises(InvalidValueError, match='velocity'):
        cubic([0.0], [np.nan], [1.0], 1.0)
    with pytest.raises(UnknownNameError, match='cubic, quintic'):
        JointTrajectory.to_rest(0.0, 1.0, [0.0], [0.0], [1.0], profile='septic')


@pytest.mark.parametrize('start', [['a'], [[1.0], [2.0, 3.0]], '1', [None]])
def test_what_is_no_vector_is_refused(start):
    with pytest.raises(InvalidValueError, match='start'):
        JointTrajectory.to_rest(0.0, 1.0, start, [0.0], [1.0])


def test_a_spline_takes_lists_and_whole_numbers():
    times, points = [0, 1, 2, 3], [[0], [2], [1], [0]]
    v = smooth_velocities(times, points, [0.5], [0.0])
    exact = smooth_velocities(np.array(times, float), np.array(points, float), v[0], v[-1])
    np.testing.assert_array_equal(v, exact)
    before, after = spline(times, points, v)[:2]
    left, right = before.sample(1.0 - 1e-9)[2], after.sample(1.0)[2]
    np.testing.assert_allclose(left, right, atol=1e-6)
    with pytest.raises(InvalidValueError, match='times'):
        spline([0.0, 1.0, 1.0], points[:3], v[:3])
    with pytest.raises(InvalidValueError, match='velocities'):
        spline(times, points, v[:3])


def test_trajectories_are_compared_by_identity():
    one = JointTrajectory.to_rest(0.0, 1.0, [0.0, 0.0], [0.0, 0.0], [1.0, 1.0])
    other = JointTrajectory.to_rest(0.0, 1.0, [0.0, 0.0], [0.0, 0.0], [1.0, 1.0])
    assert one == one
    assert one != other
    assert len({one, other}) == 2
