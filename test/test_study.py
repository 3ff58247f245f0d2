"""Studies: what is asked is checked, samples and runs are repeatable, no row is lost."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from small_study import TEXT, study_of

from icir_control import Robot
from icir_control.app.study import study_file
from icir_control.app.study.engine import (
    LARGEST_TASK,
    ClusterError,
    run_all,
    run_study,
)
from icir_control.app.study.plan import METRICS, Study
from icir_control.app.study.report import quantiles, sensitivities, worst, write_page
from icir_control.app.study.run import run_one
from icir_control.errors import ConfigurationError

PROGRAM = (sys.executable, '-P', '-c', 'from icir_control.app.main import main; main()')


@pytest.mark.slow
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
        ('number: 5', 'number: 0', 'number = 0 is not valid; expected an integer, at least 1'),
        ('number: 5', 'numbr: 5', 'unknown parameter numbr; did you mean number'),
        ('number: 5', 'seed: -1', 'seed = -1 is not valid; expected an integer, at least 0'),
        ('number: 5', 'robot: gen4', "robot = 'gen4' is not valid; expected one of gen3_6dof"),
        ('number: 5', 'metrics: [1]', r'metrics = \[1\] is not valid; expected module:function'),
        (TEXT, '- hold', 'is no study; expected keys such as run and vary'),
        ('run:', 'runs:', 'unknown parameter runs; did you mean run'),
        ('vary:', 'vary: [1]\nmetrics:', r'vary = \[1\] is not valid; expected parameters by'),
        (
            '- hold',
            '- fly',
            "run = 'fly' is not valid; expected a push, a target, or a mode: gravity",
        ),
        ('seconds: 0.05', 'second: 1', 'push: .x, y, z. in N and seconds'),
        ('payload_mass', 'payload', "vary has 'plant.payload'; expected one of plant.mass_scale"),
        ('uniform: [0.0, 2.0]', 'uniform: [0.0]', '2 finite numbers'),
        ('grid: [10000.0, 40000.0]', 'grid: []', 'finite numbers'),
        ('normal:', 'gauss:', 'one of grid, uniform, normal'),
        ('number: 5', 'sampling: best', 'one of sobol, random'),
        ('run:', '[', 'cannot be read as a study'),
        ('- hold', '- wait: 0', r"'wait': 0.* is not valid; expected wait: seconds"),
        ('- hold', '- move_by: [0.0, 0.0]', r'expected move_by: \[x, y, z\] in m'),
        (
            '- hold',
            '- {move_by: [0, 0, 0], wait: 1}',
            'expected one of push: .*; move_to: .*; wait',
        ),
        ('plant.payload_mass', 'start.joint_9', 'goal.z'),
        (
            'number: 5',
            'metrics: {far: "math:nothing"}',
            "'math:nothing' cannot be loaded: .*function",
        ),
        ('number: 5', 'metrics: {joint_error: "math:pi"}', 'a name that no column has'),
        ('payload_mass: {uniform: [0.0, 2.0]', 'delay_steps: {uniform: [0, 2.5]', 'integers'),
        ('payload_mass: {uniform: [0.0, 2.0]', 'delay_steps: {grid: [0.5]', 'integers'),
    ],
)
def test_what_is_no_study_is_refused(tmp_path, old, new, words):
    with pytest.raises(ConfigurationError, match=words):
        study_of(tmp_path, TEXT.replace(old, new))


@pytest.mark.slow
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


def last_position(log):
    return log.tool_position[-1, 2]


@pytest.mark.slow
def test_start_targets_and_metrics_of_ones_own(tmp_path):
    text = """
    run:
      - wait: 0.01
      - move_joints: [0.0, 0.8, 1.5, 0.0, 0.8, -1.5]
      - move_by: [0.0, 0.0, -0.02]
        seconds: 0.5
    vary:
      start.joint_2: {grid: [0.5]}
      goal.z: {uniform: [-0.01, 0.01]}
    metrics: {height: "test_study:last_position"}
    number: 2
    """
    study = study_of(tmp_path, text)
    sample = study.samples()[1]
    row = run_one(study, 0, sample, tmp_path / 'run.mcap')
    with Robot.simulate(start=[0.0, 0.5, 0.0, 0.0, 0.0, 0.0]) as robot:
        robot.run(0.01)
        robot.move_joints([0.0, 0.8, 1.5, 0.0, 0.8, -1.5])
        robot.move_by([0.0, 0.0, -0.02 + sample['goal.z']], duration=0.5)
        assert row['height'] == robot.log.tool_position[-1, 2]
        assert row['time'] == robot.time
    assert row['outcome'] == 'arrived'
    shown = quantiles(study, [row])
    assert shown['height [-]'] == [f'{row["height"]:.3g}'] * 5


@pytest.mark.slow
def test_integers_are_drawn_evenly(tmp_path):
    text = TEXT.replace('plant.payload_mass: {uniform: [0.0, 2.0]}', 'VARIED')
    text = text.replace('number: 5', 'number: 512')
    uniform = study_of(tmp_path, text.replace('VARIED', 'plant.delay_steps: {uniform: [0, 3]}'))
    drawn = [sample['plant.delay_steps'] for sample in uniform.samples()]
    values, counts = np.unique(drawn, return_counts=True)
    assert [*values] == [0, 1, 2, 3]
    assert [*counts] == [256] * 4
    normal = study_of(tmp_path, text.replace('VARIED', 'plant.delay_steps: {normal: [9, 1.5]}'))
    drawn = np.array([sample['plant.delay_steps'] for sample in normal.samples()])
    assert (drawn % 1 == 0.0).all()
    assert drawn.std() == pytest.approx(np.hypot(1.5, 1 / 12**0.5), rel=0.02)


def collect(study, table, **options):
    """Run a study, and return its rows and the bytes of its table."""
    shown = []
    rows = run_study(study, table, lambda *counts: shown.append(counts), **options)
    assert shown[-1] == (len(rows), len(rows))
    assert [row['run'] for row in rows] == list(range(len(rows)))
    assert rows == pd.read_parquet(table).to_dict('records')
    assert not table.with_suffix('.jsonl').exists()
    return rows, table.read_bytes()


def arrived(rows):
    return [row['run'] for row in rows if row['outcome'] == 'arrived']


@pytest.mark.slow
def test_a_task_of_several_runs_gives_the_row_of_each(tmp_path):
    distributed = pytest.importorskip('distributed', reason='the extra `study` is not installed')
    study = study_of(tmp_path, TEXT.replace('number: 5', 'number: 256'))
    samples = [one | {'plant.joint_friction': -1.0} for one in study.samples()]  # refused
    runs = range(0, 2 * len(samples), 2)
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address=':0'
    ) as client:
        rows = list(run_all(client, study, runs, samples))
    assert len(rows) > LARGEST_TASK
    expected = [run_one(study, run, sample) for run, sample in zip(runs, samples, strict=True)]
    assert repr(sorted(rows, key=lambda row: row['run'])) == repr(expected)


@pytest.mark.long
@pytest.mark.timeout(300)
def test_workers_go_on_where_the_machine_has_little_memory(tmp_path, monkeypatch):
    memory = pytest.importorskip('distributed.worker_memory')
    monkeypatch.setattr(memory.system, 'MEMORY_LIMIT', 2**28)  # a share is less than is loaded
    rows, _ = collect(study_of(tmp_path), tmp_path / 'table.parquet', workers=2)
    assert arrived(rows) == list(range(10))


@pytest.mark.long
def test_the_table_does_not_depend_on_the_workers(tmp_path, start_cluster):
    study = study_of(tmp_path)
    rows, one = collect(study, tmp_path / 'one.parquet', workers=1)
    assert arrived(rows) == list(range(10))
    address = start_cluster().address
    assert collect(study, tmp_path / 'two.parquet', scheduler=address) == (rows, one)


@pytest.mark.long
def test_an_interrupted_study_goes_on(tmp_path):
    study, table = study_of(tmp_path), tmp_path / 'table.parquet'

    class Interrupted(Exception):
        pass

    def interrupt(done, total):
        if done == 4:
            raise Interrupted

    with pytest.raises(Interrupted):
        run_study(study, table, interrupt, workers=1)
    assert len(pd.read_parquet(table)) == 4
    begun = []
    run_study(study, table, lambda done, total: begun.append(done), workers=1)
    assert begun == [4, 5, 6, 7, 8, 9, 10]
    assert table.read_bytes() == collect(study, tmp_path / 'whole.parquet', workers=1)[1]


NURSERY = """
import asyncio, os, sys
from distributed import Worker
from icir_control.app.study.plan import Study
from icir_control.app.study.run import run_one

