"""Studies: what is asked is checked, samples and runs are repeatable, no row is lost."""

import os
import signal

import numpy as np
import pytest

from icir_control.app.study.engine import run_study
from icir_control.app.study.plan import Study
from icir_control.app.study.run import METRICS, run_one
from icir_control.errors import ConfigurationError

TEXT = """
run:
  - hold
  - push: [5.0, 0.0, 0.0]
    seconds: 0.05
vary:
  plant.payload_mass: {uniform: [0.0, 2.0]}
  plant.joint_friction: {normal: [0.5, 0.1]}
  joint_gains.kp: {grid: [10000.0, 40000.0]}
number: 5
"""


def study_of(tmp_path, text=TEXT):
    file = tmp_path / 'study.yaml'
    file.write_text(text)
    return Study.read(file)


def test_samples_are_as_asked_and_the_same_each_time(tmp_path):
    study = study_of(tmp_path)
    samples = study.samples()
    assert samples == study.samples()
    assert [sample['joint_gains.kp'] for sample in samples] == [10000.0] * 5 + [40000.0] * 5
    assert samples[0]['plant.payload_mass'] == samples[5]['plant.payload_mass']
    many = study_of(tmp_path, TEXT.replace('number: 5', 'number: 1024')).samples()[:1024]
    masses = np.array([sample['plant.payload_mass'] for sample in many])
    # Sobol's points are one in each of as many intervals.
    assert len(np.unique(np.floor(masses / 2.0 * 1024))) == 1024
    frictions = np.array([sample['plant.joint_friction'] for sample in many])
    assert frictions.mean() == pytest.approx(0.5, abs=1e-3)
    assert frictions.std() == pytest.approx(0.1, abs=1e-3)
    random = study_of(tmp_path, TEXT + 'sampling: random\nseed: 3\n').samples()
    assert random != samples
    assert random == study_of(tmp_path, TEXT + 'sampling: random\nseed: 3\n').samples()


@pytest.mark.parametrize(
    ('old', 'new', 'words'),
    [
        ('number: 5', 'number: 0', 'number = 0 is not valid; expected a whole number, at least 1'),
        ('number: 5', 'numbr: 5', 'expected run, vary, and of the others'),
        ('- hold', '- fly', "run = 'fly' is not valid; expected a push, or a mode: gravity"),
        ('seconds: 0.05', 'second: 1', 'push: .x, y, z. in N and seconds'),
        ('payload_mass', 'payload', "vary has 'plant.payload'; expected one of plant.mass_scale"),
        ('uniform: [0.0, 2.0]', 'uniform: [0.0]', '2 finite numbers'),
        ('grid: [10000.0, 40000.0]', 'grid: []', 'finite numbers'),
        ('normal:', 'gauss:', 'one of grid, uniform, normal'),
        ('number: 5', 'sampling: best', 'one of sobol, random'),
        ('run:', '[', 'cannot be read as a study'),
    ],
)
def test_what_is_no_study_is_refused(tmp_path, old, new, words):
    with pytest.raises(ConfigurationError, match=words):
        study_of(tmp_path, TEXT.replace(old, new))


def test_a_run_is_a_row_and_the_same_each_time(tmp_path):
    study = study_of(tmp_path)
    sample = study.samples()[2]
    row = run_one(study, 2, sample)
    assert row == run_one(study, 2, sample)
    assert row['outcome'] == 'arrived'
    assert row['plant.payload_mass'] == sample['plant.payload_mass']
    assert all(0.0 < row[name] < 1.0 for name in METRICS)
    # What cannot be is a row that says so.
    refused = run_one(study, 0, sample | {'plant.joint_friction': -1.0})
    assert refused['outcome'].startswith('ConfigurationError: joint_friction = -1')
    assert np.isnan(refused['joint_error'])
    braked = run_one(study, 0, sample | {'joint_gains.kp': 700_000.0})
    assert 'unstable' in braked['outcome']


def collect(study, table, **options):
    shown = []
    rows = run_study(study, table, lambda *counts: shown.append(counts), **options)
    assert shown[-1] == (len(rows), len(rows))
    return table.read_bytes()


@pytest.fixture
def cluster():
    distributed = pytest.importorskip('distributed', reason='the extra `study` is not installed')
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None
    ) as cluster:
        yield cluster


@pytest.mark.long
def test_the_table_does_not_depend_on_the_workers(tmp_path, cluster):
    study = study_of(tmp_path)
    one = collect(study, tmp_path / 'one.csv', workers=1)
    assert one.count(b'\n') == 11
    assert b',arrived,' in one
    assert one == collect(study, tmp_path / 'two.csv', scheduler=cluster.scheduler_address)
    with pytest.raises(ConfigurationError, match='is of another study'):
        collect(study_of(tmp_path, TEXT + 'seed: 1\n'), tmp_path / 'one.csv')


@pytest.mark.long
def test_an_interrupted_study_goes_on(tmp_path):
    study, table = study_of(tmp_path), tmp_path / 'table.csv'

    class Interrupted(Exception):
        pass

    def interrupt(done, total):
        if done == 4:
            raise Interrupted

    with pytest.raises(Interrupted):
        run_study(study, table, interrupt, workers=1)
    kept = table.read_bytes()
    assert kept.count(b'\n') == 5
    table.write_bytes(kept + b'7,0.5,0.')  # a row that was being written
    begun = []
    run_study(study, table, lambda done, total: begun.append(done), workers=1)
    assert begun == [4, 5, 6, 7, 8, 9, 10]
    assert table.read_bytes() == collect(study, tmp_path / 'whole.csv', workers=1)


@pytest.mark.long
def test_workers_that_are_killed_lose_nothing(tmp_path, cluster):
    from distributed import Client

    study = study_of(tmp_path)
    killed = []

    def kill(done, total):
        if done in (1, 4, 7) and done not in killed:
            killed.append(done)
            with Client(cluster.scheduler_address) as client:
                pids = list(client.run(os.getpid).values())
            os.kill(pids[done % len(pids)], signal.SIGKILL)

    table = tmp_path / 'killed.csv'
    run_study(study, table, kill, scheduler=cluster.scheduler_address)
    assert killed == [1, 4, 7]
    assert table.read_bytes() == collect(study, tmp_path / 'quiet.csv', workers=2)
