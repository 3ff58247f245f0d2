"""The table of a study: no row is lost, none is of another study, and one process writes it."""

from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import parquet
from small_study import TEXT, study_of

from icir_control.app.study.engine import StudyTable
from icir_control.app.study.plan import METRICS
from icir_control.errors import ConfigurationError


def row_of(run, sample):
    metrics = dict.fromkeys(METRICS, np.nan)
    return {'run': run, **sample, 'outcome': 'arrived', 'time': 0.1, **metrics}


def test_a_table_outlives_the_process_that_writes_it(tmp_path):
    study, path = study_of(tmp_path), tmp_path / 'table.parquet'
    rows = [row_of(run, sample) for run, sample in enumerate(study.samples())]
    with StudyTable(path, study) as table:
        table.append(rows[1])
        table.append(rows[0])
    journal = tmp_path / 'table.jsonl'
    assert not journal.exists()
    with suppress(ZeroDivisionError), StudyTable(path, study) as table:
        table.append(rows[3])
        killed = journal.read_text() + '{"run": 7, "outc'  # a row that was being written
        _ = 1 / 0
    journal.write_text(killed)
    assert [*StudyTable(path, study).rows] == [0, 1, 3]
    assert not journal.exists()
    expected = repr([rows[run] for run in (0, 1, 3)])  # of NaN, too
    assert repr(pd.read_parquet(path).to_dict('records')) == expected
    path.unlink()
    journal.write_text(killed)  # killed before there was a Parquet file
    assert [*StudyTable(path, study).rows] == [3]
    journal.write_text(killed[:10])  # killed at once
    assert [*StudyTable(path, study).rows] == [3]
    assert not journal.exists()


def test_a_table_is_of_one_study(tmp_path):
    study, path = study_of(tmp_path), tmp_path / 'table.parquet'
    with StudyTable(path, study) as table:
        table.append(row_of(2, study.samples()[2]))
    for old, new in (('- hold', '- home'), ('2.0]', '3.0]'), ('number: 5', 'seed: 1')):
        with pytest.raises(ConfigurationError, match='table.parquet is of another study; name'):
            StudyTable(path, study_of(tmp_path, TEXT.replace(old, new)))
    written = path.read_bytes()
    other = pd.read_parquet(path).rename(columns={'position_error': 'tool_error'})
    metadata = parquet.read_table(path).schema.metadata
    parquet.write_table(pa.Table.from_pandas(other).replace_schema_metadata(metadata), path)
    with pytest.raises(ConfigurationError, match='table.parquet is of another study; name'):
        StudyTable(path, study)  # another version had other metrics
    path.write_bytes(written)
    # One with more runs goes on, as long as those that there are stay.
    assert [*StudyTable(path, study_of(tmp_path, TEXT.replace('number: 5', 'number: 6'))).rows]
    path.write_text('run,outcome')
    with pytest.raises(ConfigurationError, match='cannot be read as a Parquet file'):
        StudyTable(path, study)
    with pytest.raises(ConfigurationError, match='cannot be written to'):
        StudyTable(tmp_path / 'nowhere' / 'table.parquet', study).__enter__()


@pytest.mark.parametrize(
    ('content', 'words'),
    [
        ('{"a": 1}\n{"b": 2}\n', 'table.jsonl is of another study; name'),
        ('{"a": 1}', 'table.jsonl is of another study; name'),
        ('STUDY\n{"run": 1,\n{}\n', 'table.jsonl cannot be read as a journal'),
        (b'\xff\n', 'table.jsonl cannot be read as a journal'),
    ],
)
def test_a_foreign_journal_is_refused_and_stays(tmp_path, content, words):
    study, journal = study_of(tmp_path), tmp_path / 'table.jsonl'
    with StudyTable(tmp_path / 'table.parquet', study):
        begun = journal.read_text().rstrip('\n')
    content = content if isinstance(content, bytes) else content.replace('STUDY', begun).encode()
    journal.write_bytes(content)
    with pytest.raises(ConfigurationError, match=words):
        StudyTable(tmp_path / 'table.parquet', study)
    assert journal.read_bytes() == content


def test_a_table_is_written_by_one_process(tmp_path):
    study, path = study_of(tmp_path), tmp_path / 'table.parquet'
    rows = [row_of(run, sample) for run, sample in enumerate(study.samples())]
    late = StudyTable(path, study)
    with StudyTable(path, study) as table:
        table.append(rows[0])
        with pytest.raises(ConfigurationError, match='another process runs the study of'):
            StudyTable(path, study)
        with pytest.raises(ConfigurationError, match='another process runs the study of'):
            late.__enter__()
        table.append(rows[1])
    with late:  # it was read before the other one began
        late.append(rows[2])
    assert [*StudyTable(path, study).rows] == [0, 1, 2]
    with StudyTable(path, study) as table:
        table.append(rows[3])
        (tmp_path / 'table.jsonl').unlink()
    assert [*StudyTable(path, study).rows] == [0, 1, 2, 3]
