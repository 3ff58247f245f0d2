"""Two machines, network namespaces joined by a cable: bridge and controller, study and worker."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from ros_processes import RosGraph
from session import Session
from state_record import expect_same, kept_states

pytestmark = pytest.mark.long

STUDY = """
run: [hold, {push: [5.0, 0.0, 0.0], seconds: 0.05}]
vary:
  plant.payload_mass: {uniform: [0.0, 2.0]}
number: 6
"""
SCHEDULE = "schedule:=['0.2 home', '1.0 ready', '2.2 float', '2.5 impedance']"
END = 3.0  # s
# What a user sets who wants more than this machine to take part.
OPEN = {'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET'}


class TwoMachines(RosGraph):
    """A graph whose controller runs on the other machine."""

    def __init__(self, logs: Path, other: str) -> None:
        super().__init__(logs)
        self.environment |= OPEN
        self._other = other

    def start(self, node, *arguments, **options):
        return super().start(node, *arguments, **{**options, 'fresh': True})

    def run(self, command, **options):
        is_controller = 'controller' in command
        there = ['ip', 'netns', 'exec', self._other] if is_controller else []
        return super().run([*there, *command], **options)


def record_here(other: str, folder: str) -> None:
    """Run the session on this machine, but for the controller, and keep what was seen."""
    with TwoMachines(Path(folder) / 'logs', other) as graph:
        Session(graph, SCHEDULE, recorded=True).states_until(END)


@pytest.fixture
def machines() -> Iterator[tuple[str, str]]:
    """Two network namespaces and the cable between them."""
    names = tuple(f'icir_{os.getpid()}_{side}' for side in 'ab')
    ends = tuple(f'icir{os.getpid() % 10**6}{side}' for side in 'ab')

    def ip(*words: str) -> None:
        subprocess.run(['ip', *words], check=True, capture_output=True)

    try:
        ip('netns', 'add', names[0])
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f'network namespaces are not permitted here: {error}')
    try:
        ip('netns', 'add', names[1])
        ip('link', 'add', ends[0], 'type', 'veth', 'peer', 'name', ends[1])
        for i, (name, end) in enumerate(zip(names, ends, strict=True), start=1):
            ip('link', 'set', end, 'netns', name)
            ip('-n', name, 'addr', 'add', f'10.77.0.{i}/24', 'dev', end)
            ip('-n', name, 'link', 'set', end, 'up')
            ip('-n', name, 'link', 'set', 'lo', 'up')
            ip('-n', name, 'route', 'add', '224.0.0.0/4', 'dev', end)
        yield names
    finally:
        for name in names:
            subprocess.run(['ip', 'netns', 'del', name], check=False, capture_output=True)


def test_the_trajectory_is_the_local_one_to_the_last_bit(ros_graph, machines, tmp_path):
    here, other = machines
    code = f'import test_two_machines as t; t.record_here({other!r}, {str(tmp_path)!r})'
    subprocess.run(
        ['ip', 'netns', 'exec', here, sys.executable, '-c', code],
        cwd=Path(__file__).parent,
        env=os.environ | OPEN | {'PYTHONPATH': os.pathsep.join(sys.path)},
        check=True,
        timeout=200,
    )
    apart = kept_states(tmp_path / 'logs_states', 6)
    local = Session(ros_graph, SCHEDULE, recorded=True).states_until(END)
    states = expect_same(apart, local, END)
    assert len(np.unique(states.position, axis=0)) > 0.9 * len(states.stamp)


def test_a_study_on_the_other_machine_gives_the_same_table(machines, tmp_path):
    pytest.importorskip('distributed', reason='the extra `study` is not installed')
    here, other = machines
    file, address = tmp_path / 'study.yaml', 'tcp://10.77.0.1:8786'
    file.write_text(STUDY)
    study = (sys.executable, '-c', 'from icir_control.app.main import main; main()', 'study', file)
    dask = (sys.executable, '-m', 'dask')
    scheduler = (*dask, 'scheduler', '--host', '10.77.0.1', '--port', '8786', '--no-dashboard')
    is_up = tmp_path / 'scheduler.json'
    worker = (*dask, 'worker', address, '--host', '10.77.0.2', '--nthreads', '1', '--no-nanny')
    own_folder = ('--local-directory', tmp_path / 'worker', '--no-dashboard')
    started = []
    try:
        for machine, command in (
            (here, (*scheduler, '--scheduler-file', is_up)),
            (other, (*worker, *own_folder)),
        ):
            started.append(subprocess.Popen(('ip', 'netns', 'exec', machine, *command)))
        while not is_up.exists():
            assert started[0].poll() is None
            time.sleep(0.05)
        apart, local = tmp_path / 'apart.parquet', tmp_path / 'local.parquet'
        options = ('--scheduler', address, '--output', apart)
        subprocess.run(('ip', 'netns', 'exec', here, *study, *options), check=True, timeout=600)
    finally:
        for process in started:
            process.kill()
            process.wait()
    subprocess.run((*study, '--workers', '1', '--output', local), check=True, timeout=600)
    assert apart.read_bytes() == local.read_bytes()
    assert len(pd.read_parquet(apart)) == 6
