"""The runs of a study over the workers of dask.distributed, each a row of its table.

A row is written as soon as it is there; what is there already is not run again. The table is the
same to the last bit whatever the workers were.

The table is a Parquet file, which cannot be appended to. So each row is first a line of a journal,
written as soon as the run has ended. When the study ends or is interrupted, all rows go to the
Parquet file, which replaces the one before as a whole, and the journal is deleted. A process that
is killed leaves the journal, from which the next one goes on. Whoever reads or writes a journal
locks it, so that two processes never run one study into the same table.
"""

import fcntl
import json
import logging
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self, TextIO
from uuid import uuid4

import pyarrow as pa
from distributed import WorkerPlugin
from pyarrow import parquet

from icir_control.app.environment import replacing, writing
from icir_control.app.study.plan import Sample, Study
from icir_control.app.study.run import FAILED_METRIC, Row, run_one
from icir_control.errors import ConfigurationError, IcirError

_STUDY = b'icir_control.study'
"""Key of the file's metadata under which the study stands, as JSON without its number of runs."""

DEATHS = 20
"""Workers of this machine that may die under one task before its runs are given up."""

TASKS, LARGEST_TASK = 32, 16
"""A task is several runs where each worker gets so many tasks or more, up to a greatest size."""


class ClusterError(IcirError):
    """The scheduler has ended, or a run has ended the processes that it ran in."""


def run_study(
    study: Study,
    path: Path,
    show: Callable[[int, int], None],
    *,
    workers: int | None = None,
    scheduler: str = '',
) -> list[Row]:
    """Run what is not in the table yet, and return all of its rows.

    Args:
        study: The study.
        path: Parquet file: begun, or continued where it is of the same study.
        show: Told how many runs are done, of how many.
        workers: Processes on this machine; None for one on each processor.
        scheduler: Address of a cluster to use instead, such as `tcp://host:8786`.

    Raises:
        ConfigurationError: The table is of another study, or another process writes it; a metric
            fails in the first run; or there is no such scheduler.
        ClusterError: Runs are missing; the table keeps the others.
    """
    samples, table = study.samples(), StudyTable(path, study)
    missing = [index for index in range(len(samples)) if index not in table.rows]
    show(len(table.rows), len(samples))
    if missing:
        check_metrics(study, missing[0], samples[missing[0]])
        more = {'seed': study.seed, 'version': version('icir_control')}
        with table, cluster(workers, scheduler) as client:
            for row in run_all(client, study, missing, [samples[index] for index in missing]):
                table.append(row | more)
                show(len(table.rows), len(samples))
    return [table.rows[index] for index in range(len(samples))]


def check_metrics(study: Study, index: int, sample: Sample) -> None:
    """Refuse metrics of one's own that fail, before there are many runs without them.

    Args:
        study: The study.
        index: Of a run in which they are tried.
        sample: Of that run.

    Raises:
        ConfigurationError: One fails.
    """
    outcome = run_one(study, index, sample)['outcome'] if study.metrics else ''
    if FAILED_METRIC in outcome:
        raise ConfigurationError(f'run {index}: {outcome}; expected a number for every log')


def run_all(
    client: Any, study: Study, runs: Sequence[int], samples: Sequence[Sample]
) -> Iterator[Row]:
    """Run samples on the workers, and give each row as soon as it is there.

    Args:
        client: Of `cluster`.
        study: What happens.
        runs: Index of each.
        samples: What differs.

    Raises:
        ClusterError: The scheduler has ended; or, when all others are there, runs are missing.
    """
    from distributed import Future, KilledWorker

    size = len(runs) // (TASKS * max(1, len(client.nthreads())))
    size = min(max(1, size), LARGEST_TASK)
    work = list(zip(runs, samples, strict=True))
    tasks = [work[begin : begin + size] for begin in range(0, len(work), size)]
    missing, topic = set(runs), f'rows of {uuid4()}'
    arrived: SimpleQueue[Row | Future[None]] = SimpleQueue()
    client.subscribe_topic(topic, lambda event: arrived.put(event[1][0]))
    pending = set(client.map(partial(_run_some, study, topic), tasks, pure=False))
    for future in pending:
        future.add_done_callback(arrived.put)
    while pending:
        one = arrived.get()
        if not isinstance(one, Future):
            if one['run'] in missing:  # a task that runs again repeats its rows
                missing.remove(one['run'])
                yield one
            continue
        pending.remove(one)
        if one.cancelled():
            raise ClusterError(
                f'the scheduler has ended, and {len(missing)} runs are missing; the same command'
                ' goes on'
            )
        if one.status == 'error' and not isinstance(error := one.exception(), KilledWorker):
            raise error
        one.release()  # the scheduler forgets it: memory stays flat
    if missing:
        raise ClusterError(
            f'runs {", ".join(map(str, sorted(missing)))} are missing, since the workers that ran'
            ' them died; the same command tries them again'
        )


def _run_some(study: Study, topic: str, batch: list[tuple[int, Sample]]) -> None:
    """Run samples on a worker, and send each row as soon as it is there."""
    from distributed import get_worker

    send = get_worker().log_event
    for index, sample in batch:
        send(topic, [run_one(study, index, sample)])  # to a bare dict dask would add a key


