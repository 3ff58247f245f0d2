"""`icir_control report`: one HTML file with the metrics, plots and parameters of recordings."""

import html
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import plotly.graph_objects as go
import plotly.io
from numpy.typing import NDArray
from plotly.subplots import make_subplots

from icir_control.app.environment import replacing
from icir_control.app.html import COLOURS, FIRST, MARKED, page, table
from icir_control.app.measurement import Array, Metric, TimeSeries, angle_between, by_unit
from icir_control.app.recording.reader import Recording, RecordingError, Span
from icir_control.app.recording.topics import CURRENT_POSE, JOINT_REFERENCE, REFERENCE_POSE
from icir_control.dynamics import Model, load_urdf
from icir_control.errors import IcirError

_POINTS = 4000  # of a curve, at most
_LABELLED = 0.008  # of the run that a mode takes at least for each letter of its name
_SMALLEST = 1e-17  # lower edge of a logarithmic axis: what is exactly zero lies on it


@dataclass(frozen=True)
class Tracking:
    """How a run followed its references, at the times at which these were published.

    Attributes:
        recording: Of the run.
    """

    recording: Recording

    @cached_property
    def joints(self) -> TimeSeries:
        """The rows of the joint reference whose state is there: `reference`, `error` (n, nv)."""
        states, reference = self.recording.states, self.recording.joints(JOINT_REFERENCE)
        time, ours, theirs = np.intersect1d(states.time, reference.time, return_indices=True)
        wanted = reference['position'][theirs]
        return TimeSeries(time, {'reference': wanted, 'error': states['position'][ours] - wanted})

    @cached_property
    def tool(self) -> TimeSeries:
        """Of the tool in the base frame: `position`, `reference` (n, 3), `distance`, `angle`."""
        current, reference = (self.recording.poses(t) for t in (CURRENT_POSE, REFERENCE_POSE))
        time, ours, theirs = np.intersect1d(current.time, reference.time, return_indices=True)
        position, wanted = current['translation'][ours], reference['translation'][theirs]
        return TimeSeries(
            time,
            {
                'position': position,
                'reference': wanted,
                'distance': np.linalg.norm(position - wanted, axis=1),
                'angle': angle_between(current['rotation'][ours], reference['rotation'][theirs]),
            },
        )

    @cached_property
    def model(self) -> Model | None:
        """The arm; None where no URDF of it is there."""
        try:
            return load_urdf(self.recording.description, **self.recording.options())
        except IcirError:
            return None

    @cached_property
    def slides(self) -> NDArray[np.bool_]:
        """Which joints slide (nv,); without a URDF all are taken to turn."""
        joints = () if self.model is None else self.model.joints
        sliding = [joint.name for joint in joints if joint.kind.lengths]
        return np.isin(self.recording.joint_names, sliding)

    @cached_property
    def torque_fraction(self) -> TimeSeries:
        """The `effort` of each joint over its limit (n, nv); no rows where no URDF is there."""
        states = self.recording.states
        if self.model is None:
            return states.take(slice(0))
        limits = dict(zip(self.model.joint_names, self.model.effort_limit, strict=True))
        # Where the URDF says 0 there is none.
        limit = np.array([limits.get(name) or np.inf for name in self.recording.joint_names])
        return TimeSeries(states.time, {'effort': states['effort'] / limit})

    def metrics(self, span: Span) -> list[Metric]:
        """Return what can be measured in a span of time, of whatever mode runs in it."""
        states, joints, tool, torque = (
            series.between(span.start, span.end)
            for series in (self.recording.states, self.joints, self.tool, self.torque_fraction)
        )
        speeds = by_unit(self.slides, states['velocity'])
        errors = by_unit(self.slides, joints['error'])
        return [
            Metric('duration', span.end - span.start, 's'),
            *(Metric('peak_joint_speed', _peak(speed), f'{unit}/s') for unit, speed in speeds),
            *(Metric('peak_joint_error', _peak(error), unit) for unit, error in errors),
            Metric('peak_position_error', _peak(tool['distance']), 'm'),
            Metric('peak_rotation_error', _peak(tool['angle']), 'rad'),
            Metric('peak_torque_fraction', _peak(torque['effort'])),
        ]


def write_report(recordings: Sequence[Recording], path: Path) -> None:
    """Write the report of one recording, or of two side by side, with their films.

    Args:
        recordings: One or two.
        path: The HTML file.

    Raises:
        RecordingError: The two are of different arms.
        ConfigurationError: The file cannot be written.
    """
    first, *others = recordings
    for other in others:
        if other.joint_names != first.joint_names:
            names = ', '.join(other.joint_names)
            raise RecordingError(
                other.path,
                f'is of another robot than {first.path}, with the joints {names}',
                f'{", ".join(first.joint_names)}',
            )
    trackings = [Tracking(recording) for recording in recordings]
    title = ' against '.join(recording.path.name for recording in recordings)
    parts = [
        *(f'<p>{html.escape(_headline(recording))}</p>' for recording in recordings),
        *(f'<p>{html.escape(compared(first, other))}</p>' for other in others),
        *map(_film, recordings),
        _metrics_table(trackings),
        plotly.io.to_html(_figure(trackings), full_html=False, include_plotlyjs=True),
        _parameter_table(recordings),
    ]
    with replacing(path) as part:
        part.write_text(page(title, parts), encoding='utf-8')


