"""What is made of a recording: numbers that are those of the run, and a page without a network."""

import re

import numpy as np
import pytest
from recorded_run import RESET, write_run

from icir_control.app import main as command_line
from icir_control.app.measurement import TimeSeries
from icir_control.app.recording.reader import Recording
from icir_control.app.recording.report import Tracking, _figure, compared
from icir_control.app.recording.topics import MODE
from icir_control.share import share_directory

ZSTD = b'\x28\xb5\x2f\xfd'  # how a compressed chunk begins


def run(monkeypatch, *arguments: object) -> int:
    """Run the command line in this process; its exit status."""
    monkeypatch.setattr('sys.argv', ['icir_control', *map(str, arguments)])
    with pytest.raises(SystemExit) as end:
        command_line.main()
    return end.value.code or 0


@pytest.fixture(scope='module')
def recorded(tmp_path_factory):
    """Files of runs, good ones and damaged ones; the states of `run.mcap`."""
    folder = tmp_path_factory.mktemp('runs')
    rows = write_run(folder / 'run.mcap', joint_offset=0.0125, tool_offset=0.0037)
    write_run(folder / 'other.mcap', (('gravity', 50), ('home', 50), ('hold', 100)))
    write_run(folder / 'seven.mcap', (('gravity', 5),), robot='gen3_7dof')
    write_run(folder / 'stateless.mcap', (('gravity', 5),), states=False)
    content = (folder / 'run.mcap').read_bytes()
    (folder / 'cut.mcap').write_bytes(content[: len(content) // 2])
    (folder / 'text.mcap').write_text('no recording at all')
    (folder / 'empty.mcap').touch()
    (folder / 'begun.mcap').write_bytes(content[:8])
    for name, place in (('damaged', 1000), ('corrupt', content.index(ZSTD) + 20)):
        damaged = bytearray(content)
        damaged[place] ^= 0xFF
        (folder / f'{name}.mcap').write_bytes(damaged)
    return folder, rows


def cells_of(page: str, mode: str, metric: str) -> list[str]:
    """The values of a metric of a mode in the table of a page."""
    rows = re.findall(r'<tr[^>]*><td>(.*?)</td><td>(.*?)</td>(.*?)</tr>', page)
    running = ''
    for name, words, values in rows:
        running = name or running
        if (running, words) == (mode, metric):
            return re.findall('<td>(.*?)</td>', values)
    raise AssertionError(f'no {metric} of {mode}')


def test_a_report_is_one_page_with_the_figures_of_the_run(recorded, monkeypatch, tmp_path, capsys):
    folder, _ = recorded
    output = tmp_path / 'report.html'
    assert run(monkeypatch, 'report', folder / 'run.mcap', '--output', output) == 0
    assert str(output) in capsys.readouterr().out
    page = output.read_text()
    # What a browser would fetch: nothing, and the library is inside.
    assert not re.search(r'<(script|link|img)[^>]*(src|href)=', page)
    assert 'Plotly.newPlot' in page
    assert len(page) > 1_000_000
    # The references were written with these offsets; the arm itself errs by less than 1e-9.
    assert cells_of(page, 'home', 'peak joint error') == ['0.0125 rad']
    assert cells_of(page, 'home', 'peak position error') == ['0.0037 m']
    # A mode is placed by when its message came.
    (duration,) = cells_of(page, 'home', 'duration')
    assert float(duration.split()[0]) == pytest.approx(0.45, abs=0.02)
    (share,) = cells_of(page, 'whole run', 'peak torque fraction')
    assert 0.0 < float(share) < 1.0


def test_the_arm_is_that_of_the_run_and_units_are_those_of_its_joints(
    recorded, monkeypatch, tmp_path
):
    """A URDF without effort limits and with a body that none can be, whose first joint slides."""
    urdf = (share_directory() / 'urdf' / 'gen3_6dof.urdf').read_text()
    for pattern, text in (
        (r'effort="[^"]*"', 'effort="0"'),
        (r'<joint name="joint_1" type="continuous"', '<joint name="joint_1" type="prismatic"'),
        (r'ixx="[^"]*"', 'ixx="1.0"'),
    ):
        urdf, count = re.subn(pattern, text, urdf)
        assert count
    options = {'default_effort': 1000.0, 'repair': True}
    write_run(
        tmp_path / 'run.mcap', (('gravity', 50),), joint_offset=0.01, urdf=urdf, parameters=options
    )
    assert run(monkeypatch, 'report', tmp_path / 'run.mcap', '--output', tmp_path / 'r.html') == 0
    page = (tmp_path / 'r.html').read_text()
    (fraction,) = cells_of(page, 'whole run', 'peak torque fraction')
    torque = np.abs(Recording(tmp_path / 'run.mcap').states['effort']).max()
    assert float(fraction) == pytest.approx(torque / 1000.0, rel=1e-2)
    errors = re.findall('peak joint error</td><td>(.*?) (.*?)</td>', page)
    assert [unit for _, unit in errors] == ['rad', 'm'] * 2  # of the whole run, and of the mode
    assert [float(value) for value, _ in errors] == pytest.approx([0.0, 0.01] * 2, abs=1e-6)
    speeds = re.findall('peak joint speed</td><td>.*? (.*?)</td>', page)
    assert speeds == ['rad/s', 'm/s'] * 2


def test_exported_tables_hold_the_states_to_the_last_bit(recorded, monkeypatch, tmp_path):
    folder, rows = recorded
    csv, npz = tmp_path / 'run.csv', tmp_path / 'run.npz'
    options = ('--csv', csv, '--npz', npz, '--output', tmp_path / 'r.html')
    assert run(monkeypatch, 'report', folder / 'run.mcap', *options) == 0
    position = np.array([row[0] for row in rows])
    arrays = np.load(npz)
    np.testing.assert_array_equal(arrays['position'], position)
    np.testing.assert_allclose(np.diff(arrays['time']), 1e-3)
    table = np.genfromtxt(csv, delimiter=',', names=True, deletechars='')
    assert table.dtype.names[:2] == ('time', 'position.joint_1')
    np.testing.assert_array_equal(table['position.joint_2'], position[:, 1])


@pytest.mark.slow
def test_two_recordings_stand_side_by_side(recorded, monkeypatch, tmp_path):
    folder, rows = recorded
    output = tmp_path / 'both.html'
    files = (folder / 'run.mcap', '--against', folder / 'other.mcap')
    assert run(monkeypatch, 'report', *files, '--output', output) == 0
    page = output.read_text()
    assert len(cells_of(page, 'gravity', 'peak joint speed')) == 2
    # The torque of the first tick in `hold` moves the arm one period later.
    assert 'two runs of one schedule differ in effort at 0.101 s' in page
    assert '; without a partner: 300 states of' in page
    same = (folder / 'run.mcap', '--against', folder / 'run.mcap')
    assert run(monkeypatch, 'report', *same, '--output', output) == 0
    assert f'identical to the last bit in all {len(rows)} common states' in output.read_text()


@pytest.mark.slow
def test_without_a_common_time_nothing_is_said_to_be_the_same(recorded):
    folder, rows = recorded
    one, other = Recording(folder / 'run.mcap'), Recording(folder / 'run.mcap')
    late = other.states.time + 10.0
    other.states = TimeSeries(late, other.states.columns)
    words = f'{len(rows)} states of {one.path}'
    expected = f'no state has a common time; without a partner: {words} and {words}'
    assert compared(one, other) == expected


@pytest.mark.slow
def test_a_reset_begins_another_run(monkeypatch, tmp_path):
    """Its first state has the stamp of the last one before it, and another token."""
    file, output = tmp_path / 'run.mcap', tmp_path / 'run.html'
    rows = write_run(file, (('home', 2000), (RESET, 0), ('hold', 100)))
    recording = Recording(file)
    assert len(recording.states) == len(rows)
    (reset,) = recording.resets
    assert reset == recording.states.time[2000]
    np.testing.assert_array_equal(recording.states['position'][2000], rows[2000][0])
    assert run(monkeypatch, 'report', file) == 0
    page = output.read_text()
    assert f'reset at {reset:.3f} s' in page
    (error,) = cells_of(page, 'whole run', 'peak joint error')
    assert float(error.split()[0]) < 1e-9
    curves = [curve for curve in _figure([Tracking(recording)]).data if len(curve.x)]
    assert len(curves) > 20
    for curve in curves:  # none goes on over the reset
        gap = np.flatnonzero(np.isnan(curve.y))
        assert len(gap) == 1
        assert curve.x[gap[0] - 1] < reset <= curve.x[gap[0] + 1]


@pytest.mark.parametrize(
    'options',
    [
        ('--csv', 'copy.mcap'),
        ('--npz', './copy.mcap'),
        ('--output', 'link.mcap'),
        ('--against', 'run.mcap', '--csv', 'run.mcap'),
        ('--csv', 'new.txt', '--npz', 'new.txt'),
        ('--csv', 'copy.html'),
    ],
)
def test_no_output_is_written_over_a_recording_or_another_output(
    recorded, monkeypatch, tmp_path, capsys, options
):
    folder, _ = recorded
    monkeypatch.chdir(tmp_path)
    names = ('copy.mcap', 'run.mcap')
    for name in names:
        (tmp_path / name).write_bytes((folder / 'run.mcap').read_bytes())
    (tmp_path / 'link.mcap').hardlink_to('copy.mcap')
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert run(monkeypatch, 'report', 'copy.mcap', *options) == 2
    assert 'cannot be written, since it is' in capsys.readouterr().err
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_was_there_stays_where_a_report_cannot_be_written(recorded, monkeypatch, tmp_path):
    folder, _ = recorded
    output = tmp_path / 'report.html'
    output.write_text('the report of before')

    def half(path, text, **_):
        with path.open('w') as file:
            file.write(text[:1000])
        raise OSError(28, 'No space left on device')

    monkeypatch.setattr('pathlib.Path.write_text', half)
    assert run(monkeypatch, 'report', folder / 'run.mcap', '--output', output) == 2
    assert output.read_text() == 'the report of before'
    assert [*tmp_path.iterdir()] == [output]


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (('missing.mcap',), 'cannot be read: No such file'),
        (('text.mcap',), 'is no MCAP file'),
        (('empty.mcap',), 'is empty'),
        (('begun.mcap',), 'is cut off'),
        (('cut.mcap',), 'is cut off'),
        (('damaged.mcap',), 'is damaged'),
        (('corrupt.mcap',), 'is damaged'),
        (('stateless.mcap',), 'has no joint_states'),
        (('run.mcap', '--against', 'seven.mcap'), 'is of another robot than'),
        (('run.mcap', '--output', 'no_folder/r.html'), 'cannot be written'),
        (('run.mcap', '--output', 'r.pdf'), 'ends in .html'),
    ],
)
def test_what_is_no_recording_is_refused_in_a_sentence(
    recorded, monkeypatch, capsys, arguments, words
):
    folder, _ = recorded
    monkeypatch.chdir(folder)
    assert run(monkeypatch, 'report', *arguments) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.startswith('icir_control: ')
    assert error.count('\n') == 1


def test_a_recording_that_tells_no_mode_has_none(recorded):
    folder, _ = recorded
    recording = Recording(folder / 'run.mcap')
    recording.messages.pop(MODE)
    assert recording.modes == []
