"""The notebooks run from top to bottom as they stand, and are kept without what they print."""

import json
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).resolve().parent.parent / 'examples').glob('*.ipynb'))
SECONDS = 900
"""For one cell: its first call may compile."""


@pytest.mark.long
@pytest.mark.parametrize('path', NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path, tmp_path):
    nbformat = pytest.importorskip('nbformat', reason='no rosdep key: pip install nbclient')
    nbclient = pytest.importorskip('nbclient', reason='no rosdep key: pip install nbclient')
    pytest.importorskip('ipykernel', reason='no rosdep key: pip install ipykernel')
    notebook = nbformat.read(path, as_version=4)
    resources = {'metadata': {'path': tmp_path}}
    nbclient.NotebookClient(notebook, timeout=SECONDS, resources=resources).execute()
    outputs = [output for cell in notebook.cells for output in cell.get('outputs', ())]
    assert any('image/png' in output.get('data', {}) for output in outputs)


def test_there_are_two_and_they_are_kept_without_outputs():
    assert len(NOTEBOOKS) >= 2
    for path in NOTEBOOKS:
        for cell in json.loads(path.read_text())['cells']:
            assert not cell.get('outputs'), path.name
