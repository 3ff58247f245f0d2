"""Tuning: what is asked is checked, the best that keeps the limits is found, trials are kept."""

import subprocess
import sys

import numpy as np
import pytest
import yaml

from icir_control import Robot
from icir_control.app.robot import RobotFiles
from icir_control.app.study.plan import METRICS
from icir_control.app.study.tune import Tuning, run_on, search, unseen, write_parameters
from icir_control.errors import ConfigurationError

TEXT = """
run:
  - hold
  - push: [20.0, 0.0, 0.0]
    seconds: 0.05
vary:
  plant.payload_mass: {uniform: [0.0, 2.0]}
  plant.delay_steps: {grid: [0, 1]}
tune:
  joint_gains.kp: [10000.0, 100000.0]
  observer.gain: [0.0, 50.0]
limits: {torque_fraction: 0.9}
trials: 4
unseen: 5
"""


def tuning_of(tmp_path, text=TEXT):
    file = tmp_path / 'tuning.yaml'
    file.write_text(text)
    return Tuning.read(file)


@pytest.mark.parametrize(
    ('old', 'new', 'words'),
    [
        ('trials: 4', 'trials: 0', 'trials = 0 is not valid; expected an integer, at least 1'),
        ('trials: 4', 'trails: 4', 'unknown parameter trails; did you mean trials'),
        ('trials: 4', 'minimise: error', 'one of joint_error, overshoot, position_error'),
        ('torque_fraction: 0.9', 'torque: 0.9', 'bounds of some of joint_error'),
        ('_fraction: 0.9', '_fraction: 0', 'limits.torque_fraction = 0 is not valid; expected'),
        ('  observer.gain', '  observr.gain', "tune has 'observr.gain'; expected one of"),
        ('  observer.gain', '  plant.mass_scale', "tune has 'plant.mass_scale'; expected one of"),
        (
            '[0.0, 50.0]',
            '[50.0, 0.0]',
            r'observer.gain = \[50.0, 0.0\] is not valid; expected a l',
        ),
        ('[0.0, 50.0]', '50.0', 'a lower and an upper end'),
        (
            '[0.0, 50.0]',
            '[-1.0, 50.0]',
            'observer.gain = -1.0 is not valid; expected a finite num',
        ),
        ('uniform: [0.0, 2.0]', 'grid: [0.0]', 'something uniform or normal'),
        (
            '- hold',
            '- fly',
            "run = 'fly' is not valid; expected a push, a target, or a mode: gravity",
        ),
    ],
)
def test_what_cannot_be_tuned_is_refused(tmp_path, old, new, words):
    with pytest.raises(ConfigurationError, match=words):
        tuning_of(tmp_path, TEXT.replace(old, new))


def test_the_worst_plant_counts_and_one_that_does_not_arrive_is_a_limit_exceeded(tmp_path):
    tuning = tuning_of(tmp_path)

    def row(error, share, outcome='arrived'):
        return dict.fromkeys(METRICS, share) | {'joint_error': error, 'outcome': outcome}

    worst, excess = tuning.cost([row(0.1, 0.45), row(0.3, 0.9)])
    assert worst == 0.3
    assert excess == {'arrived': 0.0, 'torque_fraction': 0.0}
    assert tuning.cost([row(0.1, 1.8), row(0.0, 0.0)])[1]['torque_fraction'] == 1.0
    worst, excess = tuning.cost([row(0.1, 0.45), row(np.nan, np.nan, 'MotionError: braked')])
    assert (worst, excess) == (0.1, {'arrived': 1.0, 'torque_fraction': -0.5})
    worst, excess = tuning.cost([row(np.nan, np.nan, 'MotionError: braked')])
    assert worst == np.inf
    assert excess['arrived'] == 1.0


def test_unseen_plants_are_others_and_fill_the_grid(tmp_path):
    tuning = tuning_of(tmp_path)
    others = unseen(tuning)
    assert [plant['plant.delay_steps'] for plant in others] == [0.0] * 3 + [1.0] * 3
    masses = {plant['plant.payload_mass'] for plant in others}
    assert masses.isdisjoint(plant['plant.payload_mass'] for plant in tuning.study.samples())


def test_what_was_found_is_a_parameter_file_of_the_robot(tmp_path):
    tuning, file = tuning_of(tmp_path), tmp_path / 'found.yaml'
    write_parameters(tuning, {'joint_gains.kp': 12345.0, 'observer.gain': 7.5}, file)
    assert file.read_text().startswith('# Found by icir_control tune:\n# joint_gains.kp 12345\n')
    robot = Robot.simulate('gen3_6dof', params_file=file)
    assert robot.parameters.joint_gains.kp.tolist() == [12345.0] * 6
    assert robot.parameters.observer.gain == 7.5
    before, after = (
        yaml.safe_load(one.read_text()) for one in (RobotFiles.of().params_file, file)
    )
    assert after['/**/mujoco_bridge'] == before['/**/mujoco_bridge']
    controller = after['/**/controller']['ros__parameters']
    controller['joint_gains']['kp'] = [40000.0] * 6
    controller['observer']['gain'] = 25.0
    assert after == before


@pytest.fixture
def client():
    """Workers in this process, which has compiled already."""
    distributed = pytest.importorskip('distributed', reason='the extra `study` is not installed')
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address=':0'
    ) as one:
        yield one


@pytest.mark.slow
def test_a_search_goes_on_and_is_never_worse_than_what_ships(tmp_path, client):
    tuning, file, shown = tuning_of(tmp_path), tmp_path / 'trials.db', []

    class Interrupted(Exception):
        pass

    def interrupt(done, total):
        shown.append(done)
        if shown == [0, 1, 2]:
            raise Interrupted

    with pytest.raises(Interrupted):
        search(tuning, client, file, interrupt)
    chosen = search(tuning, client, file, interrupt)
    assert shown == [0, 1, 2, 2, 3, 4]
    assert search(tuning, client, file, interrupt) == chosen
    assert all(low <= chosen[name] <= high for name, (low, high) in tuning.tune.items())
    plants = tuning.study.samples()
    found, shipped = (
        tuning.cost(run_on(tuning, client, plants, one)) for one in (chosen, tuning.shipped())
    )
    assert 0.0 < found[0] <= shipped[0]
    assert max(found[1].values()) <= 0.0
    with pytest.raises(ConfigurationError, match='is of another tuning'):
        search(tuning_of(tmp_path, TEXT + 'seed: 1\n'), client, file, interrupt)
    strict = tuning_of(tmp_path, TEXT.replace('0.9', '0.01').replace('trials: 4', 'trials: 1'))
    with pytest.raises(ConfigurationError, match='none of 1 trials keeps the limits'):
        search(strict, client, tmp_path / 'strict.db', interrupt)
    (tmp_path / 'text.db').write_text('no database ' * 100)
    with pytest.raises(ConfigurationError, match='cannot hold the trials: file is not a database'):
        search(tuning, client, tmp_path / 'text.db', interrupt)


@pytest.mark.long
def test_the_command_says_what_was_gained_and_writes_what_a_simulation_takes(tmp_path):
    pytest.importorskip('distributed', reason='the extra `study` is not installed')
    tuning_of(tmp_path)
    found = tmp_path / 'results' / 'found.yaml'
    said = subprocess.run(
        (sys.executable, '-c', 'from icir_control.app.main import main; main()', 'tune')
        + ('tuning.yaml', '--output', str(found), '--workers', '1'),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert 'worst, 6 plants unseen' in said
    assert f'--params-file {found}' in said
    Robot.simulate(params_file=found).run(0.01)