@contextmanager
def cluster(workers: int | None, scheduler: str) -> Iterator[Any]:
    """Give a client of a cluster, which ends with the context where it is our own.

    Args:
        workers: Processes on this machine; None for one on each processor.
        scheduler: Address of a cluster to use instead; empty for none.

    Raises:
        ConfigurationError: There is no scheduler at the address.
    """
    import dask
    from distributed import Client, LocalCluster

    with dask.config.set({'distributed.scheduler.allowed-failures': DEATHS}):
        if scheduler:
            try:
                client = Client(scheduler, timeout=10)
            except (OSError, ValueError) as error:
                raise ConfigurationError(
                    f'there is no scheduler of dask.distributed at {scheduler!r}: {error}'
                ) from error
            with client:
                yield client
            return
        with (
            LocalCluster(
                n_workers=workers or len(os.sched_getaffinity(0)),
                threads_per_worker=1,
                memory_limit=0,  # a worker stores nothing; beyond a limit it would stand still
                dashboard_address=':0',  # 8787 may be another study's
                # What fails in a run comes with its future. At the end workers log that the
                # scheduler no longer answers.
                silence_logs=logging.CRITICAL,
            ) as local,
            Client(local) as client,
        ):
            client.register_plugin(_IgnoringCtrlC())
            yield client


class _IgnoringCtrlC(WorkerPlugin):
    """Has workers of this machine ignore Ctrl-C at the terminal, which ends them by their parent.

    Each of them would print where it was.
    """

    def setup(self, worker: object) -> None:
        """Run in the main thread of a worker."""
        del worker
        signal.signal(signal.SIGINT, signal.SIG_IGN)


class StudyTable:
    """The rows of a study on the disk; a context in which rows are appended.

    Attributes:
        rows: By run.
    """

    def __init__(self, path: Path, study: Study) -> None:
        """Read what is there.

        Args:
            path: The Parquet file; the journal lies beside it, and ends in `.jsonl`.
            study: Whose table it is.

        Raises:
            ConfigurationError: It is of another study, or cannot be read or written.
        """
        self._path, self._journal_path = path, path.with_suffix('.jsonl')
        asked = {name: value for name, value in asdict(study).items() if name != 'folder'}
        self._study, self._units = json.dumps(asked | {'number': None}), study.units
        self._samples = study.samples()
        self.rows: dict[int, Row] = {}
        if not self._journal_path.exists():
            self._read()
            return
        with writing(self._path), self._locked_journal():
            self._read()
            self._save()

    def _read(self) -> None:
        for file, read in ((self._path, _read_parquet), (self._journal_path, self._read_journal)):
            if not file.exists():
                continue
            of_study, rows = read(file)
            if of_study == self._study:
                self.rows |= {row['run']: row for row in rows}
            fits = all(
                run < len(self._samples)
                and self._samples[run].items() <= row.items()
                and self._units.keys() <= row.keys()
                for run, row in self.rows.items()
            )
            if of_study != self._study or not fits:
                raise ConfigurationError(
                    f'{file} is of another study; name another file by --output, or delete it'
                )

    def _locked_journal(self) -> TextIO:
        """Open the journal, and lock it until it is closed.

        Raises:
            ConfigurationError: Another process has locked it.
        """
        while True:
            journal = self._journal_path.open('a')
            try:
                fcntl.flock(journal, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                journal.close()
                raise ConfigurationError(
                    f'another process runs the study of {self._path}; expected its end, or another'
                    ' file by --output'
                ) from error
            # Whoever had locked it may have deleted it meanwhile.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(journal.fileno()), self._journal_path.stat()):
                    return journal
            journal.close()

    def __enter__(self) -> Self:
        """Begin a journal."""
        with writing(self._path):
            self._journal = self._locked_journal()
            self._read()  # another process may have run some meanwhile
            self._journal.truncate(0)
            self._write(self._study)
        return self

    def append(self, row: Row) -> None:
        """Add a row; from now on it outlives this process.

        Raises:
            ConfigurationError: The disk is full, or gone.
        """
        with writing(self._path):
            self._write(json.dumps(row))
        self.rows[row['run']] = row

    def __exit__(self, *_: object) -> None:
        """Write the Parquet file, whatever has ended the context."""
        with self._journal:
            self._save()

    def _write(self, line: str) -> None:
        self._journal.write(f'{line}\n')
        self._journal.flush()

    def _save(self) -> None:
        if self.rows:
            table = pa.Table.from_pylist([self.rows[run] for run in sorted(self.rows)])
            table = table.replace_schema_metadata({_STUDY: self._study.encode()})
            with replacing(self._path) as part:
                parquet.write_table(table, part)
        with writing(self._path):
            self._journal_path.unlink(missing_ok=True)

    def _read_journal(self, path: Path) -> tuple[str, Iterable[Row]]:
        """Return which study a journal is of, and its rows, of which the last ends."""
        try:
            of_study, *lines = path.read_text().split('\n')
            if not lines and self._study.startswith(of_study):  # killed while it was begun
                of_study = self._study
            rows = [json.loads(line) for line in lines[:-1]] if of_study == self._study else ()
        except (OSError, ValueError) as error:
            raise ConfigurationError(f'{path} cannot be read as a journal: {error}') from error
        return of_study, rows


def _read_parquet(path: Path) -> tuple[str, Iterable[Row]]:
    """Return which study a file is of, and its rows."""
    try:
        table = parquet.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise ConfigurationError(f'{path} cannot be read as a Parquet file: {error}') from error
    return (table.schema.metadata or {}).get(_STUDY, b'').decode(), table.to_pylist()
