"""The table of a study: a Parquet file with a row for each run, and a journal while it grows.

A Parquet file cannot be appended to. So each row is first a line of the journal, written as soon
as the run has ended. When the study ends or is interrupted, all rows go to the Parquet file, which
replaces the one before as a whole, and the journal is deleted. A process that is killed leaves the
journal, from which the next one goes on.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Self

import pyarrow as pa
from pyarrow import parquet

from icir_control.app.environment import writing
from icir_control.app.study.plan import Study
from icir_control.app.study.run import Row
from icir_control.errors import ConfigurationError

_STUDY = b'icir_control.study'
"""Key of the file's metadata under which the study stands, as JSON without its number of runs."""


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
                run < len(samples) and samples[run].items() <= row.items()
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