def _film(recording: Recording) -> str:
    """Return the film that lies beside a recording, if it was made of it."""
    path = recording.path.with_suffix('.mp4')
    if not path.is_file() or path.stat().st_mtime < recording.path.stat().st_mtime:
        return ''
    content = b64encode(path.read_bytes()).decode()
    return f'<video controls loop muted src="data:video/mp4;base64,{content}"></video>'


def compared(one: Recording, other: Recording) -> str:
    """Return whether two runs went the same way to the last bit, a sentence."""
    common = len(np.intersect1d(one.states.time, other.states.time))
    if not common:
        said = 'no state has a common time'
    else:
        said = str(
            one.states.first_difference(other.states)
            or f'the trajectories are identical to the last bit in all {common} common states'
        )
    alone = ' and '.join(
        f'{len(recording.states) - common} states of {recording.path}'
        for recording in (one, other)
        if len(recording.states) > common
    )
    return f'{said}; without a partner: {alone}' if alone else said


def write_npz(recording: Recording, path: Path) -> None:
    """Write the states as arrays: `time`, `position`, `velocity`, `effort`, `joint_names`.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    columns: dict[str, Any] = {**recording.states.columns, 'joint_names': recording.joint_names}
    with replacing(path) as part, part.open('wb') as file:
        np.savez_compressed(file, time=recording.states.time, **columns)


def write_csv(recording: Recording, path: Path) -> None:
    """Write the states as text, a line for each, under the names of the columns.

    Raises:
        ConfigurationError: The file cannot be written.
    """
    states = recording.states
    with replacing(path) as part:
        names = [f'{field}.{joint}' for field in states.columns for joint in recording.joint_names]
        table = np.column_stack([states.time, *states.columns.values()])
        # Seventeen digits give the same number back.
        np.savetxt(part, table, '%.17g', ',', header=','.join(['time', *names]), comments='')


def _headline(recording: Recording) -> str:
    states = recording.states
    start, end = states.time[[0, -1]]
    resets = ''.join(f'; reset at {time:.3f} s' for time in recording.resets)
    return (
        f'{recording.path}: {len(states)} states of {len(recording.joint_names)} joints,'
        f' {start:.3f} to {end:.3f} s of simulation{resets}'
    )


def _peak(values: Array) -> float:
    return float(np.abs(values).max()) if values.size else np.nan


def _metrics_table(trackings: Sequence[Tracking]) -> str:
    """Return a row for each metric of each mode, and a column for each recording."""
    columns = [
        [
            (span.name, metric)
            for span in (
                Span('whole run', float(t.recording.states.time[0]), t.recording.end),
                *t.recording.modes,
            )
            for metric in t.metrics(span)
        ]
        for t in trackings
    ]
    rows, classes = [], []
    for i in range(max(map(len, columns))):
        name, metric = next(column[i] for column in columns if i < len(column))
        cells = [_value(column[i][1]) if i < len(column) else '' for column in columns]
        starts = metric.name == 'duration'
        rows.append([name if starts else '', metric.name.replace('_', ' '), *cells])
        classes.append(FIRST if starts else '')
    head = ['mode', 'metric', *(t.recording.path.name for t in trackings)]
    return f'<h2>Metrics</h2>{table(head, rows, classes)}'


def _value(metric: Metric) -> str:
    return 'not recorded' if np.isnan(metric.value) else f'{metric.value:.3g} {metric.unit}'


def _parameter_table(recordings: Sequence[Recording]) -> str:
    """Return every parameter; where two recordings differ, the row is marked."""
    names = sorted({(n, p) for r in recordings for n, of in r.parameters.items() for p in of})
    texts = [
        [str(r.parameters.get(node, {}).get(name, '')) for r in recordings] for node, name in names
    ]
    rows = [(*name, *values) for name, values in zip(names, texts, strict=True)]
    classes = [MARKED if len(set(values)) > 1 else '' for values in texts]
    head = ['node', 'parameter', *(r.path.name for r in recordings)]
    return f'<h2>Parameters</h2>{table(head, rows, classes)}'


_PANELS = (
    'joint position [rad, m]',
    'joint error [rad, m]',
    'tool in the base frame [m]',
    'tool from its reference [m]',
    'torque / limit',
)


def _figure(trackings: Sequence[Tracking]) -> go.Figure:
    """Return the plots over one time axis; the second recording's curves are dotted."""
    figure = make_subplots(len(_PANELS), 1, shared_xaxes=True, vertical_spacing=0.025)
    for row, title in enumerate(_PANELS, 1):
        figure.update_yaxes(title_text=title, row=row, col=1)
    for row in (2, 4):
        figure.update_yaxes(type='log', exponentformat='power', row=row, col=1)
    figure.update_xaxes(title_text='simulation time [s]', row=len(_PANELS), col=1)
    for number, tracking in enumerate(trackings):
        _draw(figure, tracking, 'dot' if number else 'solid', f' ({number + 1})' * bool(number))
    times = trackings[0].recording.states.time
    letter = _LABELLED * float(times[-1] - times[0])
    for i, span in enumerate(trackings[0].recording.modes):
        figure.add_vrect(
            span.start,
            span.end,
            fillcolor='#000000',
            opacity=0.05 * (i % 2),
            line_width=0,
            annotation_text=span.name if span.end - span.start > len(span.name) * letter else '',
            annotation_position='top left',
            row=1,
            col=1,
        )
    for span in _pushes(trackings[0].recording):
        figure.add_vrect(
            span.start,
            span.end,
            fillcolor=COLOURS[1],
            opacity=0.2,
            line_width=0,
            annotation_text=span.name,
            annotation_position='bottom left',
            row=1,
            col=1,
        )
    for reset in trackings[0].recording.resets:
        figure.add_vline(reset, line={'color': '#555555', 'width': 1, 'dash': 'dash'})
        figure.add_annotation(
            x=reset, xref='x', y=1.0, yref='paper', text='reset', showarrow=False, yanchor='bottom'
        )
    figure.update_layout(
        height=1500, template='plotly_white', hovermode='x', margin={'t': 30, 'r': 20}
    )
    return figure


