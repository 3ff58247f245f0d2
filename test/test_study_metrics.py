"""Metrics of one's own in a study: they are found beside its file, and what fails is said."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

from icir_control.app.study.engine import run_study
from icir_control.app.study.plan import Study
from icir_control.app.study.run import run_one
from icir_control.errors import ConfigurationError


def study_of(tmp_path, text):
    file = tmp_path / 'study.yaml'
    file.write_text(text)
    return Study.read(file)


MODULE = """
def last(log):
    return log.time[-1]

def far(log):
    if log.time[-1] > 0.015:
        raise ValueError('too late')
    return 1.0
"""


@pytest.fixture
def own_metrics(tmp_path, monkeypatch):
    """A module beside the study, which is found there for the time of a test."""
    monkeypatch.setattr(sys, 'path', [*sys.path])
    (tmp_path / 'metrics_beside_the_study.py').write_text(MODULE)
    yield 'metrics_beside_the_study'
    sys.modules.pop('metrics_beside_the_study', None)


@pytest.mark.slow
def test_a_metric_is_found_beside_the_study(tmp_path, own_metrics):
    text = f'run: [{{wait: 0.01}}]\nvary: {{}}\nmetrics: {{last: "{own_metrics}:last"}}'
    study = study_of(tmp_path, text)
    command = 'import pickle, sys; from icir_control.app.study.run import run_one; '
    command += 'print(run_one(pickle.load(sys.stdin.buffer), 0, {})["last"])'
    worker = subprocess.run(
        [sys.executable, '-P', '-c', command], input=pickle.dumps(study), capture_output=True,
        check=True, cwd='/',
    )  # fmt: skip
    assert float(worker.stdout) == run_one(study, 0, {})['last']


@pytest.mark.slow
def test_a_metric_that_fails_is_said_before_all_runs_and_later_in_its_row(tmp_path, own_metrics):
    text = f'run: [{{wait: 0.01}}]\nvary: {{}}\nmetrics: {{far: "{own_metrics}:far"}}'
    good, bad = study_of(tmp_path, text), study_of(tmp_path, text.replace('0.01', '0.02'))
    assert run_one(good, 0, {})['far'] == 1.0
    row = run_one(bad, 3, {})
    assert row['outcome'] == 'failed metric far: ValueError: too late'
    assert np.isnan(row['far'])
    assert row['joint_error'] >= 0.0
    with pytest.raises(ConfigurationError, match='run 0: failed metric far: ValueError: too late'):
        run_study(bad, tmp_path / 'table.parquet', lambda *_: None, workers=1)
    assert not (tmp_path / 'table.jsonl').exists()
