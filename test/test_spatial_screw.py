"""Screw axes {q, s, h}."""

from math import cos, inf, sin

import numpy as np
import pytest
from hypothesis import strategies as st
from spatial_samples import assert_close, axes, holds_for, motions, placements, scalars, vectors

from icir_control.errors import InvalidValueError
from icir_control.spatial import Motion, ScrewAxis, exp6, rotation, screw_axis

rates = st.floats(0.01, 3.0)


@holds_for(q=vectors, s=axes, h=scalars)
def test_screw_axis_of_point_direction_and_pitch(q, s, h):
    """S = (w, v) = (s, -s x q + h s)."""
    twist = screw_axis(q, s, h)
    assert_close(twist.angular, s, 1e-15)
    assert_close(twist.linear, -np.cross(s, q) + h * s)
    assert np.linalg.norm(twist.angular) == pytest.approx(1.0, abs=1e-15)


@holds_for(q=vectors, s=axes)
def test_screw_axis_of_infinite_pitch_is_a_unit_translation(q, s):
    twist = screw_axis(q, s, inf)
    assert_close(twist.linear, s, 1e-15)
    assert not twist.angular.any()


@holds_for(q=vectors, s=axes, h=scalars, theta=scalars)
def test_points_of_the_axis_slide_along_it_by_the_pitch(q, s, h, theta):
    moved = exp6(screw_axis(q, s, h) * theta)
    assert_close(moved.act(q), q + h * theta * s)
    assert_close(moved.act(q + 2.0 * s), q + (2.0 + h * theta) * s)
    assert_close(moved.rotation, rotation(s, theta))


def test_a_screw_by_hand():
    """About the vertical line through (1, 0, 0), rising 0.1 m/rad."""
    moved = exp6(screw_axis([1.0, 0.0, 0.0], [0.0, 0.0, 1.0], 0.1) * 0.5)
    assert_close(moved.act([2.0, 0.0, 0.0]), [1.0 + cos(0.5), sin(0.5), 0.05])


@holds_for(q=vectors, s=axes, h=scalars, rate=rates)
def test_screw_of_a_twist(q, s, h, rate):
    screw, found = ScrewAxis.of(screw_axis(q, s, h) * rate)
    assert found == pytest.approx(rate, rel=1e-14)
    assert_close(screw.direction, s)
    assert screw.pitch == pytest.approx(h, abs=1e-13)
    assert_close(np.cross(screw.point - q, s), np.zeros(3), 1e-13)  # on the same line
    assert abs(screw.point @ s) < 1e-14  # its point nearest to the origin


@holds_for(nu=motions.filter(lambda m: np.linalg.norm(m.angular) > 1e-3))
def test_screw_gives_the_twist_back(nu):
    screw, rate = ScrewAxis.of(nu)
    assert_close((screw.motion * rate).vector, nu.vector, 1e-13)


@holds_for(v=vectors.filter(lambda a: np.linalg.norm(a) > 1e-3))
def test_screw_of_a_translation(v):
    screw, rate = ScrewAxis.of(Motion(linear=v))
    assert screw.pitch == inf
    assert_close((screw.motion * rate).linear, v)


@holds_for(ab=placements, q=vectors, s=axes, h=scalars)
def test_screw_axes_change_frame_as_lines(ab, q, s, h):
    """S_a = [Ad_T_ab] S_b is the screw of the moved line with the same pitch."""
    there = screw_axis(ab.act(q), ab.rotation @ s, h)
    assert_close(ab.act(screw_axis(q, s, h)).vector, there.vector)


def test_screws_are_checked():
    with pytest.raises(InvalidValueError, match='not zero'):
        ScrewAxis.of(Motion.zero())
    with pytest.raises(InvalidValueError, match='direction'):
        screw_axis([0, 0, 0], [0, 0, 0])
    for pitch in (float('nan'), -inf, 'steep'):
        with pytest.raises(InvalidValueError, match='pure translation'):
            screw_axis([0, 0, 0], [0, 0, 1], pitch)
    with pytest.raises(AttributeError):
        ScrewAxis([0, 0, 0], [0, 0, 1]).pitch = 1.0
    assert repr(ScrewAxis([1, 0, 0], [0, 0, 2], 0.5)) == (
        'ScrewAxis(point=[1., 0., 0.], direction=[0., 0., 1.], pitch=0.5)'
    )