async def work(address, folder):
    async with Worker(address, nthreads=1, local_directory=folder) as worker:
        await worker.finished()

run_one(Study(('hold',), {}), 0, {})
for line in sys.stdin:
    pid = os.fork()
    if not pid:
        asyncio.run(work(*line.split()))
        os._exit(0)
    print(pid, flush=True)
"""
"""A process that has loaded all, and becomes a worker at once: address and folder a line."""


class Forked:
    """A worker that a nursery has become."""

    def __init__(self, nursery, address, folder):
        nursery.stdin.write(f'{address} {folder}\n')
        self.pid = int(nursery.stdout.readline())

    def kill(self):
        with suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self):
        pass


class Cluster:
    """A scheduler and two workers, each a process with a folder of its own."""

    def __init__(self, folder, forked):
        self.folder, self.started, self.nursery = folder, 0, None
        self.file = folder / 'scheduler.json'
        self.scheduler = self.start('scheduler', '--host', '127.0.0.1', '--port', '0')
        while not self.file.exists():
            assert self.scheduler.poll() is None
            time.sleep(0.05)
        self.address = json.loads(self.file.read_text())['address']
        if forked:
            self.nursery = subprocess.Popen(
                (sys.executable, '-c', NURSERY),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                bufsize=1,
                # One thread, as a process that forks should have.
                env=os.environ | {'OPENBLAS_NUM_THREADS': '1'},
            )
        self.workers = [self.new_worker() for _ in range(2)]

    def new_worker(self):
        own = self.folder / f'worker_{self.started}'
        if self.nursery:
            self.started += 1
            return Forked(self.nursery, self.address, own)
        return self.start('worker', '--no-nanny', '--nthreads', '1', '--local-directory', str(own))

    def start(self, *arguments):
        self.started += 1
        environment = os.environ | {
            'DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES': '20',
            'DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT': '600s',  # a machine may be slow
        }
        options = ('--scheduler-file', str(self.file), '--no-dashboard')
        with (self.folder / f'{self.started}.log').open('w') as log:
            return subprocess.Popen(
                (sys.executable, '-m', 'dask', *arguments, *options),
                env=environment,
                stdout=log,
                stderr=log,
            )

    def kill_worker(self, which):
        self.workers[which].kill()
        self.workers[which].wait()
        self.workers[which] = self.new_worker()

    def close(self):
        for process in (*self.workers, *filter(None, [self.nursery]), self.scheduler):
            process.kill()
            process.wait()


@pytest.fixture
def start_cluster(tmp_path):
    pytest.importorskip('distributed', reason='the extra `study` is not installed')
    clusters = []

    def start(forked=False):
        folder = tmp_path / f'cluster_{len(clusters)}'
        folder.mkdir()
        clusters.append(Cluster(folder, forked))
        return clusters[-1]

    yield start
    for cluster in clusters:
        cluster.close()


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_workers_and_scheduler_that_are_killed_lose_nothing(tmp_path, start_cluster):
    study = study_of(tmp_path, TEXT.replace('number: 5', 'number: 500'))
    quiet = collect(study, tmp_path / 'quiet.parquet', workers=2)
    assert arrived(quiet[0]) == list(range(1000))
    cluster, table = start_cluster(forked=True), tmp_path / 'killed.parquet'
    rng, kills = np.random.default_rng(0), []
    when = {*rng.choice(np.arange(1, 900), 20, replace=False).tolist()}

    def kill(done, total):
        if done in when:
            kills.append(done)
            cluster.kill_worker(rng.integers(2))
        elif done == 950:
            cluster.scheduler.kill()

    with pytest.raises(ClusterError, match=r'the scheduler has ended, and \d+ runs are missing'):
        run_study(study, table, kill, scheduler=cluster.address)
    assert len(kills) == 20
    assert 950 <= len(pd.read_parquet(table)) < 1000
    assert collect(study, table, scheduler=start_cluster(forked=True).address) == quiet


@pytest.mark.parametrize(
    'address', ['nonsense', pytest.param('tcp://127.0.0.1:9', marks=pytest.mark.long)]
)
def test_an_address_without_a_scheduler_is_said(tmp_path, address):
    pytest.importorskip('distributed', reason='the extra `study` is not installed')
    with pytest.raises(
        ConfigurationError, match=f"no scheduler of dask.distributed at '{address}"
    ):
        run_study(study_of(tmp_path), tmp_path / 'x.parquet', lambda *_: None, scheduler=address)


def made_up(study, count=50):
    """Rows whose errors grow with the load, and fall a little with the friction."""
    rng = np.random.default_rng(0)
    rows = []
    for run in range(count):
        load, friction = rng.uniform(0.0, 2.0), rng.uniform(0.0, 1.0)
        row = {'run': run, 'plant.payload_mass': load, 'plant.joint_friction': friction}
        row |= {'joint_gains.kp': 10000.0, 'outcome': 'arrived', 'time': 1.0}
        row |= dict.fromkeys(METRICS, 3.0 + load - 0.1 * friction)
        rows.append(row)
    return rows


def test_sensitivities_find_what_matters(tmp_path):
    study = study_of(tmp_path)
    ends = sensitivities(study, made_up(study, 2000))['joint_error']
    assert list(ends) == ['plant.payload_mass', 'plant.joint_friction', 'joint_gains.kp']
    assert ends['plant.payload_mass'] == pytest.approx((3.15, 4.75), abs=0.05)
    assert ends['joint_gains.kp'][0] == ends['joint_gains.kp'][1]


@pytest.mark.slow
def test_the_page_tells_the_worst_runs_and_how_to_see_them(tmp_path):
    study = study_of(tmp_path)
    rows = made_up(study)
    rows[7]['outcome'] = 'RefusedError: <too far>'
    file, page = tmp_path / 'load.yaml', tmp_path / 'load.html'
    worst_run = max((row for row in rows if row['run'] != 7), key=lambda r: r['joint_error'])
    cases = worst(study, rows, file)
    assert [words.split()[1] for words, _ in cases] == [str(worst_run['run']), '7']
    assert cases[0][1].startswith(f'icir_control study {file} --only {worst_run["run"]} --record ')
    assert all(f'icir_control {verb} run_7.mcap' in cases[1][1] for verb in ('report', 'film'))
    odd = worst(study, rows, tmp_path / "the load's.yaml")[0][1]
    assert shlex.split(odd)[2] == str(tmp_path / "the load's.yaml")
    write_page(study, rows, file, page)
    text = page.read_text()
    assert text.count('src="data:image/png;base64,') == 3
    assert '49 of 50 runs arrived' in text
    assert '&lt;too far&gt;' in text
    assert 'http' not in text  # it needs no network
    write_page(study, rows[7:8], file, page)  # none has arrived
    assert '0 of 1 runs arrived' in page.read_text()


@pytest.mark.slow
def test_a_study_of_which_no_run_arrives_fails_with_the_cause(tmp_path, capsys):
    file = tmp_path / 'study.yaml'
    file.write_text(
        TEXT.replace(
            'plant.payload_mass: {uniform: [0.0, 2.0]', 'start.joint_2: {uniform: [50, 90]'
        )
        .replace('[10000.0, 40000.0]', '[10000.0]')
        .replace('number: 5', 'number: 2')
    )
    with pytest.raises(ConfigurationError, match='no run arrived; the first: .*joint_2'):
        study_file(file, tmp_path / 'x.parquet', 1, '', None, None)
    said = capsys.readouterr().out
    assert '0 of 2 runs arrived' in said
    assert '--only' not in said  # an arm that cannot be built shows nothing the second time
    with pytest.raises(ConfigurationError, match='run 1 did not arrive: .*joint_2'):
        study_file(file, None, None, '', 1, None)
    assert 'outcome: ' in capsys.readouterr().out


def test_overshoot_is_beyond_the_range_of_the_reference():
    study = Study(('home',), {})
    exact = run_one(study, 0, {})
    assert exact['overshoot'] < 1e-6  # rad: the model is the plant
    loaded = run_one(study, 0, {'plant.payload_mass': 2.0})
    assert 1e-5 < loaded['overshoot'] <= loaded['joint_error']


def test_the_study_that_ships_is_one_and_is_that_of_its_page():
    root = Path(__file__).resolve().parents[1]
    shipped = Study.read(root / 'examples' / 'load.yaml')
    assert len(shipped.samples()) == 200
    page = (root / 'docs' / 'studies.md').read_text()
    text = (root / 'examples' / 'load.yaml').read_text().partition('\n')[2]
    assert text in page


@pytest.mark.slow
def test_a_recording_is_of_one_run(tmp_path):
    command = [*PROGRAM, 'study']
    (tmp_path / 'study.yaml').write_text(TEXT)
    done = subprocess.run(
        [*command, str(tmp_path / 'study.yaml'), '--record', str(tmp_path / 'x.mcap')],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert '--record' in done.stderr
    assert '--only' in done.stderr


def test_a_recording_that_is_there_is_said_before_the_run(tmp_path, monkeypatch):
    monkeypatch.setattr('icir_control.app.study.run.run_one', lambda *_: pytest.fail('it runs'))
    file, record = tmp_path / 'study.yaml', tmp_path / 'x.mcap'
    file.write_text(TEXT)
    record.touch()
    with pytest.raises(ConfigurationError, match='x.mcap exists; expected the name of a new'):
        study_file(file, None, None, '', 1, record)
    with pytest.raises(ConfigurationError, match=r'x.csv is not valid; .* ends in .mcap'):
        study_file(file, None, None, '', 1, tmp_path / 'x.csv')


@pytest.mark.slow
def test_ctrl_c_ends_a_study_without_a_word_of_its_workers(tmp_path):
    (tmp_path / 'study.yaml').write_text(TEXT)
    command = [*PROGRAM, 'study', 'study.yaml']
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    ) as process:  # fmt: skip
        journal = tmp_path / 'results' / 'study.jsonl'
        while not (journal.exists() and journal.read_text().count('\n') > 1):
            assert process.poll() is None
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal sends it, to all of them
        _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert 'Traceback' not in said, said