def _pushes(recording: Recording) -> list[Span]:
    """Return when a link was pushed without a pause, named by the greatest force."""
    found: list[tuple[str, float, float, float]] = []
    acting: dict[str, tuple[float, float]] = {}
    for start_ns, link, wrench in recording.wrenches:
        time, force = start_ns * 1e-9, float(np.linalg.norm(wrench[:3]))
        if wrench.any():
            if link not in acting and found and found[-1][:2] == (link, time):
                acting[link] = found.pop()[2:]  # one push followed on the other
            start, greatest = acting.get(link, (time, 0.0))
            acting[link] = start, max(greatest, force)
        elif link in acting:
            found.append((link, time, *acting.pop(link)))
    found += [(link, recording.end, *span) for link, span in acting.items()]
    return [Span(f'{force:.3g} N', start, end) for _, end, start, force in found]


def _draw(figure: go.Figure, tracking: Tracking, dash: str, suffix: str) -> None:
    recording, joints, tool = tracking.recording, tracking.joints, tracking.tool
    torque = tracking.torque_fraction
    names = recording.joint_names

    def add(
        row: int, series: TimeSeries, values: Array, name: str, colour: str, **line: Any
    ) -> None:
        gaps = [series.row_at(reset) for reset in recording.resets]
        pieces = zip(np.split(series.time, gaps), np.split(values, gaps), strict=True)
        # Between two pieces a point that is none, so that no line joins them.
        points = [np.append(_thinned(*piece), [[np.nan]] * 2, axis=1) for piece in pieces]
        time, shown = np.concatenate(points, axis=1)[:, :-1]
        figure.add_scatter(
            x=time,
            y=shown,
            name=name + suffix,
            legendgroup=name + suffix,
            showlegend=row in (1, 3),
            line={'color': colour, 'width': 1.3, 'dash': dash, **line},
            row=row,
            col=1,
        )

    for i, name in enumerate(names):
        colour = COLOURS[i % len(COLOURS)]
        add(1, recording.states, recording.states['position'][:, i], name, colour)
        error = np.abs(joints['error'][:, i])
        add(2, joints, np.maximum(error, _SMALLEST), name, colour)
        if len(torque):
            add(5, torque, torque['effort'][:, i], name, colour)
    for i, name in enumerate('xyz'):
        add(3, tool, tool['position'][:, i], name, COLOURS[i])
        wanted = tool['reference'][:, i]
        add(3, tool, wanted, f'{name} reference', '#000000', width=0.7, dash='dash')
    add(4, tool, np.maximum(tool['distance'], _SMALLEST), 'distance', COLOURS[0])


def _thinned(time: Array, values: Array) -> tuple[Array, Array]:
    """Return of each stretch of a long curve its least and its greatest value."""
    stride = -(-2 * len(time) // _POINTS)
    if stride <= 2:
        return time, values
    count = len(time) // stride
    blocks = values[: count * stride].reshape(count, stride)
    places = np.sort(np.stack([blocks.argmin(axis=1), blocks.argmax(axis=1)], axis=1), axis=1)
    rows = (places + stride * np.arange(count)[:, None]).ravel()
    return time[rows], values[rows]
