"""The task-space laws against the same laws on Pinocchio and numpy, where it is installed."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.parametrize(
    ('ours', 'theirs'), [('comparison_laws:TutorialTask', 'Tutorial'), ('task', 'Matched')]
)
def test_torques_are_those_of_the_law_on_pinocchio(monkeypatch, ours, theirs):
    pytest.importorskip('pinocchio', reason='the optional reference `pin` is not installed')
    monkeypatch.syspath_prepend(ROOT)
    from benchmark import control

    _, states = control.agree(ours, getattr(control, theirs))
    assert len(states) > 100
