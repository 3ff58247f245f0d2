"""Switching between every two modes at random states, in mid-motion."""

import pytest
from closed_loop import HOME, ClosedLoop

from icir_control.app.promises.transitions import (
    PAIRS,
    limited_loop,
    limited_shares,
    step_share,
)

# `make demo` takes one state for each pair (`test_app_demo`, PROMISED).
pytestmark = pytest.mark.long


@pytest.fixture(scope='module')
def free():
    return ClosedLoop(start=HOME)


@pytest.fixture(scope='module')
def limited():
    return limited_loop()


@pytest.mark.parametrize('pair', PAIRS, ids=' to '.join)
def test_no_switch_asks_for_a_leap_of_torque(free, pair):
    """At most half the effort limit in a tick: 19.5 N m, in the wrist 4.5."""
    assert step_share(free, pair, 4) < 0.5


@pytest.mark.parametrize('pair', PAIRS, ids=' to '.join)
def test_behind_the_limiter_every_torque_is_within_effort_and_rate(limited, pair):
    effort, rate = limited_shares(limited, pair, 1)
    assert effort <= 1.0
    assert rate <= 1.0 + 1e-9
