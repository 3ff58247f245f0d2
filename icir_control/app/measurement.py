"""What is measured: columns over time, and single numbers with bounds."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from icir_control.errors import IcirError

Array = NDArray[np.float64]

_SAME_TIME = 1e-9  # s, within which two moments are one


class DifferentRunsError(IcirError):
    """Two runs of one schedule that should be the same are not.

    Attributes:
        column: What differs.
        time: Simulation time of the first difference [s].
    """

    def __init__(self, column: str, time: float) -> None:
        """State what differs, and when."""
        self.column = column
        self.time = time
        super().__init__(f'two runs of one schedule differ in {column} at {time:.3f} s')


@dataclass(frozen=True)
class TimeSeries:
    """Named columns over time, a row for each moment. SI units; who makes one says what it holds.

    Attributes:
        time: (n,) simulation time [s], rising.
        columns: By name, each (n, ...).
    """

    time: Array
    columns: Mapping[str, NDArray[Any]]

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]]) -> Self:
        """Return the series of some rows.

        Args:
            rows: Each with `time` and, by name, a value for each column.
        """
        columns = {name: np.array([row[name] for row in rows]) for name in (rows or [{}])[0]}
        return cls(columns.pop('time', np.zeros(0)), columns)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.time)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return a column."""
        return self.columns[name]

    def with_columns(self, columns: Mapping[str, NDArray[Any]]) -> Self:
        """Return the series with some columns added or replaced."""
        return type(self)(self.time, {**self.columns, **columns})

    def take(self, rows: slice | NDArray[Any]) -> Self:
        """Return some of the rows: a slice, indices or a mask."""
        return type(self)(self.time[rows], {name: c[rows] for name, c in self.columns.items()})

    def row_at(self, moment: float) -> int:
        """Return the first row at or after a moment [s]."""
        return int(np.searchsorted(self.time, moment - _SAME_TIME))

    def until(self, end: float) -> Self:
        """Return the rows up to a moment [s], that one included."""
        return self.take(slice(self.row_at(end + 2.0 * _SAME_TIME)))

    def between(self, start: float, end: float) -> Self:
        """Return the rows from a moment on, up to another one that is not included [s]."""
        return self.take(slice(self.row_at(start), self.row_at(end)))

    def first_difference(self, other: Self) -> DifferentRunsError | None:
        """Return where two series first differ, be it in one bit, at the times of both."""
        _, ours, theirs = np.intersect1d(self.time, other.time, return_indices=True)
        found = []
        for name in self.columns:
            different = self[name][ours] != other[name][theirs]
            rows = np.flatnonzero(different.any(axis=tuple(range(1, different.ndim))))
            if rows.size:
                found.append((float(self.time[ours[rows[0]]]), name))
        if not found:
            return None
        time, name = min(found)
        return DifferentRunsError(name, time)

    def merged(self, other: Self) -> Self:
        """Return the rows that are in this series or in another one of the same run.

        Raises:
            DifferentRunsError: A row of the same time differs, be it in one bit.
        """
        difference = self.first_difference(other)
        if difference is not None:
            raise difference
        time, first = np.unique(np.concatenate([self.time, other.time]), return_index=True)
        columns = {
            name: np.concatenate([c, other[name]])[first] for name, c in self.columns.items()
        }
        return type(self)(time, columns)

    def joint_error(self) -> float:
        """Return how far a joint was from its reference at most [rad or m].

        Needs the columns `position` and `position_reference`, (n, nv).
        """
        return float(np.abs(self['position'] - self['position_reference']).max())


@dataclass(frozen=True)
class Metric:
    """A measured number and the bounds that it must keep.

    Attributes:
        name: What it is, in words joined by underscores.
        value: Not a number where it could not be measured.
        unit: Of value and bounds, SI; empty for a plain number.
        upper: Greatest good value.
        lower: Least good value.
    """

    name: str
    value: float
    unit: str = ''
    upper: float = math.inf
    lower: float = 0.0

    @property
    def key(self) -> str:
        """Name and unit, as a report has them: `drift_rad`."""
        unit = self.unit.replace(' ', '').lower()
        return f'{self.name}_{unit}' if unit else self.name

    @property
    def has_bounds(self) -> bool:
        """Whether there is a bound beside that a size is not below 0."""
        return self.lower > 0.0 or self.upper < math.inf

    @property
    def passed(self) -> bool:
        """Whether the value is within its bounds."""
        return bool(self.lower <= self.value <= self.upper)


def have_passed(metrics: Mapping[str, Sequence[Metric]]) -> bool:
    """Return whether every metric of every group is within its bounds."""
    return all(metric.passed for group in metrics.values() for metric in group)


def by_unit(slides: NDArray[np.bool_], values: Array) -> Iterator[tuple[str, Array]]:
    """Give the columns of the joints that turn and of those that slide, each with their unit.

    Args:
        slides: (nv,) whether a joint slides.
        values: (n, nv) [rad or m].
    """
    for unit, joints in (('rad', ~slides), ('m', slides)):
        if joints.any():
            yield unit, values[:, joints]


def angle_between(R_a: Array, R_b: Array) -> Array:
    """Return the angles between orientations (..., 3, 3) [rad]: |R_a - R_b| = sqrt(8) sin(x/2)."""
    chord = np.linalg.norm(R_a - R_b, axis=(-2, -1)) / np.sqrt(8.0)
    return 2.0 * np.arcsin(np.minimum(chord, 1.0))
