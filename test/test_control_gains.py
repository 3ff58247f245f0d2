"""Gains that change while the arm moves: calm, and never far off."""

import pytest

from icir_control.app.promises.transitions import error_ratio


@pytest.mark.parametrize('mode', ['home', 'jog', 'impedance'])
# `make demo` takes 3 motions (`test_app_demo`, PROMISED).
@pytest.mark.parametrize('motions', [3, 30])
@pytest.mark.long
def test_gains_changed_at_random_while_moving(mode, motions):
    """Every gain, every 10 ms, on an arm 10 % heavier: 6 s of motion, 60 s in the long tests."""
    ratio, rate_limited = error_ratio(mode, motions)
    assert ratio < 3.0
    assert rate_limited == 0
