"""Postures that an arm goes to of which only the URDF is known: nothing is in the way."""

import numpy as np
import pytest
from simulation_worlds import joint, link

from icir_control.app.closed_loop import ClosedLoop
from icir_control.app.robot import RobotFiles
from icir_control.control import Arm
from icir_control.dynamics import load_urdf

LENGTH = 0.5  # m
MIDDLE = np.array([0.0, 1.5])
LIMITS = '<limit lower="{}" upper="{}" effort="10" velocity="2"/>'
BALL = (
    '<collision><origin xyz="{} {} {}"/><geometry><sphere radius="0.08"/></geometry></collision>'
)


def tool(q):
    """Return where the tool of two links in a level plane is."""
    return LENGTH * np.array([np.cos(q[0]) + np.cos(q.sum()), np.sin(q[0]) + np.sin(q.sum())])


def loop_of(tmp_path, obstacle):
    """Return an arm of two links whose stand has a ball somewhere."""
    path = tmp_path / 'two_links.urdf'
    path.write_text(
        '<robot name="two_links">'
        + link('base', shape=BALL.format(*obstacle, 0))
        + link('upper', com='0.25 0 0')
        + link('fore', com='0.25 0 0', shape=BALL.format(LENGTH, 0, 0))
        + joint('first', 'revolute', 'base', 'upper', inside=LIMITS.format(-2, 2))
        + joint('second', 'revolute', 'upper', 'fore', '0.5 0 0', inside=LIMITS.format(0.5, 2.5))
        + '</robot>'
    )
    return ClosedLoop(RobotFiles.of(model=str(path)))


def targets(loop):
    modes = loop.controller.config.modes
    return [modes[name].law.target for name in ('home', 'ready')]


@pytest.mark.parametrize(
    ('lower', 'upper', 'middle'),
    [(-1e9, 2.0, 0.0), (-2.0, 1e6, 0.0), (-1e9, -0.5, -0.5), (0.5, 1e9, 0.5), (0.5, 2.5, 1.5)],
)
def test_a_limit_that_is_written_where_none_is_meant_is_none(lower, upper, middle):
    text = (
        '<robot name="arm">'
        + link('base')
        + link('upper', com='0.25 0 0')
        + joint('first', 'revolute', 'base', 'upper', inside=LIMITS.format(lower, upper))
        + '</robot>'
    )
    arm = Arm(load_urdf(text), 'base', 'upper')
    np.testing.assert_array_equal(arm.middle, [middle])
    assert np.abs(arm.rest_postures - middle).max() <= 1.6


def test_home_is_the_middle_of_the_limits_where_nothing_is_there(tmp_path):
    home, ready = targets(loop_of(tmp_path, (-2.0, 0.0)))
    np.testing.assert_allclose(home, MIDDLE, rtol=0, atol=1e-12)
    assert np.abs(ready - home).max() > 0.3


def test_a_limit_that_is_far_away_is_none(tmp_path):
    """Home was half a billion radians away, since some URDFs write such a number for no limit."""
    for lower, upper, middle in ((-1e9, 2.0, 0.0), (-1e9, -2.0, -2.0), (1.0, 1e9, 1.0)):
        path = tmp_path / 'two_links.urdf'
        path.write_text(
            '<robot name="two_links">'
            + ''.join(link(name, com='0.25 0 0') for name in ('base', 'upper', 'fore'))
            + joint('first', 'revolute', 'base', 'upper', inside=LIMITS.format(lower, upper))
            + joint('second', 'revolute', 'upper', 'fore', '0.5 0 0', inside=LIMITS.format(1, 2))
            + '</robot>'
        )
        arm = Arm(load_urdf(path), 'base', 'fore')
        np.testing.assert_array_equal(arm.middle, [middle, 1.5])
        assert np.abs(arm.rest_postures[:, 0] - middle).max() <= 1.6
        assert (arm.rest_postures[:, 0] <= upper).all()
        assert (arm.rest_postures[:, 0] >= lower).all()


@pytest.mark.slow
def test_something_in_the_way_to_home_makes_it_another_posture(tmp_path):
    """The ball is halfway between the start and the middle of the limits, not at either."""
    start = np.array([0.0, 0.61])
    ball = tool(0.5 * (start + MIDDLE))
    loop = loop_of(tmp_path, ball)
    np.testing.assert_allclose(loop.q, start, atol=1e-9)
    assert np.linalg.norm(tool(MIDDLE) - ball) > 0.16 < np.linalg.norm(tool(start) - ball)
    home, ready = targets(loop)
    for q in (home, ready):
        way = start + np.linspace(0.0, 1.0, 1000)[:, None] * (q - start)
        assert min(np.linalg.norm(tool(one) - ball) for one in way) > 0.155
    assert np.abs(ready - home).max() > 0.3
    np.testing.assert_array_equal(targets(loop_of(tmp_path, ball)), [home, ready])


@pytest.mark.parametrize('mode', ['home', 'ready'])
def test_the_arm_gets_there(tmp_path, mode):
    loop = loop_of(tmp_path, tool(MIDDLE))
    loop.go(mode, 8.0)
    target = dict(zip(('home', 'ready'), targets(loop), strict=True))[mode]
    assert np.abs(loop.q - target).max() < 1e-9
    assert loop.world.data.ncon == 0
