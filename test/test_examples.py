"""Every example runs as it stands, draws its picture, and stays short."""

import re
import runpy
import sys
from pathlib import Path

import matplotlib as mpl
import pytest

EXAMPLES = sorted((Path(__file__).resolve().parent.parent / 'examples').glob('*.py'))
QUICK = ('kinematics', 'own_law', 'singularity')
LONGEST = 60  # lines


@pytest.mark.parametrize(
    'script',
    [
        pytest.param(path, id=path.stem, marks=[] if path.stem in QUICK else pytest.mark.long)
        for path in EXAMPLES
    ],
)
def test_an_example_runs_and_draws(script, tmp_path, monkeypatch):
    picture = tmp_path / 'picture.png'
    monkeypatch.setattr(sys, 'argv', [str(script), str(picture)])
    monkeypatch.chdir(tmp_path)
    with mpl.rc_context({'backend': 'agg'}):
        runpy.run_path(str(script), run_name='__main__')
    assert picture.read_bytes().startswith(b'\x89PNG')
    assert picture.stat().st_size > 5000


def test_there_are_at_least_twelve_and_all_are_short():
    assert len(EXAMPLES) >= 12
    for path in EXAMPLES:
        text = path.read_text()
        assert text.count('\n') <= LONGEST, path.name
        assert re.match(r'"""[A-Z].*', text), f'{path.name} says what it shows'
