"""The task-space laws against the same laws on Pinocchio and numpy, where it is installed."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(('feed_forward', 'law'), [('none', 'Tutorial'), ('matched', 'Matched')])
def test_torques_are_those_of_the_law_on_pinocchio(monkeypatch, feed_forward, law):
    pytest.importorskip('pinocchio', reason='the optional reference `pin` is not installed')
    monkeypatch.syspath_prepend(ROOT)
    from benchmark import control

    _, states = control.agree(feed_forward, getattr(control, law))
    assert len(states) > 100
