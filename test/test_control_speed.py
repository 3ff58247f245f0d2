"""How long a tick takes, beside the same law on Pinocchio and numpy."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_a_tick_is_ten_times_faster_than_the_same_law_on_pinocchio(monkeypatch):
    pytest.importorskip('pinocchio', reason='the optional reference `pin` is not installed')
    monkeypatch.syspath_prepend(ROOT)
    from benchmark.control import ASKED, Matched, compare

    times = compare('matched', Matched)
    assert times['pinocchio'] / times['tick'] >= ASKED
