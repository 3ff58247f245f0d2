"""The runs of a study over the workers of dask.distributed, each a row of its table.

A row is written as soon as it is there; what is there already is not run again. The table is the
same to the last bit whatever the workers were.

The table is a Parquet file, which cannot be appended to. So each row is first a line of a journal,
written as soon as the run has ended. When the study ends or is interrupted, all rows go to the
Parquet file, which replaces the one before as a whole, and the journal is deleted. A process that
is killed leaves the journal, from which the next one goes on.
"""

import json
import logging
import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Self
from uuid import uuid4

import pyarrow as pa
from distributed import WorkerPlugin
from pyarrow import parquet

from icir_control.app.environment import writing
from icir_control.app.study.plan import Sample, Study
from icir_control.app.study.run import Row, run_one
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
        ConfigurationError: The table is of another study, or there is no such scheduler.
        ClusterError: Runs are missing; the table keeps the others.
    """
    samples, table = study.samples(), StudyTable(path, study)
    missing = [index for index in range(len(samples)) if index not in table.rows]
    show(len(table.rows), len(samples))
    if missing:
        more = {'seed': study.seed, 'version': version('icir_control')}
        with table, cluster(workers, scheduler) as client:
            for row in run_all(client, study, missing, [samples[index] for index in missing]):
                table.append(row | more)
                show(len(table.rows), len(samples))
    return [table.rows[index] for index in range(len(samples))]


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
                silence_logs=logging.ERROR,
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
        self._study = json.dumps(asdict(study) | {'number': None})
        self.rows: dict[int, Row] = {}
        samples = study.samples()
        for file, read in ((path, _read_parquet), (self._journal_path, _read_journal)):
            if not file.exists():
                continue
            of_study, rows = read(file)
            self.rows |= {row['run']: row for row in rows}
            fits = all(
                run < len(samples)
                and samples[run].items() <= row.items()
                and study.units.keys() <= row.keys()
                for run, row in self.rows.items()
            )
            if of_study not in (self._study, None) or not fits:
                raise ConfigurationError(
                    f'{file} is of another study; name another file by --output, or delete it'
                )
        if self._journal_path.exists():
            self._save()

    def __enter__(self) -> Self:
        """Begin a journal."""
        with writing(self._path):
            self._journal = self._journal_path.open('w')
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
        self._journal.close()
        self._save()

    def _write(self, line: str) -> None:
        self._journal.write(f'{line}\n')
        self._journal.flush()

    def _save(self) -> None:
        with writing(self._path):
            if self.rows:
                table = pa.Table.from_pylist([self.rows[run] for run in sorted(self.rows)])
                complete = self._path.with_suffix('.part')
                metadata = {_STUDY: self._study.encode()}
                parquet.write_table(table.replace_schema_metadata(metadata), complete)
                os.replace(complete, self._path)
            self._journal_path.unlink()


def _read_parquet(path: Path) -> tuple[str, Iterable[Row]]:
    """Return which study a file is of, and its rows."""
    try:
        table = parquet.read_table(path)
    except (OSError, pa.ArrowException) as error:
        raise ConfigurationError(f'{path} cannot be read as a Parquet file: {error}') from error
    return (table.schema.metadata or {}).get(_STUDY, b'').decode(), table.to_pylist()


def _read_journal(path: Path) -> tuple[str | None, Iterable[Row]]:
    """Return which study a journal is of, if it says so, and its rows, of which the last ends."""
    *lines, _ = path.read_text().split('\n')
    return lines[0] if lines else None, map(json.loads, lines[1:])
